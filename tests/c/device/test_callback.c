/* SPDX-License-Identifier: Apache-2.0
 * Host functions, report threads, exception callbacks. */
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

static aclrtBinHandle binary;
static volatile int order[64];
static volatile int count;
static pthread_t ran_on;

static void note(void *value)
{
    order[count++] = (int)(intptr_t)value;
    ran_on = pthread_self();
}

static void host_functions(void)
{
    aclrtFuncHandle sleeper = kernel(binary, "sleep_us");
    aclrtStream stream, other;
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateStream(&other));
    FAILS(107000, aclrtLaunchHostFunc(stream, NULL, NULL));
    count = 0;
    int64_t *words; /* {the kernel runs, it may end} */
    OK(aclrtMalloc((void **)&words, 16, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(words, 0, 16);
    OK(run(kernel(binary, "hold"), 1, stream, &words, 8));
    OK(aclrtLaunchHostFunc(stream, note, (void *)1));
    OK(run_with(sleeper, 1, stream, NULL, 20000));
    OK(aclrtLaunchHostFunc(stream, note, (void *)2));
    OK(aclrtLaunchHostFunc(NULL, note, (void *)3));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(count == 1 && order[0] == 3); /* streams do not wait for each other */
    __atomic_store_n(&words[1], 1, __ATOMIC_RELEASE);
    OK(aclrtSynchronizeStream(stream));
    CHECK(count == 3 && order[1] == 1 && order[2] == 2);
    CHECK(!pthread_equal(ran_on, pthread_self()));
    OK(aclrtFree(words));
    OK(aclrtDestroyStream(other));
    OK(aclrtDestroyStream(stream));
    FAILS(107017, aclrtLaunchHostFunc(stream, note, NULL));
}

struct reporter {
    aclrtContext context;
    atomic_int stop;
    atomic_int timeouts;
    atomic_int unsubscribed;
    aclError (*process)(int32_t);
};

static void *report_thread(void *argument)
{
    struct reporter *reporter = argument;
    OK(aclrtSetCurrentContext(reporter->context));
    while (!reporter->stop) {
        aclError code = reporter->process(20);
        if (code == 507012) ++reporter->timeouts;
        else if (code == 107012) {
            ++reporter->unsubscribed;
            usleep(1000);
        } else CHECK(code == 0);
    }
    return NULL;
}

static void reports(void)
{
    aclrtFuncHandle sleeper = kernel(binary, "sleep_us");
    struct reporter reporter = {0};
    aclrtStream stream, second;
    pthread_t thread;
    OK(aclrtGetCurrentContext(&reporter.context));
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateStream(&second));
    FAILS(107012, aclrtProcessReport(10));
    FAILS(100000, aclrtProcessReport(0));
    FAILS(100000, aclrtProcessReport(-2));
    FAILS(107015, aclrtLaunchCallback(note, NULL, ACL_CALLBACK_BLOCK, stream));
    FAILS(107000, aclrtLaunchCallback(NULL, NULL, ACL_CALLBACK_BLOCK, stream));
    FAILS(100000, aclrtLaunchCallback(note, NULL, (aclrtCallbackBlockType)2, stream));
    reporter.process = aclrtProcessReport;
    pthread_create(&thread, NULL, report_thread, &reporter);
    while (reporter.unsubscribed == 0) usleep(100);
    OK(aclrtSubscribeReport((uint64_t)thread, stream));
    FAILS(107011, aclrtSubscribeReport((uint64_t)thread, stream));
    OK(aclrtSubscribeReport((uint64_t)thread, second)); /* one thread, many streams */
    count = 0;
    OK(aclrtLaunchCallback(note, (void *)1, ACL_CALLBACK_BLOCK, stream));
    OK(run_with(sleeper, 1, stream, NULL, 10000));
    OK(aclrtLaunchCallback(note, (void *)2, ACL_CALLBACK_BLOCK, stream));
    OK(aclrtLaunchCallback(note, (void *)3, ACL_CALLBACK_NO_BLOCK, stream));
    OK(aclrtLaunchCallback(note, (void *)4, ACL_CALLBACK_BLOCK, stream));
    OK(aclrtSynchronizeStream(stream));
    CHECK(count == 4);
    for (int i = 0; i < 4; ++i) CHECK(order[i] == i + 1);
    CHECK(pthread_equal(ran_on, thread));
    while (reporter.timeouts == 0) usleep(1000);
    FAILS(107012, aclrtUnSubscribeReport((uint64_t)thread + 1, stream));
    OK(aclrtUnSubscribeReport((uint64_t)thread, stream));
    FAILS(107011, aclrtUnSubscribeReport((uint64_t)thread, stream));
    FAILS(107015, aclrtLaunchCallback(note, NULL, ACL_CALLBACK_BLOCK, stream));
    OK(aclrtDestroyStream(second)); /* its subscription goes with it */
    reporter.stop = 1;
    pthread_join(thread, NULL);

    /* host functions on a thread of the user */
    reporter.stop = reporter.unsubscribed = 0;
    reporter.process = aclrtProcessHostFunc;
    FAILS(107012, aclrtProcessHostFunc(10));
    pthread_create(&thread, NULL, report_thread, &reporter);
    OK(aclrtSubscribeHostFunc((uint64_t)thread, stream));
    count = 0;
    OK(aclrtLaunchHostFunc(stream, note, (void *)9));
    OK(aclrtSynchronizeStream(stream));
    CHECK(count == 1 && pthread_equal(ran_on, thread));
    OK(aclrtUnSubscribeHostFunc((uint64_t)thread, stream));
    FAILS(107011, aclrtUnSubscribeHostFunc((uint64_t)thread, stream));
    OK(aclrtLaunchHostFunc(stream, note, (void *)9));
    OK(aclrtSynchronizeStream(stream));
    CHECK(count == 2 && !pthread_equal(ran_on, thread));
    reporter.stop = 1;
    pthread_join(thread, NULL);
    OK(aclrtDestroyStream(stream));
}

