/* SPDX-License-Identifier: Apache-2.0
 * Fork and exit, and what a setting does: one way in each process, chosen by the argument. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "ascend_cy/ascendcl_cpu.h"
#include "check.h"

static aclrtBinHandle binary;
static aclrtStream stream;

static void start(void)
{
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtBinaryLoadFromFile(kernel_path("cpu"), NULL, &binary));
    OK(aclrtCreateStream(&stream));
}

/* Exit code of a child that runs `function`; -1 if it hangs or dies. */
static int in_child(void (*function)(void))
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        check_failures = 0;
        function();
        exit(check_failures == 0 ? 0 : 1);
    }
    for (int i = 0; i < 200; ++i) {
        int status;
        if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        usleep(50000);
    }
    kill(child, 9);
    return -1;
}

static void *memory, *host_memory;
static aclrtEvent event;

static void refused(void)
{
    int32_t device;
    void *p;
    uint32_t count;
    FAILS(507000, aclrtGetDevice(&device));
    FAILS(507000, aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    FAILS(507000, aclrtSetDevice(0));
    FAILS(507000, aclInit(NULL));
    FAILS(507000, aclrtSynchronizeStream(stream));
    FAILS(507000, aclrtGetDeviceCount(&count));
    FAILS(507000, run(kernel(NULL, "x"), 1, stream, NULL, 0));
    check_failures = 0; /* of the lookup above, which failed as well */
    CHECK(aclrtSynchronizeStream(stream) == 507000);
    CHECK(strstr(check_message(), "forked") != NULL);
    /* what gives back does nothing and succeeds */
    OK(aclrtFree(memory));
    OK(aclrtFreeHost(host_memory));
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyStream(stream));
    OK(aclrtBinaryUnLoad(binary));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
}

static void works(void)
{
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtBinaryLoadFromFile(kernel_path("cpu"), NULL, &binary));
    int64_t *word;
    OK(aclrtMalloc((void **)&word, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    *word = 0;
    OK(run_with(kernel(binary, "sleep_us"), 4, NULL, word, 1000));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(*word == 4);
    OK(aclrtFree(word));
    OK(aclrtResetDevice(0));
}

static void fork_unused(void)
{
    uint32_t count;
    OK(aclrtGetDeviceCount(&count)); /* harmless questions use nothing */
    CHECK(aclrtGetSocName() != NULL);
    CHECK(in_child(works) == 0);
    works();
    CHECK(in_child(refused) == 0);
}

static atomic_int hold;
static void *allocate_all_the_time(void *unused)
{
    (void)unused;
    OK(aclrtSetDevice(0));
    while (!hold) {
        void *p;
        aclrtEvent e;
        OK(aclrtMalloc(&p, 100, ACL_MEM_MALLOC_HUGE_FIRST));
        OK(aclrtCreateEvent(&e));
        OK(aclrtRecordEvent(e, stream));
        OK(aclrtDestroyEvent(e));
        OK(aclrtFree(p));
    }
    return NULL;
}

static void fork_used(void)
{
    start();
    OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMallocHost(&host_memory, 64));
    OK(aclrtCreateEvent(&event));
    CHECK(in_child(refused) == 0); /* at rest */
    OK(run_with(kernel(binary, "sleep_us"), 4, stream, NULL, 300000));
    CHECK(in_child(refused) == 0); /* with work running */
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, allocate_all_the_time, NULL);
    for (int i = 0; i < 10; ++i) {
        usleep(2000);
        CHECK(in_child(refused) == 0); /* with other threads in the middle of calls */
    }
    hold = 1;
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
    OK(aclrtSynchronizeStream(stream)); /* the parent goes on */
    OK(aclrtFree(memory));
    OK(aclrtFreeHost(host_memory));
    OK(aclrtDestroyEvent(event));
}

static void child_of_child(void)
{
    CHECK(in_child(refused) == 0);
    refused();
}

static atomic_int forked_in_callback;
static void fork_in_callback(void *unused)
{
    (void)unused;
    forked_in_callback = 1 + in_child(refused);
}

static atomic_int waiters, subscribed;
static void *wait_for_stream(void *unused)
{
    (void)unused;
    OK(aclrtSetDevice(0));
    ++waiters;
    OK(aclrtSynchronizeStream(stream));
    return NULL;
}

static void *process_reports(void *unused)
{
    (void)unused;
    OK(aclrtSetDevice(0));
    while (!subscribed) usleep(1000);
    ++waiters;
    OK(aclrtProcessReport(10000));
    return NULL;
}

