/* SPDX-License-Identifier: Apache-2.0
 *
 * Built-in tasks: reduction, cache hints.
 */
#include <cmath>
#include <cstring>

#include "copy.h"
#include "device.h"
#include "halves.h"
#include "memory.h"
#include "stream.h"

using namespace acl_cpu;

namespace {

template <class T> T combine(aclrtReduceKind kind, T a, T b)
{
    switch (kind) {
    case ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX: return a < b ? b : a;
    case ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN: return b < a ? b : a;
    default: break;
    }
    if constexpr (std::is_integral<T>::value) {
        /* two's complement, without the undefined overflow of signed types */
        return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
    } else {
        return a + b;
    }
}

template <class T> void reduce(void *dst, const void *src, size_t bytes, aclrtReduceKind kind)
{
    T *to = static_cast<T *>(dst);
    const T *from = static_cast<const T *>(src);
    for (size_t i = 0; i < bytes / sizeof(T); ++i) to[i] = combine(kind, to[i], from[i]);
}

template <float (*Widen)(uint16_t), uint16_t (*Narrow)(float)>
void reduce_halves(void *dst, const void *src, size_t bytes, aclrtReduceKind kind)
{
    uint16_t *to = static_cast<uint16_t *>(dst);
    const uint16_t *from = static_cast<const uint16_t *>(src);
    for (size_t i = 0; i < bytes / 2; ++i) to[i] = Narrow(combine(kind, Widen(to[i]), Widen(from[i])));
}

using Reduction = void (*)(void *, const void *, size_t, aclrtReduceKind);

Reduction reduction_of(aclDataType type)
{
    switch (type) {
    case ACL_INT8: return reduce<int8_t>;
    case ACL_INT16: return reduce<int16_t>;
    case ACL_INT32: return reduce<int32_t>;
    case ACL_UINT32: return reduce<uint32_t>;
    case ACL_FLOAT: return reduce<float>;
    case ACL_FLOAT16: return reduce_halves<float_of_half, half_of_float>;
    case ACL_BF16: return reduce_halves<float_of_bfloat, bfloat_of_float>;
    default: return nullptr;
    }
}

struct ReduceTask final : Task {
    ReduceTask(Reduction function, void *to, const void *from, size_t size, aclrtReduceKind how)
        : reduction(function), dst(to), src(from), bytes(size), kind(how)
    {
    }
    ReduceTask(ReduceTask &&other) noexcept
        : Task(std::move(other)), reduction(other.reduction), dst(other.dst), src(other.src), bytes(other.bytes), kind(other.kind)
    {
    }
    const char *name() const override { return "reduce"; }
    uint64_t cost_ns() const override { return bytes + 20; }
    Step start(Stream &) override
    {
        reduction(dst, src, bytes, kind);
        return Step::Done;
    }

    const Reduction reduction;
    void *const dst;
    const void *const src;
    const size_t bytes;
    const aclrtReduceKind kind;
};

aclError check_cmo(const void *address, size_t size, aclrtCmoType type)
{
    REQUIRE(address != nullptr, "src is NULL");
    REQUIRE(size != 0, "size is 0");
    if (type < ACL_RT_CMO_TYPE_PREFETCH || type > ACL_RT_CMO_TYPE_FLUSH) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "cmo_type is %d, not one of aclrtCmoType", static_cast<int>(type));
    }
    Allocation found;
    return check_range(address, size, "src", &found);
}

/* What aclrtCmoSetDesc writes into device memory. */
struct CmoDescription {
    void *address;
    size_t size;
};

} // namespace

aclError aclrtReduceAsync(void *dst, const void *src, uint64_t count, aclrtReduceKind kind, aclDataType type, aclrtStream stream,
                          void *reserve)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(dst);
    REQUIRE_NOT_NULL(src);
    REQUIRE(reserve == nullptr, "reserve is %p, it must be NULL", reserve);
    REQUIRE(count != 0, "count is 0");
    if (kind < ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM || kind > ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "kind is %d, not one of aclrtReduceKind", static_cast<int>(kind));
    }
    Reduction reduction = reduction_of(type);
    if (kind == ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL || reduction == nullptr) {
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "kind %d of data type %d is not supported", static_cast<int>(kind),
                    static_cast<int>(type));
    }
    size_t item = aclDataTypeSize(type);
    if (count % item != 0 || reinterpret_cast<uintptr_t>(dst) % item != 0 || reinterpret_cast<uintptr_t>(src) % item != 0) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "count (%llu bytes), dst and src must be multiples of the item size %zu",
                    static_cast<unsigned long long>(count), item);
    }
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    Sides sides;
    RETURN_IF_ERROR(look_at_sides(dst, count, src, count, ACL_MEMCPY_DEVICE_TO_DEVICE, true, &sides));
    return submit(*target, ReduceTask(reduction, dst, src, count, kind));
}

/* Caches are coherent here and prefetch themselves, so the hints are checked and have no further effect. */

aclError aclrtCmoAsync(void *src, size_t size, aclrtCmoType cmo_type, aclrtStream stream)
{
    ACL_ENTRY();
    RETURN_IF_ERROR(check_cmo(src, size, cmo_type));
    Stream *target;
    return find_stream(stream, &target);
}

aclError aclrtCmoGetDescSize(size_t *size)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(size);
    *size = 64;
    return ACL_SUCCESS;
}

aclError aclrtCmoSetDesc(void *cmo_desc, void *src, size_t size)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(cmo_desc);
    RETURN_IF_ERROR(check_cmo(src, size, ACL_RT_CMO_TYPE_PREFETCH));
    Allocation found;
    RETURN_IF_ERROR(check_range(cmo_desc, sizeof(CmoDescription), "cmo_desc", &found));
    CmoDescription description = {src, size};
    memcpy(cmo_desc, &description, sizeof description);
    return ACL_SUCCESS;
}

aclError aclrtCmoAsyncWithDesc(void *cmo_desc, aclrtCmoType cmo_type, aclrtStream stream, const void *reserve)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(cmo_desc);
    REQUIRE(reserve == nullptr, "reserve is %p, it must be NULL", reserve);
    RETURN_IF_ERROR(check_cmo(cmo_desc, sizeof(CmoDescription), cmo_type));
    Stream *target;
    return find_stream(stream, &target);
}
