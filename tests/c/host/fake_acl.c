/* SPDX-License-Identifier: Apache-2.0
 *
 * A stand-in for a vendor's device library, for tests of libascend_cy: just enough of AscendCL, with everything that
 * is asynchronous under the test's control (fake_acl.h). Streams do their work at once, in the calling thread, unless
 * they are held.
 *
 * FAKE_ACL_LEVEL 1 leaves out what came after CANN 8.1.RC1. In the environment: FAKE_ACL_DEVICES (default 1), FAKE_ACL_MEMORY (bytes a device has, default 1 GiB),
 * FAKE_ACL_SOC (default Ascend910B1), FAKE_ACL_INIT (what aclInit returns).
 */
#define _GNU_SOURCE
#define ASCEND_CY_ACL_PROTOTYPES
#include "ascend_cy/acl.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake_acl.h"

#ifndef FAKE_ACL_LEVEL
#define FAKE_ACL_LEVEL 5
#endif

#define EXPORT __attribute__((visibility("default")))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* ---- calls: counted, and made to fail ---- */

enum { MAX_NAMES = 128 };
static struct {
    const char *name;
    atomic_long calls;
    int code;
    int skip;
    atomic_int count;
    int meeting; /* so many calls are to come together */
    int met;
} functions[MAX_NAMES];
static atomic_long all_calls;
static _Thread_local char message[256];
static _Thread_local int have_message;

static int entry_of(const char *name)
{
    int i = 0;
    while (i < MAX_NAMES - 1 && functions[i].name != NULL && strcmp(functions[i].name, name) != 0)
        ++i;
    if (functions[i].name == NULL)
        functions[i].name = name;
    return i;
}

static int enter(const char *name)
{
    int code = 0;
    pthread_mutex_lock(&lock);
    int i = entry_of(name);
    ++functions[i].calls;
    ++all_calls;
    if (functions[i].count > 0) {
        if (functions[i].skip > 0)
            --functions[i].skip;
        else {
            --functions[i].count;
            code = functions[i].code;
        }
    }
    if (functions[i].met < functions[i].meeting) {
        ++functions[i].met;
        pthread_cond_broadcast(&changed);
        struct timespec end;
        clock_gettime(CLOCK_REALTIME, &end);
        end.tv_sec += 10;
        while (functions[i].met < functions[i].meeting && pthread_cond_timedwait(&changed, &lock, &end) == 0) {
        }
    }
    pthread_mutex_unlock(&lock);
    if (code != 0) {
        snprintf(message, sizeof message, "fake: %s was told to fail\n", name);
        have_message = 1;
    }
    return code;
}

#define ENTER()                             \
    do {                                    \
        int code_ = enter(__func__);        \
        if (code_ != 0)                     \
            return code_;                   \
    } while (0)

static int refuse(int code, const char *text)
{
    snprintf(message, sizeof message, "fake: %s", text);
    have_message = 1;
    return code;
}

/* ---- objects ---- */

typedef struct record {
    int done;
    struct timespec when;
    struct record *next;
} record;

typedef struct event {
    record *latest; /* waits bind to it */
    struct event *next;
} event;

/* Never freed, for queued tasks may name them to the end. */
static record *all_records;
static event *all_events;

enum kind { RECORD, WAIT, CALL, LAUNCH };
typedef struct task {
    enum kind kind;
    record *r;
    void (*function)(void *);
    void *argument;
    int reported; /* CALL through ProcessReport */
    struct task *next;
} task;

typedef struct stream {
    int device;
    int held;
    int busy;
    int broken;
    task *first, **last;
    uint64_t subscriber;
    struct stream *next;
} stream;

typedef struct context {
    int device;
    int explicit;
} context;

typedef struct block {
    void *pointer;
    size_t size;
    int device; /* -1: host */
    struct block *next;
} block;

static stream *streams; /* all, default ones included */
static stream default_streams[16];
static context primary[16];
static block *blocks;
static long live_streams, live_events;
static size_t device_bytes[16], host_bytes;
static _Thread_local context *current;

/* Things that live to the end of the process, reachable for leak checkers. */
static void *keep(void *pointer)
{
    static void **kept;
    static size_t count;
    pthread_mutex_lock(&lock);
    kept = realloc(kept, (count + 1) * sizeof *kept);
    kept[count++] = pointer;
    pthread_mutex_unlock(&lock);
    return pointer;
}

