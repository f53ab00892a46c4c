/* SPDX-License-Identifier: Apache-2.0 */
#include "copy.h"

#include <algorithm>
#include <cstring>

#include "device.h"
#include "log.h"
#include "model.h"
#include "settings.h"
#include "stream.h"
#include "timer.h"

namespace acl_cpu {

namespace {

/* Larger copies are cut into pieces for several threads: one core does not reach the memory's bandwidth. */
constexpr size_t piece_bytes = size_t{2} << 20;

bool overlap(const void *a, const void *b, size_t bytes)
{
    uintptr_t x = reinterpret_cast<uintptr_t>(a);
    uintptr_t y = reinterpret_cast<uintptr_t>(b);
    return x < y + bytes && y < x + bytes;
}

/* Pieces of one copy or fill. */
struct PieceJob final : Job {
    PieceJob(void *to, const void *from, uint32_t pattern, unsigned pattern_width, size_t size)
        : Job(static_cast<uint32_t>((size + piece_bytes - 1) / piece_bytes)), dst(static_cast<uint8_t *>(to)),
          src(static_cast<const uint8_t *>(from)), value(pattern), width(pattern_width), bytes(size)
    {
        block_ns = copy_cost_ns(piece_bytes);
    }

    void run_block(uint32_t index) override
    {
        size_t begin = size_t{index} * piece_bytes;
        size_t length = std::min(piece_bytes, bytes - begin);
        if (src != nullptr) {
            memcpy(dst + begin, src + begin, length);
        } else if (width == 1) {
            memset(dst + begin, static_cast<int>(value), length);
        } else {
            std::fill_n(reinterpret_cast<uint32_t *>(dst + begin), length / 4, value);
        }
    }

    void blocks_done() override
    {
        if (task != nullptr) {
            task->stream->finish_pending(task);
            return;
        }
        over.store(true, std::memory_order_seq_cst);
        unpark(this);
    }

    uint8_t *dst;
    const uint8_t *src;
    uint32_t value;
    unsigned width;
    size_t bytes;
    Task *task = nullptr;         /* whose end the last piece brings, */
    std::atomic<bool> over{false}; /* or what the caller waits for */
};

/* Runs a job in the calling thread, waiting for the other threads that joined. */
void run_here(PieceJob &job)
{
    if (pool().run(job, nullptr) == Step::Done) return;
    park_until(&job, NO_DEADLINE, [&] { return job.over.load(std::memory_order_seq_cst); });
}

bool worth_threads(size_t bytes) { return bytes > 2 * piece_bytes && pool().workers() > 1; }

} // namespace

void copy_bytes(void *dst, const void *src, size_t bytes)
{
    if (dst == src || bytes == 0) return;
    if (overlap(dst, src, bytes)) {
        memmove(dst, src, bytes);
    } else if (!worth_threads(bytes)) {
        memcpy(dst, src, bytes);
    } else {
        PieceJob job(dst, src, 0, 0, bytes);
        run_here(job);
    }
}

void fill_bytes(void *dst, uint32_t value, unsigned width, size_t bytes)
{
    if (worth_threads(bytes)) {
        PieceJob job(dst, nullptr, value, width, bytes);
        run_here(job);
    } else if (width == 1) {
        memset(dst, static_cast<int>(value), bytes);
    } else {
        std::fill_n(static_cast<uint32_t *>(dst), bytes / 4, value);
    }
}

aclError look_at_sides(const void *dst, size_t dst_bytes, const void *src, size_t src_bytes, aclrtMemcpyKind kind,
                       bool checks_kinds, Sides *sides)
{
    RETURN_IF_ERROR(check_range(dst, dst_bytes, "dst", &sides->dst));
    RETURN_IF_ERROR(check_range(src, src_bytes, "src", &sides->src));
    bool sim = settings().target == Target::Sim;
    auto says_device = [&](bool is_dst) {
        switch (kind) {
        case ACL_MEMCPY_HOST_TO_DEVICE:
        case ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE: return is_dst;
        case ACL_MEMCPY_DEVICE_TO_HOST: return !is_dst;
        case ACL_MEMCPY_DEVICE_TO_DEVICE: return true;
        default: return false;
        }
    };
    auto is_device = [&](const Allocation &side, bool is_dst) {
        if (side.kind != MemoryKind::None) return side.on_device();
        return !sim && says_device(is_dst);
    };
    bool to_device = is_device(sides->dst, true);
    bool from_device = is_device(sides->src, false);
    sides->direction = to_device ? (from_device ? Direction::DeviceToDevice : Direction::HostToDevice)
                                 : (from_device ? Direction::DeviceToHost : Direction::HostToHost);
    sides->pageable = (!to_device && sides->dst.kind == MemoryKind::None) || (!from_device && sides->src.kind == MemoryKind::None);
    if (!checks_kinds || kind == ACL_MEMCPY_DEFAULT || kind == ACL_MEMCPY_HOST_TO_HOST) return ACL_SUCCESS;
    /* Two device sides are forgiven whatever the kind says, as one of them may be memory that the host reaches as well. */
    Direction named = kind == ACL_MEMCPY_DEVICE_TO_DEVICE ? Direction::DeviceToDevice
                      : kind == ACL_MEMCPY_DEVICE_TO_HOST ? Direction::DeviceToHost
                                                          : Direction::HostToDevice;
    if (sides->direction != named && sides->direction != Direction::DeviceToDevice) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "kind is %d, but dst %p is %s memory and src %p is %s memory", static_cast<int>(kind),
                    dst, to_device ? "device" : "host", src, from_device ? "device" : "host");
    }
    return ACL_SUCCESS;
}

