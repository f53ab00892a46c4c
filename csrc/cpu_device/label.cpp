/* SPDX-License-Identifier: Apache-2.0
 *
 * Labels and switches: jumps within a runtime instance that was built.
 */
#include <algorithm>

#include "device.h"
#include "leaks.h"
#include "memory.h"
#include "model.h"

namespace acl_cpu {
namespace {

constexpr uint32_t max_labels = 65535;
std::atomic<uint32_t> live_labels{0};

struct Label {
    static constexpr Kind kind = Kind::Label;
    explicit Label(Context *in) : context(in) {}
    Context *const context;
    std::shared_ptr<LabelPlace> place = std::make_shared<LabelPlace>();
    bool was_set = false; /* under the capture lock */
    void *handle() const { return Handles<Label>::handle_of(this); }
};

struct LabelList {
    static constexpr Kind kind = Kind::LabelList;
    std::vector<std::shared_ptr<LabelPlace>> places;
    void *handle() const { return Handles<LabelList>::handle_of(this); }
};

/* Marks a place in a lane. */
struct LabelTask final : Task {
    LabelTask() = default;
    LabelTask(LabelTask &&other) noexcept : Task(std::move(other)) {}
    const char *name() const override { return "label"; }
    uint64_t cost_ns() const override { return 0; }
    Step start(Stream &) override { return Step::Done; }
};

struct SwitchLabelTask final : ControlTask {
    SwitchLabelTask(const uint32_t *at, uint32_t count, std::vector<std::shared_ptr<LabelPlace>> list)
        : index(at), labels(count), places(std::move(list))
    {
    }
    SwitchLabelTask(SwitchLabelTask &&other) noexcept
        : ControlTask(std::move(other)), index(other.index), labels(other.labels), places(other.places)
    {
    }
    const char *name() const override { return "switch by label"; }
    uint64_t busy_ns() const override { return 0; }

    Step start(Stream &on) override
    {
        uint32_t wanted = __atomic_load_n(index, __ATOMIC_ACQUIRE);
        target = *places[std::min<size_t>(wanted, std::min<size_t>(labels, places.size()) - 1)];
        Model &model = *where->lane->model;
        if (target.lane == nullptr || target.lane->model != &model) {
            model.cancel(ACL_ERROR_RT_MODEL_EXECUTE, format("model %u: label %u is not set on any of its streams", model.id, wanted));
        }
        return ControlTask::start(on);
    }

    bool decide(Model &model) override
    {
        if (target.lane == where->lane) {
            model.enqueue_from(*target.lane, target.index);
            return true;
        }
        model.activate(*target.lane, target.index);
        return false;
    }

    const uint32_t *const index;
    const uint32_t labels;
    const std::vector<std::shared_ptr<LabelPlace>> places;
    LabelPlace target;
};

struct SwitchStreamTask final : ControlTask {
    SwitchStreamTask(const void *a, aclrtCondition how, const void *b, aclrtCompareDataType kind, Lane *target)
        : left(a), condition(how), right(b), type(kind), lane(target)
    {
    }
    SwitchStreamTask(SwitchStreamTask &&other) noexcept
        : ControlTask(std::move(other)), left(other.left), condition(other.condition), right(other.right), type(other.type), lane(other.lane)
    {
    }
    const char *name() const override { return "switch of streams"; }
    uint64_t busy_ns() const override { return 0; }

    int64_t value(const void *at) const
    {
        if (type == ACL_RT_SWITCH_INT32) return __atomic_load_n(static_cast<const int32_t *>(at), __ATOMIC_ACQUIRE);
        return __atomic_load_n(static_cast<const int64_t *>(at), __ATOMIC_ACQUIRE);
    }

    bool holds() const
    {
        int64_t a = value(left);
        int64_t b = value(right);
        switch (condition) {
        case ACL_RT_EQUAL: return a == b;
        case ACL_RT_NOT_EQUAL: return a != b;
        case ACL_RT_GREATER: return a > b;
        case ACL_RT_GREATER_OR_EQUAL: return a >= b;
        case ACL_RT_LESS: return a < b;
        default: return a <= b;
        }
    }

    bool decide(Model &model) override
    {
        if (holds()) {
            model.activate(*lane, 0);
            return false;
        }
        go_on(model);
        return true;
    }