static int device_count(void)
{
    const char *text = getenv("FAKE_ACL_DEVICES");
    return text != NULL ? atoi(text) : 1;
}

static stream *resolve(void *handle)
{
    return handle != NULL ? handle : &default_streams[current != NULL ? current->device : 0];
}

__attribute__((constructor)) static void start(void)
{
    for (int i = 0; i < 16; ++i) {
        default_streams[i].device = primary[i].device = i;
        default_streams[i].last = &default_streams[i].first;
        default_streams[i].next = streams;
        streams = &default_streams[i];
    }
}

/* With the lock: runs whatever can run. */
static void pump(void)
{
    for (int progress = 1; progress;) {
        progress = 0;
        for (stream *s = streams; s != NULL; s = s->next) {
            while (!s->held && !s->busy && s->first != NULL) {
                task *t = s->first;
                if (t->kind == WAIT && t->r != NULL && !t->r->done)
                    break;
                if (t->kind == CALL && t->reported)
                    break; /* aclrtProcessReport does it */
                if (t->kind == RECORD) {
                    t->r->done = 1;
                    clock_gettime(CLOCK_MONOTONIC, &t->r->when);
                } else if (t->kind == CALL) {
                    s->busy = 1;
                    pthread_mutex_unlock(&lock);
                    t->function(t->argument);
                    pthread_mutex_lock(&lock);
                    s->busy = 0;
                }
                s->first = t->next;
                if (s->first == NULL)
                    s->last = &s->first;
                free(t);
                progress = 1;
            }
        }
    }
    pthread_cond_broadcast(&changed);
}

static void enqueue(stream *s, task t)
{
    task *copy = malloc(sizeof t);
    *copy = t;
    copy->next = NULL;
    *s->last = copy;
    s->last = &copy->next;
    pump();
}

/* With the lock: waits until condition(argument), at most timeout_ms (-1: for ever). */
static int wait_until(int (*condition)(void *), void *argument, int timeout_ms)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += timeout_ms / 1000;
    end.tv_nsec += (timeout_ms % 1000) * 1000000L;
    if (end.tv_nsec >= 1000000000L) {
        end.tv_nsec -= 1000000000L;
        ++end.tv_sec;
    }
    while (!condition(argument)) {
        if (timeout_ms < 0)
            pthread_cond_wait(&changed, &lock);
        else if (pthread_cond_timedwait(&changed, &lock, &end) == ETIMEDOUT)
            return condition(argument) ? 0 : -1;
    }
    return 0;
}

static int stream_is_idle(void *s) { return ((stream *)s)->first == NULL; }
static int event_is_done(void *e) { return ((event *)e)->latest == NULL || ((event *)e)->latest->done; }

/* ---- initialisation, devices, contexts ---- */

aclError aclInit(const char *config)
{
    (void)config;
    ENTER();
    const char *text = getenv("FAKE_ACL_INIT");
    return text != NULL ? refuse(atoi(text), "aclInit returns what FAKE_ACL_INIT says") : 0;
}

aclError aclFinalize(void)
{
    ENTER();
    if (getenv("FAKE_ACL_VERBOSE") != NULL)
        puts("aclFinalize");
    return 0;
}

const char *aclGetRecentErrMsg(void)
{
    if (!have_message)
        return NULL;
    have_message = 0;
    return message;
}

aclError aclrtGetDeviceCount(uint32_t *count)
{
    ENTER();
    *count = (uint32_t)device_count();
    return 0;
}

aclError aclrtSetDevice(int32_t device)
{
    ENTER();
    if (device < 0 || device >= device_count())
        return refuse(ACL_ERROR_RT_INVALID_DEVICEID, "no such device");
    current = &primary[device];
    return 0;
}

aclError aclrtGetDevice(int32_t *device)
{
    ENTER();
    if (current == NULL)
        return refuse(ACL_ERROR_RT_CONTEXT_NULL, "no context");
    *device = current->device;
    return 0;
}

aclError aclrtResetDevice(int32_t device)
{
    ENTER();
    if (current == &primary[device])
        current = NULL;
    return 0;
}

