/* SPDX-License-Identifier: Apache-2.0
 *
 * What the official client programs launch, for the `cpu` target. They are our own kernels of the same names,
 * arguments and results as the programs expect. With -DADD_CUSTOM_TILING the kernel add_custom takes its two
 * tiling numbers from memory.
 */
#include <cmath>
#include <cstdio>
#include <cstring>
#include <time.h>

#include "arguments.h"
#include "ascend_cy/kernel_abi.h"

namespace {

using namespace official_programs;
using Services = ascend_kernel_services_t;

template <class Arguments> const Arguments &get(const void *args) { return *static_cast<const Arguments *>(args); }

void say(const Services *services, uint32_t block, const char *format, int value = 0)
{
    char text[64];
    const int length = snprintf(text, sizeof text, format, value);
    services->print(services, block, text, static_cast<size_t>(length));
}

void easy(uint32_t block, uint32_t, const void *args, const Services *) { get<Words>(args).x[block] += 1; }
void twice(uint32_t block, uint32_t, const void *args, const Services *) { get<Words>(args).x[block] *= 2; }
uint64_t tiny(const void *, uint32_t) { return 100; }

void trap(uint32_t block, uint32_t, const void *, const Services *services)
{
    services->violation(services, block, 507035, "deliberate trap");
}

/* Takes longer than the second after which one of the programs wants a wait to time out; sleeps instead of
 * computing, so that the result does not depend on what else the machine does. */
void take_long(uint32_t block, uint32_t, const void *args, const Services *services)
{
    timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        if (*services->stop != 0) return;
        const timespec pause = {0, 1000000};
        nanosleep(&pause, nullptr);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < 1600);
    get<Words>(args).x[block] += 1;
}

void write_value(uint32_t block, uint32_t, const void *args, const Services *services)
{
    const WordAndValue &a = get<WordAndValue>(args);
    a.x[block] = a.value;
    say(services, block, "Source data: %d\n", a.value);
}

void read_value(uint32_t block, uint32_t, const void *args, const Services *services)
{
    say(services, block, "Destination data: %d\n", get<ReadOnly>(args).x[block]);
}

void greet(uint32_t block, uint32_t, const void *, const Services *services) { say(services, block, "Hello World\n"); }

/* The last block takes what the division leaves over. */
void add_floats(uint32_t block, uint32_t blocks, const void *args, const Services *)
{
    const AddFloats &a = get<AddFloats>(args);
    const uint32_t share = a.count / blocks;
    const uint32_t end = block + 1 == blocks ? a.count : (block + 1) * share;
    for (uint32_t i = block * share; i < end; ++i) a.out[i] = a.x[i] + a.y[i];
}

void add_scaled(uint32_t block, uint32_t, const void *args, const Services *)
{
    const AddScaled &a = get<AddScaled>(args);
    if (block != 0) return;
    for (uint32_t i = 0; i < a.count; ++i) a.out[i] = a.x[i] + a.alpha * a.y[i];
}

float float_of(uint16_t half)
{
    const uint32_t exponent = half >> 10 & 31, fraction = half & 0x3FF, sign = uint32_t{half & 0x8000u} << 16;
    float value;
    uint32_t bits;
    if (exponent == 0) {
        value = std::ldexp(static_cast<float>(fraction), -24);
        memcpy(&bits, &value, 4);
    } else if (exponent == 31) {
        bits = 0x7F800000u | fraction << 13;
    } else {
        bits = (exponent + 112) << 23 | fraction << 13;
    }
    bits |= sign;
    memcpy(&value, &bits, 4);
    return value;
}

/* Rounds to the nearest, ties to even. */
uint16_t half_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    const uint32_t sign = bits >> 16 & 0x8000u;
    bits &= 0x7FFFFFFFu;
    if (bits > 0x7F800000u) return static_cast<uint16_t>(sign | 0x7E00u);
    if (bits >= 0x477FF000u) return static_cast<uint16_t>(sign | 0x7C00u);
    if (bits < 0x38800000u) {
        return static_cast<uint16_t>(sign | static_cast<uint32_t>(std::lrint(std::ldexp(std::fabs(value), 24))));
    }
    bits += 0xFFFu + (bits >> 13 & 1u);
    return static_cast<uint16_t>(sign | (bits - 0x38000000u) >> 13);
}

