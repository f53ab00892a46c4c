/* SPDX-License-Identifier: Apache-2.0
 * Runtime instances that are built: bound streams, labels, switches, executing and aborting. */
#include <pthread.h>

#include "ascend_cy/ascendcl_cpu.h"
#include "check.h"

/* Younger than the headers of some releases. */
#ifndef ACL_MODEL_STREAM_FLAG_HEAD
#define ACL_MODEL_STREAM_FLAG_HEAD 0x00000000U
#define ACL_MODEL_STREAM_FLAG_DEFAULT 0x7FFFFFFFU
#endif

static aclrtBinHandle binary;
static aclrtFuncHandle add, twice, sleeper, trap;
static int64_t *word;

static uint32_t live_models(void)
{
    ascendcl_cpu_live_t live = {.struct_size = sizeof live};
    CHECK(ascendcl_cpu_live_objects(&live) == 0);
    return live.models;
}

static aclrtStream persistent(void)
{
    aclrtStream stream = NULL;
    OK(aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_PERSISTENT));
    return stream;
}

static int64_t executed(aclmdlRI model, aclrtStream stream)
{
    *word = 0;
    OK(aclmdlRIExecuteAsync(model, stream));
    OK(aclrtSynchronizeStream(stream));
    return *word;
}

static void building(void)
{
    aclrtStream bound = persistent(), second = persistent(), exec, ordinary;
    aclmdlRI model, empty;
    aclrtContext here, there;
    int64_t pageable = 40;
    OK(aclrtCreateStream(&exec));
    OK(aclrtCreateStream(&ordinary));
    FAILS(100000, aclmdlRIBuildBegin(NULL, 0));
    FAILS(107000, aclmdlRIBuildBegin(&model, 1));
    OK(aclmdlRIBuildBegin(&model, 0));
    OK(aclmdlRIBuildBegin(&empty, 0));
    FAILS(100000, aclmdlRIBindStream(NULL, bound, ACL_MODEL_STREAM_FLAG_HEAD));
    FAILS(107017, aclmdlRIBindStream(bound, bound, ACL_MODEL_STREAM_FLAG_HEAD));
    FAILS(107000, aclmdlRIBindStream(model, bound, 5));
    FAILS(107000, aclmdlRIBindStream(model, NULL, ACL_MODEL_STREAM_FLAG_HEAD));
    FAILS(107000, aclmdlRIBindStream(model, ordinary, ACL_MODEL_STREAM_FLAG_HEAD));
    FAILS(107017, aclmdlRIBindStream(model, model, ACL_MODEL_STREAM_FLAG_HEAD));
    OK(aclrtGetCurrentContext(&here));
    OK(aclrtCreateContext(&there, 0));
    FAILS(107004, aclmdlRIBindStream(model, bound, ACL_MODEL_STREAM_FLAG_HEAD));
    OK(aclrtDestroyContext(there));
    OK(aclrtSetCurrentContext(here));
    aclrtStream odd;
    OK(aclrtCreateStreamWithConfig(&odd, 0, ACL_STREAM_PERSISTENT | ACL_STREAM_FAST_LAUNCH));
    FAILS(207000, aclmdlRIBindStream(model, odd, ACL_MODEL_STREAM_FLAG_HEAD));
    OK(aclrtDestroyStream(odd));
    OK(aclrtCreateStreamWithConfig(&odd, 0, ACL_STREAM_PERSISTENT | ACL_STREAM_DEVICE_USE_ONLY));
    FAILS(507000, aclmdlRIBindStream(model, odd, ACL_MODEL_STREAM_FLAG_HEAD));
    OK(aclrtDestroyStream(odd));
    FAILS(507000, aclmdlRIEndTask(model, bound)); /* not bound */
    OK(aclmdlRIBindStream(model, bound, ACL_MODEL_STREAM_FLAG_HEAD));
    FAILS(107005, aclmdlRIBindStream(model, bound, ACL_MODEL_STREAM_FLAG_HEAD));
    FAILS(107005, aclmdlRIBindStream(empty, bound, ACL_MODEL_STREAM_FLAG_HEAD));
    FAILS(507000, aclmdlRICaptureBegin(bound, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclmdlRIBindStream(model, second, ACL_MODEL_STREAM_FLAG_HEAD));
    *word = 0;
    OK(run_with(add, 1, bound, word, 2));
    OK(run(twice, 1, bound, &word, 8));
    OK(aclrtSynchronizeStream(bound)); /* nothing runs, nothing to wait for */
    CHECK(*word == 0);
    /* pageable memory: the copy is done at once and is no task */
    OK(aclrtMemcpyAsync(word + 1, 8, &pageable, 8, ACL_MEMCPY_HOST_TO_DEVICE, bound));
    CHECK(word[1] == 40);
    word[1] = 0;
    FAILS(507011, aclmdlRIExecuteAsync(model, exec)); /* not built */
    FAILS(507011, aclmdlRIBuildEnd(model, NULL));     /* no end */
    OK(aclmdlRIEndTask(model, bound));
    FAILS(507000, aclmdlRIEndTask(model, bound));
    FAILS(507000, aclmdlRIEndTask(model, second));
    FAILS(100000, aclmdlRIEndTask(NULL, bound));
    FAILS(100000, aclmdlRIBuildEnd(NULL, NULL));
    FAILS(100000, aclmdlRIBuildEnd(model, word));
    OK(aclmdlRIBuildEnd(model, NULL));
    FAILS(107005, run_with(add, 1, bound, word, 2)); /* too late */
    odd = persistent();
    FAILS(107005, aclmdlRIBindStream(model, odd, ACL_MODEL_STREAM_FLAG_HEAD));
    OK(aclrtDestroyStream(odd));
    CHECK(executed(model, exec) == 4);
    CHECK(executed(model, exec) == 4);
    CHECK(word[1] == 0);
    FAILS(107000, aclmdlRIExecuteAsync(model, bound)); /* a stream of the model */
    FAILS(107000, aclmdlRIExecute(model, 0));
    FAILS(107000, aclmdlRIExecute(model, -2));
    FAILS(100000, aclmdlRIExecute(NULL, -1));
    *word = 5;
    OK(aclmdlRIExecute(model, -1));
    CHECK(*word == 14);
    OK(aclmdlRIExecute(model, 5000));
    CHECK(*word == 32);
    /* streams of a model show their tasks */
    aclrtStream streams[2];
    uint32_t count = 2, tasks = 0;
    OK(aclmdlRIGetStreams(model, streams, &count));
    CHECK(count == 2 && streams[0] == bound && streams[1] == second);
    OK(aclmdlRIGetTasksByStream(bound, NULL, &tasks));
    CHECK(tasks == 2);
    aclmdlRITask list[2];
    aclmdlRITaskParams params;
    OK(aclmdlRIGetTasksByStream(bound, list, &tasks));
    OK(aclmdlRITaskGetParams(list[0], &params));
    FAILS(207000, aclmdlRITaskSetParams(list[0], &params)); /* captured models only */
    FAILS(207000, aclmdlRITaskDisable(list[0]));
    FAILS(207000, aclmdlRIUpdate(model));
    /* other tasks on the same stream */
    FAILS(100000, aclrtPersistentTaskClean(NULL));
    FAILS(507000, aclrtPersistentTaskClean(exec));
    OK(aclrtPersistentTaskClean(bound));
    CHECK(executed(model, exec) == 0);
    OK(run_with(add, 1, bound, word, 21));
    CHECK(executed(model, exec) == 21);
    OK(aclmdlRIExecuteAsync(model, exec));
    OK(aclrtSynchronizeStream(exec));
    CHECK(*word == 42);
    FAILS(107017, aclmdlRITaskGetParams(list[0], &params));
    /* unbinding */
    FAILS(100000, aclmdlRIUnbindStream(NULL, bound));
    FAILS(107000, aclmdlRIUnbindStream(model, NULL));
    FAILS(107005, aclmdlRIUnbindStream(model, exec));
    FAILS(107005, aclmdlRIUnbindStream(empty, bound));
    OK(run_with(sleeper, 1, exec, NULL, 3000));
    OK(aclmdlRIExecuteAsync(model, exec));
    FAILS(107037, aclmdlRIUnbindStream(model, bound)); /* an execution is enqueued */
    OK(aclrtSynchronizeStream(exec));
    OK(aclmdlRIUnbindStream(model, bound));
    FAILS(107005, aclmdlRIUnbindStream(model, bound));
    CHECK(executed(model, exec) == 0);
    OK(aclmdlRIUnbindStream(model, second));
    FAILS(107005, aclmdlRIExecuteAsync(model, exec)); /* nothing left */
    OK(aclmdlRIDestroy(model));
    OK(aclmdlRIDestroy(empty));
    CHECK(live_models() == 0);
    /* the stream can be bound again */
    OK(aclmdlRIBuildBegin(&model, 0));
    OK(aclmdlRIBindStream(model, bound, ACL_MODEL_STREAM_FLAG_HEAD));
    OK(run_with(add, 1, bound, word, 9));
    OK(aclmdlRIEndTask(model, bound));
    OK(aclmdlRIBuildEnd(model, NULL));
    OK(aclrtDestroyStream(bound)); /* the model keeps its tasks */
    CHECK(executed(model, exec) == 9);
    OK(aclmdlRIDestroy(model));
    OK(aclrtDestroyStream(second));
    OK(aclrtDestroyStream(exec));
    OK(aclrtDestroyStream(ordinary));
}

/* Events and notifies between the streams of a model; each execution begins anew. */
static void between_streams(void)
{
    aclrtStream first = persistent(), second = persistent(), exec;
    aclrtEvent event, default_event, reusable;
    aclmdlRI model;
    OK(aclrtCreateStream(&exec));
    OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    OK(aclrtCreateEvent(&default_event));
    OK(aclrtCreateEventExWithFlag(&reusable, ACL_EVENT_SYNC));
    OK(aclmdlRIBuildBegin(&model, 0));
    OK(aclmdlRIBindStream(model, first, ACL_MODEL_STREAM_FLAG_HEAD));
    OK(aclmdlRIBindStream(model, second, ACL_MODEL_STREAM_FLAG_HEAD));
    FAILS(207000, aclrtRecordEvent(default_event, first));
    FAILS(207000, aclrtRecordEvent(reusable, first));
    FAILS(207000, aclrtStreamWaitEvent(first, reusable));
    FAILS(207000, aclrtStreamWaitEvent(first, default_event));
    FAILS(207000, aclrtResetEvent(default_event, first));
    OK(aclrtStreamWaitEvent(second, event));
    OK(aclrtResetEvent(event, second));
    OK(run_with(add, 1, second, word, 1));
    OK(run_with(sleeper, 1, first, NULL, 2000));
    OK(run_with(add, 1, first, word, 4));
    OK(run(twice, 1, first, &word, 8));
    OK(aclrtRecordEvent(event, first));
    OK(aclmdlRIEndTask(model, second));
    OK(aclmdlRIBuildEnd(model, NULL));
    for (int i = 0; i < 3; ++i) CHECK(executed(model, exec) == 9);
    OK(aclmdlRIDestroy(model));
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyEvent(default_event));
    OK(aclrtDestroyEvent(reusable));
    OK(aclrtDestroyStream(first));
    OK(aclrtDestroyStream(second));
    OK(aclrtDestroyStream(exec));
}

