/* SPDX-License-Identifier: Apache-2.0
 * Many threads: own and shared streams, contexts, events, memory; destruction while others use. For the thread
 * sanitizer above all. */
#include <atomic>
#include <random>
#include <thread>
#include <vector>

extern "C" {
#include "check.h"
}

static aclrtBinHandle binary;
static aclrtFuncHandle add, empty, sleeper, spin, trap;
static int rounds = 60;

template <class Function> static void in_threads(int count, Function function)
{
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
        threads.emplace_back([=] {
            OK(aclrtSetDevice(0));
            function(i);
            OK(aclrtResetDevice(0));
        });
    }
    for (auto &thread : threads) thread.join();
}

/* Every thread has its stream, its memory and its events. */
static void own_streams()
{
    in_threads(4, [](int number) {
        aclrtStream stream;
        int64_t *word;
        OK(aclrtCreateStream(&stream));
        OK(aclrtMalloc(reinterpret_cast<void **>(&word), 8, ACL_MEM_MALLOC_HUGE_FIRST));
        *word = 0;
        for (int i = 0; i < rounds; ++i) {
            OK(run_with(add, 1, stream, word, number + 1));
            if (i % 5 == 0) OK(run_with(spin, 3, stream, nullptr, 30));
            if (i % 3 == 0) OK(aclrtSynchronizeStream(stream));
        }
        OK(aclrtSynchronizeStream(stream));
        CHECK(*word == rounds * (number + 1));
        OK(aclrtFree(word));
        OK(aclrtDestroyStream(stream));
    });
}

/* All threads enqueue on one stream, tiny work and large; nothing is lost, and nothing runs at the same time. */
static void shared_stream()
{
    static aclrtStream stream;
    static int64_t *word;
    OK(aclrtCreateStream(&stream));
    OK(aclrtMalloc(reinterpret_cast<void **>(&word), 8, ACL_MEM_MALLOC_HUGE_FIRST));
    *word = 0;
    aclrtFuncHandle tiny = kernel(binary, "double_word");
    static int64_t *other;
    OK(aclrtMalloc(reinterpret_cast<void **>(&other), 8, ACL_MEM_MALLOC_HUGE_FIRST));
    *other = 0;
    in_threads(4, [tiny](int) {
        for (int i = 0; i < rounds * 5; ++i) {
            OK(run_with(add, 1, stream, word, 1));
            OK(run(tiny, 1, stream, &other, 8));
            if (i % 17 == 0) OK(aclrtSynchronizeStream(stream));
            aclrtStreamStatus status;
            OK(aclrtStreamQuery(stream, &status));
        }
    });
    OK(aclrtSynchronizeStream(stream));
    CHECK(*word == 4 * rounds * 5);
    OK(aclrtFree(word));
    OK(aclrtFree(other));
    OK(aclrtDestroyStream(stream));
}

