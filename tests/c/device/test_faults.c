/* SPDX-License-Identifier: Apache-2.0
 * Fault injection, log, live objects: what the library offers beyond AscendCL. */
#include <pthread.h>
#include <stdatomic.h>

#include "ascend_cy/ascendcl_cpu.h"

#include "check.h"

static aclrtBinHandle binary;

static void calls(void)
{
    void *p;
    uint64_t seen, given;
    int32_t device;
    CHECK(ascendcl_cpu_set_faults("call=aclrtMalloc,code=207001,at=2") == 0);
    OK(aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtFree(p));
    FAILS(207001, aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST)); /* once */
    OK(aclrtFree(p));
    ascendcl_cpu_fault_counts(&seen, &given);
    CHECK(seen == 3 && given == 1);
    CHECK(ascendcl_cpu_set_faults("call=aclrtMalloc,times=always;call=aclrtGetDevice,code=100000,times=2") == 0);
    for (int i = 0; i < 5; ++i) FAILS(507899, aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    FAILS(100000, aclrtGetDevice(&device));
    FAILS(100000, aclrtGetDevice(&device));
    OK(aclrtGetDevice(&device));
    CHECK(ascendcl_cpu_set_faults(NULL) == 0);
    OK(aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtFree(p));
    /* the k-th call of all */
    CHECK(ascendcl_cpu_set_faults("call=*,at=3,skip=aclrtGetDevice") == 0);
    OK(aclrtGetDevice(&device));
    OK(aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtSynchronizeStream(NULL));
    OK(aclrtGetDevice(&device));
    FAILS(507899, aclrtFree(p));
    OK(aclrtFree(p));
    /* with a probability: the same seed, the same failures */
    int pattern[2] = {0, 0};
    for (int round = 0; round < 2; ++round) {
        CHECK(ascendcl_cpu_set_faults("call=aclrtGetDevice,probability=0.5,seed=7") == 0);
        int failures = 0;
        for (int i = 0; i < 30; ++i) {
            int failed = aclrtGetDevice(&device) != 0;
            failures += failed;
            pattern[round] = pattern[round] * 2 + failed;
        }
        CHECK(failures > 5 && failures < 25);
    }
    CHECK(pattern[0] == pattern[1]);
    /* delay only */
    CHECK(ascendcl_cpu_set_faults("call=aclrtGetDevice,delay=20ms") == 0);
    double start = seconds();
    OK(aclrtGetDevice(&device));
    CHECK(seconds() - start >= 0.02);
    start = seconds();
    OK(aclrtGetDevice(&device));
    IN_TIME(seconds() - start < 0.015);
    /* device lost */
    CHECK(ascendcl_cpu_set_faults("device=lost,at=2") == 0);
    OK(aclrtGetDevice(&device));
    FAILS(507010, aclrtGetDevice(&device));
    FAILS(507010, aclrtSynchronizeStream(NULL));
    FAILS(507010, aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(ascendcl_cpu_set_faults("") == 0);
    OK(aclrtGetDevice(&device));
    static const char *const bad[] = {"call", "nonsense=1", "code=5", "call=aclrtMalloc,at=0", "call=aclrtMalloc,probability=2", "call=aclrtMalloc,delay=5",
                                      "call=aclrtMalloc,times=-1", "device=found", "kernel=", "call=aclrtNoSuch", "call=malloc", "call=aclrtMalloc,kernel=x",
                                      "call=aclrtMalloc,times=0", "call=*,skip=nothing", "call=*,at=99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        CHECK(ascendcl_cpu_set_faults(bad[i]) == 100000);
        CHECK(strstr(check_message(), bad[i]) != NULL);
    }
    OK(aclrtGetDevice(&device)); /* bad rules change nothing */
}

static void kernels(void)
{
    aclrtFuncHandle add = kernel(binary, "add_value"), empty = kernel(binary, "empty");
    int64_t *word;
    OK(aclrtMalloc((void **)&word, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    *word = 0;
    CHECK(ascendcl_cpu_set_faults("kernel=add_value,at=2") == 0);
    OK(run_with(add, 1, NULL, word, 1));
    OK(run(empty, 1, NULL, NULL, 0));
    OK(aclrtSynchronizeStream(NULL));
    OK(run_with(add, 1, NULL, word, 1));
    CHECK(aclrtSynchronizeStream(NULL) == 507015);
    CHECK(strstr(check_message(), "add_value") != NULL);
    OK(run_with(add, 1, NULL, word, 1));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(*word == 2);
    CHECK(ascendcl_cpu_set_faults("kernel=*,code=507014;kernel=empty,delay=10ms,times=always") == 0);
    double start = seconds();
    OK(run(empty, 1, NULL, NULL, 0)); /* also in the calling thread */
    CHECK(aclrtSynchronizeStream(NULL) == 507014);
    CHECK(seconds() - start >= 0.01);
    CHECK(ascendcl_cpu_set_faults(NULL) == 0);
    OK(aclrtFree(word));
}

static char log_text[65536];
static void on_line(uint32_t topic, const char *line, void *context)
{
    CHECK(context == log_text && (topic & ASCENDCL_CPU_LOG_ALL) != 0);
    if (strlen(log_text) + strlen(line) + 2 < sizeof log_text) strcat(strcat(log_text, line), "\n");
}

/* The lines on live objects of one kind, each with the place that made it: a file and line of this program in a debug
 * build of the library, else an offset in it. */
static int log_names(const char *kind, int times)
{
    int found = 0;
    for (char *line = log_text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        char *place = strstr(line, "alive, made by ");
        found += strstr(line, kind) != NULL && place != NULL && strstr(place, "test_faults") != NULL &&
                 (getenv("DEVICE_TEST_PLACES") == NULL || strstr(place, "test_faults.c:") != NULL);
        *end = '\n';
    }
    if (found != times) fprintf(stderr, "%d lines name \"%s\", not %d:\n%s", found, kind, times, log_text);
    return found == times;
}

static int log_has(const char *text)
{
    int found = strstr(log_text, text) != NULL;
    if (!found) fprintf(stderr, "log lacks \"%s\":\n%s", text, log_text);
    return found;
}

static void logging(void)
{
    void *p;
    ascendcl_cpu_set_log_callback(on_line, log_text);
    CHECK(ascendcl_cpu_get_log_topics() == 0);
    OK(aclrtMalloc(&p, 333, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtFree(p));
    CHECK(log_text[0] == '\0');
    ascendcl_cpu_set_log_topics(ASCENDCL_CPU_LOG_MEMORY | ASCENDCL_CPU_LOG_ERRORS);
    OK(aclrtMalloc(&p, 333, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtFree(p));
    CHECK(aclrtFree(p) == 107000);
    CHECK(log_has("[memory]") && log_has("malloc 333 bytes") && log_has("[errors]") && log_has("107000"));
    CHECK(strstr(log_text, "[launches]") == NULL);
    ascendcl_cpu_set_log_topics(ASCENDCL_CPU_LOG_ALL);
    OK(run(kernel(binary, "empty"), 1, NULL, NULL, 0));
    CHECK(log_has("kernel empty, 1 blocks"));
    ascendcl_cpu_set_log_topics(0);
}

/* A line that waits for the log while its topic is turned off is not written any more. */
static atomic_int lines_seen, may_go_on;
static void on_slow_line(uint32_t topic, const char *line, void *context)
{
    (void)topic, (void)line, (void)context;
    atomic_fetch_add(&lines_seen, 1);
    while (!atomic_load(&may_go_on)) usleep(1000);
}

static void *write_an_error(void *unused)
{
    CHECK(aclrtMalloc(NULL, 64, ACL_MEM_MALLOC_HUGE_FIRST) != 0);
    return unused;
}

static void log_off_meanwhile(void)
{
    pthread_t first, second;
    ascendcl_cpu_set_log_callback(on_slow_line, NULL);
    ascendcl_cpu_set_log_topics(ASCENDCL_CPU_LOG_ERRORS);
    CHECK(pthread_create(&first, NULL, write_an_error, NULL) == 0);
    while (!atomic_load(&lines_seen)) usleep(1000);
    CHECK(pthread_create(&second, NULL, write_an_error, NULL) == 0);
    usleep(100000);
    ascendcl_cpu_set_log_topics(0);
    atomic_store(&may_go_on, 1);
    CHECK(pthread_join(first, NULL) == 0 && pthread_join(second, NULL) == 0);
    CHECK(atomic_load(&lines_seen) == 1);
    ascendcl_cpu_set_log_callback(on_line, log_text);
}

static void live_objects(void)
{
    ascendcl_cpu_live_t live = {.struct_size = sizeof live};
    aclrtStream stream;
    aclrtEvent event;
    aclrtNotify notify;
    aclrtContext context, primary;
    void *p, *q;
    CHECK(ascendcl_cpu_live_objects(&live) == 0);
    CHECK(live.streams == 0 && live.events == 0 && live.notifies == 0 && live.contexts == 0 && live.allocations == 0 &&
          live.bytes == 0 && live.binaries == 1);
    OK(aclrtGetCurrentContext(&primary));
    OK(aclrtCreateContext(&context, 0));
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateEvent(&event));
    OK(aclrtCreateNotify(&notify, 0));
    OK(aclrtMalloc(&p, 1000, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMallocHost(&q, 64));
    CHECK(ascendcl_cpu_live_objects(&live) == 0);
    CHECK(live.streams == 1 && live.events == 1 && live.notifies == 1 && live.contexts == 1 && live.allocations == 2 &&
          live.bytes == 1056 + 64);
    live.struct_size = 4;
    CHECK(ascendcl_cpu_live_objects(&live) == 100000);
    CHECK(ascendcl_cpu_live_objects(NULL) == 100000);
    /* finalisation names them all, those of other kinds too */
    aclrtCntNotify counting;
    aclrtMemPool pool;
    aclrtMemPoolProps props = {.allocType = ACL_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = ACL_MEM_LOCATION_TYPE_DEVICE}};
    aclrtPhysicalMemProp prop = {.memAttr = ACL_HBM_MEM_HUGE, .location = {.type = ACL_MEM_LOCATION_TYPE_DEVICE}};
    aclrtDrvMemHandle physical;
    void *pooled, *reserved;
    OK(aclrtCntNotifyCreate(&counting, 0));
    OK(aclrtMemPoolCreate(&pool, &props));
    OK(aclrtMemPoolMallocAsync(&pooled, 96, pool, stream));
    OK(aclrtMallocPhysical(&physical, 2u << 20, &prop, 0));
    OK(aclrtReserveMemAddress(&reserved, 2u << 20, 0, NULL, 0));
    OK(aclrtMapMem(reserved, 2u << 20, 0, physical, 0));
    OK(aclrtHostRegisterV2(q, 64, ACL_HOST_REG_MAPPED));
    aclDataBuffer *buffer = aclCreateDataBuffer(p, 8);
    aclrtStreamConfigHandle *config = aclrtCreateStreamConfigHandle();
    aclrtAllocatorDesc description = aclrtAllocatorCreateDesc();
    aclrtBinary object = aclrtCreateBinary("none", 4);
    log_text[0] = '\0';
    ascendcl_cpu_set_log_topics(ASCENDCL_CPU_LOG_LEAKS);
    OK(aclFinalize());
    CHECK(log_names(": stream ", 2) && log_names("event ", 1) && log_names(" notify ", 2) && log_names("counting notify ", 1) &&
          log_names("binary ", 2) && log_names("binary object ", 1) && log_names("context ", 1) && log_names("1000 bytes", 1) &&
          log_names("memory pool ", 1) && log_names("physical memory of 2097152 bytes", 1) &&
          log_names("reserved addresses ", 1) && log_names("mapping of 2097152 bytes", 1) && log_names("registration of 64 bytes", 1) &&
          log_names("data buffer ", 1) && log_names("stream configuration ", 1) && log_names("allocator description ", 1) &&
          log_names("96 bytes", 1));
    CHECK(log_names("alive", 18));
    if (getenv("DEVICE_TEST_SHOW_LEAKS") != NULL) fputs(log_text, stdout);
    OK(aclInit(NULL));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtMemPoolFreeAsync(pooled, stream));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtMemPoolDestroy(pool));
    OK(aclrtUnmapMem(reserved));
    OK(aclrtReleaseMemAddress(reserved));
    OK(aclrtFreePhysical(physical));
    OK(aclrtHostUnregister(q));
    OK(aclDestroyDataBuffer(buffer));
    OK(aclrtDestroyStreamConfigHandle(config));
    OK(aclrtAllocatorDestroyDesc(description));
    OK(aclrtDestroyBinary(object));
    OK(aclrtCntNotifyDestroy(counting));
    OK(aclrtFree(p));
    OK(aclrtFreeHost(q));
    OK(aclrtDestroyNotify(notify));
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyStream(stream));
    OK(aclrtDestroyContext(context));
    OK(aclrtSetCurrentContext(primary));
    ascendcl_cpu_set_log_topics(0);
    ascendcl_cpu_set_log_callback(NULL, NULL);
}

static void workers(void)
{
    uint32_t before = ascendcl_cpu_get_workers();
    CHECK(before >= 1);
    enum { count = 50000 };
    static float x[count], y[count], results[4][count];
    for (int i = 0; i < count; ++i) {
        x[i] = (float)i * 0.37f;
        y[i] = 1.0f / (float)(i + 1);
    }
    static const uint32_t numbers[4] = {1, 2, 7, 3};
    for (int i = 0; i < 4; ++i) {
        CHECK(ascendcl_cpu_set_workers(numbers[i]) == 0);
        CHECK(ascendcl_cpu_get_workers() == numbers[i]);
        struct {
            float *x, *y, *out;
            int64_t n;
        } args = {x, y, results[i], count};
        OK(run(kernel(binary, "vector_add"), 23, NULL, &args, sizeof args));
        OK(aclrtSynchronizeStream(NULL));
        CHECK(memcmp(results[i], results[0], sizeof results[0]) == 0);
    }
    CHECK(ascendcl_cpu_set_workers(5000) == 107000);
    CHECK(ascendcl_cpu_set_workers(0) == 0);
    CHECK(ascendcl_cpu_get_workers() >= 1);
}

int main(void)
{
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtBinaryLoadFromFile(kernel_path("cpu"), NULL, &binary));
    calls();
    kernels();
    logging();
    log_off_meanwhile();
    live_objects();
    workers();
    OK(aclrtBinaryUnLoad(binary));
    OK(aclrtResetDeviceForce(0));
    OK(aclFinalize());
    return check_result("faults");
}
