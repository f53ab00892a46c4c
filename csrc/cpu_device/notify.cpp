/* SPDX-License-Identifier: Apache-2.0
 *
 * Notifies (binary semaphores) and counting notifies.
 */
#include "notify.h"

#include <mutex>

#include "device.h"
#include "leaks.h"
#include "waiting.h"

namespace acl_cpu {
namespace {

struct NotifyWaitTask;

constexpr uint32_t max_notifies = 8192;
std::atomic<uint32_t> live_notifies{0};
std::atomic<uint32_t> next_notify_id{0};

} // namespace

/* Both kinds: a notify has the value 0 or 1. */
struct Notify {
    static constexpr Kind kind = Kind::Notify;

    Notify(uint32_t number, bool counts) : id(number), counting(counts) {}

    const uint32_t id;
    const bool counting;
    References references; /* the handle and queued tasks */

    std::mutex lock;
    /* ---- under the lock ---- */
    uint32_t value = 0;
    std::vector<NotifyWaitTask *> waiting;

    void *handle() const { return Handles<Notify>::handle_of(this); }
    void release()
    {
        if (references.release()) handles<Notify>().destroy(this);
    }
};

void log_live_notifies()
{
    handles<Notify>().for_each_live([](Notify *notify) {
        log_leak(Handles<Notify>::creator_of(notify), "%snotify %u (%p) is", notify->counting ? "counting " : "", notify->id,
                 notify->handle());
    });
}

uint32_t live_notify_count() { return live_notifies.load(); }

namespace {

bool satisfied(aclrtCntNotifyWaitMode mode, uint32_t value, uint32_t wanted)
{
    switch (mode) {
    case ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE: return value < wanted;
    case ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE: return value == wanted;
    case ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE: return value > wanted;
    case ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE: return value >= wanted;
    case ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE: return (value & wanted) == wanted;
    }
    return false;
}

struct NotifyWaitTask final : WaitingTask {
    NotifyWaitTask(Notify *waited, uint64_t limit_ns, aclrtCntNotifyWaitMode how, uint32_t until, bool resets)
        : WaitingTask(limit_ns), notify(waited), mode(how), wanted(until), clears(resets)
    {
    }
    NotifyWaitTask(NotifyWaitTask &&other) noexcept
        : WaitingTask(std::move(other)), notify(other.notify), mode(other.mode), wanted(other.wanted), clears(other.clears)
    {
        owns_reference = notify->references.retain();
        lost = !owns_reference;
    }
    ~NotifyWaitTask() override
    {
        if (owns_reference) notify->release();
    }

    const char *name() const override { return "notify wait"; }

    /* Consumes the notify if it is set; under its lock. */
    bool consume()
    {
        if (!satisfied(mode, notify->value, wanted)) return false;
        if (clears) notify->value = 0;
        return true;
    }

    Step start(Stream &on) override
    {
        if (UNLIKELY(lost)) return Step::Done;
        std::lock_guard<std::mutex> hold(notify->lock);
        if (cancelled.load(std::memory_order_seq_cst) || consume()) return Step::Done;
        notify->waiting.push_back(this);
        begin_timeout(on);
        return Step::Pending;
    }

    bool withdraw() override
    {
        std::lock_guard<std::mutex> hold(notify->lock);
        if (!take_out(notify->waiting, this)) return false;
        end_timeout();
        return true;
    }