aclError aclrtCreateContext(aclrtContext *out, int32_t device)
{
    ENTER();
    context *c = keep(calloc(1, sizeof *c));
    c->device = device;
    c->explicit = 1;
    current = c;
    *out = c;
    return 0;
}

aclError aclrtGetCurrentContext(aclrtContext *out)
{
    ENTER();
    if (current == NULL)
        return refuse(ACL_ERROR_RT_CONTEXT_NULL, "no context");
    *out = current;
    return 0;
}

aclError aclrtSetCurrentContext(aclrtContext c)
{
    ENTER();
    current = c;
    return 0;
}

const char *aclrtGetSocName(void)
{
    const char *text = getenv("FAKE_ACL_SOC");
    return text != NULL ? text : "Ascend910B1";
}

aclError aclGetDeviceCapability(uint32_t device, aclDeviceInfo info, int64_t *value)
{
    ENTER();
    (void)device;
    *value = info == ACL_DEVICE_INFO_VECTOR_CORE_NUM ? 40 : 20;
    return 0;
}

aclError aclrtSynchronizeDevice(void)
{
    ENTER();
    pthread_mutex_lock(&lock);
    for (stream *s = streams; s != NULL; s = s->next)
        wait_until(stream_is_idle, s, -1);
    pthread_mutex_unlock(&lock);
    return 0;
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout)
{
    ENTER();
    int expired = 0;
    pthread_mutex_lock(&lock);
    for (stream *s = streams; s != NULL && !expired; s = s->next)
        expired = wait_until(stream_is_idle, s, timeout) != 0;
    pthread_mutex_unlock(&lock);
    return expired ? ACL_ERROR_RT_STREAM_SYNC_TIMEOUT : 0;
}

/* ---- streams ---- */

aclError aclrtCreateStreamWithConfig(aclrtStream *out, uint32_t priority, uint32_t flag)
{
    ENTER();
    (void)priority, (void)flag;
    if (current == NULL)
        return refuse(ACL_ERROR_RT_CONTEXT_NULL, "no context");
    stream *s = calloc(1, sizeof *s);
    s->device = current->device;
    s->last = &s->first;
    pthread_mutex_lock(&lock);
    s->next = streams;
    streams = s;
    ++live_streams;
    pthread_mutex_unlock(&lock);
    *out = s;
    return 0;
}

aclError aclrtDestroyStream(aclrtStream handle)
{
    ENTER();
    pthread_mutex_lock(&lock);
    wait_until(stream_is_idle, handle, -1);
    stream **link = &streams;
    while (*link != handle)
        link = &(*link)->next;
    *link = (*link)->next;
    --live_streams;
    pthread_mutex_unlock(&lock);
    free(handle);
    return 0;
}

static aclError synchronize(stream *s, int timeout)
{
    pthread_mutex_lock(&lock);
    int expired = wait_until(stream_is_idle, s, timeout);
    int code = expired ? ACL_ERROR_RT_STREAM_SYNC_TIMEOUT : s->broken;
    if (!expired)
        s->broken = 0;
    pthread_mutex_unlock(&lock);
    return code != 0 ? refuse(code, expired ? "time is up" : "a kernel failed") : 0;
}

aclError aclrtSynchronizeStream(aclrtStream handle)
{
    ENTER();
    return synchronize(resolve(handle), -1);
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream handle, int32_t timeout)
{
    ENTER();
    return synchronize(resolve(handle), timeout);
}

aclError aclrtStreamQuery(aclrtStream handle, aclrtStreamStatus *status)
{
    ENTER();
    pthread_mutex_lock(&lock);
    *status = resolve(handle)->first == NULL ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    pthread_mutex_unlock(&lock);
    return 0;
}

aclError aclrtStreamWaitEvent(aclrtStream handle, aclrtEvent e)
{
    ENTER();
    pthread_mutex_lock(&lock);
    enqueue(resolve(handle), (task){.kind = WAIT, .r = ((event *)e)->latest});
    pthread_mutex_unlock(&lock);
    return 0;
}

/* ---- events ---- */

aclError aclrtCreateEventExWithFlag(aclrtEvent *out, uint32_t flag)
{
    ENTER();
    (void)flag;
    event *e = calloc(1, sizeof *e);
    pthread_mutex_lock(&lock);
    ++live_events;
    e->next = all_events;
    all_events = e;
    pthread_mutex_unlock(&lock);
    *out = e;
    return 0;
}

