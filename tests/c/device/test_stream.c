/* SPDX-License-Identifier: Apache-2.0
 * Streams: life, order, waiting, errors, failure modes, attributes. */
#include <pthread.h>

#include "ascend_cy/ascendcl_cpu.h"
#include "check.h"

static aclrtBinHandle binary;

static void life(void)
{
    aclrtStream stream, other;
    int32_t first_id, second_id;
    uint32_t before, after, priority, flags;
    aclrtContext context, primary;
    OK(aclrtGetStreamAvailableNum(&before));
    OK(aclrtCreateStream(&stream));
    OK(aclrtGetStreamAvailableNum(&after));
    CHECK(after == before - 1);
    FAILS(100000, aclrtGetStreamAvailableNum(NULL));
    OK(aclrtStreamGetId(stream, &first_id));
    OK(aclrtCreateStreamWithConfig(&other, 9, ACL_STREAM_FAST_LAUNCH | 0x8000));
    OK(aclrtStreamGetId(other, &second_id));
    CHECK(first_id != second_id);
    OK(aclrtStreamGetPriority(other, &priority));
    CHECK(priority == 7); /* clamped */
    OK(aclrtStreamGetFlags(other, &flags));
    CHECK(flags == ACL_STREAM_FAST_LAUNCH); /* unknown bits are ignored */
    OK(aclrtStreamGetPriority(stream, &priority));
    CHECK(priority == 0);
    OK(aclrtStreamGetId(NULL, &first_id));
    FAILS(100000, aclrtStreamGetId(stream, NULL));
    FAILS(100000, aclrtStreamGetFlags(stream, NULL));
    FAILS(100000, aclrtStreamGetPriority(stream, NULL));
    FAILS(100000, aclrtCreateStream(NULL));
    FAILS(100000, aclrtCreateStreamWithConfig(NULL, 0, 0));
    FAILS(100000, aclrtDestroyStream(NULL));
    FAILS(100000, aclrtDestroyStreamForce(NULL));
    int32_t least, greatest;
    OK(aclrtDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(least == 7 && greatest == 0);
    FAILS(100000, aclrtDeviceGetStreamPriorityRange(NULL, &greatest));

    OK(aclrtGetCurrentContext(&primary));
    OK(aclrtCreateContext(&context, 0));
    FAILS(107003, aclrtDestroyStream(stream));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtSetCurrentContext(primary));
    OK(aclrtDestroyContext(context));

    OK(aclrtDestroyStream(other));
    OK(aclrtDestroyStream(stream));
    FAILS(107017, aclrtDestroyStream(stream));
    FAILS(107017, aclrtSynchronizeStream(stream));
    aclrtStreamStatus status;
    FAILS(107017, aclrtStreamQuery(stream, &status));
    FAILS(107017, aclrtStreamGetId(stream, &first_id));
    FAILS(107017, aclrtSynchronizeStream(&stream)); /* any number */
    FAILS(107017, aclrtSynchronizeStream((aclrtStream)1));
    OK(aclrtGetStreamAvailableNum(&after));
    CHECK(after == before);
}

/* Many streams: all slots, then 207008; stale handles stay recognisable while slots are reused. */
static void limits(void)
{
    enum { most = 2100 };
    static aclrtStream streams[most];
    int made = 0;
    uint32_t available;
    while (made < most && aclrtCreateStream(&streams[made]) == 0) ++made;
    CHECK(made > 1900 && made < most);
    FAILS(207008, aclrtCreateStream(&streams[made]));
    OK(aclrtGetStreamAvailableNum(&available));
    CHECK(available == 0);
    for (int i = 0; i < made; ++i) OK(aclrtDestroyStream(streams[i]));
    aclrtStream fresh[100];
    for (int i = 0; i < 100; ++i) OK(aclrtCreateStream(&fresh[i]));
    int stale = 0;
    for (int i = 0; i < made; ++i) stale += aclrtSynchronizeStream(streams[i]) == 107017;
    CHECK(stale == made);
    for (int i = 0; i < 100; ++i) OK(aclrtDestroyStream(fresh[i]));
}

