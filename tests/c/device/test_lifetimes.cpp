/* SPDX-License-Identifier: Apache-2.0
 * Objects of every kind are destroyed and made as fast as possible, while other threads call with handles that were valid
 * a moment ago: the destruction falls into the middle of calls. Each call does its work or answers with a documented code;
 * nothing that is made next is touched, and nothing is lost. For the thread and address sanitizers above all.
 *   test_lifetimes [rounds] [no_membarrier]
 * The second word: as where the system has no such call (no_membarrier.h). */
#include <sched.h>

#include <atomic>
#include <chrono>
#include <initializer_list>
#include <thread>
#include <vector>

#include "ascend_cy/ascendcl_cpu.h"
#include "no_membarrier.h"

extern "C" {
#include "check.h"
}

static aclrtBinHandle binary;
static aclrtFuncHandle sleeper;
static int rounds = 60;
static std::chrono::steady_clock::time_point begun; /* of the maker that runs */

/* Whether the maker does its i-th round of so many: where its threads get little of the CPUs, 4 s are enough. */
static bool go_on(int i, int so_many)
{
    return i < so_many && std::chrono::steady_clock::now() - begun < std::chrono::seconds(4);
}

static void expect(const char *what, aclError code, std::initializer_list<aclError> documented)
{
    for (aclError known : documented) {
        if (code == known) return;
    }
    fprintf(stderr, "%s gave %d: %s\n", what, code, code != 0 ? check_message() : "");
    ++check_failures;
}

/* `maker` runs in one thread, `user` again and again in three others until it ends; each has a stream. */
template <class Maker, class User> static void against_users(Maker maker, User user)
{
    std::atomic<bool> over{false};
    std::vector<std::thread> threads;
    begun = std::chrono::steady_clock::now();
    for (int number = 0; number < 4; ++number) {
        threads.emplace_back([&, number] {
            aclrtStream stream;
            OK(aclrtSetDevice(0));
            OK(aclrtCreateStream(&stream));
            if (number == 0) {
                maker(stream);
                over = true;
            } else {
                for (int i = number; !over; ++i) {
                    user(stream, i);
                    (void)aclGetRecentErrMsg();
                    if (i % 64 == 0) (void)aclrtSynchronizeStream(stream);
                }
            }
            (void)aclrtSynchronizeStream(stream);
            OK(aclrtDestroyStream(stream));
            OK(aclrtResetDevice(0));
        });
    }
    for (auto &thread : threads) thread.join();
}