/* Jumps by index: within a stream, to another one, past the last label, back in a loop. */
static void labels(void)
{
    aclrtStream first = persistent(), second = persistent(), exec;
    aclrtLabel label[3], loose, unset;
    aclrtLabelList list, unset_list;
    aclmdlRI model;
    uint32_t *index;
    OK(aclrtCreateStream(&exec));
    OK(aclrtMalloc((void **)&index, 16, ACL_MEM_MALLOC_HUGE_FIRST));
    FAILS(100000, aclrtCreateLabel(NULL));
    for (int i = 0; i < 3; ++i) OK(aclrtCreateLabel(&label[i]));
    OK(aclrtCreateLabel(&loose));
    OK(aclrtCreateLabel(&unset));
    FAILS(100000, aclrtCreateLabelList(NULL, 3, &list));
    FAILS(100000, aclrtCreateLabelList(label, 3, NULL));
    FAILS(107000, aclrtCreateLabelList(label, 0, &list));
    FAILS(107000, aclrtCreateLabelList(label, 65536, &list));
    aclrtLabel wrong[2] = {label[0], exec};
    FAILS(107017, aclrtCreateLabelList(wrong, 2, &list));
    wrong[1] = label[0];
    FAILS(507000, aclrtCreateLabelList(wrong, 2, &list)); /* twice the same */
    OK(aclrtCreateLabelList(label, 3, &list));
    FAILS(507000, aclrtCreateLabelList(label, 3, &list)); /* in a list already */
    OK(aclrtCreateLabelList(&unset, 1, &unset_list));
    FAILS(107005, aclrtSetLabel(label[0], first)); /* not bound */
    FAILS(107005, aclrtSwitchLabelByIndex(index, 3, list, first));
    OK(aclmdlRIBuildBegin(&model, 0));
    OK(aclmdlRIBindStream(model, first, ACL_MODEL_STREAM_FLAG_HEAD));
    OK(aclmdlRIBindStream(model, second, ACL_MODEL_STREAM_FLAG_DEFAULT));
    FAILS(100000, aclrtSetLabel(NULL, first));
    FAILS(100000, aclrtSetLabel(label[0], NULL));
    FAILS(107017, aclrtSetLabel(exec, first));
    FAILS(507000, aclrtSetLabel(loose, first)); /* in no list */
    FAILS(100000, aclrtSwitchLabelByIndex(NULL, 3, list, first));
    FAILS(100000, aclrtSwitchLabelByIndex(index, 3, NULL, first));
    FAILS(100000, aclrtSwitchLabelByIndex(index, 3, list, NULL));
    FAILS(107017, aclrtSwitchLabelByIndex(index, 3, label[0], first));
    FAILS(107000, aclrtSwitchLabelByIndex(index, 0, list, first));
    FAILS(107000, aclrtSwitchLabelByIndex(index, 4, list, first));
    FAILS(107008, aclrtSwitchLabelByIndex((char *)index + 2, 3, list, first));
    uint32_t on_host = 0;
    FAILS(107000, aclrtSwitchLabelByIndex(&on_host, 3, list, first));
    OK(run_with(add, 1, first, word, 1));
    OK(aclrtSwitchLabelByIndex(index, 3, list, first));
    OK(run_with(add, 1, first, word, 1000000)); /* never reached */
    OK(aclrtSetLabel(label[0], first));
    FAILS(507000, aclrtSetLabel(label[0], first)); /* once */
    OK(run_with(add, 1, first, word, 10));
    OK(aclrtSetLabel(label[1], first));
    OK(run_with(add, 1, first, word, 100));
    OK(run_with(add, 1, second, word, 2000000)); /* in front of the label */
    OK(aclrtSetLabel(label[2], second));
    OK(run_with(add, 1, second, word, 5000));
    OK(aclmdlRIEndTask(model, first));
    OK(aclmdlRIBuildEnd(model, NULL));
    *index = 0;
    CHECK(executed(model, exec) == 111);
    *index = 1;
    CHECK(executed(model, exec) == 101);
    *index = 2;
    CHECK(executed(model, exec) == 5001);
    *index = 77; /* the last one */
    CHECK(executed(model, exec) == 5001);
    /* lists and labels may go before the model */
    OK(aclrtDestroyLabelList(list));
    FAILS(107017, aclrtDestroyLabelList(list));
    FAILS(100000, aclrtDestroyLabelList(NULL));
    for (int i = 0; i < 3; ++i) OK(aclrtDestroyLabel(label[i]));
    FAILS(107017, aclrtDestroyLabel(label[0]));
    FAILS(100000, aclrtDestroyLabel(NULL));
    *index = 1;
    CHECK(executed(model, exec) == 101);
    OK(aclmdlRIDestroy(model));

    /* a loop: the kernel counts the index down; at 0 the jump goes forward to the end */
    int64_t *counter = (int64_t *)(index + 2);
    OK(aclrtCreateLabel(&label[0]));
    OK(aclrtCreateLabel(&label[1]));
    OK(aclrtCreateLabelList(label, 2, &list));
    OK(aclrtDestroyStream(first));
    first = persistent();
    OK(aclmdlRIBuildBegin(&model, 0));
    OK(aclmdlRIBindStream(model, first, ACL_MODEL_STREAM_FLAG_HEAD));
    OK(aclrtSetLabel(label[1], first)); /* index 1 and more: again */
    OK(run_with(add, 1, first, word, 3));
    OK(run_with(add, 1, first, counter, -1));
    OK(aclrtSwitchLabelByIndex(counter, 2, list, first));
    OK(run_with(add, 1, first, word, 1000000));
    OK(aclrtSetLabel(label[0], first));
    OK(run_with(add, 1, first, word, 1000));
    OK(aclmdlRIEndTask(model, first));
    OK(aclmdlRIBuildEnd(model, NULL));
    *counter = 200;
    CHECK(executed(model, exec) == 1600);
    OK(aclmdlRIDestroy(model));
    OK(aclrtDestroyLabelList(list));

    /* a label that is set nowhere */
    OK(aclrtDestroyStream(first));
    first = persistent();
    OK(aclmdlRIBuildBegin(&model, 0));
    OK(aclmdlRIBindStream(model, first, ACL_MODEL_STREAM_FLAG_HEAD));
    OK(aclrtSwitchLabelByIndex(index, 1, unset_list, first));
    OK(aclmdlRIEndTask(model, first));
    OK(aclmdlRIBuildEnd(model, NULL));
    OK(aclmdlRIExecuteAsync(model, exec));
    FAILS(507011, aclrtSynchronizeStream(exec));
    OK(aclmdlRIDestroy(model));
    /* labels of another context */
    aclrtContext here, there;
    OK(aclrtGetCurrentContext(&here));
    OK(aclrtCreateContext(&there, 0));
    FAILS(507031, aclrtDestroyLabel(loose));
    FAILS(507031, aclrtCreateLabelList(&loose, 1, &list));
    OK(aclrtDestroyContext(there));
    OK(aclrtSetCurrentContext(here));
    OK(aclrtDestroyLabelList(unset_list));
    OK(aclrtDestroyLabel(unset));
    OK(aclrtDestroyLabel(loose));
    OK(aclrtDestroyLabel(label[0]));
    OK(aclrtDestroyLabel(label[1]));
    OK(aclrtFree(index));
    OK(aclrtDestroyStream(first));
    OK(aclrtDestroyStream(second));
    OK(aclrtDestroyStream(exec));
}