    Notify *const notify;
    const aclrtCntNotifyWaitMode mode;
    const uint32_t wanted;
    const bool clears;
    bool owns_reference = false;
    bool lost = false; /* the notify was destroyed during the call: there is nothing to wait for */
};

/* Changes the value and lets those go who waited for it, first come first served. */
void change(Notify &notify, aclrtCntNotifyRecordMode mode, uint32_t operand)
{
    std::vector<NotifyWaitTask *> freed;
    {
        std::lock_guard<std::mutex> hold(notify.lock);
        switch (mode) {
        case ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE: notify.value = operand; break;
        case ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE: notify.value += operand; break;
        case ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE: notify.value |= operand; break;
        case ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE: notify.value &= operand; break;
        }
        for (size_t i = 0; i < notify.waiting.size();) {
            NotifyWaitTask *task = notify.waiting[i];
            if (!task->consume()) {
                ++i;
                continue;
            }
            notify.waiting.erase(notify.waiting.begin() + static_cast<std::ptrdiff_t>(i));
            task->end_timeout();
            freed.push_back(task);
        }
    }
    for (NotifyWaitTask *task : freed) task->stream->finish_pending(task);
}

struct NotifyRecordTask final : Task {
    NotifyRecordTask(Notify *target, aclrtCntNotifyRecordMode how, uint32_t by) : notify(target), mode(how), operand(by) {}
    NotifyRecordTask(NotifyRecordTask &&other) noexcept
        : Task(std::move(other)), notify(other.notify), mode(other.mode), operand(other.operand)
    {
        owns_reference = notify->references.retain();
        lost = !owns_reference;
    }
    ~NotifyRecordTask() override
    {
        if (owns_reference) notify->release();
    }

    const char *name() const override { return "notify record"; }
    uint64_t cost_ns() const override { return 0; }
    Step start(Stream &) override
    {
        if (LIKELY(!lost)) change(*notify, mode, operand);
        return Step::Done;
    }

    Notify *const notify;
    const aclrtCntNotifyRecordMode mode;
    const uint32_t operand;
    bool owns_reference = false;
    bool lost = false; /* the notify was destroyed during the call: as if it had been recorded before */
};

aclError find_notify(void *handle, bool counting, Notify **notify)
{
    REQUIRE(handle != nullptr, "notify is NULL");
    *notify = Handles<Notify>::find(handle);
    if (*notify != nullptr && (*notify)->counting == counting) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_INVALID_HANDLE, "notify %p is no live %snotify", handle, counting ? "counting " : "");
}

aclError create(void **notify, uint64_t flag, bool counting, const void *creator)
{
    REQUIRE(notify != nullptr, "notify is NULL");
    if (flag > ACL_NOTIFY_DEVICE_USE_ONLY) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "flag is %llu, not 0 or ACL_NOTIFY_DEVICE_USE_ONLY (1)",
                    static_cast<unsigned long long>(flag));
    }
    Context *context = nullptr;
    RETURN_IF_ERROR(require_context(&context));
    Notify *created = nullptr;
    if (live_notifies.fetch_add(1) < max_notifies) {
        created = handles<Notify>().create(creator, next_notify_id.fetch_add(1), counting);
    }
    if (created == nullptr) {
        live_notifies.fetch_sub(1);
        return fail(ACL_ERROR_RT_NO_NOTIFY_RESOURCE, "%u notifies exist, which is the limit", max_notifies);
    }
    *notify = created->handle();
    return ACL_SUCCESS;
}

aclError destroy(void *handle, bool counting)
{
    Notify *notify = nullptr;
    RETURN_IF_ERROR(find_notify(handle, counting, &notify));
    if (!Handles<Notify>::retire(notify)) return fail(ACL_ERROR_RT_INVALID_HANDLE, "notify %p is being destroyed", handle);
    live_notifies.fetch_sub(1);
    notify->release();
    return ACL_SUCCESS;
}

} // namespace
} // namespace acl_cpu

using namespace acl_cpu;

aclError aclrtCreateNotify(aclrtNotify *notify, uint64_t flag)
{
    ACL_ENTRY();
    return create(notify, flag, false, __builtin_return_address(0));
}

aclError aclrtDestroyNotify(aclrtNotify notify)
{
    ACL_ENTRY_RELEASE();
    return destroy(notify, false);
}

aclError aclrtRecordNotify(aclrtNotify notify, aclrtStream stream)
{
    ACL_ENTRY();
    Notify *target = nullptr;
    RETURN_IF_ERROR(find_notify(notify, false, &target));
    Stream *on = nullptr;
    RETURN_IF_ERROR(find_stream(stream, &on));
    return submit(*on, NotifyRecordTask(target, ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, 1));
}