/* A ring of streams linked by events that are recorded again and again. */
static void events_between_threads()
{
    enum { ring = 4 };
    static aclrtStream streams[ring];
    static aclrtEvent events[ring];
    static std::atomic<int> turn;
    static int64_t *word;
    turn = 0;
    OK(aclrtMalloc(reinterpret_cast<void **>(&word), 8, ACL_MEM_MALLOC_HUGE_FIRST));
    *word = 0;
    for (int i = 0; i < ring; ++i) {
        OK(aclrtCreateStream(&streams[i]));
        OK(aclrtCreateEventExWithFlag(&events[i], ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
    }
    in_threads(ring, [](int number) {
        for (int i = 0; i < rounds; ++i) {
            while (turn.load() % ring != number) std::this_thread::yield();
            int before = (number + ring - 1) % ring;
            OK(aclrtStreamWaitEvent(streams[number], events[before]));
            OK(run_with(add, 1, streams[number], word, 1)); /* not atomic: order is all that protects it */
            if (i % 7 == 0) OK(run_with(sleeper, 1, streams[number], nullptr, 200));
            OK(aclrtRecordEvent(events[number], streams[number]));
            turn.fetch_add(1);
            if (i % 9 == 0) OK(aclrtSynchronizeEvent(events[number]));
        }
    });
    for (int i = 0; i < ring; ++i) OK(aclrtSynchronizeStream(streams[i]));
    CHECK(*word == ring * rounds);
    for (int i = 0; i < ring; ++i) {
        OK(aclrtDestroyStream(streams[i]));
        OK(aclrtDestroyEvent(events[i]));
    }
    OK(aclrtFree(word));
}

/* Contexts come and go, with everything in them. */
static void contexts_and_memory()
{
    in_threads(4, [](int number) {
        std::mt19937 random(static_cast<unsigned>(number));
        for (int i = 0; i < rounds / 2; ++i) {
            aclrtContext context;
            aclrtStream stream;
            aclrtEvent event;
            OK(aclrtCreateContext(&context, 0));
            OK(aclrtCreateStream(&stream));
            OK(aclrtCreateEvent(&event));
            std::vector<void *> memory(1 + random() % 8);
            for (void *&p : memory) {
                size_t size = 1 + random() % 100000;
                OK(aclrtMalloc(&p, size, ACL_MEM_MALLOC_HUGE_FIRST));
                OK(aclrtMemsetAsync(p, size, 1, size, stream));
                aclrtPtrAttributes attributes;
                OK(aclrtPointerGetAttributes(p, &attributes));
            }
            OK(aclrtRecordEvent(event, stream));
            OK(aclrtSynchronizeEvent(event));
            for (void *p : memory) OK(aclrtFree(p));
            OK(aclrtDestroyEvent(event));
            OK(aclrtDestroyContext(context));
            OK(aclrtSetDevice(0));
            OK(aclrtResetDevice(0));
        }
    });
}

/* Threads wait for a stream that others feed, fail and finally destroy; each answer is one of the documented ones. */
static void destruction_during_use()
{
    for (int round = 0; round < 10; ++round) {
        static aclrtStream stream;
        static aclrtEvent event;
        static std::atomic<bool> gone;
        gone = false;
        OK(aclrtCreateStream(&stream));
        OK(aclrtCreateEvent(&event));
        OK(aclrtRecordEvent(event, stream));
        in_threads(4, [round](int number) {
            if (number == 0) {
                usleep(static_cast<useconds_t>(1000 + 500 * round));
                OK(aclrtDestroyEvent(event));
                OK(round % 2 == 0 ? aclrtDestroyStream(stream) : aclrtDestroyStreamForce(stream));
                gone = true;
                return;
            }
            while (!gone) {
                aclError code;
                aclrtEventRecordedStatus status;
                switch (number) {
                case 1: code = aclrtSynchronizeStreamWithTimeout(stream, 1000); break;
                case 2: code = run_with(sleeper, 1, stream, nullptr, 100); break;
                default: code = aclrtQueryEventStatus(event, &status);
                }
                CHECK(code == 0 || code == 107017 || code == 507046);
                usleep(200); /* else the queue grows for seconds */
            }
        });
        (void)aclGetRecentErrMsg();
    }
}

/* Events are destroyed and made as fast as possible, while others call with a handle that was valid a moment ago: the
 * destruction falls into the middle of calls, on idle streams and on such with work. */
static void events_destroyed_within_calls()
{
    static std::atomic<aclrtEvent> shared;
    static std::atomic<bool> over;
    uint32_t before, after;
    OK(aclrtGetEventAvailNum(&before));
    over = false;
    shared = nullptr;
    in_threads(4, [](int number) {
        aclrtStream stream;
        OK(aclrtCreateStream(&stream));
        if (number == 0) {
            for (int i = 0; i < 1000 * rounds; ++i) {
                aclrtEvent event;
                OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
                shared = event;
                if (i % 3 == 0) OK(aclrtRecordEvent(event, stream));
                if (i % 7 == 0) sched_yield();
                OK(aclrtDestroyEvent(event));
            }
            over = true;
        }
        for (uint32_t i = 0; !over; ++i) {
            aclrtEvent event = shared.load();
            if (event == nullptr) continue;
            if (number == 1 && i % 16 == 0) OK(run_with(sleeper, 1, stream, nullptr, 20)); /* what comes next is queued */
            aclError codes[3] = {aclrtRecordEvent(event, stream), aclrtStreamWaitEvent(stream, event), aclrtSynchronizeEvent(event)};
            for (aclError code : codes) CHECK(code == 0 || code == 107017);
            if (i % 64 == 0) OK(aclrtSynchronizeStream(stream));
        }
        OK(aclrtSynchronizeStream(stream));
        OK(aclrtDestroyStream(stream));
        (void)aclGetRecentErrMsg();
    });
    OK(aclrtGetEventAvailNum(&after));
    CHECK(before == after);
}

/* Streams, events and notifies are replaced all the time, while other threads call everything with handles that they read
 * a moment ago: each call does its work or answers with a documented code, and nothing is lost for the next owner. */
static void replaced_during_use()
{
    constexpr int places = 3;
    static std::atomic<aclrtStream> streams[places];
    static std::atomic<aclrtEvent> events[places];
    static std::atomic<aclrtNotify> notifies[places];
    static std::atomic<int> replacing;
    static int64_t *word;
    /* Fills go to ever new places: two streams that fill the same one are the caller's race. */
    static constexpr size_t fills_of_a_thread = 4096;
    OK(aclrtMalloc(reinterpret_cast<void **>(&word), (8 + 8 * fills_of_a_thread) * sizeof *word, ACL_MEM_MALLOC_HUGE_FIRST));
    for (int i = 0; i < places; ++i) {
        aclrtStream stream;
        aclrtEvent event;
        aclrtNotify notify;
        OK(aclrtCreateStream(&stream));
        OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
        OK(aclrtCreateNotify(&notify, 0));
        streams[i] = stream;
        events[i] = event;
        notifies[i] = notify;
    }
    replacing = 2;
    in_threads(5, [](int number) {
        uint32_t random = 12345u + static_cast<uint32_t>(number) * 7919u;
        auto next = [&random](uint32_t limit) {
            random = random * 1664525u + 1013904223u;
            return (random >> 16) % limit;
        };
        if (number < 2) {
            for (int i = 0; i < 10 * rounds; ++i) {
                aclrtStream stream;
                aclrtEvent event;
                aclrtNotify notify;
                switch (next(3)) {
                case 0:
                    OK(aclrtCreateStream(&stream));
                    stream = streams[next(places)].exchange(stream);
                    OK(next(2) != 0 ? aclrtDestroyStream(stream) : aclrtDestroyStreamForce(stream));
                    break;
                case 1:
                    OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
                    OK(aclrtDestroyEvent(events[next(places)].exchange(event)));
                    break;
                default:
                    OK(aclrtCreateNotify(&notify, 0));
                    OK(aclrtDestroyNotify(notifies[next(places)].exchange(notify)));
                }
            }
            --replacing;
            return;
        }
        size_t fills = 0;
        while (replacing != 0) {
            aclrtStream stream = streams[next(places)];
            aclrtEvent event = events[next(places)];
            aclrtNotify notify = notifies[next(places)];
            aclrtEventRecordedStatus status;
            aclrtStreamStatus state;
            uint64_t us;
            int32_t id;
            aclError code = 0;
            switch (next(12)) {
            case 0: code = run_with(add, 1, stream, word + number, 1); break;
            case 1: code = run_with(sleeper, 2, stream, nullptr, 50); break;
            case 2: code = aclrtRecordEvent(event, stream); break;
            case 3: code = aclrtStreamWaitEvent(stream, event); break;
            case 4: code = aclrtSynchronizeStreamWithTimeout(stream, 20); break;
            case 5: code = aclrtSynchronizeEventWithTimeout(event, 20); break;
            case 6: code = aclrtQueryEventStatus(event, &status); break;
            case 7: code = aclrtEventGetTimestamp(event, &us); break;
            case 8: code = aclrtRecordNotify(notify, stream); break;
            case 9: code = aclrtStreamQuery(stream, &state); break;
            case 10: {
                const size_t place = 8 + static_cast<size_t>(number) * fills_of_a_thread + fills++ % fills_of_a_thread;
                code = aclrtMemsetAsync(word + place, 8, number, 8, stream);
                break;
            }
            default: code = aclrtStreamGetId(stream, &id);
            }
            /* Gone; not in time; aborted with its stream; no time recorded yet, or its record not yet done. */
            bool documented = code == 0 || code == 107017 || code == 507046 || code == 507047 || code == 107023 || code == 507000 ||
                              code == 107006;
            if (!documented) fprintf(stderr, "code %d\n", code);
            CHECK(documented);
            (void)aclGetRecentErrMsg();
        }
    });
    for (int i = 0; i < places; ++i) {
        OK(aclrtSynchronizeStream(streams[i]));
        OK(aclrtDestroyStream(streams[i]));
        OK(aclrtDestroyEvent(events[i]));
        OK(aclrtDestroyNotify(notifies[i]));
    }
    OK(aclrtFree(word));
}

/* Errors of one stream reach every thread that waits for it, once each. */
static std::atomic<int> told, ready;

static void wait_for_waiters(void *)
{
    while (ready.load() < 3) usleep(100);
    usleep(20000); /* from "ready" into the wait */
}

static void errors_to_all_waiters()
{
    static aclrtStream stream;
    OK(aclrtCreateStream(&stream));
    for (int round = 0; round < 10; ++round) {
        told = ready = 0;
        OK(aclrtLaunchHostFunc(stream, wait_for_waiters, nullptr));
        OK(run(trap, 1, stream, nullptr, 0));
        in_threads(3, [](int) {
            ready.fetch_add(1);
            aclError code = aclrtSynchronizeStream(stream);
            CHECK(code == 507015 || code == 0);
            if (code != 0) {
                told.fetch_add(1);
                CHECK(strstr(check_message(), "deliberate trap") != nullptr);
            }
        });
        CHECK(told.load() == 3);
        OK(aclrtSynchronizeStream(stream));
    }
    OK(aclrtDestroyStream(stream));
}

static void set(void *flag) { static_cast<std::atomic<int> *>(flag)->fetch_add(1); }

static void callbacks_from_threads()
{
    static std::atomic<int> calls;
    calls = 0;
    in_threads(4, [](int) {
        aclrtStream stream;
        OK(aclrtCreateStream(&stream));
        for (int i = 0; i < rounds; ++i) {
            OK(aclrtLaunchHostFunc(stream, set, &calls));
            OK(run(empty, 1, stream, nullptr, 0));
        }
        OK(aclrtSynchronizeStream(stream));
        OK(aclrtDestroyStream(stream));
    });
    CHECK(calls.load() == 4 * rounds);
}

static void notifies_between_threads()
{
    static aclrtNotify notify;
    static int64_t *word;
    OK(aclrtCreateNotify(&notify, 0));
    OK(aclrtMalloc(reinterpret_cast<void **>(&word), 64, ACL_MEM_MALLOC_HUGE_FIRST));
    *word = 0;
    in_threads(2, [](int number) {
        aclrtStream stream;
        OK(aclrtCreateStream(&stream));
        for (int i = 1; i <= rounds; ++i) {
            if (number == 0) {
                OK(aclrtValueWait(word, static_cast<uint64_t>(2 * i - 1), ACL_STREAM_WAIT_VALUE_GEQ, stream));
                OK(aclrtValueWrite(word, static_cast<uint64_t>(2 * i), 0, stream));
                OK(aclrtRecordNotify(notify, stream));
            } else {
                OK(aclrtValueWrite(word, static_cast<uint64_t>(2 * i - 1), 0, stream));
                OK(aclrtWaitAndResetNotify(notify, stream, 0));
            }
        }
        OK(aclrtSynchronizeStream(stream));
        OK(aclrtDestroyStream(stream));
    });
    CHECK(*word == 2 * rounds);
    OK(aclrtDestroyNotify(notify));
    OK(aclrtFree(word));
}

static void pools_from_threads()
{
    static aclrtMemPool pool;
    aclrtMemPoolProps props = {};
    props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    OK(aclrtMemPoolCreate(&pool, &props));
    in_threads(4, [](int number) {
        aclrtStream stream;
        OK(aclrtCreateStream(&stream));
        for (int i = 0; i < rounds; ++i) {
            void *p;
            OK(aclrtMemPoolMallocAsync(&p, 4096, pool, stream));
            OK(aclrtMemsetAsync(p, 4096, number, 4096, stream));
            if (i % 4 == 0) OK(run_with(sleeper, 1, stream, nullptr, 100));
            OK(aclrtMemPoolFreeAsync(p, stream));
            if (i % 8 == 0) OK(aclrtSynchronizeStream(stream));
        }
        OK(aclrtDestroyStream(stream));
    });
    OK(aclrtMemPoolDestroy(pool));
}

int main(int argc, char **argv)
{
    if (argc > 1) setenv("ASCENDCL_CPU_WORKERS", argv[1], 1);
    if (argc > 2) rounds = atoi(argv[2]);
    OK(aclInit(nullptr));
    OK(aclrtSetDevice(0));
    OK(aclrtBinaryLoadFromFile(kernel_path("cpu"), nullptr, &binary));
    add = kernel(binary, "add_value");
    empty = kernel(binary, "empty");
    sleeper = kernel(binary, "sleep_us");
    spin = kernel(binary, "spin_us");
    trap = kernel(binary, "trap");
    own_streams();
    shared_stream();
    events_between_threads();
    contexts_and_memory();
    destruction_during_use();
    events_destroyed_within_calls();
    replaced_during_use();
    errors_to_all_waiters();
    callbacks_from_threads();
    notifies_between_threads();
    pools_from_threads();
    OK(aclrtBinaryUnLoad(binary));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    return check_result("threads");
}