/* Tiny and large tasks mixed keep their order: x -> x + i, x -> 2 x. */
static void order(void)
{
    aclrtFuncHandle add = kernel(binary, "add_value"), twice = kernel(binary, "double_word");
    int64_t *word, expected = 0, result = -1;
    aclrtStream stream;
    OK(aclrtCreateStream(&stream));
    OK(aclrtMalloc((void **)&word, sizeof *word, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemsetAsync(word, 8, 0, 8, stream));
    for (int i = 0; i < 3000; ++i) {
        OK(run_with(add, 1, stream, word, i));
        expected += i;
        if (i % 3 == 0) {
            OK(run(twice, 1, stream, &word, sizeof word));
            expected *= 2;
        }
        if (i % 7 == 0) { /* else the doubling leaves 64 bits */
            OK(aclrtSynchronizeStream(stream));
            *word %= 1000003;
            expected %= 1000003;
        }
    }
    OK(aclrtMemcpyAsync(&result, 8, word, 8, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    CHECK(result == expected);
    /* and without looking in between */
    OK(aclrtMemsetAsync(word, 8, 0, 8, stream));
    for (int i = 0; i < 40; ++i) {
        OK(run_with(add, 1, stream, word, 1));
        OK(run(twice, 1, stream, &word, sizeof word));
    }
    OK(aclrtSynchronizeStream(stream));
    CHECK(*word == ((int64_t)1 << 41) - 2);
    OK(aclrtFree(word));
    OK(aclrtDestroyStream(stream));
}

static void waiting(void)
{
    aclrtFuncHandle sleeper = kernel(binary, "sleep_us");
    aclrtStream stream;
    aclrtStreamStatus status;
    OK(aclrtCreateStream(&stream));
    OK(run_with(sleeper, 1, stream, NULL, 100000));
    FAILS(107000, aclrtSynchronizeStreamWithTimeout(stream, 0));
    FAILS(107000, aclrtSynchronizeStreamWithTimeout(stream, -2));
    FAILS(107000, aclrtSynchronizeDeviceWithTimeout(0));
    FAILS(107000, aclrtSynchronizeDeviceWithTimeout(-5));
    double start = seconds();
    FAILS(507046, aclrtSynchronizeStreamWithTimeout(stream, 20));
    FAILS(507046, aclrtSynchronizeDeviceWithTimeout(10));
    double spent = seconds() - start;
    CHECK(spent >= 0.03);
    IN_TIME(spent < 0.09);
    OK(aclrtStreamQuery(stream, &status));
    CHECK(status == ACL_STREAM_STATUS_NOT_READY);
    FAILS(100000, aclrtStreamQuery(stream, NULL));
    OK(aclrtSynchronizeStreamWithTimeout(stream, 5000));
    OK(aclrtSynchronizeStreamWithTimeout(stream, -1));
    OK(aclrtStreamQuery(stream, &status));
    CHECK(status == ACL_STREAM_STATUS_COMPLETE);
    OK(run_with(sleeper, 1, stream, NULL, 20000));
    OK(aclrtSynchronizeDevice());
    OK(aclrtStreamQuery(stream, &status));
    CHECK(status == ACL_STREAM_STATUS_COMPLETE);
    /* destroying waits for the work */
    int64_t *word;
    OK(aclrtMalloc((void **)&word, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    *word = 0;
    for (int i = 0; i < 4; ++i) OK(run_with(sleeper, 1, stream, word, 5000));
    OK(aclrtDestroyStream(stream));
    CHECK(*word == 4);
    /* ... or drops it */
    OK(aclrtCreateStream(&stream));
    start = seconds();
    for (int i = 0; i < 50; ++i) OK(run_with(sleeper, 1, stream, word, 50000));
    OK(aclrtDestroyStreamForce(stream));
    IN_TIME(seconds() - start < 1.0);
    CHECK(*word < 10);
    OK(aclrtFree(word));
}

static void errors_in_continue_mode(void)
{
    aclrtFuncHandle add = kernel(binary, "add_value"), trap = kernel(binary, "trap"), tiny = kernel(binary, "trap_tiny");
    aclrtStream stream, other;
    aclrtStreamStatus status;
    int64_t *word;
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateStream(&other));
    OK(aclrtMalloc((void **)&word, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    *word = 0;
    for (int small = 0; small < 2; ++small) {
        OK(run_with(add, 1, stream, word, 1));
        OK(run(small ? tiny : trap, 3, stream, NULL, 0)); /* enqueuing succeeds */
        OK(run_with(add, 1, stream, word, 1));            /* and the stream goes on */
        OK(aclrtSynchronizeStream(other));                /* others have nothing to do with it */
        while (aclrtStreamQuery(stream, &status) == 0 && status == ACL_STREAM_STATUS_NOT_READY) usleep(100);
        (void)aclGetRecentErrMsg();
        FAILS(507015, aclrtStreamQuery(stream, &status)); /* a query looks, */
        FAILS(507015, aclrtSynchronizeStream(stream));    /* a synchronization takes */
        OK(aclrtSynchronizeStream(stream));
        OK(aclrtStreamQuery(stream, &status));
        CHECK(*word == 2 * (small + 1));
    }
    OK(run(trap, 1, stream, NULL, 0));
    FAILS(507015, aclrtSynchronizeDevice());
    OK(aclrtSynchronizeDevice());
    OK(run(trap, 1, stream, NULL, 0));
    OK(aclrtDestroyStream(stream)); /* an unread error dies with the stream */
    OK(aclrtDestroyStream(other));
    aclrtErrorInfo info;
    OK(aclrtGetErrorVerbose(0, &info));
    CHECK(info.errorType == ACL_RT_ERROR_AICORE && info.hasDetail == 1);
    OK(aclrtRepairError(0, &info));
    OK(aclrtGetErrorVerbose(0, &info));
    CHECK(info.errorType == ACL_RT_NO_ERROR);
    OK(aclrtFree(word));
}

static void ran(void *flag) { ++*(int *)flag; }

static void errors_in_stop_mode(void)
{
    aclrtFuncHandle add = kernel(binary, "add_value"), trap = kernel(binary, "trap"), twice = kernel(binary, "double_word");
    aclrtContext primary, context;
    aclrtStream stream, other;
    aclrtStreamStatus status;
    aclrtEvent event;
    int64_t *word;
    int flag = 0;
    OK(aclrtGetCurrentContext(&primary));
    OK(aclrtMalloc((void **)&word, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    *word = 0;
    OK(aclrtCreateContext(&context, 0));
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateStream(&other));
    OK(aclrtCreateEvent(&event));
    OK(aclrtSetStreamFailureMode(stream, ACL_CONTINUE_ON_FAILURE));
    OK(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE));
    FAILS(107000, aclrtSetStreamFailureMode(stream, ACL_CONTINUE_ON_FAILURE));
    FAILS(107000, aclrtSetStreamFailureMode(stream, 2));
    OK(run_with(add, 1, stream, word, 1));
    OK(run(trap, 1, stream, NULL, 0));
    OK(run_with(add, 1, stream, word, 1));
    OK(aclrtLaunchHostFunc(stream, ran, &flag));
    OK(aclrtRecordEvent(event, stream));
    OK(aclrtStreamWaitEvent(other, event)); /* not held up for ever by the stream that stopped */
    FAILS(507015, aclrtSynchronizeStream(stream));
    FAILS(507015, aclrtSynchronizeStream(stream)); /* it stays */
    FAILS(507015, aclrtStreamQuery(stream, &status));
    FAILS(507015, aclrtSynchronizeStream(other)); /* the whole context */
    FAILS(507015, aclrtStreamQuery(other, &status));
    FAILS(507015, aclrtSynchronizeDevice());
    OK(run(twice, 1, stream, &word, 8)); /* taken, and dropped */
    usleep(20000);
    CHECK(*word == 1 && flag == 0);
    OK(aclrtSetCurrentContext(primary));
    OK(aclrtSynchronizeStream(NULL)); /* another context */
    OK(aclrtSetCurrentContext(context));
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyStreamForce(stream));
    OK(aclrtDestroyStreamForce(other));
    OK(aclrtDestroyContext(context));
    OK(aclrtSetCurrentContext(primary));
    OK(aclrtFree(word));
}

static void *wait_for_abort(void *stream)
{
    OK(aclrtSetDevice(0));
    CHECK(aclrtSynchronizeStream(stream) == 107023);
    OK(aclrtResetDevice(0));
    return NULL;
}

static void abort_and_stop(void)
{
    aclrtFuncHandle sleeper = kernel(binary, "sleep_us"), add = kernel(binary, "add_value");
    aclrtStream stream;
    int64_t *word;
    pthread_t thread;
    OK(aclrtCreateStream(&stream));
    OK(aclrtMalloc((void **)&word, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    *word = 0;
    OK(run_with(sleeper, 1, stream, NULL, 2000000));
    OK(run_with(add, 1, stream, word, 1));
    pthread_create(&thread, NULL, wait_for_abort, stream);
    usleep(50000);
    double start = seconds();
    OK(aclrtStreamAbort(stream));
    IN_TIME(seconds() - start < 1.0);
    pthread_join(thread, NULL);
    CHECK(*word == 0);
    OK(run_with(add, 1, stream, word, 5)); /* the stream lives on */
    OK(aclrtSynchronizeStream(stream));
    CHECK(*word == 5);
    OK(run_with(sleeper, 1, stream, NULL, 2000000));
    OK(run_with(add, 1, stream, word, 1));
    usleep(10000);
    start = seconds();
    OK(aclrtStreamStop(stream)); /* only what runs */
    IN_TIME(seconds() - start < 1.0);
    OK(aclrtSynchronizeStream(stream));
    CHECK(*word == 6);
    OK(aclrtStreamStop(stream)); /* nothing runs */
    FAILS(100000, aclrtStreamStop(NULL));
    FAILS(100000, aclrtStreamAbort(NULL));
    OK(run_with(sleeper, 1, stream, NULL, 2000000));
    start = seconds();
    OK(aclrtDeviceTaskAbort(0, 0));
    IN_TIME(seconds() - start < 1.0);
    FAILS(107001, aclrtDeviceTaskAbort(9, 0));
    FAILS(107000, aclrtDeviceTaskAbort(0, 100000000));
    OK(aclrtDestroyStream(stream));
    FAILS(107017, aclrtStreamAbort(stream));
    FAILS(107017, aclrtStreamStop(stream));
    OK(aclrtFree(word));
}

static int stream_events;
static void on_stream(aclrtStream stream, aclrtStreamState state, void *args)
{
    CHECK(stream != NULL && args == &stream_events);
    stream_events = stream_events * 10 + (int)state;
}

static void attributes(void)
{
    aclrtStream stream;
    aclrtStreamAttrValue value;
    OK(aclrtRegStreamStateCallback("test", on_stream, &stream_events));
    FAILS(107000, aclrtRegStreamStateCallback("test", on_stream, NULL));
    FAILS(100000, aclrtRegStreamStateCallback(NULL, on_stream, NULL));
    OK(aclrtCreateStream(&stream));
    value.streamPriority = 5;
    OK(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_PRIORITY, &value));
    value.streamPriority = 0;
    OK(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_PRIORITY, &value));
    CHECK(value.streamPriority == 5);
    value.streamPriority = 8;
    FAILS(107000, aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_PRIORITY, &value));
    value.userCustomTag = 77;
    OK(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value));
    OK(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value));
    CHECK(value.userCustomTag == 77);
    value.overflowSwitch = 2;
    FAILS(107000, aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK, &value));
    value.overflowSwitch = 1;
    OK(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK, &value));
    value.cacheOpInfoSwitch = 3;
    FAILS(107000, aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_CACHE_OP_INFO, &value));
    OK(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_FAILURE_MODE, &value));
    CHECK(value.failureMode == 0);
    FAILS(107000, aclrtSetStreamAttribute(stream, (aclrtStreamAttr)9, &value));
    FAILS(107000, aclrtGetStreamAttribute(stream, (aclrtStreamAttr)0, &value));
    FAILS(100000, aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_PRIORITY, NULL));
    FAILS(100000, aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_PRIORITY, NULL));
    OK(aclrtDestroyStream(stream));
    CHECK(stream_events == 12);
    OK(aclrtRegStreamStateCallback("test", NULL, NULL));

    aclrtStreamConfigHandle *handle = aclrtCreateStreamConfigHandle();
    CHECK(handle != NULL);
    uint32_t priority = 3;
    size_t flag = ACL_STREAM_FAST_SYNC, work = 64;
    void *pointer = NULL;
    OK(aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_PRIORITY, &priority, sizeof priority));
    OK(aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_FLAG, &flag, sizeof flag));
    OK(aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_WORK_SIZE, &work, sizeof work));
    OK(aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_WORK_ADDR_PTR, &pointer, sizeof pointer));
    FAILS(100000, aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_PRIORITY, &priority, 1));
    FAILS(100000, aclrtSetStreamConfigOpt(handle, (aclrtStreamConfigAttr)9, &priority, 4));
    FAILS(100000, aclrtSetStreamConfigOpt(NULL, ACL_RT_STREAM_PRIORITY, &priority, 4));
    FAILS(100000, aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_PRIORITY, NULL, 4));
    OK(aclrtCreateStreamV2(&stream, handle));
    FAILS(100000, aclrtCreateStreamV2(NULL, handle));
    uint32_t got;
    OK(aclrtStreamGetPriority(stream, &got));
    CHECK(got == 3);
    OK(aclrtStreamGetFlags(stream, &got));
    CHECK(got == ACL_STREAM_FAST_SYNC);
    OK(aclrtDestroyStreamConfigHandle(handle));
    FAILS(100000, aclrtDestroyStreamConfigHandle(NULL));
    OK(aclrtDestroyStream(stream));
}

