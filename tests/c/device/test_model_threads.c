/* SPDX-License-Identifier: Apache-2.0
 * Runtime instances and threads: captures at the same time, one model executed, updated, aborted and destroyed by several. */
#include <pthread.h>

#include "ascend_cy/ascendcl_cpu.h"
#include "check.h"

enum { THREADS = 4 };

static aclrtBinHandle binary;
static aclrtFuncHandle add, sleeper;
static aclrtContext context;
static int64_t *word;
static int rounds = 30;

/* Each thread captures two streams that join, executes what it captured, destroys it. */
static void *own_captures(void *argument)
{
    int64_t *mine = word + (size_t)argument;
    aclrtStream first, second;
    aclrtEvent fork, join;
    OK(aclrtSetCurrentContext(context));
    OK(aclrtCreateStream(&first));
    OK(aclrtCreateStream(&second));
    OK(aclrtCreateEventExWithFlag(&fork, ACL_EVENT_SYNC));
    OK(aclrtCreateEventExWithFlag(&join, ACL_EVENT_SYNC));
    *mine = 0;
    for (int i = 0; i < rounds; ++i) {
        aclmdlRI model;
        OK(aclmdlRICaptureBegin(first, (aclmdlRICaptureMode)(i % 3)));
        OK(run_with(add, 1, first, mine, 1));
        OK(aclrtRecordEvent(fork, first));
        OK(aclrtStreamWaitEvent(second, fork));
        OK(run_with(add, 1, second, mine, 10));
        OK(aclrtRecordEvent(join, second));
        OK(aclrtStreamWaitEvent(first, join));
        OK(run_with(add, 1, first, mine, 100));
        OK(aclmdlRICaptureEnd(first, &model));
        for (int j = 0; j < 3; ++j) OK(aclmdlRIExecuteAsync(model, j % 2 != 0 ? first : second));
        if (i % 2 != 0) OK(aclrtSynchronizeStream(first));
        OK(aclmdlRIDestroy(model));
        OK(aclrtSynchronizeStream(first));
        OK(aclrtSynchronizeStream(second));
    }
    CHECK(*mine == 333 * (int64_t)rounds);
    OK(aclrtDestroyEvent(fork));
    OK(aclrtDestroyEvent(join));
    OK(aclrtDestroyStream(first));
    OK(aclrtDestroyStream(second));
    return NULL;
}

/* One model, executed by all: executions take turns, so an addition that is not atomic loses nothing. */
static aclmdlRI shared;
static aclrtTaskGrp group;

static void *executions(void *argument)
{
    (void)argument;
    aclrtStream stream;
    OK(aclrtSetCurrentContext(context));
    OK(aclrtCreateStream(&stream));
    for (int i = 0; i < rounds; ++i) {
        OK(aclmdlRIExecuteAsync(shared, stream));
        if (i % 4 == 0) OK(aclrtSynchronizeStream(stream));
    }
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtDestroyStream(stream));
    return NULL;
}

/* Replaces the kernel of the group by one that does the same. */
static void *updates(void *argument)
{
    (void)argument;
    aclrtStream stream;
    OK(aclrtSetCurrentContext(context));
    OK(aclrtCreateStream(&stream));
    for (int i = 0; i < rounds; ++i) {
        OK(aclmdlRICaptureTaskUpdateBegin(stream, group));
        OK(run_with(add, 1, stream, word, 1));
        OK(aclmdlRICaptureTaskUpdateEnd(stream));
        OK(aclrtSynchronizeStream(stream));
    }
    OK(aclrtDestroyStream(stream));
    return NULL;
}

static void all(void *(*function)(void *), void *(*other)(void *))
{
    pthread_t threads[THREADS + 1];
    for (size_t i = 0; i < THREADS; ++i) CHECK(pthread_create(&threads[i], NULL, function, (void *)i) == 0);
    if (other != NULL) CHECK(pthread_create(&threads[THREADS], NULL, other, NULL) == 0);
    for (size_t i = 0; i < THREADS + (other != NULL ? 1u : 0u); ++i) pthread_join(threads[i], NULL);
}

