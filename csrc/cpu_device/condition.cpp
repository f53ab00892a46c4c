/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditional tasks: a captured model that executes one of several others, or one again and again.
 */
#include "device.h"
#include "memory.h"
#include "model.h"

namespace acl_cpu {

struct Condition {
    static constexpr Kind kind = Kind::Condition;

    Condition(Model *of, uint32_t initial, bool does_assign) : model(of), initial_value(initial), assigns(does_assign) {}

    Model *const model;
    const uint32_t initial_value;
    const bool assigns; /* the initial value at the beginning of each execution */
    uint64_t *value = nullptr; /* in device memory */
    aclmdlRICondTaskType type = ACL_MODEL_RI_COND_TYPE_IF;
    std::vector<Model *> branches; /* once it has a task */

    void *handle() const { return Handles<Condition>::handle_of(this); }
};

namespace {

struct ConditionTask final : Task {
    explicit ConditionTask(Condition *of) : condition(of) {}
    ConditionTask(ConditionTask &&other) noexcept : Task(std::move(other)), condition(other.condition) {}
    const char *name() const override { return "conditional task"; }
    uint64_t busy_ns() const override { return 0; }
    bool is_news() const override { return false; }

    /* The branch that the value chooses, or nullptr. */
    Model *choice() const
    {
        uint64_t value = __atomic_load_n(condition->value, __ATOMIC_ACQUIRE);
        const auto &branches = condition->branches;
        if (condition->type == ACL_MODEL_RI_COND_TYPE_SWITCH) return value < branches.size() ? branches[value] : nullptr;
        if (value != 0) return branches[0];
        return condition->type == ACL_MODEL_RI_COND_TYPE_IF && branches.size() > 1 ? branches[1] : nullptr;
    }

    /* Begins the branch; false if there is none, or the task was cancelled. */
    bool begin_branch(Stream &on)
    {
        Model *branch = choice();
        if (branch == nullptr) return false;
        std::lock_guard<std::mutex> hold(branch->lock);
        if (cancelled.load(std::memory_order_seq_cst)) return false;
        on.blocked_on.store(branch->lanes.front()->runner->handle(), std::memory_order_relaxed);
        branch->begin([this, where = &on](aclError code, const std::string &text) {
            where->blocked_on.store(nullptr, std::memory_order_relaxed);
            if (code != ACL_SUCCESS) set_error(code, text);
            else if (condition->type == ACL_MODEL_RI_COND_TYPE_WHILE && begin_branch(*where)) return;
            where->finish_pending(this);
        });
        return true;
    }

    Step start(Stream &on) override { return begin_branch(on) ? Step::Pending : Step::Done; }

    bool withdraw() override
    {
        for (Model *branch : condition->branches) branch->cancel(ACL_SUCCESS, "");
        return false;
    }

    Condition *const condition;
};

/* The value is the model's: aclrtFree does not take it. */
void free_value(void *value)
{
    free_allocation(value, [](MemoryKind kind) { return kind == MemoryKind::PoolBlock; }, "the value of a condition");
}

aclError find_condition(aclmdlRICondHandle handle, Condition **condition)
{
    *condition = Handles<Condition>::find(handle);
    if (*condition != nullptr) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_INVALID_HANDLE, "handle %p is no live condition", handle);
}

} // namespace

void begin_conditions(Model &model)
{
    for (Condition *condition : model.conditions) {
        if (condition->assigns) __atomic_store_n(condition->value, uint64_t{condition->initial_value}, __ATOMIC_SEQ_CST);
    }
}

bool conditions_are_complete(Model &model)
{
    for (const Condition *condition : model.conditions) {
        for (const Model *branch : condition->branches) {
            if (branch->state != Model::State::Ready) return false;
        }
    }
    return true;
}

void destroy_condition(Condition &condition, std::unique_lock<std::mutex> &capturing)
{
    Handles<Condition>::retire(&condition);
    for (Model *branch : condition.branches) destroy_model(*branch, capturing);
    free_value(condition.value);
    handles<Condition>().destroy(&condition);
}

} // namespace acl_cpu

using namespace acl_cpu;

