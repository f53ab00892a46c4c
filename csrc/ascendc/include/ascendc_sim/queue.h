// SPDX-License-Identifier: Apache-2.0
//
// TPipe, TQue, TQueBind, TBuf and TBufPool. A queue hands buffers from a producing to a consuming pipe; what the
// hardware does with event flags is here a pair of clocks per buffer.
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

// A part of one memory that hands out buffers of its own.
template <TPosition position, uint32_t maxBuffers = 4> class TBufPool {
public:
    template <class Queue> bool InitBuffer(Queue &queue, uint8_t count, uint32_t length, Where where = Where::Here())
    {
        sim::Core &core = sim::Core::Current();
        core.Begin("TBufPool::InitBuffer", where);
        length = sim::RoundUp(length, ONE_BLK_SIZE);
        if (limit_ == 0) {
            core.Fail("the pool was not initialised (ErrorBuffer4)");
        }
        if (count == 0 || numBuffers_ + count > 16) {
            core.Fail("%d buffers more than the pool's 16", numBuffers_ + count);
        }
        if (next_ + static_cast<uint64_t>(length) * count > limit_) {
            core.Fail("%u buffers of %u bytes do not fit behind byte %u of a pool that ends at %u", count, length, next_,
                      limit_);
        }
        queue.InitStartBufHandle(buffers_ + numBuffers_, count, length);
        for (int i = 0; i < count; ++i) {
            queue.InitBufHandle(this, i, buffers_ + numBuffers_++, next_, length);
            next_ += length;
        }
        return true;
    }
    template <TPosition p> bool InitBuffer(TBuf<p> &buffer, uint32_t length, Where where = Where::Here())
    {
        return InitBuffer(buffer, 1, length, where);
    }
    template <class Pool> bool InitBufPool(Pool &pool, uint32_t length)
    {
        pool.SetRange(next_, next_ + length);
        next_ += sim::RoundUp(length, ONE_BLK_SIZE);
        return true;
    }
    template <class Pool, class Shared> bool InitBufPool(Pool &pool, uint32_t length, Shared &shared)
    {
        pool.SetRange(shared.start(), shared.start() + length);
        return true;
    }
    void Reset()
    {
        next_ = start_;
        numBuffers_ = 0;
        sim::Core::Current().JoinPipes();
    }
    void SetRange(uint32_t start, uint32_t end)
    {
        start_ = next_ = start;
        limit_ = end;
        numBuffers_ = 0;
    }
    uint32_t start() const { return start_; }

private:
    TBufType buffers_[16];
    int numBuffers_ = 0;
    uint32_t start_ = 0;
    uint32_t next_ = 0;
    uint32_t limit_ = 0;
};

class TPipe {
public:
    TPipe(Where where = Where::Here()) { Init(where); }
    ~TPipe()
    {
        sim::Core *core = sim::Core::CurrentOrNull();
        if (alive_ && core != nullptr && core->pipe == this) {
            core->pipe = nullptr;
            core->JoinPipes();
        }
    }
    // Kernels copy a pipe by value and go on with the copy: the state lives in the core.
    TPipe(const TPipe &) : alive_(false) {}
    TPipe &operator=(const TPipe &) { return *this; }

    void Init(Where where = Where::Here())
    {
        sim::Core &core = sim::Core::Current();
        core.Begin("TPipe", where);
        if (core.checks() && core.pipe != nullptr && core.pipe != this) {
            core.Fail("a second TPipe while another one lives");
        }
        core.pipe = this;
        core.registers() = sim::Core::Registers{};
        ResetPool();
        alive_ = true;
    }
    void Reset()
    {
        sim::Core &core = sim::Core::Current();
        core.JoinPipes();
        ResetPool();
    }
    void Destroy()
    {
        sim::Core &core = sim::Core::Current();
        core.JoinPipes();
        if (core.pipe == this) {
            core.pipe = nullptr;
        }
        ResetPool();
        alive_ = false;
    }

