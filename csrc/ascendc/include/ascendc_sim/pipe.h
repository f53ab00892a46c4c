// SPDX-License-Identifier: Apache-2.0
//
// TPipe and the pools: who gets which bytes of which memory, and event ids.
#ifndef ASCENDC_SIM_PIPE_H
#define ASCENDC_SIM_PIPE_H

#include "queue.h"

namespace AscendC {

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
    template <class Pool> bool InitBufPool(Pool &pool, uint32_t length, Where where = Where::Here())
    {
        sim::Core &core = sim::Core::Current();
        core.Begin("TBufPool::InitBufPool", where);
        length = sim::RoundUp(length, ONE_BLK_SIZE);
        if (core.checks() && next_ + static_cast<uint64_t>(length) > limit_) {
            core.Fail("a pool of %u bytes does not fit behind byte %u of a pool that ends at %u", length, next_, limit_);
        }
        pool.SetRange(next_, next_ + length);
        next_ += length;
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

inline TPipe *GetTPipePtr(Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    if (core.pipe == nullptr) {
        core.Begin("GetTPipePtr", where);
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

#endif // ASCENDC_SIM_PIPE_H
