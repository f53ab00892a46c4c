/* SPDX-License-Identifier: Apache-2.0
 * Where time goes: emulated links, overlap, idle CPU. Bounds are wide, since the machine may be busy. */
#include <sys/resource.h>

#include "check.h"

static aclrtBinHandle binary;

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* After work was done, with streams, events and a pending wait alive, the library costs nothing. */
static void idle(void)
{
    aclrtStream stream;
    aclrtNotify notify;
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateNotify(&notify, 0));
    for (int i = 0; i < 50; ++i) OK(run_with(kernel(binary, "spin_us"), 4, stream, NULL, 100));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtWaitAndResetNotify(notify, stream, 0));
    usleep(200000); /* workers look for more work for a while, when they get a CPU */
    double before = cpu_seconds();
    sleep(1);
    double used = cpu_seconds() - before;
    printf("idle for 1 s: %.6f s of CPU\n", used);
    CHECK(used < 0.005); /* time of CPUs, which does not grow on a busy machine */
    IN_TIME(used < 0.002);
    OK(aclrtRecordNotify(notify, NULL));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtDestroyNotify(notify));
    OK(aclrtDestroyStream(stream));
}

/* 10 MB at 100 MB/s: 100 ms each way; both ways and a kernel overlap. */
static void links(void)
{
    size_t size = 10000000;
    void *up, *down, *a, *b, *c, *d;
    aclrtStream streams[3];
    aclrtEvent first, last;
    float ms;
    for (int i = 0; i < 3; ++i) OK(aclrtCreateStream(&streams[i]));
    OK(aclrtCreateEvent(&first));
    OK(aclrtCreateEvent(&last));
    OK(aclrtMallocHost(&up, size));
    OK(aclrtMallocHost(&down, size));
    OK(aclrtMalloc(&a, size, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc(&b, size, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc(&c, size, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc(&d, size, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(up, 1, size);
    memset(b, 2, size);
    double start = seconds();
    OK(aclrtMemcpy(a, size, up, size, ACL_MEMCPY_HOST_TO_DEVICE));
    double one = seconds() - start;
    CHECK(one >= 0.1);
    IN_TIME(one < 0.3);
    OK(aclrtRecordEvent(first, streams[0]));
    start = seconds();
    OK(aclrtMemcpyAsync(a, size, up, size, ACL_MEMCPY_HOST_TO_DEVICE, streams[0]));
    OK(aclrtMemcpyAsync(down, size, b, size, ACL_MEMCPY_DEVICE_TO_HOST, streams[1]));
    OK(run_with(kernel(binary, "sleep_us"), 1, streams[2], NULL, 90000));
    OK(aclrtMemcpyAsync(c, size, d, size, ACL_MEMCPY_DEVICE_TO_DEVICE, streams[2])); /* no link */
    IN_TIME(seconds() - start < 0.05);
    for (int i = 0; i < 3; ++i) OK(aclrtSynchronizeStream(streams[i]));
    double all = seconds() - start;
    printf("two copies and a kernel of 100 ms each: %.0f ms\n", all * 1e3);
    CHECK(all >= 0.1);
    IN_TIME(all < 0.19);
    OK(aclrtRecordEvent(last, streams[0]));
    OK(aclrtSynchronizeEvent(last));
    OK(aclrtEventElapsedTime(&ms, first, last));
    CHECK(ms >= 99);
    /* one direction is one link: two uploads take twice the time */
    start = seconds();
    OK(aclrtMemcpyAsync(a, size, up, size, ACL_MEMCPY_HOST_TO_DEVICE, streams[0]));
    OK(aclrtMemcpyAsync(b, size, up, size, ACL_MEMCPY_HOST_TO_DEVICE, streams[1]));
    OK(aclrtSynchronizeStream(streams[0]));
    OK(aclrtSynchronizeStream(streams[1]));
    CHECK(seconds() - start >= 0.2);
    /* a copy under way can be dropped */
    OK(aclrtMemcpyAsync(a, size, up, size, ACL_MEMCPY_HOST_TO_DEVICE, streams[0]));
    usleep(20000);
    start = seconds();
    OK(aclrtDestroyStreamForce(streams[0]));
    IN_TIME(seconds() - start < 0.06);
    OK(aclrtDestroyStream(streams[1]));
    OK(aclrtDestroyStream(streams[2]));
    OK(aclrtDestroyEvent(first));
    OK(aclrtDestroyEvent(last));
    OK(aclrtFree(a));
    OK(aclrtFree(b));
    OK(aclrtFree(c));
    OK(aclrtFree(d));
    OK(aclrtFreeHost(up));
    OK(aclrtFreeHost(down));
}

/* The blocks of a kernel run side by side: two that sleep take the time of one. */
static void blocks_overlap(void)
{
    double start = seconds();
    OK(run_with(kernel(binary, "sleep_us"), 2, NULL, NULL, 60000));
    OK(aclrtSynchronizeStream(NULL));
    double both = seconds() - start;
    CHECK(both >= 0.06);
    IN_TIME(both < 0.11);
}

int main(void)
{
    setenv("ASCENDCL_CPU_LINK_BANDWIDTH", "100MB", 1);
    setenv("ASCENDCL_CPU_WORKERS", "3", 1);
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtBinaryLoadFromFile(kernel_path("cpu"), NULL, &binary));
    idle();
    links();
    blocks_overlap();
    OK(aclrtBinaryUnLoad(binary));
    OK(aclrtResetDeviceForce(0));
    OK(aclFinalize());
    return check_result("timing");
}
