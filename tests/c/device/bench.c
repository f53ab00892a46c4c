/* SPDX-License-Identifier: Apache-2.0
 * What calls cost on an idle stream, and kernels of a few microseconds: the best of many short runs, since the machine
 * may be busy. bench [REPETITIONS] */
#include "check.h"

static int repetitions = 300;

#define BENCH(label, runs, call)                                                    \
    do {                                                                            \
        double best = 1e9;                                                          \
        for (int repetition = 0; repetition < repetitions; ++repetition) {          \
            double begin = seconds();                                               \
            for (int run_number = 0; run_number < (runs); ++run_number) { call; }   \
            double each = (seconds() - begin) / (runs) * 1e9;                       \
            if (each < best) best = each;                                           \
        }                                                                           \
        printf("%-48s %10.1f ns\n", label, best);                                   \
    } while (0)

int main(int argc, char **argv)
{
    if (argc > 1) repetitions = atoi(argv[1]);
    aclrtBinHandle binary;
    aclrtStream stream;
    aclrtEvent plain, timed;
    void *device, *pinned, *other;
    uint64_t args[8] = {0};
    int32_t id;
    aclrtStreamStatus status;
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtBinaryLoadFromFile(kernel_path("cpu"), NULL, &binary));
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateEventExWithFlag(&plain, ACL_EVENT_SYNC));
    OK(aclrtCreateEventExWithFlag(&timed, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
    OK(aclrtMalloc(&device, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMallocHost(&pinned, 4096));
    aclrtFuncHandle empty = kernel(binary, "empty"), spin = kernel(binary, "spin_us");
    enum { n = 20000 };
    BENCH("clock_gettime", n, seconds());
    BENCH("aclrtGetDevice", n, aclrtGetDevice(&id));
    BENCH("aclrtLaunchKernelWithHostArgs, empty kernel", n,
          aclrtLaunchKernelWithHostArgs(empty, 1, stream, NULL, args, sizeof args, NULL, 0));
    BENCH("the same, 4 blocks", n, aclrtLaunchKernelWithHostArgs(empty, 4, stream, NULL, args, sizeof args, NULL, 0));
    BENCH("aclrtSynchronizeStream", n, aclrtSynchronizeStream(stream));
    BENCH("aclrtSynchronizeStream, default stream", n, aclrtSynchronizeStream(NULL));
    BENCH("aclrtStreamQuery", n, aclrtStreamQuery(stream, &status));
    BENCH("aclrtRecordEvent", n, aclrtRecordEvent(plain, stream));
    BENCH("aclrtRecordEvent with time", n, aclrtRecordEvent(timed, stream));
    BENCH("aclrtStreamWaitEvent, complete", n, aclrtStreamWaitEvent(stream, plain));
    BENCH("aclrtMemcpyAsync, 64 pinned bytes", n,
          aclrtMemcpyAsync(device, 64, pinned, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    BENCH("aclrtMemsetAsync, 64 bytes", n, aclrtMemsetAsync(device, 64, 0, 64, stream));
    BENCH("aclrtMemcpy, 64 bytes", n, aclrtMemcpy(device, 64, pinned, 64, ACL_MEMCPY_HOST_TO_DEVICE));
    BENCH("aclrtMalloc and aclrtFree, 4 KiB", 2000, (aclrtMalloc(&other, 4096, ACL_MEM_MALLOC_HUGE_FIRST), aclrtFree(other)));
    for (int kernels = 1; kernels <= 100; kernels *= 10) {
        char label[64];
        aclmdlRI model;
        OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
        for (int i = 0; i < kernels; ++i) OK(run(empty, 1, stream, args, sizeof args));
        OK(aclmdlRICaptureEnd(stream, &model));
        snprintf(label, sizeof label, "execute and synchronize %d captured kernels", kernels);
        BENCH(label, 200, (aclmdlRIExecuteAsync(model, stream), aclrtSynchronizeStream(stream)));
        OK(aclmdlRIDestroy(model));
    }
    static const int lengths[] = {1, 15, 33, 100};
    for (int i = 0; i < 4; ++i) {
        for (uint32_t blocks = 1; blocks <= 2; ++blocks) {
            char label[64];
            snprintf(label, sizeof label, "launch and synchronize %u x %d us", blocks, lengths[i]);
            BENCH(label, 20, (run_with(spin, blocks, stream, NULL, lengths[i]), aclrtSynchronizeStream(stream)));
        }
    }
    return 0;
}