aclError aclrtDestroyEvent(aclrtEvent e)
{
    ENTER();
    pthread_mutex_lock(&lock);
    --live_events;
    pthread_mutex_unlock(&lock);
    (void)e;
    return 0;
}

aclError aclrtRecordEvent(aclrtEvent handle, aclrtStream s)
{
    ENTER();
    if (current != NULL && current->explicit && s != NULL)
        return refuse(ACL_ERROR_RT_STREAM_CONTEXT, "the stream is of another context");
    pthread_mutex_lock(&lock);
    event *e = handle;
    e->latest = calloc(1, sizeof *e->latest);
    e->latest->next = all_records;
    all_records = e->latest;
    enqueue(resolve(s), (task){.kind = RECORD, .r = e->latest});
    pthread_mutex_unlock(&lock);
    return 0;
}

aclError aclrtQueryEventStatus(aclrtEvent e, aclrtEventRecordedStatus *status)
{
    ENTER();
    pthread_mutex_lock(&lock);
    *status = event_is_done(e) ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    pthread_mutex_unlock(&lock);
    return 0;
}

aclError aclrtSynchronizeEvent(aclrtEvent e)
{
    ENTER();
    pthread_mutex_lock(&lock);
    wait_until(event_is_done, e, -1);
    pthread_mutex_unlock(&lock);
    return 0;
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent e, int32_t timeout)
{
    ENTER();
    pthread_mutex_lock(&lock);
    int expired = wait_until(event_is_done, e, timeout);
    pthread_mutex_unlock(&lock);
    return expired ? refuse(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "time is up") : 0;
}

aclError aclrtEventElapsedTime(float *ms, aclrtEvent start_event, aclrtEvent end_event)
{
    ENTER();
    const struct timespec *a = &((event *)start_event)->latest->when, *b = &((event *)end_event)->latest->when;
    *ms = (float)(b->tv_sec - a->tv_sec) * 1e3F + (float)(b->tv_nsec - a->tv_nsec) * 1e-6F;
    return 0;
}

/* ---- memory ---- */

static size_t memory_size(void)
{
    const char *text = getenv("FAKE_ACL_MEMORY");
    return text != NULL ? strtoull(text, NULL, 10) : (size_t)1 << 30;
}

static aclError allocate(void **out, size_t size, int device)
{
    if (size == 0)
        return refuse(ACL_ERROR_INVALID_PARAM, "size 0");
    if (current == NULL)
        return refuse(ACL_ERROR_RT_CONTEXT_NULL, "no context");
    pthread_mutex_lock(&lock);
    size_t *used = device < 0 ? &host_bytes : &device_bytes[device];
    int fits = device < 0 || *used + size <= memory_size();
    block *b = fits ? malloc(sizeof *b) : NULL;
    if (b != NULL) {
        *b = (block){aligned_alloc(64, (size + 32 + 63) & ~(size_t)63), size, device, blocks};
        blocks = b;
        *used += size;
        *out = b->pointer;
    }
    pthread_mutex_unlock(&lock);
    return b != NULL ? 0 : refuse(ACL_ERROR_RT_MEMORY_ALLOCATION, "out of memory");
}

static aclError give_back(void *pointer, int host)
{
    pthread_mutex_lock(&lock);
    block **link = &blocks;
    while (*link != NULL && (*link)->pointer != pointer)
        link = &(*link)->next;
    block *b = *link;
    if (b != NULL && (b->device < 0) == host) {
        *link = b->next;
        *(host ? &host_bytes : &device_bytes[b->device]) -= b->size;
    } else
        b = NULL;
    pthread_mutex_unlock(&lock);
    if (b == NULL)
        return refuse(ACL_ERROR_RT_PARAM_INVALID, "not an allocation");
    free(b->pointer);
    free(b);
    return 0;
}

aclError aclrtMalloc(void **out, size_t size, aclrtMemMallocPolicy policy)
{
    ENTER();
    (void)policy;
    return allocate(out, size, current != NULL ? current->device : 0);
}

aclError aclrtFree(void *pointer)
{
    ENTER();
    return give_back(pointer, 0);
}