static struct {
    volatile int general, several, special;
    uint32_t task, stream, code, device, args_size;
    uint64_t thread;
    aclrtFuncHandle function;
    char args[16];
} seen;

static void on_exception(aclrtExceptionInfo *info)
{
    void *args = NULL;
    seen.task = aclrtGetTaskIdFromExceptionInfo(info);
    seen.stream = aclrtGetStreamIdFromExceptionInfo(info);
    seen.code = aclrtGetErrorCodeFromExceptionInfo(info);
    seen.device = aclrtGetDeviceIdFromExceptionInfo(info);
    seen.thread = aclrtGetThreadIdFromExceptionInfo(info);
    OK(aclrtGetArgsFromExceptionInfo(info, &args, &seen.args_size));
    if (args != NULL && seen.args_size <= 16) memcpy(seen.args, args, seen.args_size);
    OK(aclrtGetFuncHandleFromExceptionInfo(info, &seen.function));
    ++seen.general;
}
static void on_exception_too(aclrtExceptionInfo *info)
{
    CHECK(aclrtGetErrorCodeFromExceptionInfo(info) == 507015);
    ++seen.several;
}
static void on_binary_exception(aclrtExceptionInfo *info, void *data)
{
    CHECK(info != NULL && data == &seen);
    ++seen.special;
}

