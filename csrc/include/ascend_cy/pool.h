/* SPDX-License-Identifier: Apache-2.0
 *
 * Stream-ordered device memory and pooled pinned host memory. The ownership words are those of runtime.h.
 *
 * A buffer belongs to the stream it was made on. Releasing it is ordered after the work enqueued on that stream by
 * then, and on every stream recorded with ascend_cy_buffer_record_stream: the memory is reused at once by work on the
 * same stream, and by others only when an event says that all of those streams have passed. Neither making nor
 * releasing a buffer synchronises the host, except when memory is short (cached blocks are given back, then pending
 * ones are waited for, then 207001 is returned and nothing has changed).
 */
#ifndef ASCEND_CY_POOL_H
#define ASCEND_CY_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "ascend_cy/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ascend_cy_buffer ascend_cy_buffer_t;

/* Gives a buffer of at least `size` bytes (0 is allowed: pointer NULL), aligned to 64 bytes, contents undefined, with
 * room for 32 readable bytes behind it. Keeps `stream`. May block only when memory is short. */
ASCEND_CY_API int ascend_cy_buffer_create(size_t size, ascend_cy_stream_t *stream, ascend_cy_buffer_t **out);
/* The same, and where memory is short it waits for work no longer than this (-1: no limit): 507046 where time is up before
 * it is sure that there is no memory. Nothing has changed then, and the call may be made again. */
ASCEND_CY_API int ascend_cy_buffer_create_within(size_t size, ascend_cy_stream_t *stream, int32_t timeout_ms,
                                                 ascend_cy_buffer_t **out);
/* The same where it needs no look at the device and cannot block: 1 and a buffer, or 0 and no error. */
ASCEND_CY_API int ascend_cy_buffer_try_create(size_t size, ascend_cy_stream_t *stream, ascend_cy_buffer_t **out);
/* Gives a buffer object around foreign device memory, which is never freed; on_release(context) (may be NULL) runs
 * once the last reference is gone and the work enqueued by then on the buffer's streams has passed: in the releasing
 * thread where they are idle, else on a thread of the runtime, where it must not call the device. Keeps `stream`. */
ASCEND_CY_API int ascend_cy_buffer_wrap(void *pointer, size_t size, ascend_cy_stream_t *stream,
                                        void (*on_release)(void *), void *context, ascend_cy_buffer_t **out);
ASCEND_CY_API void ascend_cy_buffer_retain(ascend_cy_buffer_t *buffer);
/* Never raises. Never waits for queued work, but for a shared buffer where the device has no event left. NULL is allowed. */
ASCEND_CY_API void ascend_cy_buffer_release(ascend_cy_buffer_t *buffer);
/* The owner of wrapped memory takes it back early: 1 where the caller has the only reference and no other stream was recorded.
 * Then on_release has run, without regard to the buffer's own stream, whose work the caller waits for by other means, and the
 * buffer is only good to be released. Else 0, and nothing has changed. */
ASCEND_CY_API int ascend_cy_buffer_take_back(ascend_cy_buffer_t *buffer);
/* References to it, at this moment. With one, which is the caller's, nobody else can use the memory or come to. */
ASCEND_CY_API uint32_t ascend_cy_buffer_owners(const ascend_cy_buffer_t *buffer);
/* Whether other streams were recorded, the memory is foreign, or hazard mode follows it: then giving back the last reference
 * does more than to put the memory aside, and may block. */
ASCEND_CY_API int ascend_cy_buffer_is_shared(const ascend_cy_buffer_t *buffer);
ASCEND_CY_API void *ascend_cy_buffer_pointer(const ascend_cy_buffer_t *buffer);
ASCEND_CY_API size_t ascend_cy_buffer_size(const ascend_cy_buffer_t *buffer);
ASCEND_CY_API ascend_cy_stream_t *ascend_cy_buffer_stream(const ascend_cy_buffer_t *buffer); /* borrowed */
/* Says that work on `stream` uses the buffer: call it after that work was enqueued. A no-op for its own stream. */
ASCEND_CY_API int ascend_cy_buffer_record_stream(ascend_cy_buffer_t *buffer, ascend_cy_stream_t *stream);

/* Later work of `stream` waits for what was enqueued by now on the buffer's own stream and on the recorded ones. */
ASCEND_CY_API int ascend_cy_buffer_order(ascend_cy_buffer_t *buffer, ascend_cy_stream_t *stream);

