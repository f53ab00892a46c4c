/* SPDX-License-Identifier: Apache-2.0
 *
 * Random numbers as a stream task. The generator is Philox 4x32-10: the same seed and counter give the same numbers,
 * and the 16-byte counter in device memory moves on by what was used. The vendor does not document its sequence, so
 * only the distributions agree.
 */
#include <cmath>
#include <cstring>

#include "device.h"
#include "halves.h"
#include "memory.h"
#include "stream.h"

namespace acl_cpu {
namespace {

struct Philox {
    uint32_t counter[4];
    uint32_t key[2];

    void block(uint32_t out[4])
    {
        uint32_t x[4] = {counter[0], counter[1], counter[2], counter[3]};
        uint32_t k[2] = {key[0], key[1]};
        for (int round = 0; round < 10; ++round) {
            uint64_t first = uint64_t{0xD2511F53} * x[0];
            uint64_t second = uint64_t{0xCD9E8D57} * x[2];
            uint32_t next[4] = {static_cast<uint32_t>(second >> 32) ^ x[1] ^ k[0], static_cast<uint32_t>(second),
                                static_cast<uint32_t>(first >> 32) ^ x[3] ^ k[1], static_cast<uint32_t>(first)};
            memcpy(x, next, sizeof x);
            k[0] += 0x9E3779B9;
            k[1] += 0xBB67AE85;
        }
        memcpy(out, x, sizeof x);
        for (int i = 0; i < 4 && ++counter[i] == 0; ++i) {
        }
    }
};

/* Takes numbers from blocks one after the other. */
class Source {
public:
    Source(uint64_t seed, const void *counter)
    {
        memcpy(philox_.counter, counter, sizeof philox_.counter);
        philox_.key[0] = static_cast<uint32_t>(seed);
        philox_.key[1] = static_cast<uint32_t>(seed >> 32);
    }
    uint32_t next32()
    {
        if (left_ == 0) {
            philox_.block(block_);
            left_ = 4;
        }
        return block_[4 - left_--];
    }
    uint64_t next64()
    {
        uint64_t low = next32();
        return low | static_cast<uint64_t>(next32()) << 32;
    }
    /* [0, 1) */
    double unit() { return static_cast<double>(next64() >> 11) * 0x1p-53; }
    double normal()
    {
        if (has_spare_) {
            has_spare_ = false;
            return spare_;
        }
        double radius = std::sqrt(-2 * std::log(1 - unit()));
        double angle = 6.283185307179586 * unit();
        spare_ = radius * std::sin(angle);
        has_spare_ = true;
        return radius * std::cos(angle);
    }
    void store_counter(void *counter) const { memcpy(counter, philox_.counter, sizeof philox_.counter); }

private:
    Philox philox_ = {};
    uint32_t block_[4] = {};
    int left_ = 0;
    bool has_spare_ = false;
    double spare_ = 0;
};

const void *bytes_of(const aclrtRandomParaInfo &parameter)
{
    if (parameter.isAddr == 0) return parameter.valueOrAddr;
    const void *address;
    memcpy(&address, parameter.valueOrAddr, sizeof address);
    return address;
}

uint64_t integer_of(const aclrtRandomParaInfo &parameter)
{
    uint64_t value = 0;
    memcpy(&value, bytes_of(parameter), parameter.size < sizeof value ? parameter.size : sizeof value);
    return value;
}

/* A parameter in the data type of the result. */
double number_of(const aclrtRandomParaInfo &parameter, aclDataType type)
{
    const void *bytes = bytes_of(parameter);
    auto read = [bytes](auto value) {
        memcpy(&value, bytes, sizeof value);
        return value;
    };
    switch (type) {
    case ACL_FLOAT16: return float_of_half(read(uint16_t{}));
    case ACL_BF16: return float_of_bfloat(read(uint16_t{}));
    default: return read(float{});
    }
}

void put(void *result, uint64_t index, aclDataType type, double value)
{
    switch (type) {
    case ACL_FLOAT16: static_cast<uint16_t *>(result)[index] = half_of_float(static_cast<float>(value)); break;
    case ACL_BF16: static_cast<uint16_t *>(result)[index] = bfloat_of_float(static_cast<float>(value)); break;
    default: static_cast<float *>(result)[index] = static_cast<float>(value); break;
    }
}

bool is_float(aclDataType type) { return type == ACL_FLOAT || type == ACL_FLOAT16 || type == ACL_BF16; }

__extension__ typedef unsigned __int128 wide;

/* Integers in [min, max), as random as 64 bits allow. */
template <class T> void fill_integers(Source &source, const aclrtUniformDisInfo &range, void *result, uint64_t count)
{
    T low;
    T high;
    memcpy(&low, bytes_of(range.min), sizeof low);
    memcpy(&high, bytes_of(range.max), sizeof high);
    uint64_t width = high > low ? static_cast<uint64_t>(high) - static_cast<uint64_t>(low) : 1;
    for (uint64_t i = 0; i < count; ++i) {
        uint64_t offset = static_cast<uint64_t>(wide{source.next64()} * width >> 64);
        static_cast<T *>(result)[i] = static_cast<T>(static_cast<uint64_t>(low) + offset);
    }
}

struct RandomTask final : Task {
    explicit RandomTask(const aclrtRandomNumTaskInfo &wanted) : info(wanted) {}
    RandomTask(RandomTask &&other) noexcept : Task(std::move(other)), info(other.info) {}

