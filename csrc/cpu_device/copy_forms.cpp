/* SPDX-License-Identifier: Apache-2.0
 *
 * The less common copies and fills: by rows, in batches, through pointers in device memory, of 32-bit words.
 */
#include <cstring>

#include "copy.h"
#include "device.h"
#include "model.h"
#include "settings.h"
#include "stream.h"

using namespace acl_cpu;

namespace {

constexpr size_t most_async_width = 5000000;
constexpr size_t most_async_height = size_t{5} << 20;

/* Bytes from the first to the last one that a copy by rows touches. */
bool span_of(size_t pitch, size_t width, size_t height, size_t *span)
{
    size_t before_last;
    return !__builtin_mul_overflow(pitch, height - 1, &before_last) && !__builtin_add_overflow(before_last, width, span);
}

aclError check_rows(const void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                    aclrtMemcpyKind kind, bool checks_kinds, Sides *sides)
{
    REQUIRE_NOT_NULL(dst);
    REQUIRE_NOT_NULL(src);
    REQUIRE(width <= dpitch && width <= spitch, "width is %zu, larger than a pitch (dpitch %zu, spitch %zu)", width, dpitch, spitch);
    size_t dst_span = 0;
    size_t src_span = 0;
    REQUIRE(span_of(dpitch, width, height, &dst_span) && span_of(spitch, width, height, &src_span),
            "%zu rows with pitches of %zu and %zu bytes are more than memory has", height, dpitch, spitch);
    return look_at_sides(dst, dst_span, src, src_span, kind, checks_kinds, sides);
}

bool is_one_of(aclrtMemcpyKind kind, bool with_device_to_device)
{
    return kind == ACL_MEMCPY_HOST_TO_DEVICE || kind == ACL_MEMCPY_DEVICE_TO_HOST ||
           (with_device_to_device && kind == ACL_MEMCPY_DEVICE_TO_DEVICE);
}

/* ---- batches ---- */

struct Batch {
    void **dsts;
    size_t *dest_maxs;
    void **srcs;
    size_t *sizes;
    size_t count;
    aclrtMemcpyBatchAttr *attrs;
    size_t *indexes;
    size_t num_attrs;
};

bool is_device(const aclrtMemLocation &location) { return location.type == ACL_MEM_LOCATION_TYPE_DEVICE; }

/* Checks all copies before any is made. */
aclError check_batch(const Batch &batch, std::vector<Sides> *sides, size_t *failed)
{
    *failed = SIZE_MAX;
    REQUIRE(batch.dsts != nullptr, "dsts is NULL");
    REQUIRE(batch.dest_maxs != nullptr, "dest_maxs is NULL");
    REQUIRE(batch.srcs != nullptr, "srcs is NULL");
    REQUIRE(batch.sizes != nullptr, "sizes is NULL");
    REQUIRE(batch.attrs != nullptr, "attrs is NULL");
    REQUIRE(batch.indexes != nullptr, "attrs_indexes is NULL");
    REQUIRE(batch.count != 0, "num_batches is 0");
    REQUIRE(batch.num_attrs != 0 && batch.num_attrs <= batch.count, "num_attrs is %zu, it must be 1 to num_batches (%zu)",
            batch.num_attrs, batch.count);
    for (size_t i = 0; i < batch.num_attrs; ++i) {
        bool good = i == 0 ? batch.indexes[0] == 0 : batch.indexes[i] > batch.indexes[i - 1] && batch.indexes[i] < batch.count;
        if (!good) {
            return fail(ACL_ERROR_RT_PARAM_INVALID, "attrs_indexes[%zu] is %zu: the first must be 0, the others must grow and stay "
                                                    "below num_batches", i, batch.indexes[i]);
        }
    }
    bool first_to_device = is_device(batch.attrs[0].dstLoc);
    size_t attr = 0;
    for (size_t i = 0; i < batch.count; ++i) {
        while (attr + 1 < batch.num_attrs && batch.indexes[attr + 1] <= i) ++attr;
        const aclrtMemcpyBatchAttr &how = batch.attrs[attr];
        *failed = i;
        bool to_device = is_device(how.dstLoc);
        if (to_device == is_device(how.srcLoc) || to_device != first_to_device) {
            return fail(ACL_ERROR_RT_PARAM_INVALID, "copy %zu: a batch goes from host to device or from device to host, all alike", i);
        }
        const aclrtMemLocation &device_side = to_device ? how.dstLoc : how.srcLoc;
        if (require_device(device_side.id) == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
        REQUIRE(batch.dsts[i] != nullptr && batch.srcs[i] != nullptr, "dsts[%zu] or srcs[%zu] is NULL", i, i);
        RETURN_IF_ERROR(check_count(batch.sizes[i], batch.dest_maxs[i], "its dest_max"));
        Sides side;
        RETURN_IF_ERROR(look_at_sides(batch.dsts[i], batch.sizes[i], batch.srcs[i], batch.sizes[i],
                                      to_device ? ACL_MEMCPY_HOST_TO_DEVICE : ACL_MEMCPY_DEVICE_TO_HOST, true, &side));
        if (side.direction != (to_device ? Direction::HostToDevice : Direction::DeviceToHost)) {
            return fail(ACL_ERROR_RT_PARAM_INVALID, "copy %zu: the addresses do not have the locations that its attribute names", i);
        }
        sides->push_back(side);
    }
    *failed = SIZE_MAX;
    return ACL_SUCCESS;
}

aclError copy_batch(const Batch &batch, size_t *fail_index)
{
    size_t failed;
    std::vector<Sides> sides;
    aclError error = check_batch(batch, &sides, &failed);
    if (fail_index != nullptr) *fail_index = failed;
    RETURN_IF_ERROR(error);
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    RETURN_IF_ERROR(check_capture_mode(*context));
    for (size_t i = 0; i < batch.count; ++i) {
        copy_bytes(batch.dsts[i], batch.srcs[i], batch.sizes[i]);
        wait_for_link(*context->device, sides[i].direction, batch.sizes[i]);
    }
    return ACL_SUCCESS;
}

aclError copy_batch_async(const Batch &batch, size_t *fail_index, aclrtStream stream)
{
    size_t failed;
    std::vector<Sides> sides;
    aclError error = check_batch(batch, &sides, &failed);
    if (fail_index != nullptr) *fail_index = failed;
    RETURN_IF_ERROR(error);
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    for (size_t i = 0; i < batch.count; ++i) {
        RETURN_IF_ERROR(enqueue_copy(*target, batch.dsts[i], 0, batch.srcs[i], 0, batch.sizes[i], 1, sides[i]));
    }
    return ACL_SUCCESS;
}

/* ---- indirect ---- */

/* What aclrtSetMemcpyDesc writes into device memory. */
struct CopyDescription {
    void *dst;
    const void *src;
    size_t count;
    uint64_t magic;
    static constexpr uint64_t good = 0x61636C6370794431u;
};

/* A copy between addresses that stand in memory and are read when the stream comes to it. */
struct IndirectCopyTask final : Task {
    IndirectCopyTask(void *const *to, size_t to_offset, const void *const *from, size_t from_offset, size_t bytes)
        : dst(to), dst_offset(to_offset), src(from), src_offset(from_offset), count(bytes)
    {
    }
    explicit IndirectCopyTask(const CopyDescription *description) : desc(description) {}
    IndirectCopyTask(IndirectCopyTask &&other) noexcept
        : Task(std::move(other)), dst(other.dst), dst_offset(other.dst_offset), src(other.src), src_offset(other.src_offset),
          count(other.count), desc(other.desc)
    {
    }

    const char *name() const override { return "indirect copy"; }

    Step start(Stream &) override
    {
        if (desc != nullptr) copy_bytes(desc->dst, desc->src, desc->count);
        else copy_bytes(static_cast<char *>(*dst) + dst_offset, static_cast<const char *>(*src) + src_offset, count);
        return Step::Done;
    }

    void *const *dst = nullptr;
    size_t dst_offset = 0;
    const void *const *src = nullptr;
    size_t src_offset = 0;
    size_t count = 0;
    const CopyDescription *desc = nullptr;
};

aclError check_inner_kind(aclrtMemcpyKind kind)
{
    if (kind == ACL_MEMCPY_INNER_DEVICE_TO_DEVICE) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "kind is %d, only ACL_MEMCPY_INNER_DEVICE_TO_DEVICE (6) is possible",
                static_cast<int>(kind));
}

aclError check_words(void *ptr, size_t mem_size, size_t count)
{
    REQUIRE_NOT_NULL(ptr);
    REQUIRE(reinterpret_cast<uintptr_t>(ptr) % sizeof(uint32_t) == 0, "ptr %p is not aligned to 4 bytes", ptr);
    REQUIRE(count <= mem_size / sizeof(uint32_t), "count is %zu words, more than fit into mem_size, %zu bytes", count, mem_size);
    return ACL_SUCCESS;
}

} // namespace