aclError aclmdlRICondHandleCreate(aclmdlRI model_ri, uint32_t default_launch_value, aclmdlRICondHandleFlag flag,
                                  aclmdlRICondHandle *handle)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(model_ri);
    REQUIRE_NOT_NULL(handle);
    if (static_cast<uint32_t>(flag) > ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "flag is %d, not 0 or ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT (1)", static_cast<int>(flag));
    }
    std::lock_guard<std::mutex> hold(capture_lock);
    Model *model;
    RETURN_IF_ERROR(find_own_model(model_ri, &model));
    if (!model->captured) return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "model %u is not captured", model->id);
    if (!model->capturing || model->state != Model::State::Recording) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "model %u is not being captured", model->id);
    }
    void *memory = nullptr;
    RETURN_IF_ERROR(allocate_device(*model->context->device, sizeof(uint64_t), sizeof(uint64_t), MemoryKind::PoolBlock,
                                    __builtin_return_address(0), &memory));
    Condition *condition = handles<Condition>().create(__builtin_return_address(0), model, default_launch_value,
                                                       flag == ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT);
    if (condition == nullptr) {
        free_value(memory);
        return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "no room for another condition");
    }
    condition->value = static_cast<uint64_t *>(memory);
    *condition->value = 0;
    model->conditions.push_back(condition);
    *handle = condition->handle();
    return ACL_SUCCESS;
}

aclError aclmdlRICondHandleGetCondPtr(aclmdlRICondHandle handle, uint64_t **ptr)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(handle);
    REQUIRE_NOT_NULL(ptr);
    std::lock_guard<std::mutex> hold(capture_lock);
    Condition *condition;
    RETURN_IF_ERROR(find_condition(handle, &condition));
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    *ptr = condition->value;
    return ACL_SUCCESS;
}

aclError aclmdlRIAddCondTask(aclmdlRICondTaskParams params, aclrtStream stream, uint32_t flags)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(stream);
    if (params.type < ACL_MODEL_RI_COND_TYPE_IF || params.type > ACL_MODEL_RI_COND_TYPE_SWITCH) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "params.type is %d, not one of aclmdlRICondTaskType", static_cast<int>(params.type));
    }
    if (flags != 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "flags is %u, it must be 0", flags);
    if (params.handle == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "params.handle is NULL");
    if (params.modelRIArray == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "params.modelRIArray is NULL");
    std::unique_lock<std::mutex> hold(capture_lock);
    Condition *condition;
    RETURN_IF_ERROR(find_condition(params.handle, &condition));
    if (!condition->branches.empty()) return fail(ACL_ERROR_RT_PARAM_INVALID, "the condition has a task already");
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    if (target->recording == nullptr || !target->recording->capturing) {
        return fail(ACL_ERROR_RT_STREAM_NOT_CAPTURED, "stream %d is not being captured", target->id);
    }
    Model &model = *target->recording->lane->model;
    if (condition->model != &model) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "the condition is one of model %u, the stream is captured for model %u", condition->model->id,
                    model.id);
    }
    bool fits = params.type == ACL_MODEL_RI_COND_TYPE_IF      ? params.size == 1 || params.size == 2
                : params.type == ACL_MODEL_RI_COND_TYPE_WHILE ? params.size == 1
                                                              : params.size != 0;
    if (!fits) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "params.size is %u: an if has 1 or 2 branches, a while has 1, a switch at least 1", params.size);
    }
    RETURN_IF_ERROR(recording_refusal(*target));
    std::vector<Model *> branches;
    for (uint32_t i = 0; i < params.size; ++i) {
        Model *branch = new_model(*model.context, true, __builtin_return_address(0));
        if (branch == nullptr) break;
        branch->parent = condition;
        branches.push_back(branch);
    }
    aclError error = branches.size() == params.size ? ACL_SUCCESS : no_model(*model.context);
    if (error == ACL_SUCCESS) {
        condition->type = params.type;
        error = record_event_task(*target, std::unique_ptr<Task>(new ConditionTask(condition)), copy_of<ConditionTask>, nullptr, false);
    }
    if (error != ACL_SUCCESS) {
        for (Model *branch : branches) destroy_model(*branch, hold);
        return error;
    }
    condition->branches = branches;
    for (uint32_t i = 0; i < params.size; ++i) params.modelRIArray[i] = branches[i]->handle();
    return ACL_SUCCESS;
}