aclError aclrtMallocHost(void **out, size_t size)
{
    ENTER();
    return allocate(out, size, -1);
}

aclError aclrtFreeHost(void *pointer)
{
    ENTER();
    return give_back(pointer, 1);
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free_bytes, size_t *total)
{
    ENTER();
    (void)attr;
    *total = memory_size();
    *free_bytes = *total - device_bytes[current != NULL ? current->device : 0];
    return 0;
}

aclError aclrtMemsetAsync(void *pointer, size_t max, int32_t value, size_t count, aclrtStream s)
{
    ENTER();
    (void)max, (void)s;
    memset(pointer, value, count);
    return 0;
}

/* ---- host functions ---- */

#if FAKE_ACL_LEVEL >= 2
aclError aclrtLaunchHostFunc(aclrtStream s, aclrtHostFunc function, void *argument)
{
    ENTER();
    pthread_mutex_lock(&lock);
    enqueue(resolve(s), (task){.kind = CALL, .function = function, .argument = argument});
    pthread_mutex_unlock(&lock);
    return 0;
}
#endif

aclError aclrtSubscribeReport(uint64_t thread, aclrtStream s)
{
    ENTER();
    if (resolve(s)->subscriber != 0)
        return refuse(ACL_ERROR_RT_STREAM_SUBSCRIBE, "subscribed already");
    resolve(s)->subscriber = thread;
    return 0;
}

aclError aclrtUnSubscribeReport(uint64_t thread, aclrtStream s)
{
    ENTER();
    (void)thread;
    resolve(s)->subscriber = 0;
    return 0;
}

aclError aclrtLaunchCallback(aclrtCallback function, void *argument, aclrtCallbackBlockType type, aclrtStream s)
{
    ENTER();
    if (resolve(s)->subscriber == 0 || type != ACL_CALLBACK_BLOCK)
        return refuse(ACL_ERROR_RT_STREAM_NO_CB_REG, "not subscribed");
    pthread_mutex_lock(&lock);
    enqueue(resolve(s), (task){.kind = CALL, .function = function, .argument = argument, .reported = 1});
    pthread_mutex_unlock(&lock);
    return 0;
}

static task *report_for(uint64_t thread, stream **where)
{
    for (stream *s = streams; s != NULL; s = s->next)
        if (s->subscriber == thread && !s->held && !s->busy && s->first != NULL && s->first->kind == CALL) {
            *where = s;
            return s->first;
        }
    return NULL;
}

static int has_report(void *thread)
{
    stream *s;
    return report_for((uint64_t)(uintptr_t)thread, &s) != NULL;
}

aclError aclrtProcessReport(int32_t timeout)
{
    ENTER();
    uint64_t me = (uint64_t)pthread_self();
    pthread_mutex_lock(&lock);
    if (wait_until(has_report, (void *)(uintptr_t)me, timeout) != 0) {
        pthread_mutex_unlock(&lock);
        return ACL_ERROR_RT_REPORT_TIMEOUT;
    }
    stream *s;
    task *t = report_for(me, &s);
    s->busy = 1;
    pthread_mutex_unlock(&lock);
    t->function(t->argument);
    pthread_mutex_lock(&lock);
    s->busy = 0;
    s->first = t->next;
    if (s->first == NULL)
        s->last = &s->first;
    free(t);
    pump();
    pthread_mutex_unlock(&lock);
    return 0;
}

/* ---- kernels ---- */

static char last_kernel[64];
static uint32_t last_blocks;
static char last_args[512];
static size_t last_args_size;
static _Thread_local char pending_args[512];
static _Thread_local size_t pending_size;
static _Thread_local size_t pending_slots[16], pending_data[16];
static _Thread_local int pending_holders, data_taken;
static long live_binaries;

aclError aclrtBinaryLoadFromFile(const char *path, aclrtBinaryLoadOptions *options, aclrtBinHandle *out)
{
    ENTER();
    (void)options;
    *out = keep(strdup(path));
    return 0;
}

/* Binaries from memory begin as an ELF does. */
static aclError load_data(const void *data, size_t length, aclrtBinHandle *out)
{
    if (length < 4 || memcmp(data, "\177ELF", 4) != 0)
        return refuse(ACL_ERROR_RT_PARAM_INVALID, "no ELF image");
    char *copy = keep(calloc(1, length + 1));
    memcpy(copy, data, length);
    pthread_mutex_lock(&lock);
    ++live_binaries;
    pthread_mutex_unlock(&lock);
    *out = copy;
    return 0;
}

