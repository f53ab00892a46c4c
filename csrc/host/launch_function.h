// SPDX-License-Identifier: Apache-2.0
//
// One launch of a function handle, whatever forms of it the device library has.
#ifndef ASCEND_CY_HOST_LAUNCH_FUNCTION_H
#define ASCEND_CY_HOST_LAUNCH_FUNCTION_H

#include "ascend_cy/module.h"
#include "errors.h"

namespace ascend_cy {

// An argument block: `params_size` bytes of parameters, then the data that pointers among them are set to.
struct ArgumentBlock {
    const void *bytes;
    size_t params_size;
    size_t size;
    const ascend_cy_inline_data_t *inline_data;
    size_t count;
};

// Whether the stream is what a launch found to be gone: then the function need not be loaded anew.
[[gnu::cold]] bool stream_is_gone(aclrtStream stream) noexcept;

[[gnu::noinline]] int launch_with_handle(aclrtFuncHandle function, uint32_t blocks, const ArgumentBlock &args,
                                         aclrtStream stream) noexcept;
[[gnu::noinline]] int launch_with_inline_data(aclrtFuncHandle function, uint32_t blocks, const ArgumentBlock &args,
                                              aclrtStream stream) noexcept;

inline int launch_function(aclrtFuncHandle function, uint32_t blocks, const ArgumentBlock &args, aclrtStream stream) noexcept
{
    if (__builtin_expect(!device_has[ASCEND_CY_ACL_INDEX_aclrtLaunchKernelWithHostArgs], 0))
        return launch_with_handle(function, blocks, args, stream);
    if (__builtin_expect(args.count != 0, 0))
        return launch_with_inline_data(function, blocks, args, stream);
    return ACY_CALL(aclrtLaunchKernelWithHostArgs, function, blocks, stream, nullptr, const_cast<void *>(args.bytes),
                    args.params_size, nullptr, 0);
}

} // namespace ascend_cy

#endif
