// SPDX-License-Identifier: Apache-2.0
#include "launch_function.h"

#include <cstring>

namespace ascend_cy {

namespace {

constexpr size_t most_inline = 16;

// Parameters between pointers to inline data go in one piece: appended one by one, each would start on a multiple of 8,
// which is not how a kernel reads them.
int append(aclrtArgsHandle handle, const char *bytes, size_t begin, size_t end)
{
    if (begin >= end)
        return ACL_SUCCESS;
    aclrtParamHandle parameter = nullptr;
    return ACY_CALL(aclrtKernelArgsAppend, handle, const_cast<char *>(bytes) + begin, end - begin, &parameter);
}

} // namespace

bool stream_is_gone(aclrtStream stream) noexcept
{
    QuietScope quiet;
    aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
    return ACY_CALL(aclrtStreamQuery, stream, &status) == ACL_ERROR_RT_INVALID_HANDLE;
}

// CANN before 8.5.0: the arguments go through a handle that belongs to the thread.
int launch_with_handle(aclrtFuncHandle function, uint32_t blocks, const ArgumentBlock &args, aclrtStream stream) noexcept
{
    aclrtArgsHandle handle = nullptr;
    if (const int error = ACY_CALL(aclrtKernelArgsInit, function, &handle))
        return error;
    const auto *const bytes = static_cast<const char *>(args.bytes);
    aclrtParamHandle slots[most_inline] = {};
    size_t done = 0;
    for (size_t i = 0; i < args.count; ++i) {
        const size_t slot = args.inline_data[i].slot;
        if (const int error = append(handle, bytes, done, slot))
            return error;
        if (const int error = ACY_CALL(aclrtKernelArgsAppendPlaceHolder, handle, &slots[i]))
            return error;
        done = slot + sizeof(void *);
    }
    if (const int error = append(handle, bytes, done, args.params_size))
        return error;
    for (size_t i = 0; i < args.count; ++i) {
        void *room = nullptr;
        if (const int error = ACY_CALL(aclrtKernelArgsGetPlaceHolderBuffer, handle, slots[i], args.inline_data[i].size, &room))
            return error;
        std::memcpy(room, bytes + args.inline_data[i].data, args.inline_data[i].size);
    }
    if (const int error = ACY_CALL(aclrtKernelArgsFinalize, handle))
        return error;
    return ACY_CALL(aclrtLaunchKernelWithConfig, function, blocks, stream, nullptr, handle, nullptr);
}

int launch_with_inline_data(aclrtFuncHandle function, uint32_t blocks, const ArgumentBlock &args, aclrtStream stream) noexcept
{
    aclrtPlaceHolderInfo places[most_inline];
    for (size_t i = 0; i < args.count; ++i)
        places[i] = {args.inline_data[i].slot, args.inline_data[i].data};
    return ACY_CALL(aclrtLaunchKernelWithHostArgs, function, blocks, stream, nullptr, const_cast<void *>(args.bytes), args.size,
                    places, args.count);
}

} // namespace ascend_cy
