/* SPDX-License-Identifier: Apache-2.0
 * Kernels: loading, functions, argument lists, all forms of launch, blocks, checks of the sim target. */
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

#include "check.h"

static aclrtBinHandle binary;

static void loading(void)
{
    aclrtBinHandle handle;
    aclrtFuncHandle function;
    char name[32];
    int64_t value;
    FAILS(100000, aclrtBinaryLoadFromFile(NULL, NULL, &handle));
    FAILS(100000, aclrtBinaryLoadFromFile(kernel_path("cpu"), NULL, NULL));
    FAILS(107000, aclrtBinaryLoadFromFile("/no/such/kernel.so", NULL, &handle));
    FAILS(107000, aclrtBinaryLoadFromFile("/etc/passwd", NULL, &handle));
    FAILS(107000, aclrtBinaryLoadFromFile("/proc/self/exe", NULL, &handle)); /* ELF, but no kernels */
    aclrtBinaryLoadOption option = {0};
    aclrtBinaryLoadOptions options = {&option, 1};
    option.type = ACL_RT_BINARY_LOAD_OPT_LAZY_LOAD;
    option.value.isLazyLoad = 1;
    OK(aclrtBinaryLoadFromFile(kernel_path("cpu"), &options, &handle));
    OK(aclrtBinaryUnLoad(handle));
    option.type = ACL_RT_BINARY_LOAD_OPT_MAGIC;
    FAILS(107000, aclrtBinaryLoadFromFile(kernel_path("cpu"), &options, &handle));
    option.type = (aclrtBinaryLoadOptionType)77;
    FAILS(107000, aclrtBinaryLoadFromFile(kernel_path("cpu"), &options, &handle));
    option.type = ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE;
    FAILS(207000, aclrtBinaryLoadFromFile(kernel_path("cpu"), &options, &handle));
    options.options = NULL;
    FAILS(100000, aclrtBinaryLoadFromFile(kernel_path("cpu"), &options, &handle));

    /* from memory */
    FILE *file = fopen(kernel_path("cpu"), "rb");
    CHECK(file != NULL);
    static char image[4 << 20];
    size_t length = fread(image, 1, sizeof image, file);
    fclose(file);
    options.options = &option;
    option.type = ACL_RT_BINARY_LOAD_OPT_MAGIC;
    option.value.magic = ACL_RT_BINARY_MAGIC_ELF_AICORE;
    OK(aclrtBinaryLoadFromData(image, length, &options, &handle));
    function = kernel(handle, "vector_add");
    OK(aclrtGetFunctionName(function, sizeof name, name));
    CHECK(strcmp(name, "vector_add") == 0);
    OK(aclrtBinaryUnLoad(handle));
    FAILS(107017, aclrtBinaryUnLoad(handle));
    FAILS(107017, aclrtGetFunctionName(function, sizeof name, name));
    FAILS(107017, run(function, 1, NULL, NULL, 0));
    FAILS(107000, aclrtBinaryLoadFromData(image, 0, NULL, &handle));
    FAILS(107000, aclrtBinaryLoadFromData("no ELF at all", 13, NULL, &handle));
    FAILS(100000, aclrtBinaryLoadFromData(NULL, 10, NULL, &handle));
    aclrtBinary raw = aclrtCreateBinary(image, length);
    CHECK(raw != NULL);
    OK(aclrtBinaryLoad(raw, &handle));
    FAILS(100000, aclrtBinaryLoad(NULL, &handle));
    OK(aclrtDestroyBinary(raw));
    FAILS(100000, aclrtDestroyBinary(NULL));
    CHECK(aclrtCreateBinary(NULL, 4) == NULL);
    OK(aclrtBinaryUnLoad(handle));
    FAILS(100000, aclrtBinaryUnLoad(NULL));

    FAILS(107000, aclrtBinaryGetFunction(binary, "no_such_kernel", &function));
    FAILS(107017, aclrtBinaryGetFunction(handle, "empty", &function));
    FAILS(100000, aclrtBinaryGetFunction(NULL, "empty", &function));
    FAILS(100000, aclrtBinaryGetFunction(binary, NULL, &function));
    FAILS(100000, aclrtBinaryGetFunction(binary, "empty", NULL));
    OK(aclrtBinaryGetFunctionByEntry(binary, 2, &function));
    OK(aclrtGetFunctionName(function, sizeof name, name));
    CHECK(strcmp(name, "mixed_2") == 0);
    FAILS(107000, aclrtBinaryGetFunctionByEntry(binary, 33, &function));
    FAILS(107000, aclrtGetFunctionName(function, 3, name));
    FAILS(100000, aclrtGetFunctionName(function, 3, NULL));
    CHECK(kernel(binary, "empty") == kernel(binary, "empty"));

    OK(aclrtGetFunctionAttribute(kernel(binary, "empty"), ACL_FUNC_ATTR_KERNEL_TYPE, &value));
    CHECK(value == ACL_KERNEL_TYPE_VECTOR);
    OK(aclrtGetFunctionAttribute(kernel(binary, "mark_mix"), ACL_FUNC_ATTR_KERNEL_TYPE, &value));
    CHECK(value == ACL_KERNEL_TYPE_MIX);
    OK(aclrtGetFunctionAttribute(kernel(binary, "mark_mix"), ACL_FUNC_ATTR_KERNEL_RATIO, &value));
    CHECK(value == (1 << 16 | 2));
    OK(aclrtGetFunctionAttribute(kernel(binary, "barrier"), ACL_FUNC_ATTR_KERNEL_SCHED_MODE, &value));
    CHECK(value == 1);
    FAILS(107000, aclrtGetFunctionAttribute(kernel(binary, "empty"), (aclrtFuncAttribute)9, &value));
    FAILS(100000, aclrtGetFunctionAttribute(kernel(binary, "empty"), ACL_FUNC_ATTR_KERNEL_TYPE, NULL));
    void *cube, *vector;
    OK(aclrtGetFunctionAddr(kernel(binary, "empty"), &cube, &vector));
    CHECK(cube == NULL && vector != NULL);
    OK(aclrtFunctionGetBinary(kernel(binary, "empty"), &handle));
    CHECK(handle == binary);
    size_t count, offset, size;
    OK(aclrtFunctionGetParamCount(kernel(binary, "mixed_2"), &count));
    CHECK(count == 4);
    OK(aclrtFunctionGetParamInfo(kernel(binary, "mixed_2"), 2, &offset, &size));
    CHECK(offset == 12 && size == 4);
    FAILS(107000, aclrtFunctionGetParamInfo(kernel(binary, "mixed_2"), 4, &offset, &size));
    FAILS(107017, aclrtFunctionGetParamCount(&count, &count));
    FAILS(100000, aclrtFunctionGetParamCount(kernel(binary, "mixed_2"), NULL));
    void *table;
    OK(aclrtBinaryGetGlobal(binary, "ascend_kernel_table", &table, &size));
    CHECK(table != NULL && size == 40);
    FAILS(107042, aclrtBinaryGetGlobal(binary, "no_such_variable", &table, &size));
    FAILS(100000, aclrtBinaryGetGlobal(binary, "ascend_kernel_table", NULL, NULL));
    void *sync_area;
    OK(aclrtGetHardwareSyncAddr(&sync_area));
    CHECK(sync_area != NULL);
    FAILS(100000, aclrtGetHardwareSyncAddr(NULL));
}

