// SPDX-License-Identifier: Apache-2.0
//
// Order inside a core (flags, barriers) and between cores, and what a core knows about itself.
#ifndef ASCENDC_SIM_SYNC_H
#define ASCENDC_SIM_SYNC_H

#include "launch.h"
#include "pipe.h"

namespace AscendC {

// --- inside a core

template <HardEvent event> inline void SetFlag(int32_t id, Where where = Where::Here())
{
    sim::Core::Current().SetFlag(event, id, where);
}
template <HardEvent event> inline void WaitFlag(int32_t id, Where where = Where::Here())
{
    sim::Core::Current().WaitFlag(event, id, where);
}
template <pipe_t pipe> inline void PipeBarrier(Where where = Where::Here())
{
    sim::Core::Current().Barrier(pipe, where);
}
template <MemDsbT kind> inline void DataSyncBarrier()
{
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

// --- who am I

inline int64_t GetBlockNum()
{
    return sim::Core::Current().launch().blocks();
}
inline int64_t GetSubBlockIdx()
{
    sim::Core &core = sim::Core::Current();
    return core.launch().SubOf(core.instance);
}
inline int64_t GetTaskRatio()
{
    sim::Core &core = sim::Core::Current();
    const sim::KernelInfo &info = core.launch().info();
    return core.kind() == sim::CoreKind::kVector && info.cubes != 0 ? info.vectors : 1;
}
inline int64_t GetSubBlockNum()
{
    return GetTaskRatio();
}
inline int64_t GetBlockIdx()
{
    sim::Core &core = sim::Core::Current();
    return static_cast<int64_t>(core.block()) * GetTaskRatio() + GetSubBlockIdx();
}

namespace sim {

inline bool OnVectorCore()
{
    return Core::Current().kind() == CoreKind::kVector;
}

// `block_idx` and `block_num` are words of the kernel language, not functions.
struct BlockIndexWord {
    operator int64_t() const { return Core::Current().block(); }
};
struct BlockCountWord {
    operator int64_t() const { return GetBlockNum(); }
};
struct CoreTypeWord {
    operator int32_t() const { return OnVectorCore() ? AIV : AIC; }
};

} // namespace sim

inline int64_t GetSystemCycle()
{
    // Counts at 50 MHz; advances with the modelled time of the busiest pipe at 1.85 GHz.
    sim::Core &core = sim::Core::Current();
    const auto &cycles = core.counters().cycles;
    return static_cast<int64_t>(static_cast<double>(*std::max_element(std::begin(cycles), std::end(cycles))) * 50 / 1850);
}
inline int64_t GetProgramCounter()
{
    return 0;
}
inline constexpr int16_t GetDataBlockSizeInBytes()
{
    return 32;
}
inline constexpr uint32_t GetUBSizeInBytes()
{
    return TOTAL_UB_SIZE;
}
inline constexpr uint32_t GetVecLen()
{
    return 256;
}
inline uint32_t GetRuntimeUBSize()
{
    return TOTAL_UB_SIZE - 256;
}
inline void GetArchVersion(uint32_t &version)
{
    version = 2201;
}
inline void Trap(Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("Trap", where);
    core.Fail("the kernel stopped itself");
}

inline void InitSocState()
{
    sim::Core &core = sim::Core::Current();
    core.registers() = sim::Core::Registers{};
}

inline __gm__ uint8_t *GetSysWorkSpacePtr()
{
    return sim::Core::Current().workspace;
}
inline void SetSysWorkspace(__gm__ uint8_t *workspace)
{
    sim::Core::Current().workspace = workspace;
}
inline void SetSysWorkSpacePtr(__gm__ uint8_t *workspace)
{
    SetSysWorkspace(workspace);
}
constexpr uint64_t RESERVED_WORKSPACE = 16ull * 1024 * 1024;
inline __gm__ uint8_t *GetUserWorkspace(__gm__ uint8_t *workspace)
{
    return workspace != nullptr ? workspace + RESERVED_WORKSPACE : nullptr;
}

// --- between cores

namespace sim {

enum Protocol : uint64_t { kIbProtocol = 1ull << 56, kTokenProtocol = 2ull << 56, kGroupProtocol = 3ull << 56 };

inline uint64_t KeyOf(Protocol protocol, const void *workspace)
{
    return protocol | (reinterpret_cast<uintptr_t>(workspace) & ((1ull << 56) - 1));
}

inline void MeetAll(const char *api, bool vectorsOnly, Where where)
{
    Core &core = Core::Current();
    core.Begin(api, where);
    core.JoinPipes();
    core.launch().Barrier(core, vectorsOnly && core.kind() == CoreKind::kVector ? Launch::Group::kVectors
                                                                               : Launch::Group::kAll);
}

} // namespace sim

template <bool vectorsOnly = true> inline void SyncAll(Where where = Where::Here())
{
    sim::MeetAll("SyncAll", vectorsOnly, where);
}
template <bool vectorsOnly, const SyncAllConfig &config> inline void SyncAll(Where where = Where::Here())
{
    sim::MeetAll("SyncAll", vectorsOnly, where);
}
template <bool vectorsOnly = true>
inline void SyncAll(const GlobalTensor<int32_t> &gmWorkspace, const LocalTensor<int32_t> &ubWorkspace, int32_t usedCores = 0,
                    Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("SyncAll", where);
    const uint64_t cores = usedCores > 0 ? static_cast<uint64_t>(usedCores) : static_cast<uint64_t>(GetBlockNum());
    core.CheckGlobal(gmWorkspace.GetPhyAddr(), cores * 32, "the workspace in global memory");
    if (core.checks() && ubWorkspace.GetLength() < cores * 32) {
        core.Fail("the workspace in UB has %u bytes, %llu cores need 32 each", ubWorkspace.GetLength(),
                  static_cast<unsigned long long>(cores));
    }
    core.JoinPipes();
    if (usedCores <= 0 || usedCores == GetBlockNum()) {
        core.launch().Barrier(core, sim::Launch::Group::kVectors);
        return;
    }
    // Some of the cores meet: each round ends when all of them have arrived.
    const sim::Launch::Key key{sim::KeyOf(sim::kGroupProtocol, gmWorkspace.GetPhyAddr()), -1};
    const uint64_t arrival = core.launch().Arrive(core, key);
    core.launch().AwaitCount(core, key, (arrival + cores - 1) / cores * cores);
}

template <uint8_t mode, pipe_t pipe> inline void CrossCoreSetFlag(uint16_t flag, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("CrossCoreSetFlag", where);
    static_assert(mode <= 2, "mode 4 does not exist on this chip");
    core.launch().CrossSet(core, mode, flag & 15, core.PipeOf(pipe));
}
template <uint8_t mode = 0, pipe_t pipe = PIPE_S> inline void CrossCoreWaitFlag(uint16_t flag, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("CrossCoreWaitFlag", where);
    core.JoinPipes();
    core.launch().CrossWait(core, mode, flag & 15);
}

// Pairwise: block `blockIdx` tells, another block waits for it.
template <bool vectorsOnly = true>
inline void IBSet(const GlobalTensor<int32_t> &gm, const LocalTensor<int32_t> &ub, int32_t blockIdx, int32_t eventId,
                  Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("IBSet", where);
    if (core.checks() && ub.GetLength() < 32) {
        core.Fail("the workspace in UB needs 32 bytes");
    }
    core.JoinPipes();
    core.launch().Signal(core, {sim::KeyOf(sim::kIbProtocol, gm.GetPhyAddr()), static_cast<int64_t>(blockIdx) << 32 | eventId});
}
template <bool vectorsOnly = true>
inline void IBWait(const GlobalTensor<int32_t> &gm, const LocalTensor<int32_t> &ub, int32_t blockIdx, int32_t eventId,
                   Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("IBWait", where);
    if (core.checks() && ub.GetLength() < 32) {
        core.Fail("the workspace in UB needs 32 bytes");
    }
    core.JoinPipes();
    core.launch().AwaitSignal(core,
                              {sim::KeyOf(sim::kIbProtocol, gm.GetPhyAddr()), static_cast<int64_t>(blockIdx) << 32 | eventId});
}

// A token that goes from block to block: block b may work when it was passed b times, b + n times, ….
inline void InitDetermineComputeWorkspace(GlobalTensor<int32_t> &, LocalTensor<int32_t> &) {}
inline void WaitPreBlock(GlobalTensor<int32_t> &gm, LocalTensor<int32_t> &, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("WaitPreBlock", where);
    core.JoinPipes();
    const auto self = GetBlockIdx();
    if (self != 0) {
        core.launch().AwaitSignal(core, {sim::KeyOf(sim::kTokenProtocol, gm.GetPhyAddr()), self});
        return;
    }
    // The first block waits for the last one, except in the first round.
    const sim::Launch::Key round{sim::KeyOf(sim::kTokenProtocol, gm.GetPhyAddr()), -1};
    if (core.launch().Arrive(core, round) > 1) {
        core.launch().AwaitSignal(core, {round.first, 0});
    }
}
inline void NotifyNextBlock(GlobalTensor<int32_t> &gm, LocalTensor<int32_t> &, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("NotifyNextBlock", where);
    core.JoinPipes();
    core.launch().Signal(core, {sim::KeyOf(sim::kTokenProtocol, gm.GetPhyAddr()), (GetBlockIdx() + 1) % GetBlockNum()});
}

// Some blocks arrive, others wait for all arrivals of their round.
template <PipeMode mode> class GroupBarrier {
public:
    GroupBarrier(GM_ADDR workspace, uint32_t arriveSize, uint32_t waitSize)
        : workspace_(workspace), arriveSize_(arriveSize), waitSize_(waitSize)
    {
    }
    void Arrive(uint32_t, Where where = Where::Here())
    {
        sim::Core &core = sim::Core::Current();
        core.Begin("GroupBarrier::Arrive", where);
        core.JoinPipes();
        core.launch().Arrive(core, {sim::KeyOf(sim::kGroupProtocol, workspace_), 0});
    }
    void Wait(uint32_t, Where where = Where::Here())
    {
        sim::Core &core = sim::Core::Current();
        core.Begin("GroupBarrier::Wait", where);
        core.JoinPipes();
        core.launch().AwaitCount(core, {sim::KeyOf(sim::kGroupProtocol, workspace_), 0}, ++rounds_ * arriveSize_);
    }
    uint64_t GetWorkspaceLen() const { return 512ull * (arriveSize_ + waitSize_); }

private:
    GM_ADDR workspace_;
    uint32_t arriveSize_;
    uint32_t waitSize_;
    uint64_t rounds_ = 0;
};

// Head and tail of neighbouring kernels overlap on hardware; here kernels run one after another.
inline void SetNextTaskStart() {}
template <bool force = false> inline void WaitPreTaskEnd() {}

} // namespace AscendC

// The words of the kernel language that are not functions.
inline constexpr AscendC::sim::BlockIndexWord block_idx{};
inline constexpr AscendC::sim::BlockCountWord block_num{};
inline constexpr AscendC::sim::CoreTypeWord g_coreType{};
#define ASCEND_IS_AIV (::AscendC::sim::OnVectorCore())
#define ASCEND_IS_AIC (!::AscendC::sim::OnVectorCore())

#endif // ASCENDC_SIM_SYNC_H
