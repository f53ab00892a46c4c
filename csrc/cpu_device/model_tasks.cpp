/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking at the tasks of a runtime instance, and changing them.
 */
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "device.h"
#include "log.h"
#include "model.h"

namespace acl_cpu {
namespace {

aclError find_task(aclmdlRITask handle, Recorded **task)
{
    if (handle == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "task is NULL");
    *task = Handles<Recorded>::find(handle);
    if (*task == nullptr) return fail(ACL_ERROR_RT_INVALID_HANDLE, "task %p is no live task of a runtime instance", handle);
    if ((*task)->lane->model->parent == nullptr) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "the task belongs to the branch of a conditional task, which has no such call");
}

/* A task of a captured model that is not being executed. */
aclError find_task_to_change(aclmdlRITask handle, Recorded **task)
{
    RETURN_IF_ERROR(find_task(handle, task));
    Model &model = *(*task)->lane->model;
    if (!model.captured) return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "model %u was built; only captured ones can be changed", model.id);
    bool possible = model.state == Model::State::Ready || model.state == Model::State::Updating;
    if (possible && model.pending.load() == 0) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_MODEL_UPDATE_FAILED, "model %u is being captured or executed", model.id);
}

/* The handle of the stream that a lane shows: the bound one, or the runner. */
void *stream_of(const Lane &lane)
{
    return lane.source != nullptr && !lane.source->recording->capturing ? lane.source->handle() : lane.runner->handle();
}

/* Fills an array by the convention of these calls: NULL asks for the number. */
template <class Get> aclError fill(void **array, uint32_t *number, size_t available, const char *what, Get get)
{
    if (array == nullptr) {
        *number = static_cast<uint32_t>(available);
        return ACL_SUCCESS;
    }
    uint32_t room = *number;
    for (uint32_t i = 0; i < room; ++i) array[i] = i < available ? get(i) : nullptr;
    *number = static_cast<uint32_t>(std::min<size_t>(room, available));
    if (room >= available) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_INSUFFICIENT_INPUT_ARRAY, "the array has room for %u, there are %zu %s", room, available, what);
}

const char *type_name(aclmdlRITaskType type)
{
    switch (type) {
    case ACL_MODEL_RI_TASK_KERNEL: return "KERNEL";
    case ACL_MODEL_RI_TASK_EVENT_RECORD: return "EVENT_RECORD";
    case ACL_MODEL_RI_TASK_EVENT_WAIT: return "EVENT_WAIT";
    case ACL_MODEL_RI_TASK_EVENT_RESET: return "EVENT_RESET";
    case ACL_MODEL_RI_TASK_VALUE_WRITE: return "VALUE_WRITE";
    case ACL_MODEL_RI_TASK_VALUE_WAIT: return "VALUE_WAIT";
    default: return "DEFAULT";
    }
}

std::string quoted(const char *text)
{
    std::string result = "\"";
    for (const char *c = text; *c != '\0'; ++c) {
        if (*c == '"' || *c == '\\') result += '\\';
        if (static_cast<unsigned char>(*c) >= 0x20) result += *c;
    }
    return result + '"';
}

/* One event of Chrome's trace format. */
std::string json_of(const Model &model, const Lane &lane, const Recorded &recorded, bool verbose)
{
    const Task &task = *recorded.prototype;
    int32_t stream = lane.runner->id;
    std::string text = format("{\"name\": %s, \"pid\": \"model %u\", \"tid\": \"stream %d\", \"ts\": %u, \"dur\": 1, \"ph\": \"X\", \"args\": "
                              "{\"model id\": %u, \"stream id\": %d, \"task id\": %u, \"task type\": \"%s\"",
                              quoted(task.name()).c_str(), model.id, stream, recorded.index, model.id, stream, recorded.index,
                              type_name(task.task_type()));
    if (verbose && task.task_type() == ACL_MODEL_RI_TASK_KERNEL) {
        aclmdlRITaskParams params = {};
        task.describe(params);
        const aclmdlRIKernelTaskParams &kernel = params.kernelTaskParams;
        std::string bytes;
        const uint8_t *args = static_cast<const uint8_t *>(kernel.args);
        for (size_t i = 0; kernel.isHostArgs != 0 && i < kernel.argsSize; ++i) bytes += format("%02x", args[i]);
        text += format(", \"num blocks\": %u, \"args size\": %zu, \"args\": \"%s\"", kernel.numBlocks, kernel.argsSize, bytes.c_str());
    }
    if (!recorded.extend_info.empty()) text += ", \"extend info\": " + quoted(recorded.extend_info.c_str());
    if (recorded.disabled) text += ", \"disabled\": true";
    return text + "}}";
}

} // namespace
} // namespace acl_cpu

