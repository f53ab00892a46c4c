/* SPDX-License-Identifier: Apache-2.0
 *
 * Argument lists built step by step (aclrtKernelArgs*). Every parameter starts on a multiple of 8; the data of
 * placeholders stands behind all parameters, each on a multiple of 8 too.
 */
#include <algorithm>
#include <cstring>
#include <memory>
#include <set>

#include "kernel.h"
#include "memory.h"

namespace acl_cpu {
namespace {

constexpr size_t most_bytes = 64 * 1024;
constexpr uint32_t most_params = 128;
constexpr size_t param_alignment = 8;

struct ArgsList;

struct Param {
    ArgsList *list;
    uint32_t offset;
    uint32_t size;
    bool placeholder;
    bool has_data;
};

struct ArgsList {
    static constexpr Kind kind = Kind::Args;

    ArgsList(Function *of, void *of_handle, uint8_t *memory, size_t bytes)
        : function(of), function_handle(of_handle), block(memory), capacity(bytes)
    {
    }

    uint64_t magic = list_magic;
    Function *function;
    void *function_handle;
    uint8_t *block;
    size_t capacity;
    size_t params_end = 0;
    size_t data_end = 0;
    uint32_t num_params = 0;
    uint32_t num_placeholders = 0;
    bool finalized = false;
    bool has_data = false;
    Param params[most_params];
    aclrtPlaceHolderInfo placeholders[most_params];

    static constexpr uint64_t list_magic = 0x6163'6C61'7267'7331u;
};

/* The list of a thread, made again by each aclrtKernelArgsInit. */
struct ThreadList {
    ArgsList *list = nullptr;
    std::unique_ptr<uint8_t[]> block;
    ~ThreadList() { drop(); }
    void drop()
    {
        if (list != nullptr && Handles<ArgsList>::retire(list)) handles<ArgsList>().destroy(list);
        list = nullptr;
    }
};
thread_local ThreadList thread_list;

/* Lists in memory of the caller have no slot; their addresses are remembered so that others are told apart. */
std::mutex &user_lists_lock = *new std::mutex;
std::set<const void *> &user_lists = *new std::set<const void *>;

aclError find_list(void *handle, ArgsList **list)
{
    *list = Handles<ArgsList>::find(handle);
    if (LIKELY(*list != nullptr)) return ACL_SUCCESS;
    {
        std::lock_guard<std::mutex> hold(user_lists_lock);
        if (user_lists.count(handle) != 0) {
            *list = static_cast<ArgsList *>(handle);
            if ((*list)->magic == ArgsList::list_magic) return ACL_SUCCESS;
        }
    }
    return fail(ACL_ERROR_RT_INVALID_HANDLE,
                "args_handle %p is no argument list of this thread (a second aclrtKernelArgsInit ends the first)", handle);
}

aclError find_param(ArgsList &list, void *handle, Param **param)
{
    uintptr_t offset = reinterpret_cast<uintptr_t>(handle) - reinterpret_cast<uintptr_t>(list.params);
    if (offset % sizeof(Param) != 0 || offset / sizeof(Param) >= list.num_params) {
        return fail(ACL_ERROR_RT_INVALID_HANDLE, "param_handle %p is no parameter of this argument list", handle);
    }
    *param = &list.params[offset / sizeof(Param)];
    return ACL_SUCCESS;
}

aclError append(ArgsList &list, const void *bytes, size_t size, aclrtParamHandle *param_handle)
{
    if (list.finalized) return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "the argument list is finalized already");
    if (list.has_data) {
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "a placeholder buffer was taken already; append all parameters before it");
    }
    if (list.num_params == most_params) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "the argument list has %u parameters, which is the limit", most_params);
    }
    size_t offset = round_up(list.params_end, param_alignment);
    if (size > list.capacity || offset > list.capacity - size) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%zu bytes do not fit: %zu of %zu are used", size, list.params_end, list.capacity);
    }
    memset(list.block + list.params_end, 0, offset - list.params_end);
    if (bytes != nullptr) memcpy(list.block + offset, bytes, size);
    else memset(list.block + offset, 0, size);
    Param &param = list.params[list.num_params++];
    param = {&list, static_cast<uint32_t>(offset), static_cast<uint32_t>(size), bytes == nullptr, false};
    list.params_end = list.data_end = offset + size;
    *param_handle = &param;
    return ACL_SUCCESS;
}

} // namespace

aclError finished_args(void *handle, ArgsView *view)
{
    ArgsList *list;
    RETURN_IF_ERROR(find_list(handle, &list));
    if (!list->finalized) return fail(ACL_ERROR_RT_PARAM_INVALID, "the argument list is not finalized: call aclrtKernelArgsFinalize");
    *view = {list->block, list->data_end, list->params_end, list->placeholders, list->num_placeholders, list->function};
    return ACL_SUCCESS;
}

} // namespace acl_cpu

using namespace acl_cpu;

aclError aclrtKernelArgsInit(aclrtFuncHandle func_handle, aclrtArgsHandle *args_handle)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(func_handle);
    REQUIRE_NOT_NULL(args_handle);
    Function *function;
    RETURN_IF_ERROR(find_function(func_handle, &function));
    ThreadList &mine = thread_list;
    if (mine.block == nullptr) mine.block.reset(new uint8_t[most_bytes]);
    mine.drop();
    mine.list = handles<ArgsList>().create(nullptr, function, func_handle, mine.block.get(), most_bytes);
    if (mine.list == nullptr) return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "too many argument lists exist");
    *args_handle = Handles<ArgsList>::handle_of(mine.list);
    return ACL_SUCCESS;
}