/* Eight blocks share the whole. */
void add_halves(uint32_t block, uint32_t, const void *args, const Services *)
{
    const AddHalves &a = get<AddHalves>(args);
    constexpr uint32_t blocks = 8;
#ifdef ADD_CUSTOM_TILING
    const uint32_t share = *a.length / blocks;
    if (*a.tiles == 0) return;
#else
    const uint32_t share = 8 * 2048 / blocks;
#endif
    if (block >= blocks) return;
    for (uint32_t i = block * share; i < (block + 1) * share; ++i) a.z[i] = half_of(float_of(a.x[i]) + float_of(a.y[i]));
}

#define PARAM(type, field, kind) \
    {#field, offsetof(type, field), sizeof(type::field), ASCEND_KERNEL_PARAM_##kind, 0}
const ascend_kernel_param_t words[] = {PARAM(Words, x, POINTER)};
const ascend_kernel_param_t word_and_value[] = {PARAM(WordAndValue, x, POINTER), PARAM(WordAndValue, value, INTEGER)};
const ascend_kernel_param_t read_only[] = {PARAM(ReadOnly, x, POINTER)};
const ascend_kernel_param_t floats[] = {PARAM(AddFloats, x, POINTER), PARAM(AddFloats, y, POINTER),
                                        PARAM(AddFloats, out, POINTER), PARAM(AddFloats, count, INTEGER)};
const ascend_kernel_param_t scaled[] = {PARAM(AddScaled, x, POINTER), PARAM(AddScaled, y, POINTER),
                                        PARAM(AddScaled, out, POINTER), PARAM(AddScaled, alpha, FLOAT),
                                        PARAM(AddScaled, count, INTEGER)};
const ascend_kernel_param_t halves[] = {
    PARAM(AddHalves, x, POINTER), PARAM(AddHalves, y, POINTER), PARAM(AddHalves, z, POINTER),
#ifdef ADD_CUSTOM_TILING
    PARAM(AddHalves, length, POINTER), PARAM(AddHalves, tiles, POINTER),
#endif
};

#define KERNEL(name, entry, cost, params, type) \
    {name, entry, cost, params, sizeof params / sizeof params[0], sizeof(type), ASCEND_KERNEL_CORE_VECTOR, 0, 1, 0}
#define PLAIN(name, entry) {name, entry, nullptr, nullptr, 0, 0, ASCEND_KERNEL_CORE_VECTOR, 0, 1, 0}
const ascend_kernel_desc_t kernels[] = {
    KERNEL("EasyOPf", easy, tiny, words, Words),
    KERNEL("ShortOPf", twice, tiny, words, Words),
    KERNEL("LongOPf", take_long, nullptr, words, Words),
    PLAIN("ErrorOPf", trap),
    KERNEL("DeviceWrite", write_value, nullptr, word_and_value, WordAndValue),
    KERNEL("DeviceRead", read_value, nullptr, read_only, ReadOnly),
    PLAIN("KernelPrint", greet),
    KERNEL("AddKernel", add_floats, nullptr, floats, AddFloats),
    KERNEL("VectorAddKernel", add_scaled, nullptr, scaled, AddScaled),
    KERNEL("add_custom", add_halves, nullptr, halves, AddHalves),
};

} // namespace

extern "C" ASCEND_KERNEL_EXPORT const ascend_kernel_table_t ascend_kernel_table = {
    ASCEND_KERNEL_ABI_VERSION, sizeof(ascend_kernel_table_t), sizeof(ascend_kernel_desc_t), ASCEND_KERNEL_TARGET_CPU,
    sizeof kernels / sizeof kernels[0], 0, kernels, "official programs",
};