static void nothing(void *unused) { (void)unused; }

/* Every kind of thread and of pending work that there can be. */
static void fork_states(void)
{
    aclrtNotify notify;
    aclrtStream copies, reported;
    pthread_t threads[2];
    enum { size = 1 << 20 };
    char *device, *pinned;
    setenv("ASCENDCL_CPU_LINK_BANDWIDTH", "2MB", 1); /* a copy of a MiB takes half a second */
    start();
    OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMallocHost(&host_memory, 64));
    OK(aclrtCreateEvent(&event));
    OK(aclrtCreateStream(&copies));
    OK(aclrtCreateStream(&reported));
    OK(aclrtCreateNotify(&notify, 0));
    OK(aclrtMalloc((void **)&device, size, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMallocHost((void **)&pinned, size));
    /* on the thread of host functions, the stream in the middle of it */
    OK(aclrtLaunchHostFunc(stream, fork_in_callback, NULL));
    OK(aclrtSynchronizeStream(stream));
    CHECK(forked_in_callback == 1);
    /* a stream that waits for a notify, a thread that waits for the stream, a copy on the link with its timer, a thread
     * that waits for reports */
    OK(aclrtWaitAndResetNotify(notify, stream, 0));
    OK(aclrtRecordEvent(event, stream));
    OK(aclrtMemcpyAsync(device, size, pinned, size, ACL_MEMCPY_HOST_TO_DEVICE, copies));
    OK(aclrtStreamWaitEvent(copies, event));
    pthread_create(&threads[0], NULL, wait_for_stream, NULL);
    pthread_create(&threads[1], NULL, process_reports, NULL);
    OK(aclrtSubscribeReport((uint64_t)threads[1], reported));
    subscribed = 1;
    while (waiters < 2) usleep(1000);
    CHECK(in_child(refused) == 0);
    CHECK(in_child(child_of_child) == 0);
    OK(aclrtLaunchCallback(nothing, NULL, ACL_CALLBACK_BLOCK, reported));
    OK(aclrtSynchronizeStream(reported));
    OK(aclrtRecordNotify(notify, reported));
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
    OK(aclrtSynchronizeStream(copies));
    OK(aclrtUnSubscribeReport((uint64_t)threads[1], reported));
    OK(aclrtFree(device));
    OK(aclrtFreeHost(pinned));
    OK(aclrtDestroyNotify(notify));
    OK(aclrtDestroyStream(copies));
    OK(aclrtDestroyStream(reported));
    OK(aclrtFree(memory));
    OK(aclrtFreeHost(host_memory));
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyStream(stream));
    OK(aclrtBinaryUnLoad(binary));
    OK(aclrtResetDevice(0));
    CHECK(in_child(refused) == 0); /* nothing left, but its threads were */
    OK(aclFinalize());
    CHECK(in_child(refused) == 0);
}

/* ---- exit ---- */

static void exit_running(void)
{
    start();
    for (int i = 0; i < 100; ++i) OK(run_with(kernel(binary, "spin_us"), 8, stream, NULL, 20000));
}

static void exit_endless(void)
{
    start();
    OK(run_with(kernel(binary, "sleep_us"), 8, stream, NULL, 3600000000ll));
    usleep(10000);
}

static double exit_begins;
static void expect_soon(void)
{
    if (seconds() - exit_begins > 5) _exit(7);
}

/* The patience with blocks that do not end is one, not one for each binary. */
static void exit_many_binaries(void)
{
    atexit(expect_soon);
    exit_endless();
    for (int i = 0; i < 60; ++i) OK(aclrtBinaryLoadFromFile(kernel_path(i % 2 != 0 ? "cpu" : "sim"), NULL, &binary));
    exit_begins = seconds();
}

static void block(void *unused)
{
    (void)unused;
    for (;;) pause();
}

static void exit_in_callback(void)
{
    start();
    OK(aclrtLaunchHostFunc(stream, block, NULL));
    OK(run_with(kernel(binary, "sleep_us"), 8, stream, NULL, 10));
    usleep(10000);
}

static void exit_waiting(void)
{
    start();
    aclrtNotify notify;
    aclrtStream other;
    OK(aclrtCreateNotify(&notify, 0));
    OK(aclrtCreateStream(&other));
    OK(aclrtWaitAndResetNotify(notify, stream, 0));
    OK(aclrtCreateEvent(&event));
    OK(aclrtRecordEvent(event, stream));
    OK(aclrtStreamWaitEvent(other, event));
}