    const void *const left;
    const aclrtCondition condition;
    const void *const right;
    const aclrtCompareDataType type;
    Lane *const lane;
};

struct ActivateTask final : ControlTask {
    explicit ActivateTask(Lane *target) : lane(target) {}
    ActivateTask(ActivateTask &&other) noexcept : ControlTask(std::move(other)), lane(other.lane) {}
    const char *name() const override { return "activation of a stream"; }
    uint64_t busy_ns() const override { return 0; }
    bool decide(Model &model) override
    {
        model.activate(*lane, 0);
        go_on(model);
        return true;
    }
    Lane *const lane;
};

/* The lane that records a bound stream; with the capture lock held. */
aclError find_bound_stream(aclrtStream stream, const char *what, Stream **target)
{
    RETURN_IF_ERROR(find_stream(stream, target));
    if ((*target)->recording != nullptr && (*target)->recording->lane != nullptr && !(*target)->recording->capturing) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_STREAM_MODEL, "%s %d is not bound to a model", what, (*target)->id);
}

/* Records a task that decides what follows. */
template <class T> aclError record_control(Stream &stream, T &&task)
{
    RETURN_IF_ERROR(recording_refusal(stream));
    std::shared_ptr<T> prototype = std::make_shared<T>(std::move(task));
    Recorded *recorded = add_task(*stream.recording->lane, prototype, copy_of<T>);
    if (recorded == nullptr) return fail(ACL_ERROR_RT_NO_MODEL_RESOURCE, "no room for another recorded task");
    prototype->where = recorded;
    recorded->decides = true;
    return ACL_SUCCESS;
}

aclError find_label(aclrtLabel handle, Label **label)
{
    *label = Handles<Label>::find(handle);
    if (*label == nullptr) return fail(ACL_ERROR_RT_INVALID_HANDLE, "label %p is no live label", handle);
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    if ((*label)->context == context) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_LABEL_CONTEXT, "label %p belongs to another context than the current one", handle);
}

aclError check_device_word(const void *address, size_t bytes, const char *what)
{
    if (reinterpret_cast<uintptr_t>(address) % bytes != 0) {
        return fail(ACL_ERROR_RT_ADDR_UNALIGNED, "%s %p is not aligned to %zu bytes", what, address, bytes);
    }
    Allocation found;
    RETURN_IF_ERROR(check_range(address, bytes, what, &found));
    if (found.on_device()) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s %p lies in no device memory", what, address);
}

} // namespace

void log_live_labels()
{
    handles<Label>().for_each_live([](Label *label) { log_leak(Handles<Label>::creator_of(label), "label %p is", label->handle()); });
    handles<LabelList>().for_each_live([](LabelList *list) {
        log_leak(Handles<LabelList>::creator_of(list), "label list %p is", list->handle());
    });
}

} // namespace acl_cpu

using namespace acl_cpu;

aclError aclrtCreateLabel(aclrtLabel *label)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(label);
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    Label *created = nullptr;
    if (live_labels.fetch_add(1) < max_labels) created = handles<Label>().create(__builtin_return_address(0), context);
    if (created == nullptr) {
        live_labels.fetch_sub(1);
        return fail(ACL_ERROR_RT_INTERNAL_ERROR, "%u labels exist, which is the limit", max_labels);
    }
    *label = created->handle();
    return ACL_SUCCESS;
}

aclError aclrtDestroyLabel(aclrtLabel label)
{
    ACL_ENTRY_RELEASE();
    REQUIRE_NOT_NULL(label);
    std::lock_guard<std::mutex> hold(capture_lock);
    Label *target;
    RETURN_IF_ERROR(find_label(label, &target));
    live_labels.fetch_sub(1);
    handles<Label>().destroy(target);
    return ACL_SUCCESS;
}

aclError aclrtSetLabel(aclrtLabel label, aclrtStream stream)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(label);
    REQUIRE_NOT_NULL(stream);
    std::lock_guard<std::mutex> hold(capture_lock);
    Label *target;
    RETURN_IF_ERROR(find_label(label, &target));
    Stream *on;
    RETURN_IF_ERROR(find_bound_stream(stream, "stream", &on));
    if (target->was_set) return fail(ACL_ERROR_RT_INTERNAL_ERROR, "the label is set already; it can be set once");
    if (!target->place->in_list) {
        return fail(ACL_ERROR_RT_INTERNAL_ERROR, "the label is in no label list: call aclrtCreateLabelList first");
    }
    RETURN_IF_ERROR(recording_refusal(*on));
    Lane *lane = on->recording->lane;
    Recorded *recorded = add_task(*lane, std::make_shared<LabelTask>(), copy_of<LabelTask>);
    if (recorded == nullptr) return fail(ACL_ERROR_RT_NO_MODEL_RESOURCE, "no room for another recorded task");
    target->place->lane = lane;
    target->place->index = recorded->index;
    lane->labels.push_back(target->place);
    target->was_set = true;
    return ACL_SUCCESS;
}