aclError aclrtMemcpy2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                       aclrtMemcpyKind kind)
{
    ACL_ENTRY();
    if (width == 0 || height == 0) return ACL_SUCCESS;
    if (!is_one_of(kind, false)) {
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "kind is %d; copies by rows go from host to device (1) or back (2)",
                    static_cast<int>(kind));
    }
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    RETURN_IF_ERROR(check_capture_mode(*context));
    Sides sides;
    RETURN_IF_ERROR(check_rows(dst, dpitch, src, spitch, width, height, kind, false, &sides));
    for (size_t row = 0; row < height; ++row) {
        memmove(static_cast<char *>(dst) + row * dpitch, static_cast<const char *>(src) + row * spitch, width);
    }
    wait_for_link(*context->device, sides.direction, width * height);
    return ACL_SUCCESS;
}

aclError aclrtMemcpy2dAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                            aclrtMemcpyKind kind, aclrtStream stream)
{
    ACL_ENTRY();
    if (width == 0 || height == 0) return ACL_SUCCESS;
    if (!is_one_of(kind, true)) {
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "kind is %d, not host to device (1), device to host (2) or device to device (3)",
                    static_cast<int>(kind));
    }
    if (width > most_async_width || height > most_async_height) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "width is %zu and height %zu, at most %zu and %zu are possible", width, height,
                    most_async_width, most_async_height);
    }
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    Sides sides;
    RETURN_IF_ERROR(check_rows(dst, dpitch, src, spitch, width, height, kind, true, &sides));
    return enqueue_copy(*target, dst, dpitch, src, spitch, width, height, sides);
}

