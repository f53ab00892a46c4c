/* SPDX-License-Identifier: Apache-2.0
 *
 * The argument blocks that the wrappers fill and the kernels read.
 */
#ifndef OFFICIAL_PROGRAMS_ARGUMENTS_H
#define OFFICIAL_PROGRAMS_ARGUMENTS_H

#include <cstddef>
#include <cstdint>

namespace official_programs {

struct Words { uint32_t *x; };
struct WordAndValue { int *x; int32_t value; };
struct ReadOnly { const int *x; };
struct AddFloats { const float *x; const float *y; float *out; uint32_t count; };
struct AddScaled { const float *x; const float *y; float *out; float alpha; uint32_t count; };
struct AddHalves {
    const uint16_t *x;
    const uint16_t *y;
    uint16_t *z;
#ifdef ADD_CUSTOM_TILING
    const uint32_t *length;
    const uint32_t *tiles;
#endif
};

} // namespace official_programs
#endif
