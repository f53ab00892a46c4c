/* SPDX-License-Identifier: Apache-2.0
 *
 * Data buffers and data types.
 */
#include <cmath>
#include <cstring>

#include "entry.h"
#include "leaks.h"

using namespace acl_cpu;

struct aclDataBuffer {
    void *data;
    size_t size;
};

aclDataBuffer *aclCreateDataBuffer(void *data, size_t size)
{
    t_state.api = __func__;
    aclDataBuffer *buffer = new aclDataBuffer{data, size};
    track(buffer, "data buffer", __builtin_return_address(0));
    return buffer;
}

aclError aclDestroyDataBuffer(const aclDataBuffer *data_buffer)
{
    t_state.api = __func__;
    REQUIRE_NOT_NULL(data_buffer);
    untrack(data_buffer);
    delete data_buffer;
    return ACL_SUCCESS;
}

aclError aclUpdateDataBuffer(aclDataBuffer *data_buffer, void *data, size_t size)
{
    t_state.api = __func__;
    REQUIRE_NOT_NULL(data_buffer);
    data_buffer->data = data;
    data_buffer->size = size;
    return ACL_SUCCESS;
}

void *aclGetDataBufferAddr(const aclDataBuffer *data_buffer) { return data_buffer != nullptr ? data_buffer->data : nullptr; }

uint32_t aclGetDataBufferSize(const aclDataBuffer *data_buffer)
{
    return data_buffer != nullptr ? static_cast<uint32_t>(data_buffer->size) : 0;
}

size_t aclGetDataBufferSizeV2(const aclDataBuffer *data_buffer) { return data_buffer != nullptr ? data_buffer->size : 0; }

size_t aclDataTypeSize(aclDataType data_type)
{
    switch (data_type) {
    case ACL_STRING:
    case ACL_DT_UNDEFINED: return 0;
    case ACL_BOOL:
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_UINT1:
    case ACL_INT4:
    case ACL_HIFLOAT8:
    case ACL_FLOAT8_E5M2:
    case ACL_FLOAT8_E4M3FN:
    case ACL_FLOAT8_E8M0: return 1;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16: return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
    case ACL_COMPLEX32: return 4;
    case ACL_COMPLEX128: return 16;
    default: return 8; /* also unknown codes, as with the vendor */
    }
}

/* The vendor's conversions know no infinity and no NaN: exponent 31 counts on, and too large values become the largest
 * finite one. */
float aclFloat16ToFloat(aclFloat16 value)
{
    int exponent = value >> 10 & 0x1F;
    int mantissa = value & 0x3FF;
    float size = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                               : std::ldexp(static_cast<float>(mantissa | 0x400), exponent - 25);
    return (value & 0x8000) != 0 ? -size : size;
}

aclFloat16 aclFloatToFloat16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000;
    if (std::isnan(value)) return static_cast<aclFloat16>(sign | 0x7BFF);
    double size = std::fabs(static_cast<double>(value));
    if (size >= 65520.0) return static_cast<aclFloat16>(sign | 0x7BFF);
    if (size < 0x1p-14) {
        /* steps of 2^-24; rounding up into the normal range gives the right bits by itself */
        return static_cast<aclFloat16>(sign | static_cast<uint32_t>(std::nearbyint(std::ldexp(size, 24))));
    }
    int exponent = std::ilogb(size);
    uint32_t mantissa = static_cast<uint32_t>(std::nearbyint(std::ldexp(size, 10 - exponent))); /* 1024 to 2048 */
    return static_cast<aclFloat16>(sign | ((static_cast<uint32_t>(exponent + 15) << 10) + (mantissa - 1024)));
}