/* Both for all arguments of one operator: buffers[0 .. reads) are read, buffers[reads .. count) written; NULL entries are
 * skipped. Order, before the work is enqueued: `stream` waits for what may still write to the ones that are read, and for
 * everything that uses the ones that are written. Record, after it: as ascend_cy_buffer_record_stream. Where everything
 * only ever was on `stream`, they cost a few compares. */
ASCEND_CY_API int ascend_cy_buffers_order(ascend_cy_buffer_t *const *buffers, int reads, int count,
                                          ascend_cy_stream_t *stream);
ASCEND_CY_API int ascend_cy_buffers_record(ascend_cy_buffer_t *const *buffers, int reads, int count,
                                           ascend_cy_stream_t *stream);

typedef struct ascend_cy_pool_stats {
    uint64_t in_use_bytes;   /* asked for by live buffers, rounded as allocated */
    uint64_t reserved_bytes; /* taken from the device: in use, cached and pending */
    uint64_t cached_bytes;   /* free for some stream */
    uint64_t peak_in_use_bytes;
    uint64_t limit_bytes;    /* UINT64_MAX: none */
    uint64_t allocations;    /* ascend_cy_buffer_create calls that succeeded */
    uint64_t device_allocations; /* of them, those that called aclrtMalloc */
} ascend_cy_pool_stats_t;
/* In these, device -1 is the calling thread's current one. */
ASCEND_CY_API int ascend_cy_pool_stats(int32_t device, ascend_cy_pool_stats_t *out);
/* The most that buffers may hold together, UINT64_MAX for none; at first ASCEND_CY_POOL_LIMIT (bytes, or with K, M, G, T).
 * Cached memory is given back to keep what is reserved below the limit too; only holes between live buffers can take it
 * above, for they are no reason to refuse. */
ASCEND_CY_API int ascend_cy_pool_set_limit(int32_t device, uint64_t bytes);
/* Gives cached blocks back to the device until at most `keep` bytes stay reserved or nothing is free. May block. What the
 * device refuses to take stays in the pool as it was; the code of the first refusal is returned once all else went. */
ASCEND_CY_API int ascend_cy_pool_trim(int32_t device, uint64_t keep);
/* The same, waiting no longer than this (-1: no limit): 507046 where work that holds free memory is not finished by then. */
ASCEND_CY_API int ascend_cy_pool_trim_within(int32_t device, uint64_t keep, int32_t timeout_ms);

/* Where `count` pieces of sizes[i] bytes go in one buffer, by AscendCL's rule for memory that is divided by its user: every
 * piece starts at a multiple of 64 bytes and is followed by at least 32 that hardware may read, at most 95. offsets[i] are bytes
 * from the buffer's start; a piece of 0 bytes takes no room. *total is the size to make the buffer with, 0 where all pieces are
 * empty. 100000 where no memory is that large. Needs no device. */
ASCEND_CY_API int ascend_cy_buffer_layout(const size_t *sizes, size_t count, size_t *offsets, size_t *total);

/* ---- several pools ---- */

/* A pool of its own beside the default one of a device, which the functions above are about: memory of one is not given to
 * buffers of another. Buffers go back to the pool they came from, whatever became of its handles; once there are none, its
 * memory goes back to the device as it becomes free. */
typedef struct ascend_cy_pool ascend_cy_pool_t;

/* Gives a new pool of `device` (-1: the calling thread's current one). `name`, of which 63 bytes are kept, is for messages; NULL is
 * none. `limit` is as for ascend_cy_pool_set_limit. */
ASCEND_CY_API int ascend_cy_pool_create(int32_t device, const char *name, uint64_t limit, ascend_cy_pool_t **out);
ASCEND_CY_API void ascend_cy_pool_retain(ascend_cy_pool_t *pool);
/* Never waits. NULL is allowed, and a default pool, which always stays. */
ASCEND_CY_API void ascend_cy_pool_release(ascend_cy_pool_t *pool);
ASCEND_CY_API int32_t ascend_cy_pool_device(const ascend_cy_pool_t *pool);
ASCEND_CY_API const char *ascend_cy_pool_name(const ascend_cy_pool_t *pool); /* "" where it has none */
/* The pool that a device has from the start (-1: the calling thread's current device). Borrowed; NULL on error. */
ASCEND_CY_API ascend_cy_pool_t *ascend_cy_default_pool(int32_t device);
/* Where buffers that this thread makes on streams of `device` come from: what was set, else the default one. Borrowed; NULL on
 * error. */
