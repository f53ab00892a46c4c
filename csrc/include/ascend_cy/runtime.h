/* SPDX-License-Identifier: Apache-2.0
 *
 * The host library's own interface: finding the device, messages, streams and events with shared ownership.
 *
 * Ownership words: a function that "gives" hands the caller one reference, which it must release; "borrows" means the
 * result is owned by somebody else; "keeps" means the function takes a reference of its own. All functions may be
 * called from any thread, without Python. Functions that return int return an aclError; ascend_cy_last_message()
 * then explains. "May block" is said where it is so; nothing else blocks on the embedded device.
 */
#ifndef ASCEND_CY_RUNTIME_H
#define ASCEND_CY_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include "ascend_cy/acl.h"
#include "ascend_cy/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Grows with every incompatible change of anything in these headers. */
#define ASCEND_CY_ABI_VERSION 1
/* The number of the library in the process. Others compare it through ascend_cy_misfit() (symbol.h). */
ASCEND_CY_API int ascend_cy_abi_version(void);

/* ---- device ---- */

enum { ASCEND_CY_KIND_NONE = 0, ASCEND_CY_KIND_NPU = 1, ASCEND_CY_KIND_CPU = 2, ASCEND_CY_KIND_SIM = 3 };

typedef struct ascend_cy_device_info {
    int kind;               /* ASCEND_CY_KIND_*; NONE where no usable library was found */
    int unified;            /* 1: host pointers are device pointers */
    const char *requested;  /* ASCEND_CY_DEVICE, or "auto" */
    const char *library;    /* path of the device library, "" where none */
    const char *reason;     /* one line: why this one */
    const char *tried;      /* one candidate a line, with what came of it */
    int error;              /* aclError of loading, 0 if it went well */
} ascend_cy_device_info_t;

/* Finds and loads the device library, once per process; creates no context and does not call aclInit.
 * The result is borrowed and never changes. */
ASCEND_CY_API const ascend_cy_device_info_t *ascend_cy_device_info(void);

/* Loads as above and calls aclInit, once per process ("already initialised" is success). */
ASCEND_CY_API int ascend_cy_init(void);

/* 1 once ascend_cy_init succeeded, until ascend_cy_shutdown; 0 in a forked child. Loads nothing. */
ASCEND_CY_API int ascend_cy_is_initialized(void);

/* Makes sure the calling thread has a current context: leaves one that is there alone, else sets device 0. */
ASCEND_CY_API int ascend_cy_ensure_context(void);
/* Device of the calling thread (ensures a context first). */
ASCEND_CY_API int ascend_cy_current_device(int32_t *device);
/* Makes `device` current in the calling thread. */
ASCEND_CY_API int ascend_cy_set_device(int32_t device);
ASCEND_CY_API int ascend_cy_device_count(uint32_t *count);

/* 1 if the loaded device library has this AscendCL function, else 0. */
ASCEND_CY_API int ascend_cy_has(const char *function);
/* The function table; borrowed, never NULL. First use loads the device. Absent functions are stubs. */
ASCEND_CY_API const ascend_cy_acl_table *ascend_cy_acl_get_table(void);

/* Folder that holds this library and kernels/<target>/; "" if unknown. Overridable for tests by
 * ASCEND_CY_PACKAGE_DIR. */
ASCEND_CY_API const char *ascend_cy_package_dir(void);

/* Waits for no work, gives cached memory back and finalizes what ascend_cy_init initialised. Objects released later
 * are dropped without touching the device, and other calls return 100001. Idempotent. Called by Python at exit; a
 * process that never calls it ends just as well. */
ASCEND_CY_API void ascend_cy_shutdown(void);
/* 1 in a process forked after the device was used: every call then returns an error that says so. */
ASCEND_CY_API int ascend_cy_is_forked_child(void);

/* ---- messages ---- */

/* Message of this thread's last failed call into this library (never NULL, "" if none); valid until the next call that
 * fails. Holds the device's own message where it gave one, and what to do where the cause is a known one; code and
 * function are not repeated in it. */
ASCEND_CY_API const char *ascend_cy_last_message(void);
/* Name of the AscendCL function that failed in that call, or "". */
ASCEND_CY_API const char *ascend_cy_last_function(void);
/* Its code; 0 where nothing failed yet. */
ASCEND_CY_API int ascend_cy_last_code(void);
/* For callers of raw AscendCL functions: records `code` of `function` with the device's message; returns code. */
ASCEND_CY_API int ascend_cy_record_error(int code, const char *function);
/* Symbolic name of an error code ("ACL_ERROR_RT_PARAM_INVALID"), or NULL. */
ASCEND_CY_API const char *ascend_cy_error_name(int code);

/* ---- streams ---- */

/* A stream with shared ownership: the AscendCL stream is destroyed when the last reference goes and its work has
 * passed. Arrays hold a reference to the stream they were made on, so they may outlive the user's Stream. */
typedef struct ascend_cy_stream ascend_cy_stream_t;

/* Gives a new stream of `device`. */
ASCEND_CY_API int ascend_cy_stream_create(int32_t device, uint32_t priority, uint32_t flags, ascend_cy_stream_t **out);
/* Gives a box around somebody else's stream, which it never destroys. handle NULL: the default stream of `device`.
 * on_release(context) runs when the last reference goes (may be NULL). */
ASCEND_CY_API int ascend_cy_stream_wrap(int32_t device, aclrtStream handle, void (*on_release)(void *), void *context,
                                        ascend_cy_stream_t **out);