aclError aclrtCreateLabelList(aclrtLabel *labels, size_t num, aclrtLabelList *label_list)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(labels);
    REQUIRE_NOT_NULL(label_list);
    if (num == 0 || num > max_labels) return fail(ACL_ERROR_RT_PARAM_INVALID, "num is %zu, not 1 to %u", num, max_labels);
    std::lock_guard<std::mutex> hold(capture_lock);
    std::vector<Label *> found(num);
    for (size_t i = 0; i < num; ++i) {
        RETURN_IF_ERROR(find_label(labels[i], &found[i]));
        bool twice = std::find(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(i), found[i]) != found.begin() + static_cast<std::ptrdiff_t>(i);
        if (twice || found[i]->place->in_list) return fail(ACL_ERROR_RT_INTERNAL_ERROR, "labels[%zu] is in a label list already", i);
    }
    LabelList *list = handles<LabelList>().create(__builtin_return_address(0));
    if (list == nullptr) return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "no room for another label list");
    for (Label *label : found) {
        label->place->in_list = true;
        list->places.push_back(label->place);
    }
    *label_list = list->handle();
    return ACL_SUCCESS;
}

aclError aclrtDestroyLabelList(aclrtLabelList label_list)
{
    ACL_ENTRY_RELEASE();
    REQUIRE_NOT_NULL(label_list);
    std::lock_guard<std::mutex> hold(capture_lock);
    LabelList *list = Handles<LabelList>::find(label_list);
    if (list == nullptr) return fail(ACL_ERROR_RT_INVALID_HANDLE, "label_list %p is no live label list", label_list);
    handles<LabelList>().destroy(list);
    return ACL_SUCCESS;
}

aclError aclrtSwitchLabelByIndex(void *ptr, uint32_t max_value, aclrtLabelList label_list, aclrtStream stream)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(ptr);
    REQUIRE_NOT_NULL(label_list);
    REQUIRE_NOT_NULL(stream);
    std::lock_guard<std::mutex> hold(capture_lock);
    LabelList *list = Handles<LabelList>::find(label_list);
    if (list == nullptr) return fail(ACL_ERROR_RT_INVALID_HANDLE, "label_list %p is no live label list", label_list);
    Stream *on;
    RETURN_IF_ERROR(find_bound_stream(stream, "stream", &on));
    if (max_value == 0 || max_value > list->places.size()) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "max_value is %u, the list has %zu labels", max_value, list->places.size());
    }
    RETURN_IF_ERROR(check_device_word(ptr, sizeof(uint32_t), "ptr"));
    return record_control(*on, SwitchLabelTask(static_cast<const uint32_t *>(ptr), max_value, list->places));
}

aclError aclrtSwitchStream(void *left_value, aclrtCondition cond, void *right_value, aclrtCompareDataType data_type,
                           aclrtStream true_stream, aclrtStream false_stream, aclrtStream stream)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(left_value);
    REQUIRE_NOT_NULL(right_value);
    REQUIRE_NOT_NULL(true_stream);
    REQUIRE(false_stream == nullptr, "false_stream is %p, it must be NULL", false_stream);
    if (cond < ACL_RT_EQUAL || cond > ACL_RT_LESS_OR_EQUAL) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "cond is %d, not one of aclrtCondition", static_cast<int>(cond));
    }
    if (data_type != ACL_RT_SWITCH_INT32 && data_type != ACL_RT_SWITCH_INT64) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "data_type is %d, not one of aclrtCompareDataType", static_cast<int>(data_type));
    }
    std::lock_guard<std::mutex> hold(capture_lock);
    Stream *target;
    RETURN_IF_ERROR(find_bound_stream(true_stream, "true_stream", &target));
    Stream *on;
    RETURN_IF_ERROR(find_bound_stream(stream, "stream", &on));
    if (target->recording->lane->model != on->recording->lane->model) {
        return fail(ACL_ERROR_RT_STREAM_MODEL, "true_stream %d and stream %d are bound to different models", target->id, on->id);
    }
    size_t bytes = data_type == ACL_RT_SWITCH_INT32 ? sizeof(int32_t) : sizeof(int64_t);
    RETURN_IF_ERROR(check_device_word(left_value, bytes, "left_value"));
    RETURN_IF_ERROR(check_device_word(right_value, bytes, "right_value"));
    return record_control(*on, SwitchStreamTask(left_value, cond, right_value, data_type, target->recording->lane));
}

aclError aclrtActiveStream(aclrtStream active_stream, aclrtStream stream)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(active_stream);
    std::lock_guard<std::mutex> hold(capture_lock);
    Stream *on;
    RETURN_IF_ERROR(find_bound_stream(stream, "stream", &on));
    Stream *target;
    RETURN_IF_ERROR(find_bound_stream(active_stream, "active_stream", &target));
    if (target->recording->lane->model != on->recording->lane->model) {
        return fail(ACL_ERROR_RT_STREAM_MODEL, "active_stream %d and stream %d are bound to different models", target->id, on->id);
    }
    return record_control(*on, ActivateTask(target->recording->lane));
}