namespace {

/* A copy, or a fill (src nullptr), on a stream. */
struct MoveTask final : Task {
    MoveTask(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t row_bytes, size_t row_count)
        : dst(static_cast<uint8_t *>(to)), dst_pitch(to_pitch), src(static_cast<const uint8_t *>(from)), src_pitch(from_pitch),
          width(row_bytes), rows(row_count)
    {
    }
    MoveTask(MoveTask &&other) noexcept
        : Task(std::move(other)), dst(other.dst), dst_pitch(other.dst_pitch), src(other.src), src_pitch(other.src_pitch),
          width(other.width), rows(other.rows), value(other.value), pattern(other.pattern), link(other.link),
          staged(other.staged)
    {
    }

    const char *name() const override { return src != nullptr ? "copy" : "fill"; }
    uint64_t cost_ns() const override { return link != 0 ? UNKNOWN_COST : copy_cost_ns(width * rows); }
    uint64_t busy_ns() const override { return copy_cost_ns(width * rows); }

    Step start(Stream &on) override
    {
        /* The bytes move while the link takes its time, as in a transfer: not before it. */
        uint64_t end = link != 0 ? reserve_link(*on.device, link > 0, width * rows) : 0;
        if (rows > 1) {
            for (size_t row = 0; row < rows; ++row) {
                uint8_t *to = dst + row * dst_pitch;
                if (src != nullptr) memmove(to, src + row * src_pitch, width);
            }
        } else if (src != nullptr && overlap(dst, src, width)) {
            memmove(dst, src, width);
        } else if (!worth_threads(width)) {
            if (src != nullptr) memcpy(dst, src, width);
            else fill_bytes(dst, value, pattern, width);
        } else if (link == 0) {
            job.reset(new PieceJob(dst, src, value, pattern, width));
            job->task = this;
            return pool().run(*job, &on);
        } else {
            copy_bytes(dst, src, width);
        }
        return link != 0 ? wait_until(end, on) : Step::Done;
    }

    /* The bytes are there, the emulated link still takes its time. */
    Step wait_until(uint64_t end, Stream &on)
    {
        void *handle = on.handle();
        uint32_t task = id;
        /* From here on the task can be withdrawn, and gone. */
        waits.store(true);
        Timer::Id timer = Timer::instance().add(end, [handle, task] { end_current(handle, task, ACL_SUCCESS, ""); });
        if (timer != 0) return Step::Pending;
        return waits.exchange(false) ? Step::Done : Step::Pending;
    }

    bool withdraw() override { return waits.exchange(false); }

    uint8_t *dst;
    size_t dst_pitch;
    const uint8_t *src;
    size_t src_pitch;
    size_t width;
    size_t rows;
    uint32_t value = 0;   /* of fills */
    unsigned pattern = 1; /* its bytes */
    int link = 0;         /* 1: upload, -1: download over an emulated link */
    std::atomic<bool> waits{false};
    std::unique_ptr<PieceJob> job;
    std::shared_ptr<uint8_t[]> staged; /* a copy of the source that the task, and copies of it, own */
};

int link_of(Direction direction)
{
    if (settings().link_bytes_per_second == 0) return 0;
    return direction == Direction::HostToDevice ? 1 : direction == Direction::DeviceToHost ? -1 : 0;
}

void sleep_until(uint64_t time)
{
    timespec until = {static_cast<time_t>(time / 1000000000u), static_cast<long>(time % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
    }
}

aclError check_kind(aclrtMemcpyKind kind)
{
    REQUIRE(kind >= ACL_MEMCPY_HOST_TO_HOST && kind <= ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE,
            "kind is %d, not one of aclrtMemcpyKind up to ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE (5)", static_cast<int>(kind));
    return ACL_SUCCESS;
}

} // namespace

aclError check_count(size_t count, size_t most, const char *most_name)
{
    if (LIKELY(count <= most)) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID, "count is %zu, larger than %s, which is %zu", count, most_name, most);
}

aclError enqueue_fill(Stream &stream, void *dst, uint32_t value, unsigned width, size_t bytes)
{
    MoveTask task(dst, 0, nullptr, 0, bytes, 1);
    task.value = value;
    task.pattern = width;
    return submit(stream, std::move(task));
}