aclError aclrtKernelArgsGetHandleMemSize(aclrtFuncHandle func_handle, size_t *mem_size)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(func_handle);
    REQUIRE_NOT_NULL(mem_size);
    Function *function;
    RETURN_IF_ERROR(find_function(func_handle, &function));
    *mem_size = sizeof(ArgsList);
    return ACL_SUCCESS;
}

aclError aclrtKernelArgsGetMemSize(aclrtFuncHandle func_handle, size_t user_args_size, size_t *actual_args_size)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(func_handle);
    REQUIRE_NOT_NULL(actual_args_size);
    Function *function;
    RETURN_IF_ERROR(find_function(func_handle, &function));
    if (user_args_size > most_bytes) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "user_args_size is %zu, at most %zu are possible", user_args_size, most_bytes);
    }
    *actual_args_size = round_up(user_args_size, param_alignment);
    return ACL_SUCCESS;
}

aclError aclrtKernelArgsInitByUserMem(aclrtFuncHandle func_handle, aclrtArgsHandle args_handle, void *user_host_mem,
                                      size_t actual_args_size)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(func_handle);
    REQUIRE_NOT_NULL(args_handle);
    REQUIRE_NOT_NULL(user_host_mem);
    REQUIRE(actual_args_size != 0, "actual_args_size is 0");
    REQUIRE(reinterpret_cast<uintptr_t>(args_handle) % alignof(ArgsList) == 0, "args_handle %p is not aligned to %zu", args_handle,
            alignof(ArgsList));
    Function *function;
    RETURN_IF_ERROR(find_function(func_handle, &function));
    new (args_handle) ArgsList(function, func_handle, static_cast<uint8_t *>(user_host_mem), actual_args_size);
    std::lock_guard<std::mutex> hold(user_lists_lock);
    user_lists.insert(args_handle);
    return ACL_SUCCESS;
}

aclError aclrtKernelArgsAppend(aclrtArgsHandle args_handle, void *param, size_t param_size, aclrtParamHandle *param_handle)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(args_handle);
    REQUIRE_NOT_NULL(param);
    REQUIRE_NOT_NULL(param_handle);
    REQUIRE(param_size != 0, "param_size is 0");
    ArgsList *list;
    RETURN_IF_ERROR(find_list(args_handle, &list));
    return append(*list, param, param_size, param_handle);
}

aclError aclrtKernelArgsAppendPlaceHolder(aclrtArgsHandle args_handle, aclrtParamHandle *param_handle)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(args_handle);
    REQUIRE_NOT_NULL(param_handle);
    ArgsList *list;
    RETURN_IF_ERROR(find_list(args_handle, &list));
    return append(*list, nullptr, sizeof(void *), param_handle);
}

aclError aclrtKernelArgsGetPlaceHolderBuffer(aclrtArgsHandle args_handle, aclrtParamHandle param_handle, size_t data_size,
                                             void **buffer_addr)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(args_handle);
    REQUIRE_NOT_NULL(param_handle);
    REQUIRE_NOT_NULL(buffer_addr);
    REQUIRE(data_size != 0, "data_size is 0");
    ArgsList *list;
    RETURN_IF_ERROR(find_list(args_handle, &list));
    Param *param = nullptr;
    RETURN_IF_ERROR(find_param(*list, param_handle, &param));
    if (list->finalized) return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "the argument list is finalized already");
    if (!param->placeholder) return fail(ACL_ERROR_RT_PARAM_INVALID, "param_handle is no placeholder");
    if (param->has_data) return fail(ACL_ERROR_RT_PARAM_INVALID, "the placeholder has its buffer already");
    size_t offset = round_up(list->data_end, param_alignment);
    if (data_size > list->capacity || offset > list->capacity - data_size) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%zu bytes do not fit: %zu of %zu are used", data_size, list->data_end,
                    list->capacity);
    }
    list->placeholders[list->num_placeholders++] = {param->offset, static_cast<uint32_t>(offset)};
    list->data_end = offset + data_size;
    list->has_data = param->has_data = true;
    *buffer_addr = list->block + offset;
    return ACL_SUCCESS;
}

aclError aclrtKernelArgsParaUpdate(aclrtArgsHandle args_handle, aclrtParamHandle param_handle, void *param, size_t param_size)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(args_handle);
    REQUIRE_NOT_NULL(param_handle);
    REQUIRE_NOT_NULL(param);
    REQUIRE(param_size != 0, "param_size is 0");
    ArgsList *list;
    RETURN_IF_ERROR(find_list(args_handle, &list));
    Param *target = nullptr;
    RETURN_IF_ERROR(find_param(*list, param_handle, &target));
    if (target->placeholder) return fail(ACL_ERROR_RT_PARAM_INVALID, "param_handle is a placeholder; write into its buffer");
    if (param_size != target->size) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "param_size is %zu, the parameter has %u bytes", param_size, target->size);
    }
    memcpy(list->block + target->offset, param, param_size);
    list->finalized = false;
    return ACL_SUCCESS;
}

aclError aclrtKernelArgsFinalize(aclrtArgsHandle args_handle)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(args_handle);
    ArgsList *list;
    RETURN_IF_ERROR(find_list(args_handle, &list));
    list->finalized = true;
    return ACL_SUCCESS;
}