static void one_model(void)
{
    aclrtStream stream;
    OK(aclrtCreateStream(&stream));
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclmdlRICaptureTaskGrpBegin(stream));
    OK(run_with(add, 1, stream, word, 1));
    OK(aclmdlRICaptureTaskGrpEnd(stream, &group));
    OK(run_with(sleeper, 1, stream, NULL, 50));
    OK(run_with(add, 1, stream, word, 1000));
    OK(aclmdlRICaptureEnd(stream, &shared));
    *word = 0;
    all(executions, updates);
    CHECK(*word == 1001 * (int64_t)rounds * THREADS);
    OK(aclmdlRIDestroy(shared));
    OK(aclrtDestroyStream(stream));
}

/* Destroyed by one thread while others execute it: they get 107017 from then on, and what was enqueued is done. */
static int64_t enqueued;

static void *until_gone(void *argument)
{
    (void)argument;
    aclrtStream stream;
    OK(aclrtSetCurrentContext(context));
    OK(aclrtCreateStream(&stream));
    for (;;) {
        aclError error = aclmdlRIExecuteAsync(shared, stream);
        CHECK(error == 0 || error == 107017);
        if (error != 0) break;
        __atomic_fetch_add(&enqueued, 1, __ATOMIC_SEQ_CST);
        usleep(100);
    }
    (void)aclGetRecentErrMsg();
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtDestroyStream(stream));
    return NULL;
}

static void *destroys(void *argument)
{
    (void)argument;
    OK(aclrtSetCurrentContext(context));
    usleep(20000);
    OK(aclmdlRIDestroy(shared));
    return NULL;
}

static void destroyed_in_use(void)
{
    for (int i = 0; i < 5; ++i) {
        aclrtStream stream;
        OK(aclrtCreateStream(&stream));
        OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
        OK(run_with(add, 1, stream, word, 1));
        OK(aclmdlRICaptureEnd(stream, &shared));
        *word = 0;
        enqueued = 0;
        all(until_gone, destroys);
        CHECK(*word == enqueued);
        OK(aclrtDestroyStream(stream));
    }
}

/* Aborted while several threads execute it. */
static void *executions_or_aborts(void *argument)
{
    aclrtStream stream;
    OK(aclrtSetCurrentContext(context));
    OK(aclrtCreateStream(&stream));
    for (int i = 0; i < rounds; ++i) {
        if ((size_t)argument == 0) {
            OK(aclmdlRIAbort(shared));
            usleep(200);
            continue;
        }
        OK(aclmdlRIExecuteAsync(shared, stream));
        aclError error = aclrtSynchronizeStream(stream);
        CHECK(error == 0 || error == 507023);
        (void)aclGetRecentErrMsg();
    }
    OK(aclrtDestroyStream(stream));
    return NULL;
}

static void aborted_in_use(void)
{
    aclrtStream bound;
    OK(aclrtCreateStreamWithConfig(&bound, 0, ACL_STREAM_PERSISTENT));
    OK(aclmdlRIBuildBegin(&shared, 0));
    OK(aclmdlRIBindStream(shared, bound, 0));
    for (int i = 0; i < 3; ++i) OK(run_with(sleeper, 1, bound, NULL, 100));
    OK(aclmdlRIEndTask(shared, bound));
    OK(aclmdlRIBuildEnd(shared, NULL));
    all(executions_or_aborts, NULL);
    OK(aclmdlRIDestroy(shared));
    OK(aclrtDestroyStream(bound));
}

int main(void)
{
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtGetCurrentContext(&context));
    OK(aclrtBinaryLoadFromFile(kernel_path("cpu"), NULL, &binary));
    add = kernel(binary, "add_value");
    sleeper = kernel(binary, "sleep_us");
    OK(aclrtMalloc((void **)&word, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    all(own_captures, NULL);
    one_model();
    destroyed_in_use();
    aborted_in_use();
    ascendcl_cpu_live_t live = {.struct_size = sizeof live};
    CHECK(ascendcl_cpu_live_objects(&live) == 0);
    CHECK(live.models == 0 && live.streams == 0 && live.events == 0);
    OK(aclrtFree(word));
    OK(aclrtBinaryUnLoad(binary));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    return check_result("model_threads");
}