#if FAKE_ACL_LEVEL >= 2
aclError aclrtBinaryLoadFromData(const void *data, size_t length, const aclrtBinaryLoadOptions *options, aclrtBinHandle *out)
{
    ENTER();
    if (options == NULL || options->numOpt != 1 || options->options[0].type != ACL_RT_BINARY_LOAD_OPT_MAGIC)
        return refuse(ACL_ERROR_RT_PARAM_INVALID, "the magic number of the image is not told");
    return load_data(data, length, out);
}
#endif

typedef struct raw_binary {
    const void *data;
    size_t length;
} raw_binary;

aclrtBinary aclrtCreateBinary(const void *data, size_t length)
{
    if (enter(__func__) != 0)
        return NULL;
    raw_binary *made = keep(malloc(sizeof *made)); /* also where destroying it is told to fail */
    *made = (raw_binary){data, length};
    return made;
}

aclError aclrtDestroyBinary(aclrtBinary binary)
{
    ENTER();
    (void)binary;
    return 0;
}

aclError aclrtBinaryLoad(aclrtBinary binary, aclrtBinHandle *out)
{
    ENTER();
    const raw_binary *raw = binary;
    return load_data(raw->data, raw->length, out);
}

aclError aclrtBinaryUnLoad(aclrtBinHandle binary)
{
    ENTER();
    (void)binary;
    pthread_mutex_lock(&lock);
    --live_binaries;
    pthread_mutex_unlock(&lock);
    return 0;
}

aclError aclrtBinaryGetFunction(aclrtBinHandle binary, const char *name, aclrtFuncHandle *out)
{
    ENTER();
    (void)binary;
    if (strncmp(name, "no_", 3) == 0)
        return refuse(ACL_ERROR_RT_PARAM_INVALID, "no such kernel");
    *out = keep(strdup(name));
    return 0;
}

#if FAKE_ACL_LEVEL >= 4
/* Every kernel takes a pointer and 4 bytes. */
aclError aclrtFunctionGetParamCount(const void *function, size_t *count)
{
    ENTER();
    (void)function;
    *count = 2;
    return 0;
}

aclError aclrtFunctionGetParamInfo(const void *function, size_t index, size_t *offset, size_t *size)
{
    ENTER();
    (void)function;
    if (index >= 2)
        return refuse(ACL_ERROR_RT_PARAM_INVALID, "no such parameter");
    *offset = 8 * index;
    *size = index == 0 ? 8 : 4;
    return 0;
}
#endif

/* Pointers to inline data become their distance from the start of the block, which a test can know. */
static void note_launch(const char *name, uint32_t count, const void *args, size_t size, aclrtStream s,
                        const aclrtPlaceHolderInfo *holders, size_t num_holders)
{
    pthread_mutex_lock(&lock);
    snprintf(last_kernel, sizeof last_kernel, "%s", name);
    last_blocks = count;
    last_args_size = size < sizeof last_args ? size : sizeof last_args;
    memcpy(last_args, args, last_args_size);
    for (size_t i = 0; i < num_holders; ++i) {
        uint64_t distance = holders[i].dataOffset;
        memcpy(last_args + holders[i].addrOffset, &distance, sizeof distance);
    }
    enqueue(resolve(s), (task){.kind = LAUNCH});
    pthread_mutex_unlock(&lock);
}

#if FAKE_ACL_LEVEL >= 2
aclError aclrtLaunchKernelWithHostArgs(aclrtFuncHandle function, uint32_t count, aclrtStream s, aclrtLaunchKernelCfg *cfg,
                                       void *args, size_t size, aclrtPlaceHolderInfo *holders, size_t num_holders)
{
    ENTER();
    (void)cfg;
    if (count == 0 || size == 0)
        return refuse(ACL_ERROR_RT_PARAM_INVALID, "a launch of nothing");
    note_launch(function, count, args, size, s, holders, num_holders);
    return 0;
}
#endif