    template <class Queue> bool InitBuffer(Queue &queue, uint8_t count, uint32_t length, Where where = Where::Here())
    {
        sim::Core &core = sim::Core::Current();
        core.Begin("TPipe::InitBuffer", where);
        sim::Core::Allocation &all = core.allocation();
        constexpr TPosition storage = Queue::Storage();
        const sim::Mem which = sim::MemoryKindOf(storage);
        sim::LocalMemory &memory = core.memory(which);
        if (length == 0 || count == 0 || count > sim::Core::Allocation::kMaxBuffers) {
            core.Fail("%u buffers of %u bytes: both must be positive, and at most 64 buffers", count, length);
        }
        if (all.numBuffers + count > sim::Core::Allocation::kMaxBuffers) {
            core.Fail("%d buffers, a TPipe has at most 64", all.numBuffers + count);
        }
        if (length > memory.capacity()) {
            core.Fail("a buffer of %u bytes does not fit into %s, which has %u bytes", length, memory.name(),
                      memory.capacity());
        }
        length = sim::RoundUp(length, ONE_BLK_SIZE);
        uint32_t &used = all.used[static_cast<int>(which)];
        const uint64_t end = used + static_cast<uint64_t>(length) * count;
        if (end > memory.capacity()) {
            core.Fail("%u buffers of %u bytes behind the %u bytes in use do not fit into %s, which has %u bytes", count,
                      length, used, memory.name(), memory.capacity());
        }
        queue.InitStartBufHandle(all.buffers + all.numBuffers, count, length);
        for (int i = 0; i < count; ++i) {
            queue.InitBufHandle(this, i, all.buffers + all.numBuffers++, used, length);
            used += length;
        }
        core.NotePeak(which, used);
        return true;
    }
    template <TPosition position> bool InitBuffer(TBuf<position> &buffer, uint32_t length, Where where = Where::Here())
    {
        return InitBuffer(buffer, 1, length, where);
    }
    // Buffers at addresses of the kernel's choice: pairs of address and length.
    template <class Queue, class U, class V, class... Rest>
    bool InitBuffer(Queue &queue, const std::tuple<U, V> &first, const Rest &...rest)
    {
        sim::Core &core = sim::Core::Current();
        sim::Core::Allocation &all = core.allocation();
        constexpr uint8_t count = 1 + sizeof...(Rest);
        queue.InitStartBufHandle(all.buffers + all.numBuffers, count, std::get<1>(first));
        uint32_t index = 0;
        const auto place = [&](const auto &pair) {
            queue.InitBufHandle(this, index++, all.buffers + all.numBuffers++, static_cast<uint32_t>(std::get<0>(pair)),
                                static_cast<uint32_t>(std::get<1>(pair)));
        };
        place(first);
        (place(rest), ...);
        return true;
    }
    template <class Pool> bool InitBufPool(Pool &pool, uint32_t length, Where where = Where::Here())
    {
        sim::Core &core = sim::Core::Current();
        core.Begin("TPipe::InitBufPool", where);
        uint32_t &used = core.allocation().used[static_cast<int>(sim::Mem::UB)];
        length = sim::RoundUp(length, ONE_BLK_SIZE);
        if (used + static_cast<uint64_t>(length) > core.memory(sim::Mem::UB).capacity()) {
            core.Fail("a pool of %u bytes behind the %u bytes in use does not fit into UB", length, used);
        }
        pool.SetRange(used, used + length);
        used += length;
        core.NotePeak(sim::Mem::UB, used);
        return true;
    }
    template <class Pool, class Shared> bool InitBufPool(Pool &pool, uint32_t length, Shared &shared)
    {
        pool.SetRange(shared.start(), shared.start() + length);
        return true;
    }

