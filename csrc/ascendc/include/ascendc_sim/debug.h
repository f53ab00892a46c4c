// SPDX-License-Identifier: Apache-2.0
//
// printf, DumpTensor and assertions of kernels.
#ifndef ASCENDC_SIM_DEBUG_H
#define ASCENDC_SIM_DEBUG_H

#include "data_copy.h"

#ifndef ASCENDC_DUMP
#define ASCENDC_DUMP 1
#endif

namespace AscendC {

namespace sim {

// 16-bit floats go through C's variable arguments as double, like float does.
template <class T> auto Printable(const T &value)
{
    if constexpr (kOneOf<T, half, bfloat16_t>) {
        return static_cast<double>(static_cast<float>(value));
    } else if constexpr (std::is_class_v<T>) {
        return static_cast<int64_t>(value); // block_idx and its like
    } else {
        return value;
    }
}

constexpr size_t kPrintLimit = 30 * 1024;

template <class... Args> std::string Formatted(const char *format, const Args &...args)
{
    std::string text;
    if constexpr (sizeof...(Args) == 0) {
        // No arguments: the text may still hold "%%".
        char buffer[1];
        const int length = std::snprintf(buffer, 1, format, 0);
        text.resize(static_cast<size_t>(std::max(length, 0)) + 1);
        std::snprintf(text.data(), text.size(), format, 0);
    } else {
        const int length = std::snprintf(nullptr, 0, format, Printable(args)...);
        text.resize(static_cast<size_t>(std::max(length, 0)) + 1);
        std::snprintf(text.data(), text.size(), format, Printable(args)...);
    }
    text.pop_back();
    return text;
}

template <class... Args> void PrintFormatted(const char *format, const Args &...args)
{
    const std::string text = Formatted(format, args...);
    Core *core = Core::CurrentOrNull();
    if (core == nullptr) {
        std::fwrite(text.data(), 1, text.size(), stdout); // host code in the same file
        return;
    }
    if (ASCENDC_DUMP != 0 && text.size() <= kPrintLimit) {
        core->Print(text.data(), text.size());
    }
}

template <class T> const char *TypeName()
{
    if (std::is_same_v<T, half>) {
        return "float16";
    }
    if (std::is_same_v<T, bfloat16_t>) {
        return "bfloat16";
    }
    if (std::is_same_v<T, float>) {
        return "float32";
    }
    static const char *const names[2][4] = {{"uint8", "uint16", "uint32", "uint64"}, {"int8", "int16", "int32", "int64"}};
    return names[std::is_signed_v<T>][sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3];
}

template <class T> void Dump(const T *values, const char *position, uint32_t desc, uint32_t count, const ShapeInfo *shape)
{
    if (ASCENDC_DUMP == 0) {
        return;
    }
    std::string text = Formatted("DumpTensor: desc=%u, addr=%llx, data_type=%s, position=%s, dump_size=%u\n[", desc,
                                 static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(values)), TypeName<T>(),
                                 position, count);
    const uint32_t row = shape != nullptr && shape->shapeDim > 0 ? shape->shape[shape->shapeDim - 1] : 0;
    for (uint32_t i = 0; i < count; ++i) {
        if (i != 0) {
            text += row != 0 && i % row == 0 ? "],\n[" : ", ";
        }
        if constexpr (std::is_integral_v<T>) {
            text += std::to_string(values[i]);
        } else {
            text += Formatted("%f", static_cast<double>(static_cast<float>(values[i])));
        }
    }
    text += "]\n";
    Core::Current().Print(text.data(), text.size());
}

} // namespace sim

template <class... Args> inline void ascendc_sim_printf(const char *format, const Args &...args)
{
    sim::PrintFormatted(format, args...);
}
template <class... Args> inline void PRINTF(const char *format, const Args &...args)
{
    sim::PrintFormatted(format, args...);
}

template <class T>
inline void DumpTensor(const LocalTensor<T> &tensor, uint32_t desc, uint32_t count, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("DumpTensor", sim::Pipe::S, where);
    sim::CheckExtent(core, tensor, static_cast<uint64_t>(count) * sizeof(T), "the tensor");
    sim::Dump(reinterpret_cast<const T *>(tensor.bytes()), sim::NameOf(tensor.GetPosition()), desc, count, nullptr);
}
template <class T>
inline void DumpTensor(const LocalTensor<T> &tensor, uint32_t desc, uint32_t count, const ShapeInfo &shape,
                       Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("DumpTensor", sim::Pipe::S, where);
    sim::CheckExtent(core, tensor, static_cast<uint64_t>(count) * sizeof(T), "the tensor");
    sim::Dump(reinterpret_cast<const T *>(tensor.bytes()), sim::NameOf(tensor.GetPosition()), desc, count, &shape);
}
template <class T>
inline void DumpTensor(const GlobalTensor<T> &tensor, uint32_t desc, uint32_t count, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("DumpTensor", sim::Pipe::S, where);
    core.CheckGlobal(tensor.GetPhyAddr(), static_cast<uint64_t>(count) * sizeof(T), "the tensor");
    sim::Dump(tensor.GetPhyAddr(), "GM", desc, count, nullptr);
}
template <class T>
inline void DumpTensor(const GlobalTensor<T> &tensor, uint32_t desc, uint32_t count, const ShapeInfo &shape,
                       Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("DumpTensor", sim::Pipe::S, where);
    core.CheckGlobal(tensor.GetPhyAddr(), static_cast<uint64_t>(count) * sizeof(T), "the tensor");
    sim::Dump(tensor.GetPhyAddr(), "GM", desc, count, &shape);
}
template <class T> inline void LocalTensor<T>::Print(uint32_t count) const
{
    DumpTensor(*this, 0, count != 0 ? count : GetSize());
}

namespace sim {
template <class... Args>
[[noreturn]] void AssertFailed(const char *file, int line, const char *condition, const char *format = "",
                               const Args &...args)
{
    Core &core = Core::Current();
    core.Begin("assert", Where{file, line});
    const std::string text = Formatted(format, args...);
    core.Fail("assertion `%s` failed%s%s", condition, text.empty() ? "" : ": ", text.c_str());
}
} // namespace sim

inline void MetricsProfStart() {}
inline void MetricsProfStop() {}

} // namespace AscendC

// Kernels call printf with and without the namespace; both reach the device's output.
using AscendC::ascendc_sim_printf;
#define printf ascendc_sim_printf

#define ascendc_assert(condition, ...)                                                                                 \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            ::AscendC::sim::AssertFailed(__FILE__, __LINE__, #condition, ##__VA_ARGS__);                               \
        }                                                                                                              \
    } while (0)
#define ASCENDC_ASSERT(condition, behaviour)                                                                           \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            behaviour;                                                                                                 \
            ::AscendC::sim::AssertFailed(__FILE__, __LINE__, #condition);                                              \
        }                                                                                                              \
    } while (0)
#define ASCENDC_DEBUG_ASSERT(condition, behaviour) ASCENDC_ASSERT(condition, behaviour)
#ifndef ASSERT
#define ASSERT(condition) ascendc_assert(condition)
#endif
#define KERNEL_LOG(level, ...) ::AscendC::PRINTF(__VA_ARGS__)
#define KERNEL_LOG_INTERNAL(level, ...) ::AscendC::PRINTF(__VA_ARGS__)
#define TRACE_START(id)
#define TRACE_STOP(id)

#endif // ASCENDC_SIM_DEBUG_H
