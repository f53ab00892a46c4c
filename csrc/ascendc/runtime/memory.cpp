// SPDX-License-Identifier: Apache-2.0
#include "ascendc_sim/memory.h"

namespace AscendC::sim {

namespace {
// Vector code may load whole lanes that it then ignores.
constexpr uint32_t kSlack = 4096;
} // namespace

const char *NameOf(Pipe pipe)
{
    static const char *const names[kPipes] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"};
    return names[Index(pipe)];
}

LocalMemory::LocalMemory(const char *name, uint32_t capacity, uint32_t alignment)
    : name_(name), capacity_(capacity), alignment_(alignment), storage_(capacity + 2 * kSlack),
      written_(capacity / 64 + 2)
{
    const auto start = reinterpret_cast<uintptr_t>(storage_.data());
    bytes_ = storage_.data() + ((start + kSlack - 1) / kSlack * kSlack - start);
}

void LocalMemory::Reset()
{
    std::memset(bytes_, 0xff, capacity_ + kSlack);
    std::fill(written_.begin(), written_.end(), 0);
    high_water_ = 0;
}

void LocalMemory::ForgetHistory()
{
    for (int i = 0; i < kPipes; ++i) {
        readers_[i].clear();
        writers_[i].clear();
        last_read_[i] = last_write_[i] = 0;
    }
}

void LocalMemory::MarkWritten(uint32_t offset, uint32_t length)
{
    const uint32_t end = offset + length;
    high_water_ = std::max(high_water_, end);
    const uint32_t first = offset / 64;
    const uint32_t last = (end - 1) / 64;
    const uint64_t head = ~0ull << (offset % 64);
    const uint64_t tail = ~0ull >> (63 - (end - 1) % 64);
    if (first == last) {
        written_[first] |= head & tail;
        return;
    }
    written_[first] |= head;
    std::fill(written_.begin() + first + 1, written_.begin() + last, ~0ull);
    written_[last] |= tail;
}

uint32_t LocalMemory::FirstUnwritten(uint32_t offset, uint32_t length) const
{
    const uint32_t end = offset + length;
    const uint32_t first = offset / 64;
    const uint32_t last = (end - 1) / 64;
    for (uint32_t word = first; word <= last; ++word) {
        uint64_t wanted = ~0ull;
        if (word == first) {
            wanted &= ~0ull << (offset % 64);
        }
        if (word == last) {
            wanted &= ~0ull >> (63 - (end - 1) % 64);
        }
        const uint64_t missing = wanted & ~written_[word];
        if (missing != 0) {
            return word * 64 + static_cast<uint32_t>(__builtin_ctzll(missing));
        }
    }
    return kNone;
}

uint32_t LocalMemory::FirstUnwrittenBlock(uint32_t offset, uint32_t length) const
{
    const uint32_t end = offset + length;
    for (uint32_t at = FirstUnwritten(offset, length); at != kNone;) {
        const uint32_t block = at / kBlock;
        if ((written_[block / 2] >> (block % 2 * kBlock) & 0xffffffffu) == 0) {
            return block * kBlock;
        }
        const uint32_t next = (block + 1) * kBlock;
        at = next < end ? FirstUnwritten(next, end - next) : kNone;
    }
    return kNone;
}

Seq LocalMemory::After(const History &history, Seq limit, uint32_t offset, uint32_t length)
{
    const Seq *seq = history.data() + offset / kBlock;
    const uint32_t count = (offset + length + kBlock - 1) / kBlock - offset / kBlock;
    Seq above = 0;
    for (uint32_t i = 0; i < count; ++i) {
        above |= seq[i] > limit ? -1 : 0;
    }
    if (above == 0) {
        return 0;
    }
    return *std::find_if(seq, seq + count, [limit](Seq s) { return s > limit; });
}

} // namespace AscendC::sim