static void launch_errors(void)
{
    aclrtFuncHandle add = kernel(binary, "add_value");
    struct pointer_and_value args = {NULL, 1};
    int64_t *device;
    OK(aclrtMalloc((void **)&device, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    *device = 0;
    args.p = device;
    FAILS(100000, aclrtLaunchKernelWithHostArgs(NULL, 1, NULL, NULL, &args, 16, NULL, 0));
    FAILS(100000, aclrtLaunchKernelWithHostArgs(add, 1, NULL, NULL, NULL, 16, NULL, 0));
    FAILS(100000, aclrtLaunchKernelWithHostArgs(add, 1, NULL, NULL, &args, 16, NULL, 1));
    FAILS(107000, aclrtLaunchKernelWithHostArgs(add, 0, NULL, NULL, &args, 16, NULL, 0));
    FAILS(107000, aclrtLaunchKernelWithHostArgs(add, 65536, NULL, NULL, &args, 16, NULL, 0));
    FAILS(107000, aclrtLaunchKernelWithHostArgs(add, 1, NULL, NULL, &args, 0, NULL, 0));
    CHECK(aclrtLaunchKernelWithHostArgs(add, 1, NULL, NULL, &args, 8, NULL, 0) == 107000); /* too few bytes */
    const char *text = check_message();
    CHECK(strstr(text, "add_value") != NULL && strstr(text, "16") != NULL && strstr(text, "8") != NULL);
    (void)aclrtGetLastError(ACL_RT_THREAD_LEVEL);
    FAILS(107017, aclrtLaunchKernelWithHostArgs(&args, 1, NULL, NULL, &args, 16, NULL, 0));
    FAILS(107017, aclrtLaunchKernelWithHostArgs(add, 1, &args, NULL, &args, 16, NULL, 0));
    FAILS(107017, aclrtLaunchKernelWithHostArgs(binary, 1, NULL, NULL, &args, 16, NULL, 0)); /* wrong kind */
    aclrtLaunchKernelAttr attrs[2];
    memset(attrs, 0, sizeof attrs);
    aclrtLaunchKernelCfg cfg = {attrs, 2};
    attrs[0].id = ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT;
    attrs[0].value.timeout = 1;
    attrs[1].id = ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US;
    FAILS(107000, aclrtLaunchKernelWithHostArgs(add, 1, NULL, &cfg, &args, 16, NULL, 0));
    attrs[1].id = ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE;
    attrs[1].value.schemMode = 3;
    FAILS(107000, aclrtLaunchKernelWithHostArgs(add, 1, NULL, &cfg, &args, 16, NULL, 0));
    attrs[1].value.schemMode = 1;
    OK(aclrtLaunchKernelWithHostArgs(add, 1, NULL, &cfg, &args, 16, NULL, 0));
    attrs[1].id = (aclrtLaunchKernelAttrId)55;
    FAILS(107000, aclrtLaunchKernelWithHostArgs(add, 1, NULL, &cfg, &args, 16, NULL, 0));
    cfg.attrs = NULL;
    FAILS(100000, aclrtLaunchKernelWithHostArgs(add, 1, NULL, &cfg, &args, 16, NULL, 0));
    aclrtContext context, primary;
    aclrtStream stream;
    OK(aclrtGetCurrentContext(&primary));
    OK(aclrtCtxGetCurrentDefaultStream(&stream));
    OK(aclrtCreateContext(&context, 0));
    FAILS(107003, aclrtLaunchKernelWithHostArgs(add, 1, stream, NULL, &args, 16, NULL, 0));
    OK(aclrtDestroyContext(context));
    FAILS(107002, aclrtLaunchKernelWithHostArgs(add, 1, stream, NULL, &args, 16, NULL, 0));
    OK(aclrtSetCurrentContext(primary));

    /* arguments in device memory */
    memcpy(device + 2, &args, sizeof args);
    OK(aclrtLaunchKernel(add, 1, device + 2, 16, NULL));
    OK(aclrtLaunchKernelV2(add, 1, device + 2, 16, NULL, NULL));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(*device == 3);
    FAILS(100000, aclrtLaunchKernel(NULL, 1, device, 16, NULL));
    FAILS(100000, aclrtLaunchKernel(add, 1, NULL, 16, NULL));
    FAILS(107000, aclrtLaunchKernel(add, 0, device, 16, NULL));
    FAILS(107000, aclrtLaunchKernel(add, 1, device, 0, NULL));
    FAILS(107000, aclrtLaunchKernel(add, 1, device, 15, NULL));
    FAILS(107000, aclrtLaunchKernel(add, 1, device, 1000, NULL)); /* past the end */
    FAILS(107017, aclrtLaunchKernel(device, 1, device, 16, NULL));
    FAILS(107000, aclrtLaunchKernelV2(add, 0, device, 16, NULL, NULL));

    /* args[i] points to the i-th value */
    double out = 0;
    double *where = &out;
    int32_t a = 3, b = 4;
    double c = 0.5;
    void *values[4] = {&where, &a, &b, &c};
    OK(aclrtLaunchKernelWithArgsArray(kernel(binary, "mixed_2"), 1, NULL, NULL, values));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(out == 3004.5);
    values[2] = NULL;
    FAILS(100000, aclrtLaunchKernelWithArgsArray(kernel(binary, "mixed_2"), 1, NULL, NULL, values));
    FAILS(100000, aclrtLaunchKernelWithArgsArray(kernel(binary, "mixed_2"), 1, NULL, NULL, NULL));
    FAILS(100000, aclrtLaunchKernelWithArgsArray(NULL, 1, NULL, NULL, values));
    FAILS(107000, aclrtLaunchKernelWithArgsArray(kernel(binary, "mixed_2"), 0, NULL, NULL, values));
    FAILS(107017, aclrtLaunchKernelWithArgsArray(values, 1, NULL, NULL, values));
    OK(aclrtLaunchKernelWithArgsArray(kernel(binary, "empty"), 1, NULL, NULL, NULL));
    OK(aclrtFree(device));
}

static void *other_thread(void *args)
{
    aclrtParamHandle param;
    int64_t value = 1;
    OK(aclrtSetDevice(0));
    OK(aclrtKernelArgsAppend(args, &value, 8, &param)); /* the handle works, it merely belongs to its thread */
    OK(aclrtResetDevice(0));
    return NULL;
}

static void argument_lists(void)
{
    aclrtFuncHandle add = kernel(binary, "add_value"), copy = kernel(binary, "copy_word"), empty = kernel(binary, "empty");
    aclrtArgsHandle args, older;
    aclrtParamHandle param, second;
    int64_t *device, value = 5, *data, **slot;
    size_t size, actual;
    OK(aclrtMalloc((void **)&device, 16, ACL_MEM_MALLOC_HUGE_FIRST));
    device[0] = device[1] = 0;
    OK(aclrtKernelArgsInit(add, &older));
    OK(aclrtKernelArgsInit(add, &args));
    FAILS(107017, aclrtKernelArgsAppend(older, &device, 8, &param)); /* one list for each thread */
    FAILS(107017, aclrtKernelArgsInit(&value, &args));
    FAILS(100000, aclrtKernelArgsInit(NULL, &args));
    FAILS(100000, aclrtKernelArgsInit(add, NULL));
    FAILS(100000, aclrtKernelArgsAppend(NULL, &device, 8, &param));
    FAILS(100000, aclrtKernelArgsAppend(args, NULL, 8, &param));
    FAILS(100000, aclrtKernelArgsAppend(args, &device, 0, &param));
    FAILS(100000, aclrtKernelArgsAppend(args, &device, 8, NULL));
    FAILS(107017, aclrtKernelArgsFinalize(&value));
    OK(aclrtKernelArgsAppend(args, &device, 8, &param));
    OK(aclrtKernelArgsAppend(args, &value, 8, &second));
    FAILS(107000, aclrtLaunchKernelWithConfig(add, 1, NULL, NULL, args, NULL)); /* not finalized */
    OK(aclrtKernelArgsFinalize(args));
    FAILS(207000, aclrtKernelArgsAppend(args, &value, 8, &param));
    FAILS(100000, aclrtLaunchKernelWithConfig(add, 0, NULL, NULL, args, NULL));
    FAILS(100000, aclrtLaunchKernelWithConfig(NULL, 1, NULL, NULL, args, NULL));
    FAILS(100000, aclrtLaunchKernelWithConfig(add, 1, NULL, NULL, NULL, NULL));
    FAILS(100000, aclrtLaunchKernelWithConfig(add, 1, NULL, NULL, args, args));
    OK(aclrtLaunchKernelWithConfig(add, 1, NULL, NULL, args, NULL));
    value = 100;
    FAILS(107000, aclrtKernelArgsParaUpdate(args, second, &value, 4));
    FAILS(107017, aclrtKernelArgsParaUpdate(args, &value, &value, 8));
    OK(aclrtKernelArgsParaUpdate(args, second, &value, 8));
    FAILS(107000, aclrtLaunchKernelWithConfig(add, 1, NULL, NULL, args, NULL)); /* finalize again */
    OK(aclrtKernelArgsFinalize(args));
    OK(aclrtLaunchKernelWithConfig(add, 1, NULL, NULL, args, NULL));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(device[0] == 105);

    /* small values lie 8 bytes apart, unlike the compiler's layout of neighbours */
    double out = 0, *where = &out, c = 0.25;
    int32_t a = 7, b = 9;
    OK(aclrtKernelArgsInit(kernel(binary, "mixed_2"), &args));
    OK(aclrtKernelArgsAppend(args, &where, 8, &param));
    OK(aclrtKernelArgsAppend(args, &a, 4, &param));
    OK(aclrtKernelArgsAppend(args, &b, 4, &param));
    OK(aclrtKernelArgsAppend(args, &c, 8, &param));
    OK(aclrtKernelArgsFinalize(args));
    OK(aclrtLaunchKernelWithConfig(kernel(binary, "mixed_2"), 1, NULL, NULL, args, NULL));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(out != 7009.25);
    int32_t both[2] = {7, 9}; /* as one piece they are right */
    OK(aclrtKernelArgsInit(kernel(binary, "mixed_2"), &args));
    OK(aclrtKernelArgsAppend(args, &where, 8, &param));
    OK(aclrtKernelArgsAppend(args, both, 8, &param));
    OK(aclrtKernelArgsAppend(args, &c, 8, &param));
    OK(aclrtKernelArgsFinalize(args));
    OK(aclrtLaunchKernelWithConfig(kernel(binary, "mixed_2"), 1, NULL, NULL, args, NULL));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(out == 7009.25);

    /* placeholders */
    OK(aclrtKernelArgsInit(copy, &args));
    OK(aclrtKernelArgsAppend(args, &device, 8, &param));
    OK(aclrtKernelArgsAppendPlaceHolder(args, &second));
    FAILS(107000, aclrtKernelArgsGetPlaceHolderBuffer(args, param, 8, (void **)&data));
    FAILS(107017, aclrtKernelArgsGetPlaceHolderBuffer(args, &value, 8, (void **)&data));
    FAILS(100000, aclrtKernelArgsGetPlaceHolderBuffer(args, second, 0, (void **)&data));
    FAILS(100000, aclrtKernelArgsGetPlaceHolderBuffer(args, second, 8, NULL));
    OK(aclrtKernelArgsGetPlaceHolderBuffer(args, second, 8, (void **)&data));
    FAILS(107000, aclrtKernelArgsGetPlaceHolderBuffer(args, second, 8, (void **)&slot));
    FAILS(207000, aclrtKernelArgsAppend(args, &value, 8, &param));
    FAILS(207000, aclrtKernelArgsAppendPlaceHolder(args, &param));
    FAILS(107000, aclrtKernelArgsParaUpdate(args, second, &value, 8));
    *data = 4711;
    OK(aclrtKernelArgsFinalize(args));
    FAILS(207000, aclrtKernelArgsGetPlaceHolderBuffer(args, second, 8, (void **)&slot));
    OK(aclrtLaunchKernelWithConfig(copy, 1, NULL, NULL, args, NULL));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(device[0] == 4711);
    /* also behind other work, where the block is kept */
    *data = 4712;
    OK(run_with(kernel(binary, "sleep_us"), 1, NULL, NULL, 5000));
    OK(aclrtLaunchKernelWithConfig(copy, 1, NULL, NULL, args, NULL));
    *data = 0;
    OK(aclrtSynchronizeStream(NULL));
    CHECK(device[0] == 4712);
    struct {
        void *out;
        int64_t *data;
        int64_t word;
    } block = {device + 1, NULL, 99};
    aclrtPlaceHolderInfo info = {8, 16};
    OK(aclrtLaunchKernelWithHostArgs(copy, 1, NULL, NULL, &block, sizeof block, &info, 1));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(device[1] == 99 && block.data == NULL); /* the caller's block is not touched */
    info.addrOffset = 20;
    FAILS(107000, aclrtLaunchKernelWithHostArgs(copy, 1, NULL, NULL, &block, sizeof block, &info, 1));
    info.addrOffset = 8;
    info.dataOffset = 24;
    FAILS(107000, aclrtLaunchKernelWithHostArgs(copy, 1, NULL, NULL, &block, sizeof block, &info, 1));

    /* limits */
    OK(aclrtKernelArgsInit(empty, &args));
    for (int i = 0; i < 128; ++i) OK(aclrtKernelArgsAppend(args, &value, 8, &param));
    FAILS(107000, aclrtKernelArgsAppend(args, &value, 8, &param));
    static char much[70000];
    OK(aclrtKernelArgsInit(empty, &args));
    FAILS(107000, aclrtKernelArgsAppend(args, much, sizeof much, &param));
    OK(aclrtKernelArgsAppend(args, much, 60000, &param));
    FAILS(107000, aclrtKernelArgsAppend(args, much, 6000, &param));
    pthread_t thread;
    pthread_create(&thread, NULL, other_thread, args);
    pthread_join(thread, NULL);

    /* in the caller's memory */
    OK(aclrtKernelArgsGetHandleMemSize(add, &size));
    OK(aclrtKernelArgsGetMemSize(add, 16, &actual));
    CHECK(actual == 16);
    OK(aclrtKernelArgsGetMemSize(add, 17, &actual));
    CHECK(actual == 24);
    FAILS(107000, aclrtKernelArgsGetMemSize(add, 1 << 20, &actual));
    FAILS(100000, aclrtKernelArgsGetMemSize(add, 16, NULL));
    FAILS(100000, aclrtKernelArgsGetHandleMemSize(NULL, &size));
    void *handle_memory = malloc(size);
    char host_memory[24];
    FAILS(100000, aclrtKernelArgsInitByUserMem(add, handle_memory, NULL, 24));
    FAILS(100000, aclrtKernelArgsInitByUserMem(add, handle_memory, host_memory, 0));
    OK(aclrtKernelArgsInitByUserMem(add, handle_memory, host_memory, 24));
    device[0] = 0;
    value = 8;
    OK(aclrtKernelArgsAppend(handle_memory, &device, 8, &param));
    OK(aclrtKernelArgsAppend(handle_memory, &value, 8, &param));
    OK(aclrtKernelArgsAppend(handle_memory, &value, 8, &param));
    FAILS(107000, aclrtKernelArgsAppend(handle_memory, &value, 8, &param));
    OK(aclrtKernelArgsFinalize(handle_memory));
    OK(aclrtLaunchKernelWithConfig(add, 1, NULL, NULL, handle_memory, NULL));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(device[0] == 8);
    free(handle_memory);
    OK(aclrtFree(device));
}

static void blocks(void)
{
    enum { most = 65535 };
    aclrtFuncHandle mark = kernel(binary, "mark"), mix = kernel(binary, "mark_mix");
    int64_t *marks;
    OK(aclrtMalloc((void **)&marks, sizeof(int64_t) * most, ACL_MEM_MALLOC_HUGE_FIRST));
    for (int i = 0; i < 4; ++i) {
        static const uint32_t counts[4] = {1, 3, 1000, most};
        OK(aclrtMemset(marks, sizeof(int64_t) * most, 0, sizeof(int64_t) * most));
        OK(run(mark, counts[i], NULL, &marks, 8));
        OK(aclrtSynchronizeStream(NULL));
        int wrong = 0;
        for (uint32_t b = 0; b < most; ++b) wrong += marks[b] != (b < counts[i] ? counts[i] : 0);
        CHECK(wrong == 0); /* every block once, with its index and the number of blocks */
    }
    OK(aclrtMemset(marks, 800, 0, 800));
    OK(run(mix, 5, NULL, &marks, 8)); /* three instances a block */
    OK(aclrtSynchronizeStream(NULL));
    for (int b = 0; b < 16; ++b) CHECK(marks[b] == (b < 15 ? 5 : 0));
    OK(aclrtFree(marks));

    /* blocks that wait for each other, more of them than CPUs; two such kernels at once */
    aclrtFuncHandle barrier = kernel(binary, "barrier");
    int64_t *counts[2];
    aclrtStream streams[2];
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 2; ++i) {
            OK(aclrtCreateStream(&streams[i]));
            OK(aclrtMalloc((void **)&counts[i], 8, ACL_MEM_MALLOC_HUGE_FIRST));
            *counts[i] = 0;
            OK(run(barrier, 33, streams[i], &counts[i], 8));
        }
        for (int i = 0; i < 2; ++i) {
            OK(aclrtDestroyStream(streams[i]));
            CHECK(*counts[i] == 33);
            OK(aclrtFree(counts[i]));
        }
    }
    FAILS(107000, run(barrier, 1025, NULL, &marks, 8));
}