ASCEND_CY_API void ascend_cy_stream_retain(ascend_cy_stream_t *stream);
/* May block (an own stream is destroyed once its work passed), but not in a host function: there the stream goes at a
 * later call. Call it without the GIL. */
ASCEND_CY_API void ascend_cy_stream_release(ascend_cy_stream_t *stream);
ASCEND_CY_API aclrtStream ascend_cy_stream_handle(const ascend_cy_stream_t *stream);
ASCEND_CY_API int32_t ascend_cy_stream_device(const ascend_cy_stream_t *stream);

/* The calling thread's current stream: what was set, else the default stream of its current device. Borrowed; NULL
 * on error. */
ASCEND_CY_API ascend_cy_stream_t *ascend_cy_current_stream(void);
/* Keeps `stream` as current of this thread and makes its device current; NULL goes back to the default stream. */
ASCEND_CY_API int ascend_cy_set_current_stream(ascend_cy_stream_t *stream);
/* Default stream of a device; borrowed, lives as long as the process. NULL on error. */
ASCEND_CY_API ascend_cy_stream_t *ascend_cy_default_stream(int32_t device);

/* Blocks up to timeout_ms (-1: without limit). 507046 when time is up; the stream's error otherwise. */
ASCEND_CY_API int ascend_cy_stream_synchronize(ascend_cy_stream_t *stream, int32_t timeout_ms);
/* *done = 1 when all work has passed. */
ASCEND_CY_API int ascend_cy_stream_query(ascend_cy_stream_t *stream, int *done);
/* Later work of `stream` waits for what is enqueued on `other` by now. */
ASCEND_CY_API int ascend_cy_stream_wait_stream(ascend_cy_stream_t *stream, ascend_cy_stream_t *other);
/* Makes the stream's device current in the calling thread, if it is not: raw AscendCL calls that take the stream's
 * handle need that. *previous is what ascend_cy_stream_leave goes back to: NULL, the common case, where nothing changed.
 * (The other functions here look after that themselves and leave the thread's device as it was.) */
ASCEND_CY_API int ascend_cy_stream_enter(ascend_cy_stream_t *stream, aclrtContext *previous);
ASCEND_CY_API void ascend_cy_stream_leave(aclrtContext previous);
/* Waits for all work of the calling thread's current device; blocks up to timeout_ms (-1: without limit), 507046
 * when time is up. */
ASCEND_CY_API int ascend_cy_synchronize_device(int32_t timeout_ms);
/* Bit d is set once a stream of device d was made or asked for through this library. Loads nothing. */
ASCEND_CY_API uint64_t ascend_cy_devices_used(void);
/* Runs function(context) on a thread of the runtime when the work enqueued by now has passed; later work waits for
 * it. Where it cannot be enqueued (error returned) it never runs. It must not wait for the device: the waits of this
 * library return 207000 there where what they are for has not passed, allocations and trims do without waiting. */
ASCEND_CY_API int ascend_cy_stream_add_host_function(ascend_cy_stream_t *stream, void (*function)(void *), void *context);
/* 207000 in a host function, with a message that begins with `what`: for calls that will have to wait for what they enqueue. */
ASCEND_CY_API int ascend_cy_may_wait(const char *what);

/* ---- events ---- */

typedef struct ascend_cy_event ascend_cy_event_t;
/* Gives an event of `device`; flags are ACL_EVENT_*; 0 means sync and timing. */
ASCEND_CY_API int ascend_cy_event_create(int32_t device, uint32_t flags, ascend_cy_event_t **out);
ASCEND_CY_API void ascend_cy_event_retain(ascend_cy_event_t *event);
ASCEND_CY_API void ascend_cy_event_release(ascend_cy_event_t *event);
ASCEND_CY_API aclrtEvent ascend_cy_event_handle(const ascend_cy_event_t *event);
ASCEND_CY_API int ascend_cy_event_record(ascend_cy_event_t *event, ascend_cy_stream_t *stream);
/* 1 once it was recorded at least once. */
ASCEND_CY_API int ascend_cy_event_recorded(const ascend_cy_event_t *event);
ASCEND_CY_API int ascend_cy_event_query(ascend_cy_event_t *event, int *done);
/* Blocks up to timeout_ms (-1: without limit). 507047 when time is up. */
ASCEND_CY_API int ascend_cy_event_synchronize(ascend_cy_event_t *event, int32_t timeout_ms);
ASCEND_CY_API int ascend_cy_stream_wait_event(ascend_cy_stream_t *stream, ascend_cy_event_t *event);
/* Milliseconds; 507000 "not recorded", 107006 "not finished". */
ASCEND_CY_API int ascend_cy_event_elapsed_ms(ascend_cy_event_t *start, ascend_cy_event_t *end, float *ms);

/* ---- live objects, for leak checks ---- */

typedef struct ascend_cy_live_counts {
    int64_t streams; /* created by us and not yet destroyed */
    int64_t events;  /* handed out, without the pool's own */
    int64_t buffers; /* device buffers in use */
    int64_t buffer_bytes;
    int64_t pinned;  /* pinned host blocks in use */
    int64_t pinned_bytes;
} ascend_cy_live_counts_t;
ASCEND_CY_API void ascend_cy_live_counts(ascend_cy_live_counts_t *out);

#ifdef __cplusplus
}
#endif
#endif /* ASCEND_CY_RUNTIME_H */
