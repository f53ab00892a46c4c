/* SPDX-License-Identifier: Apache-2.0
 *
 * The host functions by which the official client programs launch kernels. The vendor's compiler makes them from
 * `<<<>>>`; here each launches a kernel of kernels.cpp through AscendCL on the stream given. KERNEL_BINARY is the
 * path of that kernel binary.
 */
#include <cstdio>
#include <mutex>

#include "acl/acl.h"
#include "arguments.h"

namespace {

using namespace official_programs;

aclError find(const char *name, aclrtFuncHandle *function)
{
    static std::mutex lock;
    static aclrtBinHandle binary = nullptr;
    std::lock_guard<std::mutex> hold(lock);
    /* A binary does not outlive aclFinalize, which some programs call in between. */
    if (binary != nullptr && aclrtBinaryGetFunction(binary, name, function) == ACL_SUCCESS) return ACL_SUCCESS;
    const aclError error = aclrtBinaryLoadFromFile(KERNEL_BINARY, nullptr, &binary);
    if (error != ACL_SUCCESS) return error;
    return aclrtBinaryGetFunction(binary, name, function);
}

template <class Arguments> aclError launch(const char *name, uint32_t blocks, void *stream, Arguments arguments)
{
    aclrtFuncHandle function = nullptr;
    aclError error = find(name, &function);
    if (error == ACL_SUCCESS) {
        error = aclrtLaunchKernelWithHostArgs(function, blocks, stream, nullptr, &arguments, sizeof arguments, nullptr, 0);
    }
    if (error != ACL_SUCCESS) fprintf(stderr, "[ERROR] the launch of %s failed with %d\n", name, static_cast<int>(error));
    return error;
}

/* AscendCL takes no launch without an argument block. */
struct Nothing { uint64_t unused; };

/* Programs drop a stream's work right behind a kernel that prints, and expect to see its text. */
void wait_for_text(void *stream) { (void)aclrtSynchronizeStream(stream); }

} // namespace

void EasyOP(uint32_t blocks, void *stream, uint32_t *x) { launch("EasyOPf", blocks, stream, Words{x}); }
void LongOP(uint32_t blocks, void *stream, uint32_t *x) { launch("LongOPf", blocks, stream, Words{x}); }
void ShortOP(uint32_t blocks, void *stream, uint32_t *x) { launch("ShortOPf", blocks, stream, Words{x}); }
void ErrorOP(uint32_t blocks, void *stream) { launch("ErrorOPf", blocks, stream, Nothing{}); }

void WriteDo(uint32_t blocks, void *stream, int *x, int value)
{
    launch("DeviceWrite", blocks, stream, WordAndValue{x, value});
    wait_for_text(stream);
}

void ReadDo(uint32_t blocks, void *stream, int *x)
{
    launch("DeviceRead", blocks, stream, ReadOnly{x});
    wait_for_text(stream);
}

void PrintDo(uint32_t blocks, void *stream)
{
    launch("KernelPrint", blocks, stream, Nothing{});
    wait_for_text(stream);
}

void AddDo(uint32_t blocks, void *stream, float *x, float *y, float *out, uint32_t count)
{
    launch("AddKernel", blocks, stream, AddFloats{x, y, out, count});
}

int32_t VectorAddDo(uint32_t blocks, void *stream, float *x, float *y, float *out, float alpha, uint32_t count)
{
    return launch("VectorAddKernel", blocks, stream, AddScaled{x, y, out, alpha, count});
}