aclError aclrtKernelArgsInit(aclrtFuncHandle function, aclrtArgsHandle *out)
{
    ENTER();
    (void)function;
    pending_size = 0;
    pending_holders = data_taken = 0;
    *out = pending_args;
    return 0;
}

aclError aclrtKernelArgsAppend(aclrtArgsHandle args, void *value, size_t size, aclrtParamHandle *out)
{
    ENTER();
    (void)args;
    if (data_taken)
        return refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "room for inline data was taken already");
    memcpy(pending_args + pending_size, value, size);
    *out = pending_args + pending_size;
    pending_size += (size + 7) & ~(size_t)7;
    return 0;
}

aclError aclrtKernelArgsFinalize(aclrtArgsHandle args)
{
    ENTER();
    (void)args;
    return 0;
}

aclError aclrtKernelArgsAppendPlaceHolder(aclrtArgsHandle args, aclrtParamHandle *out)
{
    ENTER();
    (void)args;
    if (data_taken)
        return refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "room for inline data was taken already");
    pending_slots[pending_holders++] = pending_size;
    *out = pending_args + pending_size;
    pending_size += 8;
    return 0;
}

aclError aclrtKernelArgsGetPlaceHolderBuffer(aclrtArgsHandle args, aclrtParamHandle slot, size_t size, void **out)
{
    ENTER();
    (void)args;
    data_taken = 1;
    for (int i = 0; i < pending_holders; ++i)
        if (pending_args + pending_slots[i] == slot)
            pending_data[i] = pending_size;
    *out = pending_args + pending_size;
    pending_size += (size + 7) & ~(size_t)7;
    return 0;
}

aclError aclrtLaunchKernelWithConfig(aclrtFuncHandle function, uint32_t count, aclrtStream s, aclrtLaunchKernelCfg *cfg,
                                     aclrtArgsHandle args, void *reserve)
{
    ENTER();
    (void)cfg, (void)reserve;
    aclrtPlaceHolderInfo holders[16];
    for (int i = 0; i < pending_holders; ++i)
        holders[i] = (aclrtPlaceHolderInfo){(uint32_t)pending_slots[i], (uint32_t)pending_data[i]};
    note_launch(function, count, args, pending_size, s, holders, (size_t)pending_holders);
    return 0;
}

/* ---- the test's side ---- */

static void control_hold(void *handle, int on)
{
    pthread_mutex_lock(&lock);
    stream *s = handle != NULL ? handle : &default_streams[0];
    s->held = on;
    pump();
    pthread_mutex_unlock(&lock);
}

static void control_fail(const char *function, int code, int skip, int count)
{
    pthread_mutex_lock(&lock);
    int i = entry_of(function);
    functions[i].code = code;
    functions[i].skip = skip;
    functions[i].count = count;
    pthread_mutex_unlock(&lock);
}

static void control_meet(const char *function, int count)
{
    pthread_mutex_lock(&lock);
    int i = entry_of(function);
    functions[i].meeting = count;
    functions[i].met = 0;
    pthread_mutex_unlock(&lock);
}

static long control_calls(const char *function)
{
    pthread_mutex_lock(&lock);
    long calls = function != NULL ? functions[entry_of(function)].calls : all_calls;
    pthread_mutex_unlock(&lock);
    return calls;
}

static void control_break(void *handle, int code)
{
    stream *s = handle != NULL ? handle : &default_streams[0];
    s->broken = code;
}

static const char *control_kernel(void) { return last_kernel; }
static uint32_t control_blocks(void) { return last_blocks; }
static const void *control_args(size_t *size)
{
    *size = last_args_size;
    return last_args;
}
static long control_streams(void) { return live_streams; }
static long control_events(void) { return live_events; }
static size_t control_device_bytes(void)
{
    size_t sum = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 16; ++i)
        sum += device_bytes[i];
    pthread_mutex_unlock(&lock);
    return sum;
}
static size_t control_host_bytes(void) { return host_bytes; }
static long control_binaries(void) { return live_binaries; }

EXPORT extern const fake_acl_control fake_acl_controls;
const fake_acl_control fake_acl_controls = {
    control_hold,   control_fail,   control_calls,   control_meet,   control_break,
    control_kernel, control_blocks,  control_args,    control_streams, control_events, control_device_bytes, control_host_bytes, control_binaries,
};
