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

/* A copy of rows on a stream (rows == 1: a plain one). With pageable host memory it is done on return. */
aclError enqueue_copy(Stream &stream, void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t rows,
                      const Sides &sides);
aclError enqueue_fill(Stream &stream, void *dst, uint32_t value, unsigned width, size_t bytes);
/* Waits, in the calling thread, as long as an emulated link takes for a copy. */
void wait_for_link(Device &device, Direction direction, size_t bytes);
aclError check_count(size_t count, size_t most, const char *most_name);

} // namespace acl_cpu
#endif