aclError aclrtMemcpyBatch(void **dsts, size_t *dest_maxs, void **srcs, size_t *sizes, size_t num_batches,
                          aclrtMemcpyBatchAttr *attrs, size_t *attrs_indexes, size_t num_attrs, size_t *fail_index)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(fail_index);
    return copy_batch({dsts, dest_maxs, srcs, sizes, num_batches, attrs, attrs_indexes, num_attrs}, fail_index);
}

aclError aclrtMemcpyBatchV2(void **dsts, size_t *dest_maxs, void **srcs, size_t *sizes, size_t num_batches,
                            aclrtMemcpyBatchAttr *attrs, size_t *attrs_indexes, size_t num_attrs)
{
    ACL_ENTRY();
    return copy_batch({dsts, dest_maxs, srcs, sizes, num_batches, attrs, attrs_indexes, num_attrs}, nullptr);
}

aclError aclrtMemcpyBatchAsync(void **dsts, size_t *dest_maxs, void **srcs, size_t *sizes, size_t num_batches,
                               aclrtMemcpyBatchAttr *attrs, size_t *attrs_indexes, size_t num_attrs, size_t *fail_index,
                               aclrtStream stream)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(fail_index);
    return copy_batch_async({dsts, dest_maxs, srcs, sizes, num_batches, attrs, attrs_indexes, num_attrs}, fail_index, stream);
}