static void exceptions(void)
{
    aclrtFuncHandle traps[2] = {kernel(binary, "trap"), kernel(binary, "trap_tiny")};
    aclrtStream stream;
    int32_t id;
    uint32_t task;
    OK(aclrtCreateStream(&stream));
    OK(aclrtStreamGetId(stream, &id));
    OK(aclrtSetExceptionInfoCallback(on_exception));
    OK(aclrtExceptionInfoCallbackRegister(on_exception_too));
    FAILS(107000, aclrtExceptionInfoCallbackRegister(on_exception_too));
    FAILS(100000, aclrtExceptionInfoCallbackRegister(NULL));
    OK(aclrtBinarySetExceptionCallback(binary, on_binary_exception, &seen));
    FAILS(107017, aclrtBinarySetExceptionCallback(stream, on_binary_exception, &seen));
    FAILS(100000, aclrtBinarySetExceptionCallback(NULL, on_binary_exception, &seen));
    for (int i = 0; i < 2; ++i) { /* queued, and in the calling thread */
        uint64_t args[2] = {17, 18};
        OK(run(kernel(binary, "empty"), 1, stream, NULL, 0));
        OK(run(traps[i], 1, stream, args, sizeof args));
        OK(aclrtGetThreadLastTaskId(&task));
        CHECK(aclrtSynchronizeStream(stream) == 507015);
        CHECK(strstr(check_message(), "deliberate trap") != NULL);
        (void)aclrtGetLastError(ACL_RT_THREAD_LEVEL);
        /* all callbacks are done when the wait is over */
        CHECK(seen.general == i + 1 && seen.several == i + 1 && seen.special == i + 1);
        CHECK(seen.task == task && seen.stream == (uint32_t)id && seen.code == 507015 && seen.device == 0);
        CHECK(seen.thread == (uint32_t)(uint64_t)pthread_self() && seen.function == traps[i]);
        CHECK(seen.args_size == 16 && ((uint64_t *)seen.args)[1] == 18);
    }
    OK(aclrtSetExceptionInfoCallback(NULL));
    OK(aclrtExceptionInfoCallbackUnregister(on_exception_too));
    FAILS(107000, aclrtExceptionInfoCallbackUnregister(on_exception_too));
    OK(aclrtBinarySetExceptionCallback(binary, NULL, NULL));
    OK(run(traps[0], 1, stream, NULL, 0));
    CHECK(aclrtSynchronizeStream(stream) == 507015);
    CHECK(seen.general == 2 && seen.several == 2 && seen.special == 2);
    CHECK(aclrtGetTaskIdFromExceptionInfo(NULL) == 0xFFFFFFFFu);
    CHECK(aclrtGetStreamIdFromExceptionInfo(NULL) == 0xFFFFFFFFu);
    CHECK(aclrtGetThreadIdFromExceptionInfo(NULL) == 0xFFFFFFFFu);
    CHECK(aclrtGetDeviceIdFromExceptionInfo(NULL) == 0xFFFFFFFFu);
    CHECK(aclrtGetErrorCodeFromExceptionInfo(NULL) == 0xFFFFFFFFu);
    CHECK(aclrtGetArgsFromExceptionInfo(NULL, NULL, NULL) == -1);
    CHECK(aclrtGetFuncHandleFromExceptionInfo(NULL, NULL) == -1);
    OK(aclrtDestroyStream(stream));
}

/* A callback that blocks holds up its stream, not others, even with one worker. */
static atomic_int release;
static void block(void *unused)
{
    (void)unused;
    while (!release) usleep(500);
}

static void nobody_starves(void)
{
    aclrtFuncHandle add = kernel(binary, "add_value");
    aclrtStream blocked, waiting, free_stream;
    aclrtEvent event;
    int64_t *word;
    release = 0;
    OK(aclrtMalloc((void **)&word, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    *word = 0;
    OK(aclrtCreateStream(&blocked));
    OK(aclrtCreateStream(&waiting));
    OK(aclrtCreateStream(&free_stream));
    OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    OK(aclrtLaunchHostFunc(blocked, block, NULL));
    OK(aclrtRecordEvent(event, blocked));
    OK(aclrtStreamWaitEvent(waiting, event));
    OK(run_with(add, 1, waiting, word, 10));
    for (int i = 0; i < 100; ++i) OK(run_with(add, 1, free_stream, word, 1));
    OK(aclrtSynchronizeStream(free_stream));
    CHECK(*word == 100);
    release = 1;
    OK(aclrtSynchronizeStream(waiting));
    CHECK(*word == 110);
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyStream(blocked));
    OK(aclrtDestroyStream(waiting));
    OK(aclrtDestroyStream(free_stream));
    OK(aclrtFree(word));
}

int main(int argc, char **argv)
{
    if (argc > 1) setenv("ASCENDCL_CPU_WORKERS", argv[1], 1);
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtBinaryLoadFromFile(kernel_path("cpu"), NULL, &binary));
    host_functions();
    reports();
    exceptions();
    nobody_starves();
    OK(aclrtBinaryUnLoad(binary));
    OK(aclrtResetDeviceForce(0));
    OK(aclFinalize());
    return check_result("callback");
}