using namespace acl_cpu;

aclError aclmdlRIGetStreams(aclmdlRI model_ri, aclrtStream *streams, uint32_t *num_streams)
{
    ACL_ENTRY();
    if (model_ri == nullptr || num_streams == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "model_ri or num_streams is NULL");
    std::lock_guard<std::mutex> hold(capture_lock);
    Model *model;
    RETURN_IF_ERROR(find_own_model(model_ri, &model));
    if (model->parent != nullptr) {
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "model %u is a branch of a conditional task, which has no such call", model->id);
    }
    return fill(streams, num_streams, model->lanes.size(), "streams", [&](uint32_t i) { return stream_of(*model->lanes[i]); });
}

aclError aclmdlRIGetTasksByStream(aclrtStream stream, aclmdlRITask *tasks, uint32_t *num_tasks)
{
    ACL_ENTRY();
    if (num_tasks == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "num_tasks is NULL");
    std::lock_guard<std::mutex> hold(capture_lock);
    Stream *target;
    RETURN_IF_ERROR(find_any_stream(stream, &target));
    Lane *lane = target->runs.load();
    if (lane == nullptr && target->recording != nullptr && !target->recording->capturing) lane = target->recording->lane;
    if (lane == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "stream %d is not one of aclmdlRIGetStreams", target->id);
    if (lane->model->parent != nullptr) {
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "the stream belongs to the branch of a conditional task, which has no such call");
    }
    return fill(tasks, num_tasks, lane->tasks.size(), "tasks", [&](uint32_t i) { return lane->tasks[i]->handle(); });
}

aclError aclmdlRITaskGetType(aclmdlRITask task, aclmdlRITaskType *type)
{
    ACL_ENTRY();
    if (type == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "type is NULL");
    std::lock_guard<std::mutex> hold(capture_lock);
    Recorded *recorded;
    RETURN_IF_ERROR(find_task(task, &recorded));
    std::lock_guard<std::mutex> hold_model(recorded->lane->model->lock);
    *type = recorded->prototype->task_type();
    return ACL_SUCCESS;
}

aclError aclmdlRITaskGetSeqId(aclmdlRITask task, uint32_t *id)
{
    ACL_ENTRY();
    if (id == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "id is NULL");
    std::lock_guard<std::mutex> hold(capture_lock);
    Recorded *recorded;
    RETURN_IF_ERROR(find_task(task, &recorded));
    *id = recorded->index;
    return ACL_SUCCESS;
}

aclError aclmdlRITaskGetParams(aclmdlRITask task, aclmdlRITaskParams *params)
{
    ACL_ENTRY();
    if (params == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "params is NULL");
    std::lock_guard<std::mutex> hold(capture_lock);
    Recorded *recorded;
    RETURN_IF_ERROR(find_task(task, &recorded));
    std::lock_guard<std::mutex> hold_model(recorded->lane->model->lock);
    memset(static_cast<void *>(params), 0, sizeof *params);
    const Task &shown = recorded->next_prototype != nullptr ? *recorded->next_prototype : *recorded->prototype;
    params->type = shown.task_type();
    params->taskGrp = recorded->group != nullptr ? recorded->group->handle() : nullptr;
    shown.describe(*params);
    params->opInfoPtr = recorded->op_info.empty() ? nullptr : recorded->op_info.data();
    params->opInfoSize = recorded->op_info.size();
    return ACL_SUCCESS;
}