    template <HardEvent event> TEventID AllocEventID(Where where = Where::Here())
    {
        sim::Core &core = sim::Core::Current();
        core.Begin("TPipe::AllocEventID", where);
        uint8_t &taken = core.allocation().eventIds[static_cast<int>(event)];
        for (int id = 0; id < 8; ++id) {
            if ((taken >> id & 1) == 0) {
                taken = static_cast<uint8_t>(taken | 1u << id);
                return static_cast<TEventID>(id);
            }
        }
        core.Fail("all 8 ids of HardEvent::%s are taken", sim::NameOf(event));
    }
    template <HardEvent event> void ReleaseEventID(TEventID id)
    {
        uint8_t &taken = sim::Core::Current().allocation().eventIds[static_cast<int>(event)];
        taken = static_cast<uint8_t>(taken & ~(1u << id));
    }
    TEventID FetchEventID(HardEvent event)
    {
        const uint8_t taken = sim::Core::Current().allocation().eventIds[static_cast<int>(event)];
        return static_cast<TEventID>(taken == 0xff ? 7 : __builtin_ctz(~static_cast<unsigned>(taken)));
    }
    template <HardEvent event> TEventID FetchEventID() { return FetchEventID(event); }

    template <TPosition position, class T> LocalTensor<T> GetAbsAddr(int32_t offset, int32_t count) const
    {
        return LocalTensor<T>(position, static_cast<uint32_t>(offset), static_cast<uint32_t>(count));
    }
    // All UB behind the buffers, for library functions that were given none.
    template <class T> bool PopStackBuffer(LocalTensor<T> &tensor)
    {
        sim::Core &core = sim::Core::Current();
        const uint32_t start = core.allocation().used[static_cast<int>(sim::Mem::UB)];
        sim::LocalMemory &ub = core.memory(sim::Mem::UB);
        constexpr uint32_t kMessage = 64;
        if (start + kMessage >= ub.capacity()) {
            return false;
        }
        tensor = LocalTensor<T>::Over(ub.base() + start, ub.capacity() - kMessage - start, TPosition::LCM);
        return true;
    }

private:
    static void ResetPool()
    {
        sim::Core::Allocation &all = sim::Core::Current().allocation();
        all = sim::Core::Allocation{};
    }

    bool alive_ = false;
};

template <class T, TPosition position> inline bool PopStackBuffer(LocalTensor<T> &tensor)
{
    return static_cast<TPipe *>(sim::Core::Current().pipe)->PopStackBuffer(tensor);
}

inline TPipe *GetTPipePtr()
{
    sim::Core &core = sim::Core::Current();
    if (core.pipe == nullptr) {
        core.Begin("GetTPipePtr", Where{});
        core.Fail("no TPipe lives");
    }
    return static_cast<TPipe *>(core.pipe);
}

// A pool class of the kernel's own, over the same range protocol.
#define EXTERN_IMPL_BUFPOOL(cls, position, count)                                                                      \
public:                                                                                                                \
    using TBufPoolImpl = cls;                                                                                          \
    void Init() { numBuffers_ = 0; }                                                                                   \
    void Reset()                                                                                                       \
    {                                                                                                                  \
        AscendC::sim::Core::Current().JoinPipes();                                                                     \
        numBuffers_ = 0;                                                                                               \
        next_ = start_;                                                                                                \
    }                                                                                                                  \
    AscendC::TBufHandle GetBufHandle(uint8_t offset) { return buffers_ + offset; }                                     \
    void SetCurAddr(uint32_t address) { next_ = address; }                                                             \
    uint32_t GetCurAddr() { return next_; }                                                                            \
    void SetCurBufSize(uint8_t size) { numBuffers_ = size; }                                                           \
    uint8_t GetCurBufSize() { return numBuffers_; }                                                                    \
    void SetRange(uint32_t start, uint32_t end)                                                                        \
    {                                                                                                                  \
        next_ = start_ = start;                                                                                        \
        limit_ = end;                                                                                                  \
    }                                                                                                                  \
    uint32_t start() const { return start_; }                                                                          \
                                                                                                                       \
private:                                                                                                               \
    AscendC::TBufType buffers_[count];                                                                                 \
    uint8_t numBuffers_ = 0;                                                                                           \
    uint32_t next_ = 0;                                                                                                \
    uint32_t start_ = 0;                                                                                               \
    uint32_t limit_ = 0;                                                                                               \
                                                                                                                       \
public:

} // namespace AscendC

// Kernels call it without a namespace as well.
using AscendC::GetTPipePtr;

#endif // ASCENDC_SIM_QUEUE_H