static void running_time(void)
{
    aclrtFuncHandle sleeper = kernel(binary, "sleep_us");
    struct pointer_and_value args = {NULL, 500000};
    aclrtLaunchKernelAttr attr;
    memset(&attr, 0, sizeof attr);
    aclrtLaunchKernelCfg cfg = {&attr, 1};
    attr.id = ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US;
    attr.value.timeoutUs.timeoutLow = 30000;
    double start = seconds();
    OK(aclrtLaunchKernelWithHostArgs(sleeper, 1, NULL, &cfg, &args, sizeof args, NULL, 0));
    FAILS(507034, aclrtSynchronizeStream(NULL));
    IN_TIME(seconds() - start < 0.3);
    args.value = 1000;
    OK(aclrtLaunchKernelWithHostArgs(sleeper, 1, NULL, &cfg, &args, sizeof args, NULL, 0));
    OK(aclrtSynchronizeStream(NULL));
    args.value = 500000;
    OK(aclrtSetOpExecuteTimeOutWithMs(20));
    OK(run(sleeper, 2, NULL, &args, sizeof args));
    FAILS(507034, aclrtSynchronizeStream(NULL));
    OK(aclrtSetOpExecuteTimeOutWithMs(0));
}

/* A binary for sim has its pointers checked, whatever the device's own target. */
static void checked_pointers(void)
{
    aclrtBinHandle sim;
    OK(aclrtBinaryLoadFromFile(kernel_path("sim"), NULL, &sim));
    aclrtFuncHandle add = kernel(sim, "add_value"), where = kernel(sim, "where"), copy = kernel(sim, "copy_word");
    int64_t *device, *info, on_stack = 0;
    OK(aclrtMalloc((void **)&device, 100, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc((void **)&info, 16, ACL_MEM_MALLOC_HUGE_FIRST));
    *device = 0;
    OK(run_with(add, 1, NULL, device, 3));
    OK(run_with(add, 1, NULL, device + 2, 3)); /* inside an allocation */
    CHECK(run_with(add, 1, NULL, &on_stack, 3) == 107000);
    char address[32];
    snprintf(address, sizeof address, "%p", (void *)&on_stack);
    const char *text = check_message();
    CHECK(strstr(text, "add_value") != NULL && strstr(text, "(p)") != NULL && strstr(text, address) != NULL);
    (void)aclrtGetLastError(ACL_RT_THREAD_LEVEL);
    void *host;
    OK(aclrtMallocHost(&host, 64));
    FAILS(107000, run_with(add, 1, NULL, host, 3));
    OK(aclrtFreeHost(host));
    /* find_allocation: size as asked for; nothing behind the memory */
    struct {
        void *asked;
        int64_t *base, *size;
    } args = {(char *)device + 99, info, info + 1};
    OK(run(where, 1, NULL, &args, sizeof args));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(info[0] == (int64_t)device && info[1] == 100);
    args.asked = &on_stack;
    OK(run(where, 1, NULL, &args, sizeof args));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(info[0] == 0);
    /* placeholders are exempt, and their data can be found */
    struct {
        int64_t *out, *data, word;
    } block = {device, NULL, 31};
    aclrtPlaceHolderInfo placeholder = {8, 16};
    OK(aclrtLaunchKernelWithHostArgs(copy, 1, NULL, NULL, &block, sizeof block, &placeholder, 1));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(*device == 31);
    /* arguments in device memory are looked at when the kernel starts */
    struct pointer_and_value bad = {&on_stack, 1};
    memcpy(device + 1, &bad, sizeof bad);
    OK(aclrtLaunchKernel(add, 1, device + 1, 16, NULL));
    FAILS(507015, aclrtSynchronizeStream(NULL));
    FAILS(107000, aclrtLaunchKernel(add, 1, &bad, 16, NULL));
    OK(aclrtFree(info));
    int64_t *freed = device;
    OK(aclrtFree(device));
    FAILS(107000, run_with(add, 1, NULL, freed, 3));
    OK(aclrtBinaryUnLoad(sim));
}

/* Unloading waits for what still runs. */
static void unloading(void)
{
    aclrtBinHandle handle;
    int64_t *word;
    OK(aclrtMalloc((void **)&word, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    *word = 0;
    OK(aclrtBinaryLoadFromFile(kernel_path("sim"), NULL, &handle));
    OK(run_with(kernel(handle, "sleep_us"), 3, NULL, word, 20000));
    OK(aclrtBinaryUnLoad(handle));
    CHECK(*word == 3);
    OK(aclrtFree(word));
}

/* Kernels of the cpu target take any pointer, those of sim do not: tells which of the two was loaded. */
static int is_sim(aclrtBinHandle handle)
{
    static int64_t word;
    aclError error = run_with(kernel(handle, "add_value"), 1, NULL, &word, 1);
    OK(aclrtSynchronizeStream(NULL));
    if (error == ACL_SUCCESS) return 0;
    CHECK(error == 107000);
    aclGetRecentErrMsg();
    aclrtGetLastError(ACL_RT_THREAD_LEVEL);
    return 1;
}

static size_t read_file(const char *path, char *image, size_t size)
{
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    size_t length = fread(image, 1, size, file);
    fclose(file);
    return length;
}

static void write_file(const char *path, const char *image, size_t size)
{
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(image, 1, size, file) == size);
    fclose(file);
}

static int open_files(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder) != NULL) ++count;
    closedir(folder);
    return count;
}