aclError aclmdlRITaskSetParams(aclmdlRITask task, aclmdlRITaskParams *params)
{
    ACL_ENTRY();
    if (params == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "params is NULL");
    std::lock_guard<std::mutex> hold(capture_lock);
    Recorded *recorded;
    RETURN_IF_ERROR(find_task_to_change(task, &recorded));
    aclmdlRITaskType type = recorded->prototype->task_type();
    if (params->type != type || (type != ACL_MODEL_RI_TASK_KERNEL && type != ACL_MODEL_RI_TASK_VALUE_WRITE && type != ACL_MODEL_RI_TASK_VALUE_WAIT)) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "params->type is %s, the task is a %s: kernels, value writes and value waits can be changed",
                    type_name(params->type), type_name(type));
    }
    std::shared_ptr<Task> changed;
    RETURN_IF_ERROR(recorded->prototype->with_params(*params, &changed));
    recorded->next_prototype = std::move(changed);
    recorded->next_disabled = false;
    recorded->lane->model->state = Model::State::Updating;
    return ACL_SUCCESS;
}

aclError aclmdlRIKernelTaskGetAttribute(aclmdlRITask task, aclrtLaunchKernelAttrId attr_id, aclrtLaunchKernelAttrValue *attr_value)
{
    ACL_ENTRY();
    if (attr_value == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "attr_value is NULL");
    std::lock_guard<std::mutex> hold(capture_lock);
    Recorded *recorded;
    RETURN_IF_ERROR(find_task(task, &recorded));
    std::lock_guard<std::mutex> hold_model(recorded->lane->model->lock);
    if (recorded->prototype->task_type() != ACL_MODEL_RI_TASK_KERNEL) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "the task is a %s, no kernel", recorded->prototype->name());
    }
    switch (attr_id) {
    case ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE:
    case ACL_RT_LAUNCH_KERNEL_ATTR_DYN_UBUF_SIZE:
    case ACL_RT_LAUNCH_KERNEL_ATTR_DATA_DUMP:
    case ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT:
    case ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US:
    case ACL_RT_LAUNCH_KERNEL_ATTR_ENABLE_PROFILING: break;
    case ACL_RT_LAUNCH_KERNEL_ATTR_ENGINE_TYPE:
    case ACL_RT_LAUNCH_KERNEL_ATTR_BLOCKDIM_OFFSET:
    case ACL_RT_LAUNCH_KERNEL_ATTR_BLOCK_TASK_PREFETCH:
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "attribute %d cannot be asked for", static_cast<int>(attr_id));
    default: return fail(ACL_ERROR_RT_PARAM_INVALID, "attr_id is %d, not one of aclrtLaunchKernelAttrId", static_cast<int>(attr_id));
    }
    memset(static_cast<void *>(attr_value), 0, sizeof *attr_value);
    aclmdlRITaskParams params = {};
    recorded->prototype->describe(params);
    const aclrtLaunchKernelCfg *cfg = params.kernelTaskParams.cfg;
    for (size_t i = 0; cfg != nullptr && i < cfg->numAttrs; ++i) {
        if (cfg->attrs[i].id == attr_id) *attr_value = cfg->attrs[i].value;
    }
    return ACL_SUCCESS;
}

aclError aclmdlRITaskDisable(aclmdlRITask task)
{
    ACL_ENTRY();
    std::lock_guard<std::mutex> hold(capture_lock);
    Recorded *recorded;
    RETURN_IF_ERROR(find_task_to_change(task, &recorded));
    if (recorded->prototype->task_type() == ACL_MODEL_RI_TASK_DEFAULT) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "the task is a %s, which cannot be disabled", recorded->prototype->name());
    }
    recorded->next_disabled = true;
    recorded->lane->model->state = Model::State::Updating;
    return ACL_SUCCESS;
}

aclError aclmdlRIUpdate(aclmdlRI model_ri)
{
    ACL_ENTRY();
    if (model_ri == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "model_ri is NULL");
    std::lock_guard<std::mutex> hold(capture_lock);
    Model *model;
    RETURN_IF_ERROR(find_model(model_ri, &model));
    if (!model->captured || model->parent != nullptr) {
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "model %u was built, or is a branch of a conditional task: it cannot be changed", model->id);
    }
    if (model->state == Model::State::Ready) return ACL_SUCCESS;
    if (model->state != Model::State::Updating) {
        return fail(ACL_ERROR_RT_MODEL_UPDATE_FAILED, "model %u is being captured", model->id);
    }
    std::lock_guard<std::mutex> hold_model(model->lock);
    for (Lane *lane : model->lanes) {
        for (Recorded *recorded : lane->tasks) {
            if (recorded->next_prototype != nullptr) {
                recorded->prototype = std::move(recorded->next_prototype);
                recorded->disabled = false;
            }
            recorded->next_prototype = nullptr;
            if (recorded->next_disabled) recorded->disabled = true;
            recorded->next_disabled = false;
        }
    }
    model->state = Model::State::Ready;
    return ACL_SUCCESS;
}

