/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams that write a word in memory, or wait until it has a value. Anybody may write the word: streams, kernels, the
 * host. Writes by streams are noticed at once, others by looking now and then.
 */
#include <mutex>

#include "device.h"
#include "memory.h"
#include "waiting.h"

namespace acl_cpu {

std::atomic<uint32_t> g_value_waits{0};

namespace {

constexpr uint64_t shortest_look_ns = 50000;
constexpr uint64_t longest_look_ns = 2000000;

struct ValueWaitTask;

struct Waits {
    std::mutex lock;
    std::vector<ValueWaitTask *> waiting;
    bool looking = false;
    uint64_t interval_ns = shortest_look_ns;
};
Waits &waits = *new Waits;

uint64_t read_word(const void *address) { return __atomic_load_n(static_cast<const uint64_t *>(address), __ATOMIC_ACQUIRE); }

void look_later();

struct ValueWaitTask final : WaitingTask {
    ValueWaitTask(const void *word, uint64_t with, uint32_t how, uint64_t limit_ns)
        : WaitingTask(limit_ns), address(word), value(with), condition(how)
    {
    }
    ValueWaitTask(ValueWaitTask &&other) noexcept
        : WaitingTask(std::move(other)), address(other.address), value(other.value), condition(other.condition)
    {
    }

    const char *name() const override { return "value wait"; }

    bool holds() const
    {
        uint64_t now = read_word(address);
        switch (condition) {
        case ACL_STREAM_WAIT_VALUE_GEQ: return static_cast<int64_t>(now - value) >= 0;
        case ACL_STREAM_WAIT_VALUE_EQ: return now == value;
        case ACL_STREAM_WAIT_VALUE_AND: return (now & value) != 0;
        default: return ~(now | value) != 0;
        }
    }

    /* Satisfied already: nothing to wait for. */
    uint64_t cost_ns() const override { return holds() ? 0 : UNKNOWN_COST; }

    Step start(Stream &on) override
    {
        std::lock_guard<std::mutex> hold(waits.lock);
        if (cancelled.load(std::memory_order_seq_cst) || holds()) return Step::Done;
        waits.waiting.push_back(this);
        g_value_waits.store(static_cast<uint32_t>(waits.waiting.size()), std::memory_order_seq_cst);
        begin_timeout(on);
        waits.interval_ns = shortest_look_ns;
        if (!waits.looking) look_later();
        return Step::Pending;
    }

    bool withdraw() override
    {
        std::lock_guard<std::mutex> hold(waits.lock);
        if (!take_out(waits.waiting, this)) return false;
        g_value_waits.store(static_cast<uint32_t>(waits.waiting.size()));
        end_timeout();
        return true;
    }

    aclmdlRITaskType task_type() const override { return ACL_MODEL_RI_TASK_VALUE_WAIT; }
    void describe(aclmdlRITaskParams &params) const override
    {
        params.valueWaitTaskParams = {const_cast<void *>(address), value, condition};
    }
    aclError with_params(const aclmdlRITaskParams &params, std::shared_ptr<Task> *result) const override;

    const void *const address;
    const uint64_t value;
    const uint32_t condition;
};

/* Under the lock. */
void look_later()
{
    waits.looking = Timer::instance().add(now_ns() + waits.interval_ns, [] {
        check_value_waits();
        std::lock_guard<std::mutex> hold(waits.lock);
        waits.looking = false;
        waits.interval_ns = std::min(waits.interval_ns * 2, longest_look_ns);
        if (!waits.waiting.empty()) look_later();
    }) != 0;
}

struct ValueWriteTask final : Task {
    ValueWriteTask(void *word, uint64_t what) : address(word), value(what) {}
    ValueWriteTask(ValueWriteTask &&other) noexcept : Task(std::move(other)), address(other.address), value(other.value) {}

    const char *name() const override { return "value write"; }
    uint64_t cost_ns() const override { return 0; }
    Step start(Stream &) override
    {
        __atomic_store_n(static_cast<uint64_t *>(address), value, __ATOMIC_SEQ_CST);
        if (g_value_waits.load(std::memory_order_seq_cst) != 0) check_value_waits();
        return Step::Done;
    }

    aclmdlRITaskType task_type() const override { return ACL_MODEL_RI_TASK_VALUE_WRITE; }
    void describe(aclmdlRITaskParams &params) const override { params.valueWriteTaskParams = {address, value}; }
    aclError with_params(const aclmdlRITaskParams &params, std::shared_ptr<Task> *result) const override;

    void *const address;
    const uint64_t value;
};

aclError check_word(void *address)
{
    REQUIRE(address != nullptr, "dev_addr is NULL");
    if (reinterpret_cast<uintptr_t>(address) % sizeof(uint64_t) != 0) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "dev_addr %p is not aligned to 8 bytes", address);
    }
    Allocation found;
    RETURN_IF_ERROR(check_range(address, sizeof(uint64_t), "dev_addr", &found));
    if (found.on_device()) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID, "dev_addr %p lies in no device memory", address);
}

aclError check_condition(uint32_t flag)
{
    if (flag <= ACL_STREAM_WAIT_VALUE_NOR) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID, "flag is %u, not one of ACL_STREAM_WAIT_VALUE_*", flag);
}

aclError ValueWriteTask::with_params(const aclmdlRITaskParams &params, std::shared_ptr<Task> *result) const
{
    RETURN_IF_ERROR(check_word(params.valueWriteTaskParams.devAddr));
    *result = std::make_shared<ValueWriteTask>(params.valueWriteTaskParams.devAddr, params.valueWriteTaskParams.value);
    return ACL_SUCCESS;
}

aclError ValueWaitTask::with_params(const aclmdlRITaskParams &params, std::shared_ptr<Task> *result) const
{
    const aclmdlRIValueWaitTaskParams &wanted = params.valueWaitTaskParams;
    RETURN_IF_ERROR(check_word(wanted.devAddr));
    RETURN_IF_ERROR(check_condition(wanted.flag));
    *result = std::make_shared<ValueWaitTask>(wanted.devAddr, wanted.value, wanted.flag, timeout_ns);
    return ACL_SUCCESS;
}

} // namespace

void check_value_waits()
{
    std::vector<ValueWaitTask *> freed;
    {
        std::lock_guard<std::mutex> hold(waits.lock);
        for (size_t i = 0; i < waits.waiting.size();) {
            ValueWaitTask *task = waits.waiting[i];
            if (!task->holds()) {
                ++i;
                continue;
            }
            waits.waiting.erase(waits.waiting.begin() + static_cast<std::ptrdiff_t>(i));
            task->end_timeout();
            freed.push_back(task);
        }
        g_value_waits.store(static_cast<uint32_t>(waits.waiting.size()));
    }
    for (ValueWaitTask *task : freed) task->stream->finish_pending(task);
}

} // namespace acl_cpu

using namespace acl_cpu;

aclError aclrtValueWrite(void *dev_addr, uint64_t value, uint32_t flag, aclrtStream stream)
{
    ACL_ENTRY();
    RETURN_IF_ERROR(check_word(dev_addr));
    if (flag != 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "flag is %u, it must be 0", flag);
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    return submit(*target, ValueWriteTask(dev_addr, value));
}

aclError aclrtValueWait(void *dev_addr, uint64_t value, uint32_t flag, aclrtStream stream)
{
    ACL_ENTRY();
    RETURN_IF_ERROR(check_word(dev_addr));
    RETURN_IF_ERROR(check_condition(flag));
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    return submit(*target, ValueWaitTask(dev_addr, value, flag, 0));
}
