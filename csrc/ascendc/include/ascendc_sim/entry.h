// SPDX-License-Identifier: Apache-2.0
//
// From a kernel function to an entry of `ascend_kernel_table`. The compiler deduces parameters and their layout; the
// generated source only lists the kernels.
#ifndef ASCENDC_SIM_ENTRY_H
#define ASCENDC_SIM_ENTRY_H

#include <dlfcn.h>

#include "launch.h"

namespace AscendC::sim {

// The compiler's rule for arguments: declaration order, each aligned to max(4, alignof(T)).
constexpr uint32_t ArgumentOffset(uint32_t end, size_t alignment)
{
    const uint32_t unit = static_cast<uint32_t>(alignment < 4 ? 4 : alignment);
    return (end + unit - 1) / unit * unit;
}

template <class T> constexpr uint32_t ParameterKind()
{
    return std::is_pointer_v<T>                            ? ASCEND_KERNEL_PARAM_POINTER
           : std::is_integral_v<T> || std::is_enum_v<T>    ? ASCEND_KERNEL_PARAM_INTEGER
           : std::is_floating_point_v<T> || std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t>
               ? ASCEND_KERNEL_PARAM_FLOAT
               : ASCEND_KERNEL_PARAM_STRUCT;
}

// Core kind, cubes and vector cores of a block.
template <auto kernel, uint32_t coreKind, uint32_t cubes, uint32_t vectors> struct EntryOf;

template <class... P, void (*kernel)(P...), uint32_t coreKind, uint32_t cubes, uint32_t vectors>
struct EntryOf<kernel, coreKind, cubes, vectors> {
    static_assert((std::is_trivially_copyable_v<std::decay_t<P>> && ...), "kernel parameters are plain data");

    static constexpr size_t kCount = sizeof...(P);
    struct Layout {
        uint32_t offsets[kCount + 1] = {};
        uint32_t end = 0;
    };
    static constexpr Layout MakeLayout()
    {
        Layout layout;
        constexpr size_t sizes[] = {sizeof(std::decay_t<P>)..., 0};
        constexpr size_t alignments[] = {alignof(std::decay_t<P>)..., 1};
        for (size_t i = 0; i < kCount; ++i) {
            layout.offsets[i] = ArgumentOffset(layout.end, alignments[i]);
            layout.end = layout.offsets[i] + static_cast<uint32_t>(sizes[i]);
        }
        return layout;
    }
    static constexpr Layout kLayout = MakeLayout();

    template <class T> static T Argument(const void *args, size_t index)
    {
        T value;
        std::memcpy(&value, static_cast<const uint8_t *>(args) + kLayout.offsets[index], sizeof(T));
        return value;
    }
    template <size_t... index> static void Call(const void *args, std::index_sequence<index...>)
    {
        (void)args;
        kernel(Argument<std::decay_t<P>>(args, index)...);
    }
    static void Run(uint32_t block, uint32_t blocks, const void *args, const ascend_kernel_services_t *services)
    {
        Launch::RunBlock(KernelInfo{coreKind, cubes, vectors}, block, blocks, services,
                         [args] { Call(args, std::index_sequence_for<P...>()); });
    }

    // `names` has a name for every parameter.
    static ascend_kernel_desc_t Describe(const char *name, const char *const *names, uint32_t flags)
    {
        return DescribeAs(LinkageName(name), names, flags);
    }
    static ascend_kernel_desc_t DescribeAs(const char *name, const char *const *names, uint32_t flags)
    {
        static ascend_kernel_param_t parameters[kCount + 1];
        constexpr uint32_t sizes[] = {static_cast<uint32_t>(sizeof(std::decay_t<P>))..., 0};
        constexpr uint32_t kinds[] = {ParameterKind<std::decay_t<P>>()..., 0};
        for (size_t i = 0; i < kCount; ++i) {
            parameters[i] = ascend_kernel_param_t{names[i], kLayout.offsets[i], sizes[i], kinds[i], 0};
        }
        ascend_kernel_desc_t desc = {};
        desc.name = name;
        desc.entry = Run;
        desc.params = parameters;
        desc.num_params = static_cast<uint32_t>(kCount);
        desc.args_size = kLayout.end;
        desc.core_kind = coreKind;
        desc.flags = flags;
        desc.instances_per_block = cubes + vectors;
        return desc;
    }

private:
    // The name under which the runtime looks a kernel up is the one that the linker knows: mangled without extern "C".
    static const char *LinkageName(const char *fallback)
    {
        Dl_info info;
        const void *address = reinterpret_cast<const void *>(kernel);
        return dladdr(address, &info) != 0 && info.dli_sname != nullptr && info.dli_saddr == address ? info.dli_sname
                                                                                                     : fallback;
    }
};

} // namespace AscendC::sim

#define ASCENDC_SIM_TABLE(kernels)                                                                                     \
    extern "C" {                                                                                                       \
    ASCEND_KERNEL_EXPORT ascend_kernel_table_t ascend_kernel_table = {                                                 \
        ASCEND_KERNEL_ABI_VERSION,                                                                                     \
        sizeof(ascend_kernel_table_t),                                                                                 \
        sizeof(ascend_kernel_desc_t),                                                                                  \
        ASCEND_KERNEL_TARGET_SIM,                                                                                      \
        sizeof(kernels) / sizeof(kernels[0]),                                                                          \
        0,                                                                                                             \
        kernels,                                                                                                       \
        "Ascend C simulator, dav-2201, compiler " __VERSION__};                                                        \
    }                                                                                                                  \
    static_assert(true, "takes the semicolon")

#endif // ASCENDC_SIM_ENTRY_H