static void *synchronize_for_ever(void *unused)
{
    (void)unused;
    aclrtSetDevice(0);
    aclrtSynchronizeStream(stream);
    return NULL;
}

static void exit_with_waiting_thread(void)
{
    exit_endless();
    pthread_t thread;
    pthread_create(&thread, NULL, synchronize_for_ever, NULL);
    usleep(20000);
}

/* An exit handler registered before the device was used runs after the device stopped: it must still get answers. */
static void late_handler(void)
{
    int64_t *word = memory;
    double begin = seconds();
    aclError code = run_with(kernel(binary, "sleep_us"), 3, stream, word, 1000);
    if (code == 0) code = aclrtSynchronizeStream(stream);
    if (code != 0 || *word != 3 || seconds() - begin > 5) _exit(3);
    aclrtFree(memory);
    aclrtResetDevice(0);
    aclFinalize();
}

static void exit_handler(void)
{
    atexit(late_handler);
    start();
    OK(aclrtMalloc(&memory, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(memory, 0, 8);
}

static void wait_in_handler(void)
{
    /* what the host thread was to do is not done any more: an error, not a hang */
    double begin = seconds();
    aclError code = aclrtSynchronizeStream(stream);
    if (code == 0 || seconds() - begin > 5) _exit(4);
}

static void exit_handler_stuck(void)
{
    atexit(wait_in_handler);
    exit_in_callback();
}

/* ---- runtime instances ---- */

static aclmdlRI model;

static void capture(int64_t microseconds)
{
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(run_with(kernel(binary, "sleep_us"), 1, stream, memory, microseconds));
    OK(aclmdlRICaptureEnd(stream, &model));
}

/* Executions under way and enqueued, an open capture. */
static void exit_executing(void)
{
    start();
    aclrtStream other;
    OK(aclrtCreateStream(&other));
    capture(50000);
    for (int i = 0; i < 20; ++i) OK(aclmdlRIExecuteAsync(model, i % 2 != 0 ? stream : other));
    OK(aclrtCreateStream(&other));
    OK(aclmdlRICaptureBegin(other, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
}

/* An exit handler executes a model, then gives up on one that cannot end. */
static void late_models(void)
{
    int64_t *count = memory;
    if (aclmdlRIExecuteAsync(model, stream) != 0 || aclrtSynchronizeStream(stream) != 0 || *count != 1) _exit(5);
    if (aclmdlRIDestroy(model) != 0) _exit(6);
    aclrtNotify notify;
    double begin = seconds();
    aclrtCreateNotify(&notify, 0);
    aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED);
    aclrtWaitAndResetNotify(notify, stream, 0);
    if (aclmdlRICaptureEnd(stream, &model) != 0 || aclmdlRIExecuteAsync(model, stream) != 0) _exit(7);
    if (aclmdlRIDestroy(model) != 107037 || seconds() - begin > 5) _exit(8);
}

static void exit_handler_models(void)
{
    atexit(late_models);
    start();
    OK(aclrtMalloc(&memory, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(memory, 0, 8);
    capture(1000);
}

static void finalize_with_work(void)
{
    start();
    OK(run_with(kernel(binary, "sleep_us"), 2, stream, NULL, 50000));
    OK(aclFinalize());
    OK(aclrtResetDeviceForce(0));
}

/* ---- settings ---- */

static void settings_cores(void)
{
    int64_t cores;
    OK(aclInit(NULL));
    OK(aclGetDeviceCapability(0, ACL_DEVICE_INFO_VECTOR_CORE_NUM, &cores));
    printf("%s %d cores\n", aclrtGetSocName(), (int)cores);
}

static void settings_bad(void)
{
    FAILS(100000, aclInit(NULL));
}

static void settings_bad_without_init(void)
{
    uint32_t count = 0;
    OK(aclrtGetDeviceCount(&count));
    CHECK(count == 1);
}

static void settings_no_device(void)
{
    uint32_t count = 5;
    OK(aclInit(NULL));
    OK(aclrtGetDeviceCount(&count));
    CHECK(count == 0);
    FAILS(107001, aclrtSetDevice(0));
}

static void settings_faults(void)
{
    void *p;
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    FAILS(207001, aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
}

/* What was set by function call, before and after aclInit, stands against the environment. */
static void settings_by_call(void)
{
    void *p;
    int64_t cores;
    setenv("ASCENDCL_CPU_WORKERS", "2", 1);
    setenv("ASCENDCL_CPU_LOG", "memory", 1);
    setenv("ASCENDCL_CPU_FAULT", "call=aclrtMalloc,code=207001", 1);
    CHECK(ascendcl_cpu_set_workers(3) == 0);
    ascendcl_cpu_set_log_topics(ASCENDCL_CPU_LOG_LEAKS);
    CHECK(ascendcl_cpu_set_faults("call=aclrtMalloc,code=107000") == 0);
    OK(aclInit(NULL));
    CHECK(ascendcl_cpu_get_workers() == 3);
    CHECK(ascendcl_cpu_get_log_topics() == ASCENDCL_CPU_LOG_LEAKS);
    OK(aclGetDeviceCapability(0, ACL_DEVICE_INFO_VECTOR_CORE_NUM, &cores));
    CHECK(cores == 3);
    OK(aclrtSetDevice(0));
    FAILS(107000, aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(ascendcl_cpu_set_workers(5) == 0);
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    OK(aclInit(NULL));
    CHECK(ascendcl_cpu_get_workers() == 5);
    ascendcl_cpu_reset_log_topics();
    CHECK(ascendcl_cpu_get_log_topics() == ASCENDCL_CPU_LOG_MEMORY);
    ascendcl_cpu_set_log_topics(0);
    CHECK(ascendcl_cpu_get_log_topics() == 0);
    OK(aclFinalize());
}

/* Fixed calls, and what each returns under the rules of the variable or of TEST_FAULTS (by function call); a letter tells
 * that the call took at least 30 ms. Which rules give what is checked by test_c_device.py. */
static void fault_sequence(void)
{
    void *p = NULL;
    int32_t device;
    const char *rules = getenv("TEST_FAULTS");
    if (rules != NULL) CHECK(ascendcl_cpu_set_faults(rules) == 0);
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtBinaryLoadFromFile(kernel_path("cpu"), NULL, &binary));
    aclrtFuncHandle empty = kernel(binary, "empty"), add = kernel(binary, "add_value");
    static int64_t word; /* not on the stack: where waiting fails, the work may end after this function */
    for (int i = 0; i < 4; ++i) {
        double start = seconds();
        aclError codes[5];
        codes[0] = aclrtGetDevice(&device);
        codes[1] = aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST);
        codes[2] = codes[1] == 0 ? aclrtFree(p) : 0;
        codes[3] = run(empty, 1, NULL, NULL, 0);
        if (codes[3] == 0) codes[3] = run_with(add, 1, NULL, &word, 1);
        codes[4] = aclrtSynchronizeStream(NULL);
        printf("%d %d %d %d %d%s\n", codes[0], codes[1], codes[2], codes[3], codes[4], seconds() - start >= 0.03 ? " slow" : "");
    }
    printf("%d\n", (int)word);
}

static void works_now(void) { works(); }

static const struct {
    const char *name;
    void (*function)(void);
} ways[] = {{"fork_unused", fork_unused},
            {"fork_used", fork_used},
            {"fork_states", fork_states},
            {"exit_running", exit_running},
            {"exit_endless", exit_endless},
            {"exit_many_binaries", exit_many_binaries},
            {"exit_in_callback", exit_in_callback},
            {"exit_waiting", exit_waiting},
            {"exit_with_waiting_thread", exit_with_waiting_thread},
            {"exit_handler", exit_handler},
            {"exit_handler_stuck", exit_handler_stuck},
            {"exit_executing", exit_executing},
            {"exit_handler_models", exit_handler_models},
            {"finalize_with_work", finalize_with_work},
            {"settings_cores", settings_cores},
            {"settings_bad", settings_bad},
            {"settings_bad_without_init", settings_bad_without_init},
            {"settings_no_device", settings_no_device},
            {"settings_faults", settings_faults},
            {"settings_by_call", settings_by_call},
            {"fault_sequence", fault_sequence},
            {"works", works_now}};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof ways / sizeof ways[0]; ++i) {
        if (strcmp(argv[1], ways[i].name) != 0) continue;
        ways[i].function();
        return check_result(ways[i].name);
    }
    for (size_t i = 0; argc == 1 && i < sizeof ways / sizeof ways[0]; ++i) printf("%s\n", ways[i].name);
    return argc == 1 ? 0 : 2;
}
