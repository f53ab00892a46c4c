// SPDX-License-Identifier: Apache-2.0
//
// TQue, TQueBind and TBuf. A queue hands buffers from a producing to a consuming pipe; what the hardware does with event
// flags is here a pair of clocks per buffer.
#ifndef ASCENDC_SIM_QUEUE_H
#define ASCENDC_SIM_QUEUE_H

#include "tensor.h"

namespace AscendC {

namespace sim {

struct PipePair {
    Pipe producer;
    Pipe consumer;
};

// Which pipes a queue between two positions connects, on 2201.
constexpr PipePair PipesOf(TPosition src, TPosition dst)
{
    switch (src) {
    case TPosition::GM:
        return {Pipe::MTE2, dst == TPosition::A1 || dst == TPosition::B1 || dst == TPosition::C1 ? Pipe::MTE1 : Pipe::V};
    case TPosition::VECIN:
        return {Pipe::MTE2, dst == TPosition::VECOUT ? Pipe::MTE3 : Pipe::V};
    case TPosition::VECOUT:
        return dst == TPosition::A1 || dst == TPosition::B1 || dst == TPosition::TSCM ? PipePair{Pipe::MTE3, Pipe::MTE1}
                                                                                     : PipePair{Pipe::V, Pipe::MTE3};
    case TPosition::VECCALC:
        return {Pipe::V, dst == TPosition::GM ? Pipe::MTE3 : Pipe::V};
    case TPosition::A1:
    case TPosition::B1:
    case TPosition::C1:
    case TPosition::TSCM:
        return dst == TPosition::GM ? PipePair{Pipe::MTE2, Pipe::MTE3} : PipePair{Pipe::MTE2, Pipe::MTE1};
    case TPosition::A2:
    case TPosition::B2:
    case TPosition::C2:
        return {Pipe::MTE1, Pipe::M};
    case TPosition::C2PIPE2GM:
        return {Pipe::MTE1, Pipe::FIX};
    case TPosition::CO1:
        return {Pipe::M, Pipe::FIX};
    default:
        return {Pipe::V, Pipe::V};
    }
}

// EnQue<src, dst>: the instruction that filled the buffer moved data from src to dst.
constexpr PipePair UserPipes(TPosition src, TPosition dst)
{
    const auto filler = [](TPosition from, TPosition to) {
        return from == TPosition::GM ? Pipe::MTE2 : to == TPosition::GM ? Pipe::MTE3 : Pipe::V;
    };
    // VECIN is read by V, VECOUT by MTE3, VECCALC by V.
    const Pipe producer = filler(src, dst);
    const Pipe consumer = dst == TPosition::GM ? Pipe::MTE2 : dst == TPosition::VECOUT ? Pipe::MTE3 : Pipe::V;
    return {producer, consumer};
}

constexpr uint32_t RoundUp(uint32_t value, uint32_t unit)
{
    return (value + unit - 1) / unit * unit;
}

} // namespace sim

// Buffers that travel from `src` to `dst`.
template <TPosition src, TPosition dst, int depth, auto mask = 0> class TQueBind {
public:
    static constexpr TPosition kSource = src;
    static constexpr TPosition kTarget = dst;
    static constexpr bool isTQue = true;

    template <class T> LocalTensor<T> AllocTensor(Where where = Where::Here())
    {
        return Tensor<T>(Take(where));
    }
    template <class T> void AllocTensor(LocalTensor<T> &tensor, Where where = Where::Here())
    {
        tensor = AllocTensor<T>(where);
    }
    template <class T> void FreeTensor(const LocalTensor<T> &tensor, Where where = Where::Here())
    {
        FreeBuffer(Own("TQue::FreeTensor", tensor.buffer(), where), where);
    }
    template <class T> bool EnQue(const LocalTensor<T> &tensor, Where where = Where::Here())
    {
        return Put(Own("TQue::EnQue", tensor.buffer(), where), sim::PipesOf(src, dst), TPosition::MAX, TPosition::MAX);
    }
    bool EnQue(TBufHandle buffer, Where where = Where::Here())
    {
        return Put(Own("TQue::EnQue", buffer, where), sim::PipesOf(src, dst), TPosition::MAX, TPosition::MAX);
    }
    template <TPosition srcUser, TPosition dstUser, class T>
    bool EnQue(const LocalTensor<T> &tensor, Where where = Where::Here())
    {
        static_assert(srcUser != TPosition::GM || dstUser != TPosition::GM, "EnQue<src, dst>: not both GM");
        return Put(Own("TQue::EnQue", tensor.buffer(), where), sim::UserPipes(srcUser, dstUser), srcUser, dstUser);
    }
    template <class T> LocalTensor<T> DeQue(Where where = Where::Here())
    {
        return Tensor<T>(Fetch(sim::PipesOf(src, dst), TPosition::MAX, TPosition::MAX, where));
    }
    template <class T> void DeQue(LocalTensor<T> &tensor, Where where = Where::Here()) { tensor = DeQue<T>(where); }
    TBufHandle DeQue(Where where = Where::Here())
    {
        return Fetch(sim::PipesOf(src, dst), TPosition::MAX, TPosition::MAX, where);
    }
    template <TPosition srcUser, TPosition dstUser, class T> LocalTensor<T> DeQue(Where where = Where::Here())
    {
        return Tensor<T>(Fetch(sim::UserPipes(srcUser, dstUser), srcUser, dstUser, where));
    }

    TBufHandle AllocBuffer(Where where = Where::Here()) { return Take(where); }
    void FreeBuffer(TBufHandle buffer, Where where = Where::Here())
    {
        sim::Core &core = sim::Core::Current();
        core.Begin("TQue::FreeTensor", where);
        if (core.checks() && buffer->state == TBufState::FREE) {
            core.Fail("the tensor is free already (ErrorFree)");
        }
        if (buffer->state == TBufState::ENQUE) {
            Unlink(buffer);
        }
        buffer->state = TBufState::FREE;
        buffer->emptied = core.Snapshot(sim::PipesOf(src, dst).consumer);
        buffer->emptied.Join(core.Snapshot(sim::PipesOf(src, dst).producer));
    }

    bool VacantInQue() const { return queued_ < Depth(); }
    bool HasTensorInQue() const { return queued_ != 0; }
    int32_t GetTensorCountInQue() const { return queued_; }
    bool HasIdleBuffer() const
    {
        return std::any_of(first_, first_ + count_, [](const TBufType &b) { return b.state == TBufState::FREE; });
    }
    void FreeAllEvent() {}
    template <class T> TBufState GetState(const LocalTensor<T> &tensor) const
    {
        return tensor.buffer() != nullptr ? tensor.buffer()->state : TBufState::FREE;
    }

    // --- for TPipe and the pools
    void InitStartBufHandle(TBufHandle first, uint8_t count, uint32_t)
    {
        first_ = first;
        count_ = count;
        cursor_ = 0;
        queued_ = 0;
    }
    template <class Pool>
    void InitBufHandle(Pool *, uint32_t, TBufHandle buffer, uint32_t address, uint32_t length)
    {
        sim::Core &core = sim::Core::Current();
        *buffer = TBufType{};
        buffer->address = core.MemoryOf(Storage()).base() + address;
        buffer->length = length;
    }
    void SetTBufPoolHandle(uint64_t) {}
    static constexpr TPosition Storage() { return src == TPosition::GM ? dst : src; }

private:
    static constexpr int kMaxQueued = 64;
    static constexpr int32_t Depth() { return depth == 0 ? 1 : depth; }

    template <class T> static LocalTensor<T> Tensor(TBufHandle buffer)
    {
        return LocalTensor<T>::Over(buffer->address, buffer->length, src == TPosition::GM ? dst : src, buffer);
    }

    TBufHandle Take(Where where)
    {
        sim::Core &core = sim::Core::Current();
        core.Begin("TQue::AllocTensor", where);
        if (first_ == nullptr) {
            core.Fail("the queue has no buffers: TPipe::InitBuffer was not called (ErrorBuffer0)");
        }
        for (int i = 0; i < count_; ++i) {
            TBufType &buffer = first_[(cursor_ + i) % count_];
            if (buffer.state == TBufState::FREE) {
                cursor_ = (cursor_ + i + 1) % count_;
                buffer.state = TBufState::OCCUPIED;
                core.Join(sim::PipesOf(src, dst).producer, buffer.emptied);
                return &buffer;
            }
        }
        core.Fail("all %d buffers of the queue are in use and nobody will free one: deadlock", count_);
    }

    TBufHandle Own(const char *api, TBufHandle buffer, Where where) const
    {
        sim::Core &core = sim::Core::Current();
        core.Begin(api, where);
        if (first_ == nullptr) {
            core.Fail("the queue has no buffers: TPipe::InitBuffer was not called (ErrorBuffer0)");
        }
        if (buffer < first_ || buffer >= first_ + count_) {
            core.Fail("the tensor does not belong to this queue (ErrorBuffer3)");
        }
        return buffer;
    }

    bool Put(TBufHandle buffer, sim::PipePair pipes, TPosition srcUser, TPosition dstUser)
    {
        sim::Core &core = sim::Core::Current();
        if (core.checks()) {
            if (buffer->state != TBufState::OCCUPIED && buffer->state != TBufState::DEQUE) {
                core.Fail("the tensor is %s; EnQue wants one from AllocTensor or DeQue",
                          buffer->state == TBufState::FREE ? "free" : "in the queue already");
            }
            if (queued_ >= Depth()) {
                core.Fail("%d tensors are in the queue, its depth is %d", queued_, depth);
            }
        }
        buffer->state = TBufState::ENQUE;
        buffer->filled = core.Snapshot(pipes.producer);
        buffer->srcUser = srcUser;
        buffer->dstUser = dstUser;
        line_[queued_++] = buffer;
        return true;
    }

    TBufHandle Fetch(sim::PipePair pipes, TPosition srcUser, TPosition dstUser, Where where)
    {
        sim::Core &core = sim::Core::Current();
        core.Begin("TQue::DeQue", where);
        if (queued_ == 0) {
            core.Fail("the queue is empty: DeQue without EnQue would wait for ever");
        }
        TBufHandle buffer = line_[0];
        if (core.checks() && (buffer->srcUser != srcUser || buffer->dstUser != dstUser)) {
            core.Fail("DeQue<src, dst> names other positions than the EnQue of this tensor");
        }
        Unlink(buffer);
        buffer->state = TBufState::DEQUE;
        core.Join(pipes.consumer, buffer->filled);
        return buffer;
    }

    void Unlink(TBufHandle buffer)
    {
        TBufHandle *end = line_ + queued_;
        queued_ = static_cast<int32_t>(std::remove(line_, end, buffer) - line_);
    }

    TBufHandle first_ = nullptr;
    int count_ = 0;
    int cursor_ = 0;
    int32_t queued_ = 0;
    TBufHandle line_[kMaxQueued] = {};
};

namespace sim {
// The other end of a plain queue.
constexpr TPosition FarEnd(TPosition position)
{
    switch (position) {
    case TPosition::VECIN:
        return TPosition::VECCALC;
    case TPosition::A1:
        return TPosition::A2;
    case TPosition::B1:
        return TPosition::B2;
    case TPosition::C1:
        return TPosition::C2;
    case TPosition::VECCALC:
        return TPosition::VECCALC;
    default:
        return TPosition::GM;
    }
}
} // namespace sim

template <TPosition position, int depth, auto mask = 0>
class TQue : public TQueBind<position, sim::FarEnd(position), depth, mask> {};

// A buffer without a queue.
template <TPosition position = TPosition::VECCALC> class TBuf {
public:
    static constexpr TPosition kPosition = position;

    template <class T> LocalTensor<T> Get(Where where = Where::Here())
    {
        Ready(where);
        return LocalTensor<T>::Over(buffer_->address, buffer_->length, position, buffer_);
    }
    template <class T> LocalTensor<T> Get(uint32_t count, Where where = Where::Here())
    {
        return GetWithOffset<T>(count, 0, where);
    }
    template <class T> LocalTensor<T> GetWithOffset(uint32_t count, uint32_t offset, Where where = Where::Here())
    {
        sim::Core &core = Ready(where);
        const uint64_t bytes = static_cast<uint64_t>(count) * sizeof(T);
        if (core.checks()) {
            if (count == 0 || bytes % ONE_BLK_SIZE != 0) {
                core.Fail("%u elements of %zu bytes are no positive multiple of 32 bytes", count, sizeof(T));
            }
            if (offset + bytes > buffer_->length) {
                core.Fail("%llu bytes at %u do not fit into the buffer of %u bytes", static_cast<unsigned long long>(bytes),
                          offset, buffer_->length);
            }
        }
        return LocalTensor<T>::Over(buffer_->address + offset, static_cast<uint32_t>(bytes), position, buffer_);
    }
    template <class T> void EnQue(const LocalTensor<T> &) {}
    template <class T> LocalTensor<T> DeQue() { return Get<T>(); }
    template <class T> LocalTensor<T> AllocTensor() { return Get<T>(); }
    template <class T> void FreeTensor(const LocalTensor<T> &) {}
    uint32_t GetBufLen() const { return buffer_ != nullptr ? buffer_->length : 0; }

    void InitStartBufHandle(TBufHandle first, uint8_t, uint32_t) { buffer_ = first; }
    template <class Pool> void InitBufHandle(Pool *, uint32_t, TBufHandle buffer, uint32_t address, uint32_t length)
    {
        *buffer = TBufType{};
        buffer->address = sim::Core::Current().MemoryOf(position).base() + address;
        buffer->length = length;
    }
    static constexpr TPosition Storage() { return position; }

private:
    sim::Core &Ready(Where where) const
    {
        sim::Core &core = sim::Core::Current();
        core.Begin("TBuf::Get", where);
        if (buffer_ == nullptr) {
            core.Fail("the buffer was not initialised: TPipe::InitBuffer was not called (ErrorBuffer0)");
        }
        return core;
    }

    TBufHandle buffer_ = nullptr;
};

template <TPosition position, int depth = 1, auto mask = 0>
class TSCM : public TQueBind<position, TPosition::TSCM, depth, mask> {};

} // namespace AscendC

#endif // ASCENDC_SIM_QUEUE_H