static void last_task(void)
{
    uint32_t first, second;
    aclrtStream stream;
    OK(aclrtCreateStream(&stream));
    OK(run(kernel(binary, "empty"), 1, stream, NULL, 0));
    OK(aclrtGetThreadLastTaskId(&first));
    OK(run(kernel(binary, "trap"), 1, stream, NULL, 0));
    OK(aclrtGetThreadLastTaskId(&second));
    CHECK(second == first + 1);
    FAILS(100000, aclrtGetThreadLastTaskId(NULL));
    OK(aclrtDestroyStream(stream));
}

/* A thread that waits with a time limit helps, and may find its time over right after the last block. The job must not
 * stay open then: nobody else would ever look at it. */
static void time_is_up_after_the_last_block(void)
{
    aclrtFuncHandle hold = kernel(binary, "hold"), late = kernel(binary, "late");
    aclrtStream busy[2], stream;
    int64_t *words, *count;
    CHECK(ascendcl_cpu_set_workers(2) == 0);
    OK(aclrtMalloc((void **)&words, 4 * 8, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc((void **)&count, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(words, 0, 4 * 8);
    *count = 0;
    for (int i = 0; i < 2; ++i) { /* no worker is left to join in */
        void *pair = words + 2 * i;
        OK(aclrtCreateStream(&busy[i]));
        OK(run(hold, 1, busy[i], &pair, 8));
        while (__atomic_load_n(&words[2 * i], __ATOMIC_ACQUIRE) == 0) usleep(100);
    }
    OK(aclrtCreateStream(&stream));
    OK(run_with(late, 2, stream, count, 300000));
    (void)aclrtSynchronizeStreamWithTimeout(stream, 100); /* in the last block when the time is up */
    for (int i = 0; i < 2; ++i) __atomic_store_n(&words[2 * i + 1], 1, __ATOMIC_RELEASE);
    aclError ended = aclrtSynchronizeStreamWithTimeout(stream, 20000);
    CHECK(ended == 0 && *count == 2);
    if (ended != 0) exit(check_result("stream")); /* destroying it would wait for ever */
    for (int i = 0; i < 2; ++i) OK(aclrtDestroyStream(busy[i]));
    OK(aclrtDestroyStream(stream));
    OK(aclrtFree(words));
    OK(aclrtFree(count));
    CHECK(ascendcl_cpu_set_workers(0) == 0);
}

/* Streams for the device's own use take no work from the host, whatever kind it is. */
static void device_only(void)
{
    aclrtFuncHandle empty = kernel(binary, "empty"), sleeper = kernel(binary, "sleep_us");
    aclrtStream stream;
    aclrtEvent event;
    aclrtStreamStatus status;
    uint32_t flags;
    char *p;
    OK(aclrtMalloc((void **)&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtCreateEvent(&event));
    OK(aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_DEVICE_USE_ONLY));
    OK(aclrtStreamGetFlags(stream, &flags));
    CHECK(flags == ACL_STREAM_DEVICE_USE_ONLY);
    FAILS(507000, run(empty, 1, stream, NULL, 0));
    FAILS(507000, run_with(sleeper, 4, stream, NULL, 1000));
    FAILS(507000, aclrtMemsetAsync(p, 64, 1, 64, stream));
    FAILS(507000, aclrtRecordEvent(event, stream));
    FAILS(207000, aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtSynchronizeStreamWithTimeout(stream, 10));
    OK(aclrtStreamQuery(stream, &status));
    CHECK(status == ACL_STREAM_STATUS_COMPLETE);
    OK(aclrtDestroyStream(stream));
    OK(aclrtDestroyEvent(event));
    OK(aclrtFree(p));
}

int main(void)
{
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtBinaryLoadFromFile(kernel_path("cpu"), NULL, &binary));
    life();
    limits();
    order();
    waiting();
    errors_in_continue_mode();
    errors_in_stop_mode();
    abort_and_stop();
    attributes();
    last_task();
    device_only();
    time_is_up_after_the_last_block();
    OK(aclrtBinaryUnLoad(binary));
    OK(aclrtResetDeviceForce(0));
    OK(aclFinalize());
    return check_result("stream");
}