/* Streams that begin when others say so. */
static void switches(void)
{
    aclrtStream first = persistent(), second = persistent(), third = persistent(), elsewhere = persistent(), exec;
    aclmdlRI model, foreign;
    int64_t *values;
    OK(aclrtCreateStream(&exec));
    OK(aclrtMalloc((void **)&values, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    FAILS(107005, aclrtActiveStream(first, second));
    OK(aclmdlRIBuildBegin(&model, 0));
    OK(aclmdlRIBuildBegin(&foreign, 0));
    OK(aclmdlRIBindStream(model, first, ACL_MODEL_STREAM_FLAG_HEAD));
    FAILS(107005, aclrtActiveStream(second, first));
    FAILS(100000, aclrtActiveStream(NULL, first));
    OK(aclmdlRIBindStream(model, second, ACL_MODEL_STREAM_FLAG_DEFAULT));
    OK(aclmdlRIBindStream(model, third, ACL_MODEL_STREAM_FLAG_DEFAULT));
    OK(aclmdlRIBindStream(foreign, elsewhere, ACL_MODEL_STREAM_FLAG_HEAD));
    FAILS(107005, aclrtActiveStream(elsewhere, first));
    FAILS(100000, aclrtSwitchStream(NULL, ACL_RT_EQUAL, values + 1, ACL_RT_SWITCH_INT64, second, NULL, first));
    FAILS(100000, aclrtSwitchStream(values, ACL_RT_EQUAL, NULL, ACL_RT_SWITCH_INT64, second, NULL, first));
    FAILS(100000, aclrtSwitchStream(values, ACL_RT_EQUAL, values + 1, ACL_RT_SWITCH_INT64, NULL, NULL, first));
    FAILS(100000, aclrtSwitchStream(values, ACL_RT_EQUAL, values + 1, ACL_RT_SWITCH_INT64, second, third, first));
    FAILS(107000, aclrtSwitchStream(values, (aclrtCondition)6, values + 1, ACL_RT_SWITCH_INT64, second, NULL, first));
    FAILS(107000, aclrtSwitchStream(values, ACL_RT_EQUAL, values + 1, (aclrtCompareDataType)2, second, NULL, first));
    FAILS(107005, aclrtSwitchStream(values, ACL_RT_EQUAL, values + 1, ACL_RT_SWITCH_INT64, second, NULL, exec));
    FAILS(107005, aclrtSwitchStream(values, ACL_RT_EQUAL, values + 1, ACL_RT_SWITCH_INT64, elsewhere, NULL, first));
    FAILS(107008, aclrtSwitchStream((char *)values + 4, ACL_RT_EQUAL, values + 1, ACL_RT_SWITCH_INT64, second, NULL, first));
    int64_t on_host = 0;
    FAILS(107000, aclrtSwitchStream(values, ACL_RT_EQUAL, &on_host, ACL_RT_SWITCH_INT64, second, NULL, first));
    OK(run_with(add, 1, first, word, 1));
    OK(aclrtSwitchStream(values, ACL_RT_LESS, values + 1, ACL_RT_SWITCH_INT64, second, NULL, first));
    OK(run_with(add, 1, first, word, 10)); /* only if not less */
    OK(aclrtActiveStream(third, first));
    OK(run_with(add, 1, first, word + 1, 1));
    OK(run_with(add, 1, second, word, 100));
    OK(aclrtActiveStream(third, second));
    OK(run_with(sleeper, 1, third, NULL, 1000));
    OK(run_with(add, 1, third, word, 1000));
    OK(aclmdlRIEndTask(model, third));
    OK(aclmdlRIBuildEnd(model, NULL));
    values[0] = -1;
    values[1] = 0;
    word[1] = 0;
    CHECK(executed(model, exec) == 1101 && word[1] == 0);
    values[0] = 0;
    CHECK(executed(model, exec) == 1011 && word[1] == 1);
    OK(aclmdlRIDestroy(model));
    OK(aclmdlRIDestroy(foreign));
    /* every condition, on 32-bit values */
    const struct {
        aclrtCondition condition;
        int for_less, for_equal, for_greater;
    } table[] = {{ACL_RT_EQUAL, 0, 1, 0}, {ACL_RT_NOT_EQUAL, 1, 0, 1}, {ACL_RT_GREATER, 0, 0, 1},
                 {ACL_RT_GREATER_OR_EQUAL, 0, 1, 1}, {ACL_RT_LESS, 1, 0, 0}, {ACL_RT_LESS_OR_EQUAL, 1, 1, 0}};
    int32_t *pair = (int32_t *)values;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; ++i) {
        OK(aclrtDestroyStream(first));
        OK(aclrtDestroyStream(second));
        first = persistent();
        second = persistent();
        OK(aclmdlRIBuildBegin(&model, 0));
        OK(aclmdlRIBindStream(model, first, ACL_MODEL_STREAM_FLAG_HEAD));
        OK(aclmdlRIBindStream(model, second, ACL_MODEL_STREAM_FLAG_DEFAULT));
        OK(aclrtSwitchStream(pair, table[i].condition, pair + 1, ACL_RT_SWITCH_INT32, second, NULL, first));
        OK(run_with(add, 1, second, word, 1));
        OK(aclmdlRIEndTask(model, second));
        OK(aclmdlRIBuildEnd(model, NULL));
        pair[1] = -5;
        pair[0] = -6;
        CHECK(executed(model, exec) == table[i].for_less);
        pair[0] = -5;
        CHECK(executed(model, exec) == table[i].for_equal);
        pair[0] = 5;
        CHECK(executed(model, exec) == table[i].for_greater);
        OK(aclmdlRIDestroy(model));
    }
    /* a stream that two others activate runs twice, one after the other */
    aclrtStream heads[2] = {persistent(), persistent()};
    OK(aclrtDestroyStream(second));
    second = persistent();
    OK(aclmdlRIBuildBegin(&model, 0));
    OK(aclmdlRIBindStream(model, heads[0], ACL_MODEL_STREAM_FLAG_HEAD));
    OK(aclmdlRIBindStream(model, heads[1], ACL_MODEL_STREAM_FLAG_HEAD));
    OK(aclmdlRIBindStream(model, second, ACL_MODEL_STREAM_FLAG_DEFAULT));
    OK(aclrtActiveStream(second, heads[0]));
    OK(aclrtActiveStream(second, heads[1]));
    OK(run_with(sleeper, 1, second, NULL, 1000));
    OK(run_with(add, 1, second, word, 1));
    OK(aclmdlRIEndTask(model, second));
    OK(aclmdlRIBuildEnd(model, NULL));
    for (int i = 0; i < 10; ++i) CHECK(executed(model, exec) == 2);
    OK(aclmdlRIDestroy(model));
    OK(aclrtFree(values));
    OK(aclrtDestroyStream(heads[0]));
    OK(aclrtDestroyStream(heads[1]));
    OK(aclrtDestroyStream(first));
    OK(aclrtDestroyStream(second));
    OK(aclrtDestroyStream(third));
    OK(aclrtDestroyStream(elsewhere));
    OK(aclrtDestroyStream(exec));
}

struct to_abort {
    aclmdlRI model;
    aclrtContext context;
};

static void *abort_soon(void *argument)
{
    struct to_abort *what = argument;
    usleep(20000);
    OK(aclrtSetCurrentContext(what->context));
    OK(aclmdlRIAbort(what->model));
    return NULL;
}

static void aborting(void)
{
    aclrtStream bound = persistent(), exec;
    aclmdlRI model;
    aclrtContext context;
    pthread_t thread;
    OK(aclrtCreateStream(&exec));
    OK(aclrtGetCurrentContext(&context));
    OK(aclmdlRIBuildBegin(&model, 0));
    OK(aclmdlRIBindStream(model, bound, ACL_MODEL_STREAM_FLAG_HEAD));
    OK(run_with(sleeper, 1, bound, NULL, 60000000));
    OK(run_with(add, 1, bound, word, 1));
    OK(aclmdlRIEndTask(model, bound));
    OK(aclmdlRIBuildEnd(model, NULL));
    FAILS(107000, aclmdlRIAbort(NULL));
    FAILS(107017, aclmdlRIAbort(exec));
    OK(aclmdlRIAbort(model)); /* nothing to abort */
    *word = 0;
    OK(aclmdlRIExecuteAsync(model, exec));
    FAILS(507046, aclrtSynchronizeStreamWithTimeout(exec, 20));
    OK(aclmdlRIAbort(model));
    FAILS(507023, aclrtSynchronizeStream(exec));
    CHECK(*word == 0);
    FAILS(507046, aclmdlRIExecute(model, 20));
    OK(aclmdlRIAbort(model));
    /* a thread that waits learns it */
    OK(aclmdlRIExecuteAsync(model, exec));
    struct to_abort what = {model, context};
    CHECK(pthread_create(&thread, NULL, abort_soon, &what) == 0);
    FAILS(507023, aclrtSynchronizeStream(exec));
    pthread_join(thread, NULL);
    OK(aclmdlRIDestroy(model));
    OK(aclrtDestroyStream(bound));
    OK(aclrtDestroyStream(exec));
}

/* A failing task ends the execution; other models of the stream go on. */
static void failures(void)
{
    aclrtStream bound = persistent(), exec;
    aclmdlRI model;
    OK(aclrtCreateStream(&exec));
    OK(aclmdlRIBuildBegin(&model, 0));
    OK(aclmdlRIBindStream(model, bound, ACL_MODEL_STREAM_FLAG_HEAD));
    OK(run_with(add, 1, bound, word, 1));
    OK(run(trap, 4, bound, NULL, 0));
    OK(run_with(add, 1, bound, word, 100));
    OK(aclmdlRIEndTask(model, bound));
    OK(aclmdlRIBuildEnd(model, NULL));
    *word = 0;
    FAILS(507015, aclmdlRIExecute(model, -1));
    OK(aclmdlRIExecuteAsync(model, exec));
    OK(run_with(add, 1, exec, word, 1000));
    FAILS(507015, aclrtSynchronizeStream(exec));
    CHECK(*word == 1002);
    OK(aclmdlRIDestroy(model));
    OK(aclrtDestroyStream(bound));
    OK(aclrtDestroyStream(exec));
}

/* What is not destroyed is named at the end, once each. */
static int models_named, labels_named, lists_named, streams_named;

static void on_log(uint32_t topic, const char *line, void *unused)
{
    (void)unused;
    if (topic != ASCENDCL_CPU_LOG_LEAKS) return;
    models_named += strstr(line, "runtime instance ") != NULL;
    labels_named += strstr(line, "label 0x") != NULL;
    lists_named += strstr(line, "label list ") != NULL;
    streams_named += strstr(line, "stream ") != NULL;
}

static void leaks(void)
{
    aclrtStream stream = persistent();
    aclmdlRI model;
    aclrtLabel label;
    aclrtLabelList list;
    OK(aclmdlRIBuildBegin(&model, 0));
    OK(aclmdlRIBindStream(model, stream, ACL_MODEL_STREAM_FLAG_HEAD));
    OK(aclrtCreateLabel(&label));
    OK(aclrtCreateLabelList(&label, 1, &list));
    ascendcl_cpu_set_log_callback(on_log, NULL);
    ascendcl_cpu_set_log_topics(ASCENDCL_CPU_LOG_LEAKS);
    OK(aclFinalize());
    CHECK(models_named == 1 && labels_named == 1 && lists_named == 1);
    CHECK(streams_named == 1); /* the bound one; those of the model are its own */
    ascendcl_cpu_set_log_topics(0);
    ascendcl_cpu_set_log_callback(NULL, NULL);
    OK(aclInit(NULL));
    OK(aclmdlRIDestroy(model));
    OK(aclrtDestroyLabelList(list));
    OK(aclrtDestroyLabel(label));
    OK(aclrtDestroyStream(stream));
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
    void (*const parts[])(void) = {building, between_streams, labels, switches, aborting, failures, leaks};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i) {
        int before = check_failures;
        parts[i]();
        if (check_failures != before) fprintf(stderr, "in part %zu\n", i);
    }
    OK(aclrtFree(word));
    OK(aclrtBinaryUnLoad(binary));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    return check_result("model");
}
