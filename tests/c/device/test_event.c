/* SPDX-License-Identifier: Apache-2.0
 * Events: kinds, recording, order between streams, waiting, time. */
#include <pthread.h>

#include "check.h"

static aclrtBinHandle binary;

static void kinds(void)
{
    aclrtEvent event;
    uint32_t before, after, id, other;
    OK(aclrtGetEventAvailNum(&before));
    FAILS(100000, aclrtCreateEvent(NULL));
    FAILS(107000, aclrtCreateEventWithFlag(&event, 0));
    FAILS(107000, aclrtCreateEventWithFlag(&event, 0x1000));
    FAILS(107000, aclrtCreateEventWithFlag(&event, ACL_EVENT_EXTERNAL | ACL_EVENT_SYNC));
    FAILS(107000, aclrtCreateEventExWithFlag(&event, ACL_EVENT_DEVICE_USE_ONLY | ACL_EVENT_TIME_LINE));
    FAILS(107000, aclrtCreateEventExWithFlag(&event, 0));
    FAILS(207000, aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    FAILS(100000, aclrtCreateEventExWithFlag(NULL, ACL_EVENT_SYNC));
    OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    OK(aclrtGetEventAvailNum(&after));
    CHECK(after == before - 1);
    FAILS(100000, aclrtGetEventAvailNum(NULL));
    OK(aclrtGetEventId(event, &id));
    FAILS(100000, aclrtGetEventId(event, NULL));
    OK(aclrtDestroyEvent(event));
    FAILS(107017, aclrtDestroyEvent(event));
    FAILS(107017, aclrtGetEventId(event, &id));
    FAILS(107017, aclrtRecordEvent(event, NULL));
    FAILS(107017, aclrtStreamWaitEvent(NULL, event));
    FAILS(107017, aclrtSynchronizeEvent(event));
    FAILS(107017, aclrtResetEvent(event, NULL));
    FAILS(100000, aclrtDestroyEvent(NULL));
    FAILS(100000, aclrtRecordEvent(NULL, NULL));
    FAILS(100000, aclrtStreamWaitEvent(NULL, NULL));
    FAILS(100000, aclrtSynchronizeEvent(NULL));
    OK(aclrtCreateEvent(&event));
    OK(aclrtGetEventId(event, &other));
    CHECK(other != id);
    OK(aclrtDestroyEvent(event));
    OK(aclrtGetEventAvailNum(&after));
    CHECK(after == before);
}

static void never_recorded(void)
{
    aclrtEvent plain, reusable;
    aclrtEventRecordedStatus status;
    aclrtEventStatus old;
    aclrtEventWaitStatus waits;
    float ms;
    uint64_t us;
    OK(aclrtCreateEvent(&plain));
    OK(aclrtCreateEventExWithFlag(&reusable, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
    OK(aclrtQueryEventStatus(plain, &status));
    CHECK(status == ACL_EVENT_RECORDED_STATUS_NOT_READY);
    OK(aclrtQueryEventStatus(reusable, &status));
    CHECK(status == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    FAILS(100000, aclrtQueryEventStatus(plain, NULL));
    OK(aclrtSynchronizeEvent(plain));
    OK(aclrtSynchronizeEvent(reusable));
    FAILS(107000, aclrtStreamWaitEvent(NULL, plain));
    OK(aclrtStreamWaitEvent(NULL, reusable)); /* nothing to wait for */
    OK(aclrtSynchronizeStream(NULL));
    FAILS(507000, aclrtEventElapsedTime(&ms, plain, reusable));
    FAILS(507000, aclrtEventGetTimestamp(plain, &us));
    FAILS(100000, aclrtEventElapsedTime(NULL, plain, reusable));
    FAILS(100000, aclrtEventGetTimestamp(plain, NULL));
    /* what an Ex event does not have */
    FAILS(207000, aclrtResetEvent(reusable, NULL));
    FAILS(207000, aclrtQueryEvent(reusable, &old));
    FAILS(207000, aclrtQueryEventWaitStatus(reusable, &waits));
    OK(aclrtQueryEventWaitStatus(plain, &waits));
    CHECK(waits == ACL_EVENT_WAIT_STATUS_COMPLETE);
    FAILS(100000, aclrtQueryEventWaitStatus(plain, NULL));
    OK(aclrtDestroyEvent(plain));
    OK(aclrtDestroyEvent(reusable));
    /* without SYNC no waiting and no reset */
    OK(aclrtCreateEventWithFlag(&plain, ACL_EVENT_TIME_LINE));
    OK(aclrtRecordEvent(plain, NULL));
    FAILS(207000, aclrtStreamWaitEvent(NULL, plain));
    FAILS(207000, aclrtResetEvent(plain, NULL));
    OK(aclrtDestroyEvent(plain));
    /* without TIME_LINE no time */
    OK(aclrtCreateEventWithFlag(&plain, ACL_EVENT_SYNC));
    OK(aclrtRecordEvent(plain, NULL));
    OK(aclrtSynchronizeEvent(plain));
    FAILS(107006, aclrtEventGetTimestamp(plain, &us));
    OK(aclrtDestroyEvent(plain));
}

static void recording(void)
{
    aclrtFuncHandle sleeper = kernel(binary, "sleep_us");
    aclrtStream stream, other;
    aclrtEvent event, start;
    aclrtEventRecordedStatus status;
    aclrtEventStatus old;
    aclrtEventWaitStatus waits;
    uint64_t first, second;
    float ms = 0;
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateStream(&other));
    OK(aclrtCreateEvent(&event));
    OK(aclrtCreateEvent(&start));
    OK(aclrtRecordEvent(start, stream));
    OK(run_with(sleeper, 1, stream, NULL, 50000));
    OK(aclrtRecordEvent(event, stream));
    OK(aclrtQueryEventStatus(event, &status));
    CHECK(status == ACL_EVENT_RECORDED_STATUS_NOT_READY);
    OK(aclrtQueryEvent(event, &old));
    CHECK(old == ACL_EVENT_STATUS_NOT_READY);
    FAILS(107006, aclrtEventElapsedTime(&ms, start, event));
    FAILS(107006, aclrtEventGetTimestamp(event, &second));
    FAILS(507047, aclrtSynchronizeEventWithTimeout(event, 5));
    FAILS(107000, aclrtSynchronizeEventWithTimeout(event, 0));
    FAILS(107000, aclrtSynchronizeEventWithTimeout(event, -3));
    OK(aclrtStreamWaitEvent(other, event));
    OK(aclrtQueryEventWaitStatus(event, &waits));
    CHECK(waits == ACL_EVENT_WAIT_STATUS_NOT_READY);
    OK(aclrtSynchronizeEventWithTimeout(event, 5000));
    OK(aclrtSynchronizeStream(other));
    OK(aclrtQueryEventWaitStatus(event, &waits));
    CHECK(waits == ACL_EVENT_WAIT_STATUS_COMPLETE);
    OK(aclrtQueryEventStatus(event, &status));
    CHECK(status == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    OK(aclrtQueryEvent(event, &old));
    CHECK(old == ACL_EVENT_STATUS_COMPLETE);
    OK(aclrtEventElapsedTime(&ms, start, event));
    CHECK(ms >= 50);
    IN_TIME(ms < 150);
    float back;
    OK(aclrtEventElapsedTime(&back, event, start)); /* may be negative */
    CHECK(back == -ms);
    OK(aclrtEventGetTimestamp(start, &first));
    OK(aclrtEventGetTimestamp(event, &second));
    CHECK(second - first >= 49999);
    IN_TIME(second - first < 150000);

    /* reset, then the next record counts */
    OK(aclrtResetEvent(event, stream));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtQueryEventStatus(event, &status));
    CHECK(status == ACL_EVENT_RECORDED_STATUS_NOT_READY);
    OK(aclrtStreamWaitEvent(other, event));
    aclrtStreamStatus busy;
    OK(aclrtStreamQuery(other, &busy));
    CHECK(busy == ACL_STREAM_STATUS_NOT_READY);
    OK(aclrtRecordEvent(event, stream));
    OK(aclrtSynchronizeStream(other));

    /* other context */
    aclrtContext context, primary;
    OK(aclrtGetCurrentContext(&primary));
    OK(aclrtCreateContext(&context, 0));
    FAILS(107003, aclrtRecordEvent(event, stream));
    FAILS(107003, aclrtStreamWaitEvent(stream, event));
    FAILS(107003, aclrtResetEvent(event, stream));
    OK(aclrtDestroyContext(context));
    OK(aclrtSetCurrentContext(primary));

    /* destroyed before it is complete */
    OK(run_with(sleeper, 1, stream, NULL, 20000));
    OK(aclrtRecordEvent(event, stream));
    OK(aclrtStreamWaitEvent(other, event));
    OK(aclrtDestroyEvent(event));
    OK(aclrtSynchronizeStream(other));
    OK(aclrtDestroyEvent(start));
    OK(aclrtDestroyStream(stream));
    OK(aclrtDestroyStream(other));
}

/* A wait binds to the newest record at the time of the call. */
static void repeated_records(void)
{
    aclrtFuncHandle sleeper = kernel(binary, "sleep_us"), add = kernel(binary, "add_value");
    aclrtStream slow, fast, reader;
    aclrtEvent event;
    int64_t *word;
    OK(aclrtMalloc((void **)&word, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    *word = 0;
    OK(aclrtCreateStream(&slow));
    OK(aclrtCreateStream(&fast));
    OK(aclrtCreateStream(&reader));
    OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    OK(run_with(sleeper, 1, slow, NULL, 50000));
    OK(run_with(add, 1, slow, word, 1));
    OK(aclrtRecordEvent(event, slow));
    OK(aclrtStreamWaitEvent(reader, event)); /* for the slow record */
    OK(aclrtRecordEvent(event, fast));       /* done at once */
    aclrtEventRecordedStatus status;
    OK(aclrtQueryEventStatus(event, &status));
    CHECK(status == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    OK(aclrtSynchronizeEvent(event));
    CHECK(*word == 0);
    OK(aclrtSynchronizeStream(reader));
    CHECK(*word == 1);
    FAILS(107000, aclrtRecordEventWithFlag(event, fast, 2));
    OK(aclrtRecordEventWithFlag(event, fast, ACL_EVENT_RECORD_DEFAULT));
    FAILS(107000, aclrtStreamWaitEventWithFlag(reader, event, 0, 2));
    OK(aclrtStreamWaitEventWithFlag(reader, event, 0, ACL_EVENT_WAIT_DEFAULT));
    OK(aclrtSynchronizeStream(reader));
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyStream(slow));
    OK(aclrtDestroyStream(fast));
    OK(aclrtDestroyStream(reader));
    OK(aclrtFree(word));
}

static void timeouts(void)
{
    aclrtFuncHandle sleeper = kernel(binary, "sleep_us");
    aclrtStream stream, other;
    aclrtEvent event;
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateStream(&other));
    OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    OK(run_with(sleeper, 1, stream, NULL, 20000000));
    OK(aclrtRecordEvent(event, stream));
    FAILS(107000, aclrtStreamWaitEventWithTimeout(other, event, -1));
    OK(aclrtStreamWaitEventWithTimeout(other, event, 1));
    double start = seconds();
    FAILS(107020, aclrtSynchronizeStream(other));
    double spent = seconds() - start;
    CHECK(spent > 0.9 && spent < 10);
    /* the same for waits that name no time */
    OK(aclrtSetOpWaitTimeout(1));
    OK(aclrtStreamWaitEvent(other, event));
    OK(aclrtSetOpWaitTimeout(0));
    FAILS(107020, aclrtSynchronizeStream(other));
    /* a wait that is in time; aborting drops the record, which ends the waits for it */
    OK(aclrtStreamWaitEventWithTimeout(other, event, 30));
    OK(aclrtStreamAbort(stream));
    OK(aclrtSynchronizeStream(other));
    FAILS(107023, aclrtSynchronizeEvent(event));
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyStream(stream));
    OK(aclrtDestroyStream(other));
}

/* A chain over many streams, each link by an event; the answer shows the order. */
static void chain(void)
{
    enum { links = 200, streams = 8 };
    aclrtFuncHandle add = kernel(binary, "add_value"), twice = kernel(binary, "double_word");
    aclrtStream stream[streams];
    aclrtEvent event[links];
    int64_t *word, expected = 1;
    OK(aclrtMalloc((void **)&word, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    *word = 1;
    for (int i = 0; i < streams; ++i) OK(aclrtCreateStream(&stream[i]));
    for (int i = 0; i < links; ++i) {
        aclrtStream on = stream[i % streams];
        OK(aclrtCreateEventExWithFlag(&event[i], ACL_EVENT_SYNC));
        if (i > 0) OK(aclrtStreamWaitEvent(on, event[i - 1]));
        if (i % 10 == 3) {
            OK(run(twice, 1, on, &word, 8));
            expected *= 2;
        } else {
            OK(run_with(add, 1, on, word, i));
            expected += i;
        }
        OK(aclrtRecordEvent(event[i], on));
    }
    OK(aclrtSynchronizeEvent(event[links - 1]));
    CHECK(*word == expected);
    for (int i = 0; i < links; ++i) OK(aclrtDestroyEvent(event[i]));
    for (int i = 0; i < streams; ++i) OK(aclrtDestroyStream(stream[i]));
    OK(aclrtFree(word));
}

int main(void)
{
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtBinaryLoadFromFile(kernel_path("cpu"), NULL, &binary));
    kinds();
    never_recorded();
    recording();
    repeated_records();
    timeouts();
    for (int i = 0; i < 20; ++i) chain();
    OK(aclrtBinaryUnLoad(binary));
    OK(aclrtResetDeviceForce(0));
    OK(aclFinalize());
    return check_result("event");
}