void wait_for_link(Device &device, Direction direction, size_t bytes)
{
    if (int link = link_of(direction)) sleep_until(reserve_link(device, link > 0, bytes));
}

aclError enqueue_copy(Stream &stream, void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t rows,
                      const Sides &sides)
{
    if (UNLIKELY(sides.pageable) && is_recording(stream)) {
        if (is_capturing(stream)) {
            return fail(ACL_ERROR_RT_PARAM_INVALID, "dst %p or src %p is pageable host memory, which a capture cannot copy: use aclrtMallocHost",
                        dst, src);
        }
        /* As with the vendor: such a copy is done on return, so it is no task of the model that the stream is bound to. */
        for (size_t row = 0; row < rows; ++row) {
            copy_bytes(static_cast<uint8_t *>(dst) + row * dst_pitch, static_cast<const uint8_t *>(src) + row * src_pitch, width);
        }
        return ACL_SUCCESS;
    }
    MoveTask task(dst, dst_pitch, src, src_pitch, width, rows);
    task.link = link_of(sides.direction);
    RETURN_IF_ERROR(submit(stream, std::move(task)));
    /* Pageable memory: the vendor synchronizes, so that the caller may reuse the memory at once. An error of earlier
     * work stays on the stream for its next synchronization. */
    if (sides.pageable && !stream.idle()) {
        wait_for(stream, Stream::submitted(stream.progress.load(std::memory_order_seq_cst)), NO_DEADLINE);
    }
    return ACL_SUCCESS;
}

} // namespace acl_cpu

using namespace acl_cpu;

aclError aclrtMemcpy(void *dst, size_t dest_max, const void *src, size_t count, aclrtMemcpyKind kind)
{
    ACL_ENTRY();
    if (count == 0) return ACL_SUCCESS;
    REQUIRE_NOT_NULL(dst);
    REQUIRE_NOT_NULL(src);
    RETURN_IF_ERROR(check_kind(kind));
    RETURN_IF_ERROR(check_count(count, dest_max, "dest_max"));
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    RETURN_IF_ERROR(check_capture_mode(*context));
    if (dst == src) return ACL_SUCCESS;
    Sides sides;
    RETURN_IF_ERROR(look_at_sides(dst, count, src, count, kind, false, &sides));
    copy_bytes(dst, src, count);
    wait_for_link(*context->device, sides.direction, count);
    return ACL_SUCCESS;
}

aclError aclrtMemcpyAsync(void *dst, size_t dest_max, const void *src, size_t count, aclrtMemcpyKind kind, aclrtStream stream)
{
    ACL_ENTRY();
    if (count == 0) return ACL_SUCCESS;
    REQUIRE_NOT_NULL(dst);
    REQUIRE_NOT_NULL(src);
    RETURN_IF_ERROR(check_kind(kind));
    RETURN_IF_ERROR(check_count(count, dest_max, "dest_max"));
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    Sides sides;
    RETURN_IF_ERROR(look_at_sides(dst, count, src, count, kind, true, &sides));
    if (sides.direction == Direction::HostToHost) {
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "dst and src are both host memory, which has no asynchronous copy");
    }
    if (kind == ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE && sides.direction == Direction::HostToDevice) {
        /* The source is copied now, so it may be reused whatever kind of memory it is. */
        std::shared_ptr<uint8_t[]> staged(new uint8_t[count]);
        memcpy(staged.get(), src, count);
        MoveTask task(dst, 0, staged.get(), 0, count, 1);
        task.staged = std::move(staged);
        task.link = link_of(sides.direction);
        return submit(*target, std::move(task));
    }
    return enqueue_copy(*target, dst, 0, src, 0, count, 1, sides);
}

aclError aclrtMemset(void *dev_ptr, size_t max_count, int32_t value, size_t count)
{
    ACL_ENTRY();
    if (count == 0) return ACL_SUCCESS;
    REQUIRE_NOT_NULL(dev_ptr);
    RETURN_IF_ERROR(check_count(count, max_count, "max_count"));
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    RETURN_IF_ERROR(check_capture_mode(*context));
    Allocation found;
    RETURN_IF_ERROR(check_range(dev_ptr, count, "dev_ptr", &found));
    fill_bytes(dev_ptr, static_cast<uint8_t>(value), 1, count);
    return ACL_SUCCESS;
}

aclError aclrtMemsetAsync(void *dev_ptr, size_t max_count, int32_t value, size_t count, aclrtStream stream)
{
    ACL_ENTRY();
    if (count == 0) return ACL_SUCCESS;
    REQUIRE_NOT_NULL(dev_ptr);
    RETURN_IF_ERROR(check_count(count, max_count, "max_count"));
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    Allocation found;
    RETURN_IF_ERROR(check_range(dev_ptr, count, "dev_ptr", &found));
    return enqueue_fill(*target, dev_ptr, static_cast<uint8_t>(value), 1, count);
}
