/* SPDX-License-Identifier: Apache-2.0
 * Capturing streams into runtime instances and executing these. */
#include <pthread.h>

#include "ascend_cy/ascendcl_cpu.h"
#include "check.h"

static aclrtBinHandle binary;
static aclrtFuncHandle add, twice, sleeper, trap;
static int64_t *word, *other;

static aclmdlRI capture_end(aclrtStream stream)
{
    aclmdlRI model = NULL;
    OK(aclmdlRICaptureEnd(stream, &model));
    CHECK(model != NULL);
    return model;
}

static uint32_t live_models(void)
{
    ascendcl_cpu_live_t live = {.struct_size = sizeof live};
    CHECK(ascendcl_cpu_live_objects(&live) == 0);
    return live.models;
}

static uint32_t live_streams(void)
{
    ascendcl_cpu_live_t live = {.struct_size = sizeof live};
    CHECK(ascendcl_cpu_live_objects(&live) == 0);
    return live.streams;
}

/* Tasks are recorded and not run; each execution runs them in order, with the arguments as they were. */
static void one_stream(void)
{
    aclrtStream stream, exec;
    aclmdlRI model, seen;
    aclmdlRICaptureStatus status;
    struct pointer_and_value args = {word, 3};
    int64_t *pinned;
    uint32_t before;
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateStream(&exec));
    OK(aclrtGetStreamAvailableNum(&before));
    OK(aclrtMallocHost((void **)&pinned, 8));
    *word = 0;
    OK(run_with(add, 1, stream, word, 1)); /* before the capture: runs */
    OK(aclmdlRICaptureGetInfo(stream, &status, &seen));
    CHECK(status == ACL_MODEL_RI_CAPTURE_STATUS_NONE && seen == NULL);
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    OK(aclmdlRICaptureGetInfo(stream, &status, &seen));
    CHECK(status == ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE && seen != NULL);
    OK(run(add, 1, stream, &args, sizeof args));
    args.value = 1000; /* the block was copied */
    OK(run(twice, 1, stream, &word, 8));
    OK(aclrtMemcpyAsync(pinned, 8, word, 8, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    *pinned = 77;
    OK(aclrtMemcpyAsync(other, 8, pinned, 8, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream)); /* copied now */
    *pinned = -1;
    OK(aclrtMemsetAsync(other + 1, 8, 5, 8, stream));
    model = capture_end(stream);
    CHECK(model == seen);
    OK(aclmdlRICaptureGetInfo(stream, &status, NULL));
    CHECK(status == ACL_MODEL_RI_CAPTURE_STATUS_NONE);
    OK(aclrtSynchronizeStream(stream));
    CHECK(*word == 1 && *pinned == -1);
    OK(aclmdlRIExecuteAsync(model, stream));
    OK(aclrtSynchronizeStream(stream));
    CHECK(*word == 8 && *pinned == 8 && other[0] == 77 && other[1] == 0x0505050505050505);
    /* on another stream, among its own work, and several times */
    OK(run_with(add, 1, exec, word, -8));
    for (int i = 0; i < 5; ++i) OK(aclmdlRIExecuteAsync(model, exec));
    OK(run_with(add, 1, exec, word, 1));
    OK(aclrtSynchronizeStream(exec));
    CHECK(*word == 187); /* 0 -> 6, 18, 42, 90, 186 */
    CHECK(live_models() == 1 && live_streams() == 2);
    OK(aclmdlRIDestroy(model));
    FAILS(107017, aclmdlRIDestroy(model));
    FAILS(107017, aclmdlRIExecuteAsync(model, exec));
    CHECK(live_models() == 0);
    uint32_t after;
    OK(aclrtGetStreamAvailableNum(&after));
    CHECK(after == before);
    OK(aclrtFreeHost(pinned));
    OK(aclrtDestroyStream(stream));
    OK(aclrtDestroyStream(exec));
}

/* An empty capture, and one whose executions are enqueued on two streams at once. */
static void executions_in_turn(void)
{
    aclrtStream stream, exec;
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateStream(&exec));
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    aclmdlRI empty = capture_end(stream);
    OK(aclmdlRIExecuteAsync(empty, stream));
    OK(aclrtSynchronizeStream(stream));
    OK(aclmdlRIDestroy(empty));
    *word = 0;
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(run_with(sleeper, 1, stream, NULL, 500));
    OK(run_with(add, 1, stream, word, 1)); /* not atomic: shows executions at the same time */
    aclmdlRI model = capture_end(stream);
    for (int i = 0; i < 20; ++i) OK(aclmdlRIExecuteAsync(model, i % 2 != 0 ? stream : exec));
    OK(aclmdlRIDestroy(model)); /* waits for what is enqueued */
    CHECK(*word == 20);
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtSynchronizeStream(exec));
    OK(aclrtDestroyStream(stream));
    OK(aclrtDestroyStream(exec));
}

