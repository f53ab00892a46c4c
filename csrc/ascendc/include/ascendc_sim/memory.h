// SPDX-License-Identifier: Apache-2.0
//
// One on-chip memory of a core, and what the checker remembers about its bytes: which were ever written, and which
// instruction of which pipe touched each 32-byte block last.
#ifndef ASCENDC_SIM_MEMORY_H
#define ASCENDC_SIM_MEMORY_H

#include "types.h"

namespace AscendC::sim {

enum class Pipe : uint8_t { S, V, M, MTE1, MTE2, MTE3, FIX };
constexpr int kPipes = 7;
constexpr int Index(Pipe pipe)
{
    return static_cast<int>(pipe);
}
const char *NameOf(Pipe pipe);

// Number of an instruction within its pipe, from 1. Signed, because SSE2 compares only signed integers.
using Seq = int32_t;

// What a pipe knows to be finished: for every pipe the number of its last instruction that is certainly done.
struct Clock {
    Seq known[kPipes] = {};

    void Join(const Clock &other)
    {
        for (int i = 0; i < kPipes; ++i) {
            known[i] = std::max(known[i], other.known[i]);
        }
    }
};

enum class Mem : uint8_t { UB, L1, L0A, L0B, L0C, BT, FB };
constexpr int kMemories = 7;

class LocalMemory {
public:
    static constexpr uint32_t kBlock = 32;
    static constexpr uint32_t kNone = 0xffffffffu;

    LocalMemory(const char *name, uint32_t capacity, uint32_t alignment);

    const char *name() const { return name_; }
    uint32_t capacity() const { return capacity_; }
    uint32_t alignment() const { return alignment_; }
    uint8_t *base() { return bytes_; }
    bool Contains(const void *address) const
    {
        const auto *p = static_cast<const uint8_t *>(address);
        return p >= bytes_ && p <= bytes_ + capacity_;
    }
    uint32_t OffsetOf(const void *address) const
    {
        return static_cast<uint32_t>(static_cast<const uint8_t *>(address) - bytes_);
    }

    // A new block starts on this core: nothing is written yet. The bytes become NaN in every floating point type.
    void Reset();
    // Numbering starts anew.
    void ForgetHistory();

    void MarkWritten(uint32_t offset, uint32_t length);
    // The first byte of the range that nobody ever wrote, or kNone.
    uint32_t FirstUnwritten(uint32_t offset, uint32_t length) const;
    // The first block of 32 bytes in the range of which no byte was ever written, or kNone.
    uint32_t FirstUnwrittenBlock(uint32_t offset, uint32_t length) const;

    void RecordRead(Pipe pipe, Seq seq, uint32_t offset, uint32_t length)
    {
        Record(readers_[Index(pipe)], last_read_[Index(pipe)], seq, offset, length);
    }
    void RecordWrite(Pipe pipe, Seq seq, uint32_t offset, uint32_t length)
    {
        Record(writers_[Index(pipe)], last_write_[Index(pipe)], seq, offset, length);
    }
    // A number above `limit` that `pipe` left as writer (reader) in the range, or 0.
    Seq WriterAfter(Pipe pipe, Seq limit, uint32_t offset, uint32_t length) const
    {
        return last_write_[Index(pipe)] <= limit ? 0 : After(writers_[Index(pipe)], limit, offset, length);
    }
    Seq ReaderAfter(Pipe pipe, Seq limit, uint32_t offset, uint32_t length) const
    {
        return last_read_[Index(pipe)] <= limit ? 0 : After(readers_[Index(pipe)], limit, offset, length);
    }
    // The same for numbers below `below`: what the instruction of that number itself did does not count.
    Seq WriterBetween(Pipe pipe, Seq limit, Seq below, uint32_t offset, uint32_t length) const
    {
        const History &history = writers_[Index(pipe)];
        if (history.empty() || last_write_[Index(pipe)] <= limit) {
            return 0;
        }
        const auto first = history.begin() + offset / kBlock;
        const auto end = history.begin() + (offset + length + kBlock - 1) / kBlock;
        const auto found = std::find_if(first, end, [=](Seq seq) { return seq > limit && seq < below; });
        return found != end ? *found : 0;
    }
    uint32_t high_water() const { return high_water_; }

private:
    using History = std::vector<Seq>; // one number a block; empty until the pipe touches this memory

    void Record(History &history, Seq &last, Seq seq, uint32_t offset, uint32_t length)
    {
        if (history.empty()) {
            history.resize(capacity_ / kBlock + 1);
        }
        last = seq;
        const uint32_t first = offset / kBlock;
        const uint32_t end = (offset + length + kBlock - 1) / kBlock;
        std::fill(history.begin() + first, history.begin() + end, seq);
    }
    static Seq After(const History &history, Seq limit, uint32_t offset, uint32_t length);

    const char *name_;
    uint32_t capacity_;
    uint32_t alignment_;
    std::vector<uint8_t> storage_;
    uint8_t *bytes_;
    std::vector<uint64_t> written_; // one bit a byte
    History readers_[kPipes];
    History writers_[kPipes];
    Seq last_read_[kPipes] = {};
    Seq last_write_[kPipes] = {};
    uint32_t high_water_ = 0;
};

} // namespace AscendC::sim

#endif // ASCENDC_SIM_MEMORY_H