    const char *name() const override { return "random numbers"; }

    Step start(Stream &) override
    {
        aclrtRandomNumFuncParaInfo function = info.randomNumFuncParaInfo;
        if (info.randomParaAddr != nullptr) {
            /* parameters in device memory, in place of those in the description */
            memcpy(&function.paramInfo, info.randomParaAddr, sizeof function.paramInfo);
        }
        uint64_t count = integer_of(info.randomNum);
        Source source(integer_of(info.randomSeed), info.randomCounterAddr);
        switch (function.funcType) {
        case ACL_RT_RANDOM_NUM_FUNC_TYPE_DROPOUT_BITMASK: {
            double ratio = number_of(function.paramInfo.dropoutBitmaskInfo.dropoutRation, info.dataType);
            dropout(source, ratio, count);
            break;
        }
        case ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS: uniform(source, function.paramInfo.uniformDisInfo, count); break;
        default:
            normal(source, function.paramInfo.normalDisInfo, count,
                   function.funcType == ACL_RT_RANDOM_NUM_FUNC_TYPE_TRUNCATED_NORMAL_DIS);
        }
        source.store_counter(info.randomCounterAddr);
        return Step::Done;
    }

    /* One bit per number, 1: keep. */
    void dropout(Source &source, double ratio, uint64_t count)
    {
        uint8_t *bits = static_cast<uint8_t *>(info.randomResultAddr);
        for (uint64_t i = 0; i < count; i += 8) {
            uint8_t byte = 0;
            for (uint64_t bit = 0; bit < 8 && i + bit < count; ++bit) {
                if (source.unit() >= ratio) byte = static_cast<uint8_t>(byte | 1u << bit);
            }
            bits[i / 8] = byte;
        }
    }

    void uniform(Source &source, const aclrtUniformDisInfo &range, uint64_t count)
    {
        void *result = info.randomResultAddr;
        switch (info.dataType) {
        case ACL_INT32: fill_integers<int32_t>(source, range, result, count); return;
        case ACL_INT64: fill_integers<int64_t>(source, range, result, count); return;
        case ACL_UINT32: fill_integers<uint32_t>(source, range, result, count); return;
        case ACL_UINT64: fill_integers<uint64_t>(source, range, result, count); return;
        default: break;
        }
        double low = number_of(range.min, info.dataType);
        double high = number_of(range.max, info.dataType);
        for (uint64_t i = 0; i < count; ++i) put(result, i, info.dataType, low + (high - low) * source.unit());
    }

    void normal(Source &source, const aclrtNormalDisInfo &shape, uint64_t count, bool truncated)
    {
        double mean = number_of(shape.mean, info.dataType);
        double deviation = number_of(shape.stddev, info.dataType);
        for (uint64_t i = 0; i < count; ++i) {
            double value = source.normal();
            while (truncated && std::fabs(value) > 2) value = source.normal();
            put(info.randomResultAddr, i, info.dataType, mean + deviation * value);
        }
    }

    const aclrtRandomNumTaskInfo info;
};

aclError check_info(const aclrtRandomNumTaskInfo &info)
{
    REQUIRE(info.randomResultAddr != nullptr, "task_info->randomResultAddr is NULL");
    REQUIRE(info.randomCounterAddr != nullptr, "task_info->randomCounterAddr is NULL");
    bool integers = info.dataType == ACL_INT32 || info.dataType == ACL_INT64 || info.dataType == ACL_UINT32 ||
                    info.dataType == ACL_UINT64;
    int function = info.randomNumFuncParaInfo.funcType;
    if (function < ACL_RT_RANDOM_NUM_FUNC_TYPE_DROPOUT_BITMASK || function > ACL_RT_RANDOM_NUM_FUNC_TYPE_TRUNCATED_NORMAL_DIS) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "task_info names function %d, not one of aclrtRandomNumFuncType", function);
    }
    bool fits = is_float(info.dataType) || (integers && function == ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS);
    if (!fits) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "function %d does not make numbers of data type %d", function,
                    static_cast<int>(info.dataType));
    }
    Allocation found;
    RETURN_IF_ERROR(check_range(info.randomCounterAddr, 16, "task_info->randomCounterAddr", &found));
    if (info.randomNum.isAddr == 0) {
        uint64_t count = integer_of(info.randomNum);
        uint64_t bytes = function == ACL_RT_RANDOM_NUM_FUNC_TYPE_DROPOUT_BITMASK ? (count + 7) / 8
                                                                                 : count * aclDataTypeSize(info.dataType);
        RETURN_IF_ERROR(check_range(info.randomResultAddr, bytes, "task_info->randomResultAddr", &found));
    }
    return ACL_SUCCESS;
}

} // namespace
} // namespace acl_cpu

using namespace acl_cpu;

aclError aclrtRandomNumAsync(const aclrtRandomNumTaskInfo *task_info, aclrtStream stream, void *reserve)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(task_info);
    REQUIRE(reserve == nullptr, "reserve is %p, it must be NULL", reserve);
    RETURN_IF_ERROR(check_info(*task_info));
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    return submit(*target, RandomTask(*task_info));
}