/* Events of aclrtCreateEventExWithFlag bring other streams into a capture and back. */
static void several_streams(void)
{
    aclrtStream first, second, third, plain;
    aclrtEvent fork, join, deep, ordinary, outer;
    aclmdlRICaptureStatus status;
    aclmdlRI model, seen;
    aclrtEventRecordedStatus recorded;
    float ms;
    uint64_t stamp;
    OK(aclrtCreateStream(&first));
    OK(aclrtCreateStream(&second));
    OK(aclrtCreateStream(&third));
    OK(aclrtCreateStream(&plain));
    OK(aclrtCreateEventExWithFlag(&fork, ACL_EVENT_SYNC));
    OK(aclrtCreateEventExWithFlag(&join, ACL_EVENT_SYNC));
    OK(aclrtCreateEventExWithFlag(&deep, ACL_EVENT_SYNC));
    OK(aclrtCreateEvent(&ordinary));
    OK(aclrtCreateEventExWithFlag(&outer, ACL_EVENT_SYNC));
    OK(aclrtRecordEvent(outer, plain));
    word[0] = word[1] = 0;
    OK(aclmdlRICaptureBegin(first, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(run_with(sleeper, 1, first, NULL, 3000));
    OK(run_with(add, 1, first, word, 5));
    FAILS(207000, aclrtRecordEvent(ordinary, first));
    FAILS(207000, aclrtStreamWaitEvent(first, ordinary));
    FAILS(207000, aclrtResetEvent(ordinary, first));
    FAILS(207000, aclrtResetEvent(fork, first));
    FAILS(107024, aclrtStreamWaitEvent(first, outer)); /* recorded outside */
    OK(aclrtRecordEvent(fork, first));
    OK(aclrtStreamWaitEvent(second, fork));
    OK(aclmdlRICaptureGetInfo(second, &status, &seen));
    CHECK(status == ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
    FAILS(107031, aclrtStreamWaitEvent(NULL, fork)); /* the default stream cannot join */
    FAILS(107028, aclrtSynchronizeEvent(fork));
    FAILS(107028, aclrtSynchronizeEventWithTimeout(fork, 10));
    FAILS(107028, aclrtQueryEventStatus(fork, &recorded));
    FAILS(107028, aclrtEventElapsedTime(&ms, fork, fork));
    FAILS(107028, aclrtEventGetTimestamp(fork, &stamp));
    FAILS(107036, aclmdlRICaptureEnd(second, &model)); /* it was not begun there */
    OK(run(twice, 1, second, &word, 8));
    OK(aclrtRecordEvent(deep, second));
    OK(aclrtStreamWaitEvent(third, deep));
    OK(run_with(add, 1, third, word, 1));
    OK(aclrtRecordEvent(deep, third));
    OK(aclrtStreamWaitEvent(second, deep));
    OK(aclrtRecordEvent(join, second));
    OK(run_with(add, 1, first, word + 1, 1));
    OK(aclrtStreamWaitEvent(first, join));
    OK(run_with(add, 1, first, word, 100));
    model = capture_end(first);
    CHECK(model == seen);
    CHECK(word[0] == 0 && word[1] == 0);
    OK(aclrtSynchronizeEvent(fork)); /* an event again that was never recorded */
    for (int i = 0; i < 3; ++i) OK(aclmdlRIExecuteAsync(model, plain));
    OK(aclrtSynchronizeStream(plain));
    /* w -> (w + 5) * 2 + 101 */
    CHECK(word[0] == 111 * 7 && word[1] == 3);
    /* the streams are free for other things */
    OK(run_with(add, 1, second, word, 1));
    OK(aclrtSynchronizeStream(second));
    OK(aclmdlRIDestroy(model));

    /* streams that do not come back */
    OK(aclmdlRICaptureBegin(first, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclrtRecordEvent(fork, first));
    OK(aclrtStreamWaitEvent(second, fork));
    OK(run_with(add, 1, second, word, 1));
    model = first;
    FAILS(107025, aclmdlRICaptureEnd(first, &model));
    CHECK(model == NULL);
    OK(aclmdlRICaptureGetInfo(second, &status, NULL));
    CHECK(status == ACL_MODEL_RI_CAPTURE_STATUS_NONE); /* released all the same */
    OK(aclmdlRICaptureBegin(first, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclrtRecordEvent(fork, first));
    OK(aclrtStreamWaitEvent(second, fork));
    OK(aclrtRecordEvent(join, second)); /* nobody waits for it */
    FAILS(107025, aclmdlRICaptureEnd(first, &model));
    OK(aclmdlRICaptureBegin(first, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclrtRecordEvent(fork, first));
    OK(aclrtStreamWaitEvent(second, fork));
    OK(aclrtRecordEvent(join, second));
    OK(aclrtStreamWaitEvent(first, join));
    OK(run_with(add, 1, second, word, 1)); /* after it came back */
    FAILS(107025, aclmdlRICaptureEnd(first, &model));

    /* two captures meet: both are invalid */
    OK(aclmdlRICaptureBegin(first, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclmdlRICaptureBegin(second, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclrtRecordEvent(fork, first));
    FAILS(107032, aclrtStreamWaitEvent(second, fork));
    OK(aclmdlRICaptureGetInfo(first, &status, NULL));
    CHECK(status == ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED);
    FAILS(507903, run_with(add, 1, second, word, 1));
    FAILS(507903, aclmdlRICaptureEnd(first, &model));
    FAILS(507903, aclmdlRICaptureEnd(second, &model));
    OK(aclmdlRICaptureBegin(first, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclmdlRICaptureBegin(second, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclrtRecordEvent(fork, first));
    FAILS(107032, aclrtRecordEvent(fork, second));
    FAILS(507903, aclmdlRICaptureEnd(first, &model));
    FAILS(507903, aclmdlRICaptureEnd(second, &model));
    CHECK(live_models() == 0);
    /* an event that is destroyed while it joins streams keeps doing so */
    OK(aclmdlRICaptureBegin(first, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclrtRecordEvent(fork, first));
    OK(aclrtStreamWaitEvent(second, fork));
    OK(aclrtDestroyEvent(fork));
    OK(run_with(add, 1, second, word, 1));
    OK(aclrtRecordEvent(join, second));
    OK(aclrtStreamWaitEvent(first, join));
    OK(aclrtDestroyEvent(join));
    model = capture_end(first);
    word[0] = 0;
    OK(aclmdlRIExecuteAsync(model, first));
    OK(aclrtSynchronizeStream(first));
    CHECK(word[0] == 1);
    OK(aclmdlRIDestroy(model));
    OK(aclrtDestroyEvent(deep));
    OK(aclrtDestroyEvent(ordinary));
    OK(aclrtDestroyEvent(outer));
    OK(aclrtDestroyStream(first));
    OK(aclrtDestroyStream(second));
    OK(aclrtDestroyStream(third));
    OK(aclrtDestroyStream(plain));
}

/* What is refused while a stream is captured. */
static void refusals(void)
{
    aclrtStream stream, second, persistent;
    aclrtContext here, there;
    aclmdlRI model;
    aclrtStreamStatus status;
    int64_t pageable = 0;
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateStream(&second));
    OK(aclrtCreateStreamWithConfig(&persistent, 0, ACL_STREAM_PERSISTENT));
    FAILS(100000, aclmdlRICaptureBegin(NULL, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    FAILS(107000, aclmdlRICaptureBegin(stream, (aclmdlRICaptureMode)3));
    FAILS(107000, aclmdlRICaptureBegin(stream, (aclmdlRICaptureMode)-1));
    FAILS(507000, aclmdlRICaptureBegin(persistent, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    FAILS(107017, aclmdlRICaptureBegin(&pageable, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    aclrtStream standard;
    OK(aclrtCtxGetCurrentDefaultStream(&standard));
    FAILS(207000, aclmdlRICaptureBegin(standard, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    FAILS(207000, aclmdlRICaptureEnd(standard, &model));
    FAILS(100000, aclmdlRICaptureEnd(NULL, &model));
    FAILS(107029, aclmdlRICaptureEnd(stream, &model));
    FAILS(100000, aclmdlRICaptureGetInfo(NULL, NULL, &model));
    FAILS(100000, aclmdlRICaptureGetInfo(stream, NULL, NULL));
    OK(aclrtGetCurrentContext(&here));
    OK(aclrtCreateContext(&there, 0));
    FAILS(107003, aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    OK(aclrtSetCurrentContext(here));

    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    FAILS(107027, aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    FAILS(107027, aclrtSynchronizeStream(stream));
    FAILS(107027, aclrtSynchronizeStreamWithTimeout(stream, 10));
    FAILS(107027, aclrtStreamQuery(stream, &status));
    FAILS(107027, aclrtDestroyStream(stream));
    FAILS(107027, aclrtDestroyStreamForce(stream));
    FAILS(107027, aclrtSynchronizeDevice());
    FAILS(107027, aclrtSynchronizeDeviceWithTimeout(10));
    FAILS(107000, aclrtMemcpyAsync(word, 8, &pageable, 8, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    FAILS(107000, aclrtMemcpyAsync(&pageable, 8, word, 8, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    FAILS(107027, aclrtSetStreamOverflowSwitch(stream, 1));
    FAILS(107027, aclrtGetOverflowStatus(word, 64, stream));
    FAILS(107027, aclrtResetOverflowStatus(stream));
    FAILS(107000, aclmdlRICaptureEnd(stream, NULL));
    OK(aclrtSynchronizeStream(second)); /* others are not concerned */
    OK(aclrtMemcpy(word, 8, &pageable, 8, ACL_MEMCPY_HOST_TO_DEVICE)); /* relaxed */
    aclmdlRI seen;
    OK(aclmdlRICaptureGetInfo(stream, NULL, &seen));
    FAILS(107026, aclmdlRIExecuteAsync(seen, second));
    FAILS(107026, aclmdlRIDestroy(seen));
    model = capture_end(stream);
    OK(aclrtSynchronizeDevice());
    OK(aclmdlRICaptureBegin(second, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    FAILS(107027, aclmdlRIExecuteAsync(model, second)); /* no models in models */
    aclmdlRI none = capture_end(second);
    FAILS(107000, aclmdlRIExecuteAsync(model, persistent));
    FAILS(100000, aclmdlRIExecuteAsync(NULL, stream));
    FAILS(107017, aclmdlRIExecuteAsync(&pageable, stream));
    FAILS(107000, aclmdlRIExecute(model, -1)); /* built models only */
    FAILS(207000, aclmdlRIAbort(model));
    FAILS(107000, aclmdlRIBindStream(model, persistent, 0));
    FAILS(107000, aclmdlRIEndTask(model, persistent));
    FAILS(107000, aclmdlRIBuildEnd(model, NULL));
    FAILS(107000, aclmdlRIUnbindStream(model, persistent));
    FAILS(100000, aclmdlRIDestroy(NULL));
    OK(aclrtSetCurrentContext(there));
    FAILS(107004, aclmdlRIExecuteAsync(model, NULL));
    FAILS(107004, aclmdlRIDestroy(model));
    OK(aclrtDestroyContext(there));
    OK(aclrtSetCurrentContext(here));
    OK(aclmdlRIExecuteAsync(model, NULL)); /* the default stream executes models */
    OK(aclrtSynchronizeStream(NULL));
    OK(aclmdlRIDestroy(model));
    OK(aclmdlRIDestroy(none));

    /* pools */
    aclrtMemPool pool;
    aclrtMemPoolProps props = {0};
    props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    void *block;
    if (aclrtMemPoolCreate(&pool, &props) == ACL_SUCCESS) {
        OK(aclrtMemPoolMallocAsync(&block, 64, pool, stream));
        OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
        void *more;
        FAILS(207000, aclrtMemPoolMallocAsync(&more, 64, pool, stream));
        FAILS(207000, aclrtMemPoolFreeAsync(block, stream));
        OK(aclmdlRIDestroy(capture_end(stream)));
        OK(aclrtMemPoolFreeAsync(block, stream));
        OK(aclrtSynchronizeStream(stream));
        OK(aclrtMemPoolDestroy(pool));
    }
    OK(aclrtDestroyStream(stream));
    OK(aclrtDestroyStream(second));
    OK(aclrtDestroyStream(persistent));
}

/* The modes: which threads may call what blocks. */
struct attempt {
    aclrtContext context;
    aclmdlRICaptureMode exchange;
    aclError copied, ended;
    aclrtStream stream;
};

static void *attempt_copy(void *argument)
{
    struct attempt *a = argument;
    int64_t value = 0;
    OK(aclrtSetCurrentContext(a->context));
    aclmdlRICaptureMode mode = a->exchange;
    OK(aclmdlRICaptureThreadExchangeMode(&mode));
    CHECK(mode == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL); /* what a thread begins with */
    a->copied = aclrtMemcpy(&value, 8, word, 8, ACL_MEMCPY_DEVICE_TO_HOST);
    (void)aclGetRecentErrMsg();
    aclmdlRI model;
    a->ended = a->stream != NULL ? aclmdlRICaptureEnd(a->stream, &model) : 0;
    if (a->stream != NULL && a->ended == 0) OK(aclmdlRIDestroy(model));
    return NULL;
}

static aclError in_other_thread(aclmdlRICaptureMode exchange, aclrtStream stream, aclError *ended)
{
    struct attempt a = {NULL, exchange, 0, 0, stream};
    pthread_t thread;
    OK(aclrtGetCurrentContext(&a.context));
    CHECK(pthread_create(&thread, NULL, attempt_copy, &a) == 0);
    pthread_join(thread, NULL);
    if (ended != NULL) *ended = a.ended;
    return a.copied;
}

static void modes(void)
{
    const aclmdlRICaptureMode global = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL, local = ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL,
                              relaxed = ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
    aclrtStream stream;
    int64_t value = 0;
    OK(aclrtCreateStream(&stream));
    FAILS(100000, aclmdlRICaptureThreadExchangeMode(NULL));
    aclmdlRICaptureMode mode = (aclmdlRICaptureMode)3;
    FAILS(107000, aclmdlRICaptureThreadExchangeMode(&mode));

    OK(aclmdlRICaptureBegin(stream, global));
    FAILS(107030, aclrtMemcpy(&value, 8, word, 8, ACL_MEMCPY_DEVICE_TO_HOST));
    FAILS(107030, aclrtMemset(word, 8, 0, 8));
    FAILS(107030, aclrtMemcpy2d(&value, 8, word, 8, 8, 1, ACL_MEMCPY_DEVICE_TO_HOST));
    FAILS(107030, aclrtMemsetD32(word, 8, 0, 2));
    CHECK(in_other_thread(global, NULL, NULL) == 107030);
    CHECK(in_other_thread(local, NULL, NULL) == 0);
    CHECK(in_other_thread(relaxed, NULL, NULL) == 0);
    mode = relaxed;
    OK(aclmdlRICaptureThreadExchangeMode(&mode));
    CHECK(mode == global);
    OK(aclrtMemcpy(&value, 8, word, 8, ACL_MEMCPY_DEVICE_TO_HOST));
    OK(aclmdlRICaptureThreadExchangeMode(&mode));
    CHECK(mode == relaxed);
    mode = local;
    OK(aclmdlRICaptureThreadExchangeMode(&mode));
    FAILS(107030, aclrtMemcpy(&value, 8, word, 8, ACL_MEMCPY_DEVICE_TO_HOST)); /* this thread captures */
    OK(aclmdlRICaptureThreadExchangeMode(&mode));
    OK(aclmdlRIDestroy(capture_end(stream))); /* a refusal does not invalidate the capture */
    OK(aclrtMemcpy(&value, 8, word, 8, ACL_MEMCPY_DEVICE_TO_HOST));

    OK(aclmdlRICaptureBegin(stream, local));
    FAILS(107030, aclrtMemcpy(&value, 8, word, 8, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(in_other_thread(global, NULL, NULL) == 0);
    OK(aclmdlRIDestroy(capture_end(stream)));

    OK(aclmdlRICaptureBegin(stream, relaxed));
    OK(aclrtMemcpy(&value, 8, word, 8, ACL_MEMCPY_DEVICE_TO_HOST));
    aclError ended;
    CHECK(in_other_thread(global, stream, &ended) == 0);
    CHECK(ended == 0); /* any thread may end a relaxed one */
    OK(aclmdlRICaptureBegin(stream, local));
    CHECK(in_other_thread(global, stream, &ended) == 0);
    CHECK(ended == 107038);
    aclmdlRI model;
    FAILS(107029, aclmdlRICaptureEnd(stream, &model)); /* it is over */
    CHECK(live_models() == 0);
    OK(aclrtDestroyStream(stream));
}

/* Failures of captured work appear where the model is executed; the rest of the execution is dropped. */
static int exceptions_seen;
static void on_exception(aclrtExceptionInfo *info)
{
    if (aclrtGetErrorCodeFromExceptionInfo(info) == 507015) ++exceptions_seen;
}

static void failures(void)
{
    aclrtStream stream, second, exec;
    aclrtEvent fork, join, done;
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateStream(&second));
    OK(aclrtCreateStream(&exec));
    OK(aclrtCreateEventExWithFlag(&fork, ACL_EVENT_SYNC));
    OK(aclrtCreateEventExWithFlag(&join, ACL_EVENT_SYNC));
    OK(aclrtCreateEventExWithFlag(&done, ACL_EVENT_SYNC));
    word[0] = word[1] = 0;
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclrtRecordEvent(fork, stream));
    OK(aclrtStreamWaitEvent(second, fork));
    OK(run_with(add, 1, second, word + 1, 1));
    OK(run(trap, 1, second, NULL, 0));
    OK(run_with(add, 1, second, word, 1));
    OK(aclrtRecordEvent(join, second));
    OK(aclrtStreamWaitEvent(stream, join));
    OK(run_with(add, 1, stream, word, 1));
    OK(aclrtRecordEventWithFlag(done, stream, ACL_EVENT_RECORD_EXTERNAL));
    aclmdlRI model = capture_end(stream);
    OK(aclrtSetExceptionInfoCallback(on_exception));
    for (int i = 0; i < 2; ++i) {
        OK(aclmdlRIExecuteAsync(model, exec));
        OK(aclrtStreamWaitEvent(stream, done)); /* completes though its record was dropped */
        OK(aclrtSynchronizeStream(stream));
        FAILS(507015, aclrtSynchronizeStream(exec));
        CHECK(word[0] == 0 && word[1] == i + 1);
    }
    CHECK(exceptions_seen == 2);
    OK(aclrtSetExceptionInfoCallback(NULL));
    OK(aclrtSynchronizeDevice()); /* nothing is left of it */
    OK(aclmdlRIExecuteAsync(model, exec));
    FAILS(507015, aclrtSynchronizeDevice());
    OK(aclmdlRIDestroy(model));

    /* dropping the work of the executing stream ends the execution */
    aclrtEvent never;
    OK(aclrtCreateEventWithFlag(&never, ACL_EVENT_EXTERNAL));
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclrtStreamWaitEvent(stream, never));
    OK(run_with(add, 1, stream, word, 1));
    model = capture_end(stream);
    OK(aclmdlRIExecuteAsync(model, exec));
    OK(aclmdlRIExecuteAsync(model, second)); /* in turn behind it */
    FAILS(507046, aclrtSynchronizeStreamWithTimeout(exec, 30));
    OK(aclrtStreamAbort(second));
    OK(aclrtStreamAbort(exec));
    OK(aclrtSynchronizeStream(exec));
    CHECK(word[0] == 0);
    /* it works again */
    OK(aclmdlRIExecuteAsync(model, exec));
    OK(aclrtRecordEvent(never, stream));
    OK(aclrtSynchronizeStream(exec));
    CHECK(word[0] == 1);
    OK(aclmdlRIDestroy(model));
    OK(aclrtDestroyEvent(never));
    OK(aclrtDestroyEvent(fork));
    OK(aclrtDestroyEvent(join));
    OK(aclrtDestroyEvent(done));
    OK(aclrtDestroyStream(stream));
    OK(aclrtDestroyStream(second));
    OK(aclrtDestroyStream(exec));
}

/* Events that connect an execution with streams outside of the model. */
static void external_events(void)
{
    aclrtStream graph, outside, second_graph;
    aclrtEvent event, other_event, plain, reused;
    OK(aclrtCreateStream(&graph));
    OK(aclrtCreateStream(&second_graph));
    OK(aclrtCreateStream(&outside));
    OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    OK(aclrtCreateEventExWithFlag(&other_event, ACL_EVENT_SYNC));
    OK(aclrtCreateEventExWithFlag(&reused, ACL_EVENT_SYNC));
    OK(aclrtCreateEvent(&plain));
    FAILS(107029, aclrtStreamWaitEventWithFlag(graph, event, 0, ACL_EVENT_WAIT_EXTERNAL));
    FAILS(107029, aclrtRecordEventWithFlag(other_event, graph, ACL_EVENT_RECORD_EXTERNAL));
    FAILS(107000, aclrtStreamWaitEventWithFlag(graph, event, 0, 2));
    FAILS(107000, aclrtRecordEventWithFlag(event, graph, 2));
    FAILS(207000, aclrtRecordEventWithFlag(plain, graph, ACL_EVENT_RECORD_EXTERNAL));
    FAILS(207000, aclrtStreamWaitEventWithFlag(graph, plain, 0, ACL_EVENT_WAIT_EXTERNAL));
    OK(aclrtRecordEvent(reused, outside));
    FAILS(107000, aclrtRecordEventWithFlag(reused, graph, ACL_EVENT_RECORD_EXTERNAL)); /* one flag for an event */
    OK(aclrtStreamWaitEvent(outside, reused));
    FAILS(107000, aclrtStreamWaitEventWithFlag(graph, reused, 0, ACL_EVENT_WAIT_EXTERNAL));

    OK(aclmdlRICaptureBegin(graph, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclrtStreamWaitEventWithFlag(graph, event, 0, ACL_EVENT_WAIT_EXTERNAL));
    FAILS(107000, aclrtStreamWaitEventWithFlag(graph, event, 0, ACL_EVENT_WAIT_EXTERNAL)); /* once for each event */
    OK(run(twice, 1, graph, &word, 8));
    OK(aclrtRecordEventWithFlag(other_event, graph, ACL_EVENT_RECORD_EXTERNAL));
    FAILS(107000, aclrtRecordEventWithFlag(other_event, graph, ACL_EVENT_RECORD_EXTERNAL));
    aclmdlRI model = capture_end(graph);
    FAILS(107000, aclrtStreamWaitEvent(graph, event)); /* used as an external one before */
    FAILS(107000, aclrtRecordEvent(other_event, graph));
    *word = 0;
    for (int64_t i = 1; i <= 3; ++i) {
        /* the wait is for the newest record at the time of the call */
        OK(run_with(sleeper, 1, outside, NULL, 2000));
        OK(run_with(add, 1, outside, word, 1));
        OK(aclrtRecordEvent(event, outside));
        OK(aclmdlRIExecuteAsync(model, graph));
        OK(aclrtStreamWaitEvent(outside, other_event));
        OK(run_with(add, 1, outside, word, 1));
        OK(aclrtSynchronizeStream(outside));
        OK(aclrtSynchronizeStream(graph));
    }
    CHECK(*word == 21); /* w -> 2 w + 3 */
    /* from one model to another */
    OK(aclmdlRICaptureBegin(second_graph, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    FAILS(107024, aclrtStreamWaitEventWithFlag(second_graph, reused, 0, ACL_EVENT_WAIT_DEFAULT));
    aclrtEvent between;
    OK(aclrtCreateEventExWithFlag(&between, ACL_EVENT_SYNC));
    OK(aclrtStreamWaitEventWithFlag(second_graph, between, 0, ACL_EVENT_WAIT_EXTERNAL));
    OK(run_with(add, 1, second_graph, word, 5));
    aclmdlRI waits = capture_end(second_graph);
    OK(aclmdlRICaptureBegin(graph, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(run_with(sleeper, 1, graph, NULL, 2000));
    OK(run(twice, 1, graph, &word, 8));
    OK(aclrtRecordEventWithFlag(between, graph, ACL_EVENT_RECORD_EXTERNAL));
    aclmdlRI records = capture_end(graph);
    *word = 1;
    OK(aclmdlRIExecuteAsync(waits, second_graph)); /* never recorded so far: does not wait */
    OK(aclrtSynchronizeStream(second_graph));
    CHECK(*word == 6);
    OK(aclmdlRIExecuteAsync(records, graph));
    OK(aclmdlRIExecuteAsync(waits, second_graph));
    OK(aclrtSynchronizeStream(second_graph));
    CHECK(*word == 17);
    OK(aclmdlRIDestroy(model));
    OK(aclmdlRIDestroy(waits));
    OK(aclmdlRIDestroy(records));
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyEvent(other_event));
    OK(aclrtDestroyEvent(plain));
    OK(aclrtDestroyEvent(reused));
    OK(aclrtDestroyEvent(between));
    OK(aclrtDestroyStream(graph));
    OK(aclrtDestroyStream(second_graph));
    OK(aclrtDestroyStream(outside));
}

/* Groups of kernels that are replaced between, and during, executions. */
static void task_groups(void)
{
    aclrtStream stream, updating, second;
    aclrtTaskGrp group, none;
    aclrtEvent gate;
    aclmdlRI model;
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateStream(&updating));
    OK(aclrtCreateStream(&second));
    OK(aclrtCreateEventWithFlag(&gate, ACL_EVENT_EXTERNAL));
    FAILS(107029, aclmdlRICaptureTaskGrpBegin(stream));
    FAILS(107029, aclmdlRICaptureTaskGrpEnd(stream, &group));
    FAILS(100000, aclmdlRICaptureTaskGrpBegin(NULL));
    FAILS(100000, aclmdlRICaptureTaskGrpEnd(stream, NULL));
    FAILS(100000, aclmdlRICaptureTaskUpdateBegin(stream, NULL));
    FAILS(100000, aclmdlRICaptureTaskUpdateEnd(NULL));
    FAILS(107033, aclmdlRICaptureTaskUpdateEnd(stream));
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    FAILS(107033, aclmdlRICaptureTaskGrpEnd(stream, &none));
    OK(run_with(add, 1, stream, word, 1));
    OK(aclrtStreamWaitEvent(stream, gate));
    OK(aclrtResetEvent(gate, stream));
    OK(aclmdlRICaptureTaskGrpBegin(stream));
    FAILS(107033, aclmdlRICaptureTaskGrpBegin(stream));
    OK(run_with(add, 1, stream, word, 10));
    OK(run(twice, 1, stream, &word, 8));
    OK(aclmdlRICaptureTaskGrpEnd(stream, &group));
    OK(run_with(add, 1, stream, word, 100));
    OK(aclmdlRICaptureTaskGrpBegin(stream));
    FAILS(507009, aclrtMemsetAsync(word, 8, 0, 8, stream)); /* kernels only */
    FAILS(507009, aclmdlRICaptureTaskGrpEnd(stream, &none));
    CHECK(none == NULL);
    FAILS(107027, aclmdlRICaptureTaskUpdateBegin(stream, group));
    FAILS(107027, aclmdlRICaptureTaskUpdateEnd(stream));
    FAILS(107033, aclmdlRICaptureTaskUpdateBegin(updating, group)); /* the capture is not over */
    model = capture_end(stream);
    *word = 0;
    OK(aclmdlRIExecuteAsync(model, stream));
    OK(aclrtRecordEvent(gate, updating));
    OK(aclrtSynchronizeStream(stream));
    CHECK(*word == 122);
    /* while the execution waits in front of the group */
    *word = 0;
    OK(aclmdlRIExecuteAsync(model, stream));
    OK(aclmdlRICaptureTaskUpdateBegin(updating, group));
    FAILS(107033, aclmdlRICaptureTaskUpdateBegin(updating, group));
    FAILS(107033, aclmdlRICaptureTaskUpdateBegin(second, group));
    FAILS(107033, aclmdlRICaptureBegin(updating, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    FAILS(507009, aclrtMemsetAsync(word, 8, 0, 8, updating));
    FAILS(507009, aclrtRecordEvent(gate, updating));
    OK(run(twice, 1, updating, &word, 8));
    OK(run_with(add, 1, updating, word, 7));
    FAILS(507000, run_with(add, 1, updating, word, 7)); /* one too many */
    OK(aclmdlRICaptureTaskUpdateEnd(updating));
    FAILS(507046, aclrtSynchronizeStreamWithTimeout(stream, 20)); /* nothing passed the gate */
    OK(aclrtRecordEvent(gate, updating));
    OK(aclrtSynchronizeStream(stream));
    CHECK(*word == 109);
    /* too few: nothing is replaced */
    OK(aclmdlRICaptureTaskUpdateBegin(updating, group));
    OK(run_with(add, 1, updating, word, 1000));
    FAILS(507000, aclmdlRICaptureTaskUpdateEnd(updating));
    *word = 0;
    OK(aclmdlRIExecuteAsync(model, stream));
    OK(aclrtRecordEvent(gate, updating));
    OK(aclrtSynchronizeStream(stream));
    CHECK(*word == 109);
    /* in the order of the updating stream: behind its work */
    *word = 0;
    OK(run_with(sleeper, 1, updating, NULL, 3000));
    OK(aclmdlRICaptureTaskUpdateBegin(updating, group));
    OK(run_with(add, 1, updating, word, 1000));
    OK(run_with(add, 1, updating, word, 1000));
    OK(aclmdlRICaptureTaskUpdateEnd(updating));
    OK(aclrtRecordEvent(gate, updating));
    OK(aclmdlRIExecuteAsync(model, stream));
    OK(aclrtSynchronizeStream(stream));
    CHECK(*word == 2101);
    OK(aclmdlRIDestroy(model));
    FAILS(107017, aclmdlRICaptureTaskUpdateBegin(updating, group));
    /* a group that is open at the end */
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclmdlRICaptureTaskGrpBegin(stream));
    FAILS(107033, aclmdlRICaptureEnd(stream, &model));
    OK(aclrtDestroyEvent(gate));
    OK(aclrtDestroyStream(stream));
    OK(aclrtDestroyStream(updating));
    OK(aclrtDestroyStream(second));
}

/* Tasks of a model: what they are, and with other parameters. */
static void tasks(void)
{
    aclrtStream stream, runner, streams[4];
    aclmdlRI model;
    aclmdlRITask list[8];
    aclmdlRITaskType type;
    aclmdlRITaskParams params;
    uint32_t count = 0, id;
    uint64_t *value = (uint64_t *)(word + 2);
    aclrtLaunchKernelAttrValue attribute;
    aclrtLaunchKernelAttr attr = {.id = ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT, .value = {.timeout = 9}};
    aclrtLaunchKernelCfg cfg = {&attr, 1};
    struct pointer_and_value args = {word, 4};
    OK(aclrtCreateStream(&stream));
    *value = 7;
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclrtLaunchKernelWithHostArgs(add, 1, stream, &cfg, &args, sizeof args, NULL, 0));
    OK(aclrtValueWrite(value, 8, 0, stream));
    OK(aclrtValueWait(value, 8, ACL_STREAM_WAIT_VALUE_EQ, stream));
    OK(aclrtMemsetAsync(other, 8, 1, 8, stream));
    model = capture_end(stream);
    FAILS(107000, aclmdlRIGetStreams(NULL, NULL, &count));
    FAILS(107000, aclmdlRIGetStreams(model, NULL, NULL));
    OK(aclmdlRIGetStreams(model, NULL, &count));
    CHECK(count == 1);
    count = 0;
    FAILS(107039, aclmdlRIGetStreams(model, streams, &count));
    count = 4;
    OK(aclmdlRIGetStreams(model, streams, &count));
    CHECK(count == 1 && streams[1] == NULL && streams[3] == NULL);
    runner = streams[0];
    FAILS(107005, aclrtDestroyStream(runner)); /* not ours */
    FAILS(107005, run_with(add, 1, runner, word, 1));
    FAILS(107000, aclmdlRIGetTasksByStream(stream, NULL, &count));
    FAILS(107000, aclmdlRIGetTasksByStream(runner, NULL, NULL));
    OK(aclmdlRIGetTasksByStream(runner, NULL, &count));
    CHECK(count == 4);
    count = 3;
    FAILS(107039, aclmdlRIGetTasksByStream(runner, list, &count));
    count = 8;
    OK(aclmdlRIGetTasksByStream(runner, list, &count));
    CHECK(count == 4 && list[4] == NULL);
    const aclmdlRITaskType expected[] = {ACL_MODEL_RI_TASK_KERNEL, ACL_MODEL_RI_TASK_VALUE_WRITE, ACL_MODEL_RI_TASK_VALUE_WAIT,
                                         ACL_MODEL_RI_TASK_DEFAULT};
    for (uint32_t i = 0; i < 4; ++i) {
        OK(aclmdlRITaskGetType(list[i], &type));
        CHECK(type == expected[i]);
        OK(aclmdlRITaskGetSeqId(list[i], &id));
        CHECK(id == i);
    }
    FAILS(107000, aclmdlRITaskGetType(NULL, &type));
    FAILS(107000, aclmdlRITaskGetType(list[0], NULL));
    FAILS(107017, aclmdlRITaskGetType(stream, &type));
    FAILS(107000, aclmdlRITaskGetSeqId(list[0], NULL));
    FAILS(107000, aclmdlRITaskGetParams(list[0], NULL));
    OK(aclmdlRITaskGetParams(list[0], &params));
    CHECK(params.type == ACL_MODEL_RI_TASK_KERNEL && params.taskGrp == NULL);
    CHECK(params.kernelTaskParams.funcHandle == add && params.kernelTaskParams.numBlocks == 1);
    CHECK(params.kernelTaskParams.argsSize == sizeof args && params.kernelTaskParams.isHostArgs == 1);
    CHECK(memcmp(params.kernelTaskParams.args, &args, sizeof args) == 0);
    CHECK(params.kernelTaskParams.cfg != NULL && params.kernelTaskParams.cfg->numAttrs == 1);
    OK(aclmdlRIKernelTaskGetAttribute(list[0], ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT, &attribute));
    CHECK(attribute.timeout == 9);
    OK(aclmdlRIKernelTaskGetAttribute(list[0], ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE, &attribute));
    CHECK(attribute.schemMode == 0);
    FAILS(207000, aclmdlRIKernelTaskGetAttribute(list[0], ACL_RT_LAUNCH_KERNEL_ATTR_ENGINE_TYPE, &attribute));
    FAILS(107000, aclmdlRIKernelTaskGetAttribute(list[0], (aclrtLaunchKernelAttrId)99, &attribute));
    FAILS(107000, aclmdlRIKernelTaskGetAttribute(list[0], ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT, NULL));
    FAILS(107000, aclmdlRIKernelTaskGetAttribute(list[1], ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT, &attribute));
    *word = 0;
    OK(aclmdlRIExecuteAsync(model, stream));
    OK(aclrtSynchronizeStream(stream));
    CHECK(*word == 4 && *value == 8);
    /* other parameters */
    struct pointer_and_value more = {word, 40};
    params.kernelTaskParams.args = &more;
    params.kernelTaskParams.cfg = NULL;
    OK(aclmdlRITaskSetParams(list[0], &params));
    more.value = -1; /* copied */
    FAILS(507011, aclmdlRIExecuteAsync(model, stream)); /* not updated yet */
    OK(aclmdlRITaskGetParams(list[1], &params));
    CHECK(params.valueWriteTaskParams.devAddr == value && params.valueWriteTaskParams.value == 8);
    params.valueWriteTaskParams.value = 9;
    OK(aclmdlRITaskSetParams(list[1], &params));
    OK(aclmdlRITaskGetParams(list[2], &params));
    CHECK(params.valueWaitTaskParams.value == 8 && params.valueWaitTaskParams.flag == ACL_STREAM_WAIT_VALUE_EQ);
    params.valueWaitTaskParams.value = 9;
    OK(aclmdlRITaskSetParams(list[2], &params));
    OK(aclmdlRIUpdate(model));
    OK(aclmdlRIUpdate(model)); /* nothing to do */
    OK(aclmdlRIExecuteAsync(model, stream));
    OK(aclrtSynchronizeStream(stream));
    CHECK(*word == 44 && *value == 9);
    OK(aclmdlRITaskDisable(list[0]));
    OK(aclmdlRIUpdate(model));
    OK(aclmdlRIExecuteAsync(model, stream));
    OK(aclrtSynchronizeStream(stream));
    CHECK(*word == 44);
    FAILS(107000, aclmdlRITaskDisable(list[3]));
    FAILS(107000, aclmdlRITaskDisable(NULL));
    FAILS(107000, aclmdlRITaskSetParams(list[0], NULL));
    FAILS(107000, aclmdlRITaskSetParams(list[0], &params)); /* of another type */
    OK(aclmdlRITaskGetParams(list[0], &params));
    params.kernelTaskParams.numBlocks = 0;
    FAILS(107000, aclmdlRITaskSetParams(list[0], &params));
    params.kernelTaskParams.numBlocks = 1;
    params.kernelTaskParams.argsSize = 8;
    FAILS(107000, aclmdlRITaskSetParams(list[0], &params));
    params.kernelTaskParams.argsSize = 16;
    params.kernelTaskParams.funcHandle = stream;
    FAILS(107017, aclmdlRITaskSetParams(list[0], &params));
    FAILS(107000, aclmdlRIUpdate(NULL));
    OK(aclmdlRIExecuteAsync(model, stream)); /* failed changes changed nothing */
    OK(run_with(sleeper, 1, stream, NULL, 1000));
    OK(aclrtSynchronizeStream(stream));
    CHECK(*word == 44);
    OK(aclmdlRIDestroy(model));
    FAILS(107017, aclmdlRITaskGetSeqId(list[0], &id));
    FAILS(107017, aclmdlRIGetTasksByStream(runner, NULL, &count));
    OK(aclrtDestroyStream(stream));
}

/* Conditional tasks. */
static aclmdlRICondHandle condition;
static uint64_t *value_of_condition;

static aclmdlRI conditional(aclrtStream stream, aclrtStream branch, aclmdlRICondTaskType type, uint32_t size, uint32_t initial,
                            aclmdlRICondHandleFlag flag)
{
    aclmdlRI model, branches[3];
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclmdlRICaptureGetInfo(stream, NULL, &model));
    OK(aclmdlRICondHandleCreate(model, initial, flag, &condition));
    OK(aclmdlRICondHandleGetCondPtr(condition, &value_of_condition));
    OK(run_with(add, 1, stream, word, 1));
    aclmdlRICondTaskParams params = {condition, type, size, branches};
    OK(aclmdlRIAddCondTask(params, stream, 0));
    OK(run_with(add, 1, stream, word, 1000));
    for (uint32_t i = 0; i < size; ++i) {
        OK(aclmdlRICaptureToModelRIBegin(branch, branches[i], ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
        OK(run_with(add, 1, branch, word, 10 * (i + 1)));
        if (type == ACL_MODEL_RI_COND_TYPE_WHILE) OK(run_with(add, 1, branch, value_of_condition, -1));
        OK(aclmdlRICaptureEnd(branch, i == 0 ? NULL : &branches[i]));
    }
    model = capture_end(stream);
    FAILS(207000, aclmdlRIExecuteAsync(branches[0], stream));
    FAILS(207000, aclmdlRIDestroy(branches[0]));
    FAILS(107026, aclmdlRICaptureToModelRIBegin(branch, branches[0], ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    return model;
}

static int64_t executed(aclmdlRI model, aclrtStream stream)
{
    *word = 0;
    OK(aclmdlRIExecuteAsync(model, stream));
    OK(aclrtSynchronizeStream(stream));
    return *word;
}

static void conditions(void)
{
    aclrtStream stream, branch;
    aclmdlRI model;
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateStream(&branch));
    model = conditional(stream, branch, ACL_MODEL_RI_COND_TYPE_IF, 2, 1, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT);
    CHECK(executed(model, stream) == 1011);
    *value_of_condition = 0; /* assigned anew */
    CHECK(executed(model, stream) == 1011);
    OK(aclmdlRIDestroy(model));
    model = conditional(stream, branch, ACL_MODEL_RI_COND_TYPE_IF, 2, 1, (aclmdlRICondHandleFlag)0);
    CHECK(executed(model, stream) == 1021);
    *value_of_condition = 5;
    CHECK(executed(model, stream) == 1011);
    OK(aclmdlRIDestroy(model));
    model = conditional(stream, branch, ACL_MODEL_RI_COND_TYPE_IF, 1, 0, (aclmdlRICondHandleFlag)0);
    CHECK(executed(model, stream) == 1001);
    OK(aclmdlRIDestroy(model));
    model = conditional(stream, branch, ACL_MODEL_RI_COND_TYPE_SWITCH, 3, 2, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT);
    CHECK(executed(model, stream) == 1031);
    OK(aclmdlRIDestroy(model));
    model = conditional(stream, branch, ACL_MODEL_RI_COND_TYPE_SWITCH, 3, 3, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT);
    CHECK(executed(model, stream) == 1001);
    OK(aclmdlRIDestroy(model));
    model = conditional(stream, branch, ACL_MODEL_RI_COND_TYPE_WHILE, 1, 500, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT);
    CHECK(executed(model, stream) == 6001);
    CHECK(executed(model, stream) == 6001);
    /* an endless one is ended by dropping the stream's work */
    OK(aclmdlRIDestroy(model));
    model = conditional(stream, branch, ACL_MODEL_RI_COND_TYPE_WHILE, 1, 0xFFFFFFFFu, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT);
    OK(aclmdlRIExecuteAsync(model, stream));
    FAILS(507046, aclrtSynchronizeStreamWithTimeout(stream, 20));
    OK(aclrtStreamAbort(stream));
    OK(aclmdlRIDestroy(model));

    /* errors */
    aclmdlRI branches[3], seen;
    aclmdlRICondHandle handle;
    uint64_t *address;
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclmdlRICaptureGetInfo(stream, NULL, &seen));
    FAILS(100000, aclmdlRICondHandleCreate(NULL, 0, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, &handle));
    FAILS(100000, aclmdlRICondHandleCreate(seen, 0, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, NULL));
    FAILS(107000, aclmdlRICondHandleCreate(seen, 0, (aclmdlRICondHandleFlag)2, &handle));
    OK(aclmdlRICondHandleCreate(seen, 0, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, &handle));
    FAILS(100000, aclmdlRICondHandleGetCondPtr(NULL, &address));
    FAILS(100000, aclmdlRICondHandleGetCondPtr(handle, NULL));
    FAILS(107017, aclmdlRICondHandleGetCondPtr(stream, &address));
    OK(aclmdlRICondHandleGetCondPtr(handle, &address));
    FAILS(107000, aclrtFree(address)); /* the model's */
    aclmdlRICondTaskParams params = {handle, ACL_MODEL_RI_COND_TYPE_IF, 3, branches};
    FAILS(107000, aclmdlRIAddCondTask(params, stream, 0));
    params.type = ACL_MODEL_RI_COND_TYPE_WHILE;
    params.size = 2;
    FAILS(107000, aclmdlRIAddCondTask(params, stream, 0));
    params.type = ACL_MODEL_RI_COND_TYPE_SWITCH;
    params.size = 0;
    FAILS(107000, aclmdlRIAddCondTask(params, stream, 0));
    params.size = 1;
    FAILS(107000, aclmdlRIAddCondTask(params, stream, 1));
    FAILS(100000, aclmdlRIAddCondTask(params, NULL, 0));
    FAILS(107029, aclmdlRIAddCondTask(params, branch, 0));
    params.type = (aclmdlRICondTaskType)3;
    FAILS(107000, aclmdlRIAddCondTask(params, stream, 0));
    params.type = ACL_MODEL_RI_COND_TYPE_SWITCH;
    params.modelRIArray = NULL;
    FAILS(107000, aclmdlRIAddCondTask(params, stream, 0));
    params.modelRIArray = branches;
    params.handle = NULL;
    FAILS(107000, aclmdlRIAddCondTask(params, stream, 0));
    params.handle = stream;
    FAILS(107017, aclmdlRIAddCondTask(params, stream, 0));
    params.handle = handle;
    OK(aclmdlRIAddCondTask(params, stream, 0));
    FAILS(107000, aclmdlRIAddCondTask(params, stream, 0)); /* once for each condition */
    FAILS(100000, aclmdlRICaptureToModelRIBegin(NULL, branches[0], ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    FAILS(100000, aclmdlRICaptureToModelRIBegin(branch, NULL, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    FAILS(107000, aclmdlRICaptureToModelRIBegin(branch, seen, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclmdlRICaptureToModelRIBegin(branch, branches[0], ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    aclError error = aclmdlRICaptureEnd(stream, &model); /* the branch is not done: 107045, 107046 in some releases */
    CHECK(error == 107045 || error == 107046);
    aclmdlRICaptureStatus status;
    OK(aclmdlRICaptureGetInfo(branch, &status, NULL));
    CHECK(status == ACL_MODEL_RI_CAPTURE_STATUS_NONE); /* ended with its parent */
    /* a failure in a branch is one of the execution */
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclmdlRICaptureGetInfo(stream, NULL, &seen));
    OK(aclmdlRICondHandleCreate(seen, 1, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, &handle));
    params.handle = handle;
    params.type = ACL_MODEL_RI_COND_TYPE_IF;
    OK(aclmdlRIAddCondTask(params, stream, 0));
    OK(run_with(add, 1, stream, word, 1));
    OK(aclmdlRICaptureToModelRIBegin(branch, branches[0], ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(run(trap, 1, branch, NULL, 0));
    OK(aclmdlRICaptureEnd(branch, NULL));
    model = capture_end(stream);
    *word = 0;
    OK(aclmdlRIExecuteAsync(model, stream));
    FAILS(507015, aclrtSynchronizeStream(stream));
    CHECK(*word == 0);
    OK(aclmdlRIDestroy(model));
    CHECK(live_models() == 0);
    OK(aclrtDestroyStream(stream));
    OK(aclrtDestroyStream(branch));
}

/* What a model needs lives as long as it does; what belongs to a context ends with it. */
static void lifetimes(void)
{
    aclrtBinHandle loaded;
    aclrtStream stream, captured;
    aclrtContext here, context;
    aclmdlRI model, left;
    aclrtEvent event;
    OK(aclrtGetCurrentContext(&here));
    OK(aclrtCreateStream(&stream));
    OK(aclrtBinaryLoadFromFile(kernel_path("cpu"), NULL, &loaded));
    aclrtFuncHandle function = kernel(loaded, "add_value");
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(run_with(function, 1, stream, word, 6));
    model = capture_end(stream);
    OK(aclrtBinaryUnLoad(loaded)); /* the code stays while the model launches it */
    FAILS(107017, run_with(function, 1, stream, word, 6));
    *word = 0;
    OK(aclmdlRIExecuteAsync(model, stream));
    OK(aclmdlRIExecuteAsync(model, stream));
    OK(aclrtSynchronizeStream(stream));
    CHECK(*word == 12);
    OK(aclmdlRIDestroy(model));
    ascendcl_cpu_live_t live = {.struct_size = sizeof live};
    CHECK(ascendcl_cpu_live_objects(&live) == 0);
    CHECK(live.binaries == 1);
    OK(aclrtDestroyStream(stream));
    /* the context goes with a model and a capture in it */
    OK(aclrtCreateContext(&context, 0));
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateStream(&captured));
    OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(run_with(sleeper, 1, stream, word, 2000));
    left = capture_end(stream);
    OK(aclmdlRIExecuteAsync(left, stream));
    OK(aclmdlRIExecuteAsync(left, stream));
    OK(aclmdlRICaptureBegin(captured, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    OK(aclrtRecordEvent(event, captured));
    OK(aclrtDestroyContext(context));
    CHECK(*word == 14); /* what was enqueued is done */
    CHECK(live_models() == 0 && live_streams() == 0);
    OK(aclrtSetCurrentContext(here));
    FAILS(107017, aclmdlRIDestroy(left));
    int64_t value;
    OK(aclrtMemcpy(&value, 8, word, 8, ACL_MEMCPY_DEVICE_TO_HOST)); /* no capture is under way any more */
    OK(aclrtDestroyEvent(event));
}

static int destroyed;
static void on_destroy(void *user_data) { destroyed += *(int *)user_data; }

static void host_function(void *argument) { ++*(int64_t *)argument; }

/* Names, callbacks, printing; host functions and notifies among the tasks. */
static void the_rest(void)
{
    aclrtStream stream, second;
    aclrtNotify notify;
    char name[600];
    uint32_t id, other_id;
    int one = 1;
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateStream(&second));
    OK(aclrtCreateNotify(&notify, 0));
    int64_t calls = 0;
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclrtLaunchHostFunc(stream, host_function, &calls));
    OK(aclrtRecordNotify(notify, stream));
    OK(aclrtWaitAndResetNotify(notify, stream, 0));
    OK(run_with(add, 1, stream, word, 1));
    aclmdlRI model = capture_end(stream);
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    char info[] = "shape";
    aclmdlRITask task;
    aclmdlRITaskParams params;
    aclrtStream runner;
    aclrtStreamAttrValue on = {.cacheOpInfoSwitch = 1}, off = {.cacheOpInfoSwitch = 0};
    OK(run_with(add, 1, stream, word, 0));
    FAILS(507000, aclrtCacheLastTaskOpInfo(info, sizeof info)); /* not switched on */
    OK(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_CACHE_OP_INFO, &on));
    FAILS(107000, aclrtCacheLastTaskOpInfo(NULL, 1));
    FAILS(107000, aclrtCacheLastTaskOpInfo(info, 0));
    FAILS(107000, aclrtCacheLastTaskOpInfo(info, 65537));
    FAILS(107000, aclrtCacheLastTaskExtendInfo(NULL, 1));
    FAILS(107000, aclrtCacheLastTaskExtendInfo(info, 0));
    OK(aclrtCacheLastTaskOpInfo(info, sizeof info));
    OK(aclrtCacheLastTaskExtendInfo("remark", 6));
    OK(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_CACHE_OP_INFO, &off));
    aclmdlRI another = capture_end(stream);
    info[0] = 'X'; /* copied */
    id = 1;
    OK(aclmdlRIGetStreams(another, &runner, &id));
    OK(aclmdlRIGetTasksByStream(runner, &task, &id));
    OK(aclmdlRITaskGetParams(task, &params));
    CHECK(params.opInfoSize == sizeof info && strcmp(params.opInfoPtr, "shape") == 0);
    CHECK(calls == 0);
    *word = 0;
    for (int i = 0; i < 3; ++i) OK(aclmdlRIExecuteAsync(model, stream));
    OK(aclrtSynchronizeStream(stream));
    CHECK(calls == 3 && *word == 3);
    OK(aclrtSubscribeReport((uint64_t)pthread_self(), second));
    OK(aclmdlRICaptureBegin(second, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    FAILS(207000, aclrtLaunchCallback(host_function, &calls, ACL_CALLBACK_BLOCK, second));
    OK(aclmdlRIDestroy(capture_end(second)));
    OK(aclrtUnSubscribeReport((uint64_t)pthread_self(), second));

    OK(aclmdlRIGetId(model, &id));
    OK(aclmdlRIGetId(another, &other_id));
    CHECK(id != other_id);
    FAILS(100000, aclmdlRIGetId(NULL, &id));
    FAILS(100000, aclmdlRIGetId(model, NULL));
    OK(aclmdlRIGetName(model, sizeof name, name));
    CHECK(name[0] == '\0');
    OK(aclmdlRISetName(model, "first"));
    OK(aclmdlRISetName(model, "second"));
    OK(aclmdlRIGetName(model, sizeof name, name));
    CHECK(strcmp(name, "second") == 0);
    OK(aclmdlRIGetName(model, 4, name));
    CHECK(strcmp(name, "sec") == 0);
    FAILS(107000, aclmdlRIGetName(model, 0, name));
    FAILS(100000, aclmdlRIGetName(model, 4, NULL));
    FAILS(100000, aclmdlRIGetName(NULL, 4, name));
    FAILS(100000, aclmdlRISetName(model, NULL));
    FAILS(100000, aclmdlRISetName(NULL, "x"));
    memset(name, 'x', 599);
    name[599] = '\0';
    OK(aclmdlRISetName(model, name));
    memset(name, 'y', sizeof name);
    OK(aclmdlRIGetName(model, sizeof name, name));
    CHECK(strlen(name) == 511);

    FAILS(100000, aclmdlRIDebugPrint(NULL));
    OK(aclmdlRIDebugPrint(model));
    FAILS(100000, aclmdlRIDebugJsonPrint(NULL, "x", 0));
    FAILS(100000, aclmdlRIDebugJsonPrint(model, NULL, 0));
    FAILS(107000, aclmdlRIDebugJsonPrint(model, "/nowhere/at/all.json", 0));
    char path[64], text[4096];
    snprintf(path, sizeof path, "capture-%d.json", (int)getpid());
    for (uint32_t flags = 0; flags < 2; ++flags) {
        OK(aclmdlRIDebugJsonPrint(model, path, flags));
        FILE *file = fopen(path, "r");
        CHECK(file != NULL);
        if (file == NULL) continue;
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
        CHECK(text[0] == '[' && strstr(text, "\"add_value\"") != NULL && strstr(text, "\"KERNEL\"") != NULL);
        CHECK((strstr(text, "\"num blocks\": 1") != NULL) == (flags == 1));
    }
    unlink(path);

    FAILS(107000, aclmdlRIDestroyRegisterCallback(NULL, on_destroy, &one));
    FAILS(107000, aclmdlRIDestroyRegisterCallback(model, NULL, &one));
    OK(aclmdlRIDestroyRegisterCallback(model, on_destroy, &one));
    FAILS(107000, aclmdlRIDestroyRegisterCallback(model, on_destroy, &one));
    FAILS(107000, aclmdlRIDestroyUnregisterCallback(another, on_destroy));
    FAILS(107000, aclmdlRIDestroyUnregisterCallback(NULL, on_destroy));
    FAILS(107000, aclmdlRIDestroyUnregisterCallback(model, NULL));
    OK(aclmdlRIDestroyRegisterCallback(another, on_destroy, &one));
    OK(aclmdlRIDestroyUnregisterCallback(another, on_destroy));
    OK(aclmdlRIDestroy(another));
    CHECK(destroyed == 0);
    OK(aclmdlRIDestroy(model));
    CHECK(destroyed == 1);
    FAILS(507000, aclrtCacheLastTaskExtendInfo("remark", 6)); /* its model is gone */
    OK(aclrtDestroyNotify(notify));
    OK(aclrtDestroyStream(stream));
    OK(aclrtDestroyStream(second));
}

int main(void)
{
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtBinaryLoadFromFile(kernel_path("cpu"), NULL, &binary));
    add = kernel(binary, "add_value");
    twice = kernel(binary, "double_word");
    sleeper = kernel(binary, "sleep_us");
    trap = kernel(binary, "trap");
    OK(aclrtMalloc((void **)&word, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc((void **)&other, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    void (*const parts[])(void) = {one_stream, executions_in_turn, several_streams, refusals, modes, failures, external_events,
                                   task_groups, tasks, conditions, lifetimes, the_rest};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i) {
        int before = check_failures;
        parts[i]();
        if (check_failures != before) fprintf(stderr, "in part %zu\n", i);
    }
    OK(aclrtFree(word));
    OK(aclrtFree(other));
    OK(aclrtBinaryUnLoad(binary));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    return check_result("capture");
}
