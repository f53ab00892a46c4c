// SPDX-License-Identifier: Apache-2.0
//
// Macros of operator projects: tiling data, tiling keys, kernel types, and small helpers that kernels expect.
#ifndef ASCENDC_SIM_TILING_MACROS_H
#define ASCENDC_SIM_TILING_MACROS_H

#include "debug.h"
#include "sync.h"

// Kernel types are read from the source by the generator of entry tables.
#define KERNEL_TASK_TYPE_DEFAULT(type)
#define KERNEL_TASK_TYPE(key, type)

#ifndef TILING_KEY_VAR
#define TILING_KEY_VAR 0
#endif
#define TILING_KEY_IS(key) (static_cast<uint64_t>(TILING_KEY_VAR) == static_cast<uint64_t>(key))

namespace AscendC::sim {
template <class T> T LoadTiling(const void *address, const char *file, int line)
{
    Core &core = Core::Current();
    core.Begin("GET_TILING_DATA", Where{file, line});
    core.CheckGlobal(address, sizeof(T), "the tiling data");
    T data;
    std::memcpy(&data, address, sizeof(T));
    return data;
}
} // namespace AscendC::sim

#define REGISTER_TILING_DEFAULT(type) using AscendcSimTilingDefault = type
#define REGISTER_TILING_FOR_TILINGKEY(condition, type)
#define GET_TILING_DATA_WITH_STRUCT(type, name, address)                                                               \
    type name = ::AscendC::sim::LoadTiling<type>((const void *)(address), __FILE__, __LINE__)
#define GET_TILING_DATA(name, address) GET_TILING_DATA_WITH_STRUCT(AscendcSimTilingDefault, name, address)
#define GET_TILING_DATA_MEMBER(type, member, name, address)                                                            \
    decltype(type::member) name = ::AscendC::sim::LoadTiling<type>((const void *)(address), __FILE__, __LINE__).member

namespace AscendC {

namespace Std {
using std::decay_t;
using std::enable_if;
using std::enable_if_t;
using std::get;
using std::is_same;
using std::make_tuple;
using std::max;
using std::min;
using std::tuple;
template <class A, class B> inline constexpr bool is_same_v = std::is_same_v<A, B>;
template <bool b, class A, class B> using conditional_t = std::conditional_t<b, A, B>;
} // namespace Std

template <bool condition, class A, class B> struct Conditional {
    using type = std::conditional_t<condition, A, B>;
};
template <class A, class B> struct IsSameType {
    static constexpr bool value = std::is_same_v<A, B>;
};
template <class T> struct NumericLimits : std::numeric_limits<T> {
    static T Max() { return std::numeric_limits<T>::max(); }
    static T Lowest() { return std::numeric_limits<T>::lowest(); }
    static T Infinity() { return std::numeric_limits<T>::infinity(); }
    static T QuietNaN() { return std::numeric_limits<T>::quiet_NaN(); }
};

template <class T> constexpr T DivCeil(T a, T b)
{
    return b == 0 ? a : (a + b - 1) / b;
}
template <class T> constexpr T CeilDivision(T a, T b)
{
    return DivCeil(a, b);
}
template <class T> constexpr T AlignUp(T a, T b)
{
    return DivCeil(a, b) * b;
}
template <class T> constexpr T CeilAlign(T a, T b)
{
    return AlignUp(a, b);
}

// --- bit functions of the scalar unit

template <int value> inline int64_t ScalarGetCountOfValue(uint64_t bits)
{
    return value != 0 ? __builtin_popcountll(bits) : 64 - __builtin_popcountll(bits);
}
template <int value> inline int64_t GetBitCount(uint64_t bits)
{
    return ScalarGetCountOfValue<value>(bits);
}
inline int64_t ScalarCountLeadingZero(uint64_t bits)
{
    return bits == 0 ? 64 : __builtin_clzll(bits);
}
inline int64_t CountLeadingZero(uint64_t bits)
{
    return ScalarCountLeadingZero(bits);
}
template <int value> inline int64_t ScalarGetSFFValue(uint64_t bits)
{
    const uint64_t wanted = value != 0 ? bits : ~bits;
    return wanted == 0 ? -1 : __builtin_ctzll(wanted);
}
template <int value> inline int64_t GetSFFValue(uint64_t bits)
{
    return ScalarGetSFFValue<value>(bits);
}

} // namespace AscendC

// The scalar unit takes square roots; kernels write it without a namespace.
using std::sqrt;

#endif // ASCENDC_SIM_TILING_MACROS_H