static int mappings(void)
{
    int count = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    for (int c = getc(file); c != EOF; c = getc(file)) count += c == '\n';
    fclose(file);
    return count;
}

/* Each image and each file gives its own kernels, whatever was loaded before; loading without end takes nothing. */
static void reloading(void)
{
    static char cpu[4 << 20], sim[4 << 20];
    size_t cpu_size = read_file(kernel_path("cpu"), cpu, sizeof cpu);
    size_t sim_size = read_file(kernel_path("sim"), sim, sizeof sim);
    aclrtBinHandle first, second;
    OK(aclrtBinaryLoadFromData(cpu, cpu_size, NULL, &first));
    OK(aclrtBinaryLoadFromData(sim, sim_size, NULL, &second));
    CHECK(!is_sim(first) && is_sim(second));
    OK(aclrtBinaryUnLoad(first));
    OK(aclrtBinaryLoadFromData(sim, sim_size, NULL, &first));
    CHECK(is_sim(first) && is_sim(second));
    OK(aclrtBinaryUnLoad(first));
    OK(aclrtBinaryUnLoad(second));

    /* a file that is replaced while the one before is loaded */
    char path[4096], next[4096];
    snprintf(path, sizeof path, "%s", kernel_path("replaced"));
    snprintf(next, sizeof next, "%s", kernel_path("next"));
    write_file(path, cpu, cpu_size);
    OK(aclrtBinaryLoadFromFile(path, NULL, &first));
    write_file(next, sim, sim_size);
    CHECK(rename(next, path) == 0);
    OK(aclrtBinaryLoadFromFile(path, NULL, &second));
    CHECK(!is_sim(first) && is_sim(second));
    OK(aclrtBinaryUnLoad(first));
    OK(aclrtBinaryLoadFromFile(path, NULL, &first));
    CHECK(is_sim(first));
    OK(aclrtBinaryUnLoad(first));
    OK(aclrtBinaryUnLoad(second));
    unlink(path);

    int files = 0, maps = 0;
    size_t heap = 0;
    for (int round = 0; round < 600; ++round) {
        OK(aclrtBinaryLoadFromData(cpu, cpu_size, NULL, &first));
        OK(aclrtBinaryLoadFromFile(kernel_path("sim"), NULL, &second));
        CHECK(!is_sim(first) && is_sim(second));
        OK(aclrtBinaryUnLoad(second));
        OK(aclrtBinaryUnLoad(first));
        if (round != 299) continue; /* pools and lists have their size */
        files = open_files();
        maps = mappings();
        heap = mallinfo2().uordblks;
    }
    CHECK(open_files() == files);
    CHECK(mappings() <= maps + 2); /* the allocator's own */
    size_t grown = mallinfo2().uordblks > heap ? mallinfo2().uordblks - heap : 0;
    if (grown > 4096) printf("300 rounds of loading and unloading left %zu bytes\n", grown);
    CHECK(grown <= 4096);
}

int main(void)
{
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtBinaryLoadFromFile(kernel_path("cpu"), NULL, &binary));
    loading();
    launch_errors();
    argument_lists();
    blocks();
    running_time();
    checked_pointers();
    unloading();
    reloading();
    OK(run(kernel(binary, "say"), 2, NULL, NULL, 0));
    OK(aclrtSynchronizeStream(NULL));
    OK(aclrtBinaryUnLoad(binary));
    OK(aclrtResetDeviceForce(0));
    OK(aclFinalize());
    return check_result("kernel");
}