aclError aclrtWaitAndResetNotify(aclrtNotify notify, aclrtStream stream, uint32_t timeout)
{
    ACL_ENTRY();
    Notify *target = nullptr;
    RETURN_IF_ERROR(find_notify(notify, false, &target));
    Stream *on = nullptr;
    RETURN_IF_ERROR(find_stream(stream, &on));
    return submit(*on, NotifyWaitTask(target, timeout * uint64_t{1000000000}, ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE, 0, true));
}

aclError aclrtGetNotifyId(aclrtNotify notify, uint32_t *notify_id)
{
    ACL_ENTRY();
    Notify *target = nullptr;
    RETURN_IF_ERROR(find_notify(notify, false, &target));
    REQUIRE_NOT_NULL(notify_id);
    *notify_id = target->id;
    return ACL_SUCCESS;
}

aclError aclrtNotifyBatchReset(aclrtNotify *notifies, size_t num)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(notifies);
    REQUIRE(num != 0, "num is 0");
    for (size_t i = 0; i < num; ++i) {
        UseScope scope;
        Notify *target = nullptr;
        RETURN_IF_ERROR(find_notify(notifies[i], false, &target));
        std::lock_guard<std::mutex> hold(target->lock);
        target->value = 0;
    }
    return ACL_SUCCESS;
}

aclError aclrtCntNotifyCreate(aclrtCntNotify *cnt_notify, uint64_t flag)
{
    ACL_ENTRY();
    return create(cnt_notify, flag, true, __builtin_return_address(0));
}

aclError aclrtCntNotifyDestroy(aclrtCntNotify cnt_notify)
{
    ACL_ENTRY_RELEASE();
    return destroy(cnt_notify, true);
}

aclError aclrtCntNotifyRecord(aclrtCntNotify cnt_notify, aclrtStream stream, aclrtCntNotifyRecordInfo *info)
{
    ACL_ENTRY();
    Notify *target = nullptr;
    RETURN_IF_ERROR(find_notify(cnt_notify, true, &target));
    REQUIRE_NOT_NULL(info);
    bool known = info->mode == ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE || info->mode == ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE ||
                 info->mode == ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE || info->mode == ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE;
    if (!known) return fail(ACL_ERROR_RT_PARAM_INVALID, "info->mode is %d, not a record mode", static_cast<int>(info->mode));
    Stream *on = nullptr;
    RETURN_IF_ERROR(find_stream(stream, &on));
    return submit(*on, NotifyRecordTask(target, info->mode, info->value));
}

aclError aclrtCntNotifyWaitWithTimeout(aclrtCntNotify cnt_notify, aclrtStream stream, aclrtCntNotifyWaitInfo *info)
{
    ACL_ENTRY();
    Notify *target = nullptr;
    RETURN_IF_ERROR(find_notify(cnt_notify, true, &target));
    REQUIRE_NOT_NULL(info);
    if (info->mode < ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE || info->mode > ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "info->mode is %d, not a wait mode", static_cast<int>(info->mode));
    }
    Stream *on = nullptr;
    RETURN_IF_ERROR(find_stream(stream, &on));
    return submit(*on, NotifyWaitTask(target, info->timeout * uint64_t{1000000000}, info->mode, info->value, info->isClear != 0));
}

aclError aclrtCntNotifyReset(aclrtCntNotify cnt_notify, aclrtStream stream)
{
    ACL_ENTRY();
    Notify *target = nullptr;
    RETURN_IF_ERROR(find_notify(cnt_notify, true, &target));
    Stream *on = nullptr;
    RETURN_IF_ERROR(find_stream(stream, &on));
    return submit(*on, NotifyRecordTask(target, ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, 0));
}

aclError aclrtCntNotifyGetId(aclrtCntNotify cnt_notify, uint32_t *notify_id)
{
    ACL_ENTRY();
    Notify *target = nullptr;
    RETURN_IF_ERROR(find_notify(cnt_notify, true, &target));
    REQUIRE_NOT_NULL(notify_id);
    *notify_id = target->id;
    return ACL_SUCCESS;
}