aclError aclrtMemcpyBatchAsyncV2(void **dsts, size_t *dest_maxs, void **srcs, size_t *sizes, size_t num_batches,
                                 aclrtMemcpyBatchAttr *attrs, size_t *attrs_indexes, size_t num_attrs, aclrtStream stream)
{
    ACL_ENTRY();
    return copy_batch_async({dsts, dest_maxs, srcs, sizes, num_batches, attrs, attrs_indexes, num_attrs}, nullptr, stream);
}

aclError aclrtMemcpyAsyncWithOffset(void **dst, size_t dest_max, size_t dst_data_offset, const void **src, size_t count,
                                    size_t src_data_offset, aclrtMemcpyKind kind, aclrtStream stream)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(dst);
    REQUIRE_NOT_NULL(src);
    RETURN_IF_ERROR(check_inner_kind(kind));
    RETURN_IF_ERROR(check_count(count, dest_max, "dest_max"));
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    return submit(*target, IndirectCopyTask(dst, dst_data_offset, src, src_data_offset, count));
}

aclError aclrtGetMemcpyDescSize(aclrtMemcpyKind kind, size_t *desc_size)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(desc_size);
    RETURN_IF_ERROR(check_inner_kind(kind));
    *desc_size = 64;
    return ACL_SUCCESS;
}

aclError aclrtSetMemcpyDesc(void *desc, aclrtMemcpyKind kind, void *src_addr, void *dst_addr, size_t count, void *config)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(desc);
    REQUIRE_NOT_NULL(src_addr);
    REQUIRE_NOT_NULL(dst_addr);
    REQUIRE(count != 0, "count is 0");
    REQUIRE(config == nullptr, "config is %p, it must be NULL", config);
    RETURN_IF_ERROR(check_inner_kind(kind));
    Allocation found;
    RETURN_IF_ERROR(check_range(desc, sizeof(CopyDescription), "desc", &found));
    RETURN_IF_ERROR(check_range(src_addr, count, "src_addr", &found));
    RETURN_IF_ERROR(check_range(dst_addr, count, "dst_addr", &found));
    CopyDescription description = {dst_addr, src_addr, count, CopyDescription::good};
    memcpy(desc, &description, sizeof description);
    return ACL_SUCCESS;
}

aclError aclrtMemcpyAsyncWithDesc(void *desc, aclrtMemcpyKind kind, aclrtStream stream)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(desc);
    RETURN_IF_ERROR(check_inner_kind(kind));
    Allocation found;
    RETURN_IF_ERROR(check_range(desc, sizeof(CopyDescription), "desc", &found));
    const CopyDescription *description = static_cast<CopyDescription *>(desc);
    if (!found.on_device() || description->magic != CopyDescription::good) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "desc %p is no description in device memory made by aclrtSetMemcpyDesc", desc);
    }
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    return submit(*target, IndirectCopyTask(description));
}

aclError aclrtMemsetD32(void *ptr, size_t mem_size, uint32_t value, size_t count)
{
    ACL_ENTRY();
    RETURN_IF_ERROR(check_words(ptr, mem_size, count));
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    RETURN_IF_ERROR(check_capture_mode(*context));
    if (count == 0) return ACL_SUCCESS;
    Allocation found;
    RETURN_IF_ERROR(check_range(ptr, count * sizeof(uint32_t), "ptr", &found));
    fill_bytes(ptr, value, sizeof(uint32_t), count * sizeof(uint32_t));
    return ACL_SUCCESS;
}

aclError aclrtMemsetD32Async(void *ptr, size_t mem_size, uint32_t value, size_t count, aclrtStream stream)
{
    ACL_ENTRY();
    RETURN_IF_ERROR(check_words(ptr, mem_size, count));
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    if (count == 0) return ACL_SUCCESS;
    Allocation found;
    RETURN_IF_ERROR(check_range(ptr, count * sizeof(uint32_t), "ptr", &found));
    return enqueue_fill(*target, ptr, value, sizeof(uint32_t), count * sizeof(uint32_t));
}
