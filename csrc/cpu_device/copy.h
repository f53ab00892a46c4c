/* SPDX-License-Identifier: Apache-2.0
 *
 * Moving and filling bytes.
 */
#ifndef ASCENDCL_CPU_COPY_H
#define ASCENDCL_CPU_COPY_H

#include <cstddef>
#include <cstdint>

#include "memory.h"
#include "pool.h"
#include "task.h"

namespace acl_cpu {

/* Which way bytes go, as the addresses say. */
enum class Direction { HostToHost, HostToDevice, DeviceToHost, DeviceToDevice };

/* A side of a copy after a look into the registry. */
struct Sides {
    Direction direction = Direction::HostToHost;
    bool pageable = false; /* a host side is neither pinned nor registered */
    Allocation dst;
    Allocation src;
};

/* Checks both ranges and settles the direction: known addresses speak for themselves, unknown ones are taken for what
 * `kind` says (on the unified memory of the cpu target any address may be device memory). `checks_kinds`: refuse pairs
 * that the kind does not allow, as asynchronous copies do. */
aclError look_at_sides(const void *dst, size_t dst_bytes, const void *src, size_t src_bytes, aclrtMemcpyKind kind,
                       bool checks_kinds, Sides *sides);

/* Copies in the calling thread and workers; overlapping ranges are allowed. */
void copy_bytes(void *dst, const void *src, size_t bytes);
/* Fills with a repeated pattern of 1 or 4 bytes. */
void fill_bytes(void *dst, uint32_t value, unsigned width, size_t bytes);

/* Expected time of moving bytes on one thread. */
inline uint64_t copy_cost_ns(uint64_t bytes) { return bytes / 8 + 20; }

/* Waits for the stream and does `work` in order, in the calling thread. */
template <class Work> aclError run_in_order(Stream &stream, Work work);

/* A copy of rows on a stream (rows == 1: a plain one). */
aclError enqueue_copy(Stream &stream, void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t rows,
                      const Sides &sides);

} // namespace acl_cpu
#endif