static void streams()
{
    static std::atomic<aclrtStream> shared;
    static int64_t *words;
    static aclrtEvent event;
    shared = nullptr;
    OK(aclrtMalloc(reinterpret_cast<void **>(&words), 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
    against_users(
        [](aclrtStream) {
            for (int i = 0; go_on(i, 200 * rounds); ++i) {
                aclrtStream stream;
                OK(aclrtCreateStream(&stream));
                shared = stream;
                if (i % 5 == 0) OK(run_with(sleeper, 1, stream, nullptr, 10));
                if (i % 3 == 0) sched_yield();
                OK(i % 2 == 0 ? aclrtDestroyStream(stream) : aclrtDestroyStreamForce(stream));
            }
        },
        [](aclrtStream, int i) {
            aclrtStream stream = shared.load();
            if (stream == nullptr) return;
            int32_t id;
            uint32_t number;
            aclrtStreamStatus status;
            aclrtStreamAttrValue value = {};
            switch (i % 13) {
            case 0: expect("synchronize", aclrtSynchronizeStream(stream), {0, 107017, 507899, 107023}); break;
            case 1: expect("timed synchronize", aclrtSynchronizeStreamWithTimeout(stream, 20), {0, 107017, 507046, 107023}); break;
            case 2: expect("query", aclrtStreamQuery(stream, &status), {0, 107017}); break;
            case 3: expect("record", aclrtRecordEvent(event, stream), {0, 107017}); break;
            case 4: expect("wait", aclrtStreamWaitEvent(stream, event), {0, 107000, 107017}); break;
            case 5: expect("set", aclrtMemsetAsync(words + 8 * (i % 8), 8, 0, 8, stream), {0, 107017}); break;
            case 6: expect("id", aclrtStreamGetId(stream, &id), {0, 107017}); break;
            case 7: expect("flags", aclrtStreamGetFlags(stream, &number), {0, 107017}); break;
            case 8: expect("attribute", aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_PRIORITY, &value), {0, 107017}); break;
            case 9: expect("abort", aclrtStreamAbort(stream), {0, 107017}); break;
            case 10: expect("stop", aclrtStreamStop(stream), {0, 107017}); break;
            case 11: expect("subscribe", aclrtSubscribeReport(1, stream), {0, 107011, 107017}); break;
            default: expect("sleep", run_with(sleeper, 1, stream, nullptr, 5), {0, 107017});
            }
        });
    OK(aclrtDestroyEvent(event));
    OK(aclrtFree(words));
}

/* A context dies under threads for which it is current. */
static void contexts()
{
    static std::atomic<aclrtContext> shared;
    shared = nullptr;
    against_users(
        [](aclrtStream) {
            for (int i = 0; go_on(i, 20 * rounds); ++i) {
                aclrtContext context;
                OK(aclrtCreateContext(&context, 0));
                shared = context;
                if (i % 2 == 0) sched_yield();
                OK(aclrtDestroyContext(context));
            }
            OK(aclrtSetDevice(0));
            OK(aclrtResetDevice(0));
        },
        [](aclrtStream own, int i) {
            aclrtContext context = shared.load();
            if (context == nullptr) return;
            aclrtContext before;
            OK(aclrtGetCurrentContext(&before));
            aclError code = aclrtSetCurrentContext(context);
            expect("set", code, {0, 107000});
            if (code == 0) {
                aclrtStream stream = nullptr;
                aclrtContext now;
                int32_t device = -1;
                switch (i % 6) {
                case 0:
                    code = aclrtCreateStream(&stream);
                    expect("create", code, {0, 107002});
                    if (code == 0) expect("destroy", aclrtDestroyStream(stream), {0, 107002, 107003, 107017});
                    break;
                case 1: expect("current", aclrtGetCurrentContext(&now), {0, 107002}); break;
                case 2: expect("default stream", run_with(sleeper, 1, nullptr, nullptr, 5), {0, 107002, 107017}); break;
                case 3: expect("synchronize", aclrtSynchronizeStream(nullptr), {0, 107002, 107017}); break;
                case 4: expect("other's stream", aclrtSynchronizeStream(own), {0, 107002}); break;
                default: expect("device", aclrtGetDevice(&device), {0, 107002}); CHECK(device <= 0);
                }
            }
            OK(aclrtSetCurrentContext(before));
        });
}

static void notifies()
{
    static std::atomic<aclrtNotify> shared;
    static std::atomic<aclrtCntNotify> counting;
    shared = nullptr;
    counting = nullptr;
    against_users(
        [](aclrtStream stream) {
            for (int i = 0; go_on(i, 500 * rounds); ++i) {
                aclrtNotify notify;
                aclrtCntNotify count;
                OK(aclrtCreateNotify(&notify, 0));
                OK(aclrtCntNotifyCreate(&count, 0));
                shared = notify;
                counting = count;
                if (i % 3 == 0) OK(aclrtRecordNotify(notify, stream));
                if (i % 5 == 0) sched_yield();
                OK(aclrtDestroyNotify(notify));
                OK(aclrtCntNotifyDestroy(count));
            }
        },
        [](aclrtStream stream, int i) {
            aclrtNotify notify = shared.load();
            aclrtCntNotify count = counting.load();
            if (notify == nullptr || count == nullptr) return;
            uint32_t id;
            aclrtCntNotifyRecordInfo record = {};
            record.mode = ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE;
            if (i % 16 == 0) OK(run_with(sleeper, 1, stream, nullptr, 20)); /* what comes next is queued */
            expect("record", aclrtRecordNotify(notify, stream), {0, 107017});
            expect("id", aclrtGetNotifyId(notify, &id), {0, 107017});
            expect("reset", aclrtNotifyBatchReset(&notify, 1), {0, 107017});
            expect("count", aclrtCntNotifyRecord(count, stream, &record), {0, 107017});
            expect("wrong kind", aclrtRecordNotify(count, stream), {107017});
        });
}

static void labels()
{
    static std::atomic<aclrtLabel> shared;
    shared = nullptr;
    against_users(
        [](aclrtStream) {
            for (int i = 0; go_on(i, 200 * rounds); ++i) {
                aclrtLabel label;
                OK(aclrtCreateLabel(&label));
                shared = label;
                sched_yield();
                OK(aclrtDestroyLabel(label));
            }
        },
        [](aclrtStream stream, int) {
            aclrtLabel label = shared.load();
            if (label == nullptr) return;
            aclrtLabelList list;
            expect("set", aclrtSetLabel(label, stream), {107005, 107017});
            aclError code = aclrtCreateLabelList(&label, 1, &list);
            expect("list", code, {0, 107017, 507000}); /* in another list already */
            if (code == 0) OK(aclrtDestroyLabelList(list));
        });
}

/* Captured and executed by the maker, executed, looked at and destroyed by all. */
static void models()
{
    static std::atomic<aclmdlRI> shared;
    static std::atomic<aclmdlRITask> task;
    static std::atomic<aclrtTaskGrp> group;
    static int64_t *word;
    shared = nullptr;
    task = nullptr;
    group = nullptr;
    OK(aclrtMalloc(reinterpret_cast<void **>(&word), 64, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(word, 0, 64);
    against_users(
        [](aclrtStream stream) {
            for (int i = 0; go_on(i, 10 * rounds); ++i) {
                aclmdlRI model;
                aclrtTaskGrp made;
                OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
                OK(aclmdlRICaptureTaskGrpBegin(stream));
                OK(run_with(sleeper, 1, stream, nullptr, 1));
                OK(aclmdlRICaptureTaskGrpEnd(stream, &made));
                OK(aclmdlRICaptureEnd(stream, &model));
                aclrtStream streams[1];
                uint32_t count = 1;
                OK(aclmdlRIGetStreams(model, streams, &count));
                aclmdlRITask tasks[4];
                count = 4;
                OK(aclmdlRIGetTasksByStream(streams[0], tasks, &count));
                CHECK(count == 1);
                task = tasks[0];
                group = made;
                shared = model;
                OK(aclmdlRIExecuteAsync(model, stream));
                sched_yield();
                OK(aclmdlRIDestroy(model));
            }
        },
        [](aclrtStream stream, int i) {
            aclmdlRI model = shared.load();
            if (model == nullptr) return;
            uint32_t number;
            aclmdlRITaskType type;
            aclmdlRITaskParams params;
            char name[16];
            switch (i % 8) {
            case 0: expect("execute", aclmdlRIExecuteAsync(model, stream), {0, 107017}); break;
            case 1: expect("id", aclmdlRIGetId(model, &number), {0, 107017}); break;
            case 2: expect("name", aclmdlRIGetName(model, sizeof name, name), {0, 107017}); break;
            case 3: expect("type", aclmdlRITaskGetType(task, &type), {0, 107017}); break;
            case 4: expect("params", aclmdlRITaskGetParams(task, &params), {0, 107017}); break;
            case 5:
            case 6: {
                aclError code = aclmdlRICaptureTaskUpdateBegin(stream, group);
                expect("update", code, {0, 107017, 107033 /* another thread is at it */});
                if (code != 0) break;
                aclError launched = run_with(sleeper, 1, stream, nullptr, 1);
                if (i % 5 == 0) sched_yield();
                aclError ended = aclmdlRICaptureTaskUpdateEnd(stream);
                /* Nothing to end where the model went meanwhile; then the launch was an ordinary one. */
                (void)launched;
                if (ended != 0) CHECK(strstr(check_message(), "task group") != nullptr);
                break;
            }
            default: expect("set name", aclmdlRISetName(model, "a name"), {0, 107017});
            }
        });
    OK(aclrtFree(word));
}

static void memory()
{
    static std::atomic<aclrtMemPool> shared;
    static std::atomic<aclrtDrvMemHandle> physical;
    shared = nullptr;
    physical = nullptr;
    against_users(
        [](aclrtStream) {
            for (int i = 0; go_on(i, 20 * rounds); ++i) {
                aclrtMemPool pool;
                aclrtMemPoolProps props = {};
                props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
                OK(aclrtMemPoolCreate(&pool, &props));
                aclrtDrvMemHandle handle;
                aclrtPhysicalMemProp prop = {};
                prop.memAttr = ACL_HBM_MEM_HUGE;
                prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
                OK(aclrtMallocPhysical(&handle, 2u << 20, &prop, 0));
                shared = pool;
                physical = handle;
                sched_yield();
                OK(aclrtFreePhysical(handle));
                aclError code;
                do { /* until nobody uses memory of it */
                    code = aclrtMemPoolDestroy(pool);
                    expect("destroy", code, {0, 107000});
                    if (code == 0) break;
                    shared = nullptr; /* who makes no more will have freed the rest soon */
                    sched_yield();
                } while (code != 0);
            }
        },
        [](aclrtStream stream, int i) {
            aclrtMemPool pool = shared.load();
            aclrtDrvMemHandle handle = physical.load();
            if (pool == nullptr || handle == nullptr) return;
            void *memory = nullptr;
            if (i % 2 == 0) {
                aclError code = aclrtMemPoolMallocAsync(&memory, 4096, pool, stream);
                expect("malloc", code, {0, 107017});
                if (code == 0) OK(aclrtMemPoolFreeAsync(memory, stream));
                expect("trim", aclrtMemPoolTrimTo(pool, 0), {0, 107017});
                return;
            }
            aclrtPhysicalMemProp prop;
            expect("properties", aclrtMemGetAllocationPropertiesFromHandle(handle, &prop), {0, 107017});
            OK(aclrtReserveMemAddress(&memory, 2u << 20, 0, nullptr, 0));
            aclError code = aclrtMapMem(memory, 2u << 20, 0, handle, 0);
            expect("map", code, {0, 107017});
            if (code == 0) {
                memset(memory, i, 4096);
                OK(aclrtUnmapMem(memory));
            }
            OK(aclrtReleaseMemAddress(memory));
        });
}

/* A library is unloaded under threads that launch its kernels. */
static void binaries()
{
    static std::atomic<aclrtBinHandle> shared;
    static std::atomic<aclrtFuncHandle> function;
    static int64_t *words;
    shared = nullptr;
    function = nullptr;
    OK(aclrtMalloc(reinterpret_cast<void **>(&words), 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(words, 0, 4096);
    against_users(
        [](aclrtStream) {
            for (int i = 0; go_on(i, 5 * rounds); ++i) {
                aclrtBinHandle loaded;
                OK(aclrtBinaryLoadFromFile(kernel_path("cpu"), nullptr, &loaded));
                function = kernel(loaded, "add_value");
                shared = loaded;
                sched_yield();
                OK(aclrtBinaryUnLoad(loaded));
            }
        },
        [](aclrtStream stream, int i) {
            aclrtBinHandle loaded = shared.load();
            aclrtFuncHandle launch = function.load();
            if (loaded == nullptr || launch == nullptr) return;
            aclrtFuncHandle found;
            char name[32];
            aclrtArgsHandle args;
            expect("get", aclrtBinaryGetFunction(loaded, i % 2 != 0 ? "empty" : "add_value", &found), {0, 107017});
            expect("name", aclrtGetFunctionName(launch, sizeof name, name), {0, 107017});
            expect("args", aclrtKernelArgsInit(launch, &args), {0, 107017});
            if (i % 8 == 0) OK(run_with(sleeper, 1, stream, nullptr, 5)); /* what comes next is queued */
            aclError code = run_with(launch, 1, stream, words + 8 * (i % 8), 1);
            expect("launch", code, {0, 107017});
        });
    OK(aclrtFree(words));
}

int main(int argc, char **argv)
{
    if (argc > 1) rounds = atoi(argv[1]);
    if (argc > 2 && !membarrier_as_asked(argv[2])) return NOT_RUN;
    OK(aclInit(nullptr));
    OK(aclrtSetDevice(0));
    OK(aclrtBinaryLoadFromFile(kernel_path("cpu"), nullptr, &binary));
    sleeper = kernel(binary, "sleep_us");
    ascendcl_cpu_live_t before = {};
    ascendcl_cpu_live_t after = {};
    before.struct_size = after.struct_size = sizeof before;
    OK(ascendcl_cpu_live_objects(&before));
    for (auto test : {streams, contexts, notifies, labels, models, memory, binaries}) test();
    OK(ascendcl_cpu_live_objects(&after));
    CHECK(after.streams == before.streams && after.contexts == before.contexts && after.notifies == before.notifies);
    CHECK(after.events == before.events);
    CHECK(after.binaries == before.binaries && after.models == before.models && after.allocations == before.allocations);
    OK(aclrtBinaryUnLoad(binary));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    return check_result("lifetimes");
}