ASCEND_CY_API ascend_cy_pool_t *ascend_cy_current_pool(int32_t device);
/* Keeps `pool` as that one of this thread; NULL goes back to the default pool. `device` is the pool's, or -1. */
ASCEND_CY_API int ascend_cy_set_current_pool(int32_t device, ascend_cy_pool_t *pool);
/* The pool a buffer goes back to; borrowed, and valid while the buffer lives. */
ASCEND_CY_API ascend_cy_pool_t *ascend_cy_buffer_pool(const ascend_cy_buffer_t *buffer);

/* All of one moment. Fields may be added at the end. */
typedef struct ascend_cy_pool_figures {
    uint64_t in_use_bytes;       /* of live buffers, rounded as allocated */
    uint64_t reserved_bytes;     /* taken from the device: in use, cached and pending */
    uint64_t cached_bytes;       /* free for some stream */
    uint64_t pending_bytes;      /* freed, but streams it was recorded on have not passed */
    uint64_t largest_free_bytes; /* the longest piece of cached memory without a gap */
    uint64_t limit_bytes;        /* UINT64_MAX: none */
    uint64_t peak_in_use_bytes;
    uint64_t peak_reserved_bytes;
    uint64_t allocations;        /* buffers made, those without memory included */
    uint64_t hits;               /* of them, those served from cached memory */
    uint64_t device_allocations; /* aclrtMalloc calls that succeeded, each for one buffer that was no hit */
    uint64_t device_frees;       /* aclrtFree calls */
    uint64_t buffers;            /* that live */
    uint64_t free_blocks;        /* pieces the cached memory is in */
    uint64_t segments;           /* device allocations held */
    double hit_rate;             /* hits / (hits + device_allocations); 0 before the first */
    double fragmentation;        /* (reserved - in use) / reserved; 0 where nothing is reserved */
} ascend_cy_pool_figures_t;
/* In these, NULL is the calling thread's current pool of its current device. `size` is sizeof *out. Looks at every block. */
ASCEND_CY_API int ascend_cy_pool_figures(ascend_cy_pool_t *pool, ascend_cy_pool_figures_t *out, size_t size);
/* The peaks start over at what is in use and reserved now. */
ASCEND_CY_API int ascend_cy_pool_reset_peaks(ascend_cy_pool_t *pool);
ASCEND_CY_API int ascend_cy_pool_limit_to(ascend_cy_pool_t *pool, uint64_t bytes); /* as ascend_cy_pool_set_limit */
ASCEND_CY_API int ascend_cy_pool_trim_to(ascend_cy_pool_t *pool, uint64_t keep, int32_t timeout_ms); /* as ascend_cy_pool_trim_within */

/* ---- hazards ---- */

/* With ASCEND_CY_POOL_HAZARD=1 freed memory of the pools is filled with 0xFF, and copies and launches through this library and
 * its function table are watched: one that uses pool memory after it was freed, or without being ordered behind what it must
 * follow, fails with 500001 and a message that names both (as a failed call of AscendCL). What freeing finds is printed to stderr.
 * "report" prints all of them and lets the calls go on. */
ASCEND_CY_API int ascend_cy_pool_hazard_mode(void); /* 0: off, 1: calls fail, 2: reported */
/* How many were found in this process, and the text of one (counted from 0; borrowed, of the first 1000), or NULL. */
ASCEND_CY_API size_t ascend_cy_pool_hazards(void);
ASCEND_CY_API const char *ascend_cy_pool_hazard(size_t index);

/* ---- pinned memory ---- */

/* Gives pinned host memory, 64-byte aligned, pooled by size. May block. */
ASCEND_CY_API int ascend_cy_pinned_alloc(size_t size, void **out);
/* The same, and where memory is short it waits for work no longer than this (-1: no limit): 507046 where time is up first. */
ASCEND_CY_API int ascend_cy_pinned_alloc_within(size_t size, int32_t timeout_ms, void **out);
/* Takes it back; ordered after the work enqueued on streams recorded with ascend_cy_pinned_record_stream. */
ASCEND_CY_API void ascend_cy_pinned_free(void *pointer);
ASCEND_CY_API int ascend_cy_pinned_record_stream(void *pointer, ascend_cy_stream_t *stream);
/* Gives back what is free, and waits for what streams still use; refusals as for ascend_cy_pool_trim. */
ASCEND_CY_API int ascend_cy_pinned_trim(void);
/* The same, waiting no longer than this (-1: no limit): 507046 where work that uses freed memory is not finished by then. */
ASCEND_CY_API int ascend_cy_pinned_trim_within(int32_t timeout_ms);

#ifdef __cplusplus
}
#endif
#endif /* ASCEND_CY_POOL_H */