/* ---- what the user says about tasks ---- */

namespace {

/* The task that the thread recorded last. Reports that there is none. */
aclError find_last_task(Recorded **task)
{
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    *task = Handles<Recorded>::find(t_last_recorded);
    if (*task != nullptr && (*task)->lane->model->context == context) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_INTERNAL_ERROR, "the thread recorded no task of a runtime instance in this context");
}

} // namespace

aclError aclrtCacheLastTaskOpInfo(const void *const info_ptr, const size_t info_size)
{
    ACL_ENTRY();
    constexpr size_t most = 65536;
    if (info_ptr == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "info_ptr is NULL");
    if (info_size == 0 || info_size > most) return fail(ACL_ERROR_RT_PARAM_INVALID, "info_size is %zu, not 1 to %zu", info_size, most);
    std::lock_guard<std::mutex> hold(capture_lock);
    Recorded *recorded;
    RETURN_IF_ERROR(find_last_task(&recorded));
    Model &model = *recorded->lane->model;
    const Lane *origin = model.lanes.front();
    if (!model.captured || origin->source == nullptr || origin->source->cache_op_info.load() == 0) {
        return fail(ACL_ERROR_RT_INTERNAL_ERROR, "the stream that began the capture does not have ACL_STREAM_ATTR_CACHE_OP_INFO set");
    }
    recorded->op_info.assign(static_cast<const char *>(info_ptr), info_size);
    return ACL_SUCCESS;
}

aclError aclrtCacheLastTaskExtendInfo(const char *const extend_info_ptr, const size_t info_size)
{
    ACL_ENTRY();
    constexpr size_t most = 4096; /* more is cut off */
    if (extend_info_ptr == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "extend_info_ptr is NULL");
    if (info_size == 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "info_size is 0");
    std::lock_guard<std::mutex> hold(capture_lock);
    Recorded *recorded;
    RETURN_IF_ERROR(find_last_task(&recorded));
    recorded->extend_info.assign(extend_info_ptr, std::min(info_size, most));
    return ACL_SUCCESS;
}

/* ---- printing ---- */

aclError aclmdlRIDebugPrint(aclmdlRI model_ri)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(model_ri);
    std::lock_guard<std::mutex> hold(capture_lock);
    Model *model;
    RETURN_IF_ERROR(find_own_model(model_ri, &model));
    std::lock_guard<std::mutex> hold_model(model->lock);
    for (const Lane *lane : model->lanes) {
        for (const Recorded *recorded : lane->tasks) {
            LOG(LAUNCHES, "model %u, device %d, stream %d, task %u: %s%s", model->id, model->context->device->id, lane->runner->id,
                recorded->index, recorded->prototype->name(), recorded->disabled ? " (disabled)" : "");
        }
    }
    return ACL_SUCCESS;
}

aclError aclmdlRIDebugJsonPrint(aclmdlRI model_ri, const char *path, uint32_t flags)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(model_ri);
    REQUIRE_NOT_NULL(path);
    std::string text = "[\n";
    {
        std::lock_guard<std::mutex> hold(capture_lock);
        Model *model;
        RETURN_IF_ERROR(find_own_model(model_ri, &model));
        std::lock_guard<std::mutex> hold_model(model->lock);
        for (const Lane *lane : model->lanes) {
            for (const Recorded *recorded : lane->tasks) {
                if (text.size() > 2) text += ",\n";
                text += json_of(*model, *lane, *recorded, (flags & ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE) != 0);
            }
        }
    }
    text += "\n]\n";
    FILE *file = fopen(path, "w");
    if (file == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "%s cannot be written: %s", path, strerror(errno));
    bool written = fwrite(text.data(), 1, text.size(), file) == text.size();
    written &= fclose(file) == 0;
    if (written) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s cannot be written", path);
}
