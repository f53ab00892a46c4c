/* SPDX-License-Identifier: Apache-2.0
 * The whole way once: allocate, upload, launch, download; asynchrony and overlap of streams. */
#include "check.h"

static void vector_addition(aclrtBinHandle binary)
{
    enum { count = 100003 };
    float *x, *y, *out, *dx, *dy, *dout;
    aclrtStream stream;
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost((void **)&x, sizeof(float) * count));
    OK(aclrtMallocHost((void **)&y, sizeof(float) * count));
    OK(aclrtMallocHost((void **)&out, sizeof(float) * count));
    OK(aclrtMalloc((void **)&dx, sizeof(float) * count, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc((void **)&dy, sizeof(float) * count, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc((void **)&dout, sizeof(float) * count, ACL_MEM_MALLOC_HUGE_FIRST));
    for (int i = 0; i < count; ++i) {
        x[i] = (float)i;
        y[i] = 0.5f * (float)i;
    }
    OK(aclrtMemcpyAsync(dx, sizeof(float) * count, x, sizeof(float) * count, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    OK(aclrtMemcpyAsync(dy, sizeof(float) * count, y, sizeof(float) * count, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    struct {
        float *x, *y, *out;
        int64_t count;
    } args = {dx, dy, dout, count};
    OK(run(kernel(binary, "vector_add"), 7, stream, &args, sizeof args));
    OK(aclrtMemcpyAsync(out, sizeof(float) * count, dout, sizeof(float) * count, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    OK(aclrtSynchronizeStream(stream));
    int wrong = 0;
    for (int i = 0; i < count; ++i) wrong += out[i] != 1.5f * (float)i;
    CHECK(wrong == 0);
    OK(aclrtFree(dx));
    OK(aclrtFree(dy));
    OK(aclrtFree(dout));
    OK(aclrtFreeHost(x));
    OK(aclrtFreeHost(y));
    OK(aclrtFreeHost(out));
    OK(aclrtDestroyStream(stream));
}

static void asynchrony(aclrtBinHandle binary)
{
    aclrtFuncHandle sleeper = kernel(binary, "sleep_us");
    aclrtStream first, second;
    OK(aclrtCreateStream(&first));
    OK(aclrtCreateStream(&second));
    double start = seconds();
    OK(run_with(sleeper, 1, first, NULL, 150000));
    IN_TIME(seconds() - start < 0.05);
    aclrtStreamStatus status;
    OK(aclrtStreamQuery(first, &status));
    CHECK(status == ACL_STREAM_STATUS_NOT_READY);
    OK(run_with(sleeper, 1, second, NULL, 150000));
    OK(aclrtSynchronizeStream(first));
    OK(aclrtSynchronizeStream(second));
    double both = seconds() - start;
    CHECK(both >= 0.15);
    IN_TIME(both < 0.28);
    OK(aclrtStreamQuery(first, &status));
    CHECK(status == ACL_STREAM_STATUS_COMPLETE);
    OK(aclrtDestroyStream(first));
    OK(aclrtDestroyStream(second));
}

static void events(aclrtBinHandle binary)
{
    aclrtStream stream;
    aclrtEvent start, end;
    float ms = 0;
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateEventExWithFlag(&start, ACL_EVENT_TIME_LINE | ACL_EVENT_SYNC));
    OK(aclrtCreateEvent(&end));
    OK(aclrtRecordEvent(start, stream));
    OK(run_with(kernel(binary, "sleep_us"), 1, stream, NULL, 20000));
    OK(aclrtRecordEvent(end, stream));
    OK(aclrtSynchronizeEvent(end));
    OK(aclrtEventElapsedTime(&ms, start, end));
    CHECK(ms >= 20);
    IN_TIME(ms < 120);
    OK(aclrtDestroyEvent(start));
    OK(aclrtDestroyEvent(end));
    OK(aclrtDestroyStream(stream));
}

static void set_flag(void *flag) { *(volatile int *)flag = 1; }

static void host_function(aclrtBinHandle binary)
{
    aclrtStream stream;
    volatile int flag = 0;
    OK(aclrtCreateStream(&stream));
    OK(run_with(kernel(binary, "sleep_us"), 1, stream, NULL, 10000));
    OK(aclrtLaunchHostFunc(stream, set_flag, (void *)&flag));
    CHECK(flag == 0);
    OK(aclrtSynchronizeStream(stream));
    CHECK(flag == 1);
    OK(aclrtDestroyStream(stream));
}

static void failing_kernel(aclrtBinHandle binary)
{
    aclrtStream stream;
    OK(aclrtCreateStream(&stream));
    OK(run(kernel(binary, "trap"), 4, stream, NULL, 0));
    FAILS(507015, aclrtSynchronizeStream(stream));
    OK(aclrtSynchronizeStream(stream));
    OK(run(kernel(binary, "trap_tiny"), 1, stream, NULL, 0));
    CHECK(aclrtSynchronizeStream(stream) == 507015);
    CHECK(strstr(check_message(), "deliberate trap") != NULL);
    OK(aclrtDestroyStream(stream));
}

static void waiting_blocks(aclrtBinHandle binary)
{
    int64_t *count;
    OK(aclrtMalloc((void **)&count, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(count, 8, 0, 8));
    OK(run(kernel(binary, "barrier"), 20, NULL, &count, 8));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(*count == 20);
    OK(aclrtFree(count));
}

int main(void)
{
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    aclrtBinHandle binary = NULL;
    OK(aclrtBinaryLoadFromFile(kernel_path("cpu"), NULL, &binary));
    vector_addition(binary);
    asynchrony(binary);
    events(binary);
    host_function(binary);
    failing_kernel(binary);
    waiting_blocks(binary);
    OK(aclrtBinaryUnLoad(binary));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    return check_result("smoke");
}
