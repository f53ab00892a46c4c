// SPDX-License-Identifier: Apache-2.0
//
// What the blocks of one launch share: barriers, flags between cores, and the report.
#ifndef ASCENDC_SIM_LAUNCH_H
#define ASCENDC_SIM_LAUNCH_H

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "core.h"

namespace AscendC::sim {

// Which cores a kernel runs on.
struct KernelInfo {
    uint32_t coreKind = ASCEND_KERNEL_CORE_VECTOR;
    uint32_t cubes = 0;   // per block
    uint32_t vectors = 1; // per block
    uint32_t instances() const { return cubes + vectors; }
};

class Launch {
public:
    Launch(const KernelInfo &info, uint32_t blocks, const ascend_kernel_services_t *services);

    // Runs `body` as instance `index` of the launch that `services` stands for.
    static void RunBlock(const KernelInfo &info, uint32_t index, uint32_t blocks,
                         const ascend_kernel_services_t *services, const std::function<void()> &body);

    uint32_t blocks() const { return blocks_; }
    const KernelInfo &info() const { return info_; }
    // The block, as the kernel counts it, that an instance belongs to.
    uint32_t GroupOf(uint32_t instance) const { return instance / info_.instances(); }
    uint32_t SubOf(uint32_t instance) const
    {
        const uint32_t place = instance % info_.instances();
        return place < info_.cubes ? 0 : place - info_.cubes;
    }
    CoreKind KindOf(uint32_t instance) const
    {
        return instance % info_.instances() < info_.cubes ? CoreKind::kCube : CoreKind::kVector;
    }
    const std::string &kernel() const { return kernel_; }

    // --- waiting between cores; every wait ends when the launch is stopped, and reports a deadlock
    enum class Group { kVectors, kCubes, kAll };
    void Barrier(Core &core, Group group);
    void CrossSet(Core &core, int mode, int flag, Pipe pipe);
    void CrossWait(Core &core, int mode, int flag);
    // Counting signals by name, for the pairwise and token protocols.
    using Key = std::pair<uint64_t, int64_t>;
    void Signal(Core &core, const Key &key);
    void AwaitSignal(Core &core, const Key &key);
    // Waits until `count` arrivals of `key` have happened since the launch began.
    void AwaitCount(Core &core, const Key &key, uint64_t count);
    uint64_t Arrive(Core &core, const Key &key);
    // Scalar stores and loads of one line of global memory, by which programs signal too.
    void ReleaseLine(Core &core, const void *address);
    void AcquireLine(Core &core, const void *address);
    Races &races() { return races_; }
    uint32_t total() const { return total_; }

private:
    struct Summary {
        uint32_t index = 0;
        CoreKind kind = CoreKind::kVector;
        uint64_t instructions[kPipes] = {};
        uint64_t bytes[kPipes] = {};
        uint64_t cycles[kPipes] = {};
        uint64_t gm_read = 0;
        uint64_t gm_written = 0;
        uint64_t repeats = 0;
        uint32_t peak[kMemories] = {};
    };
    struct Rendezvous {
        uint32_t arrived = 0;
        uint64_t generation = 0;
        CoreClock gathered; // of those who arrived
        CoreClock released; // of the generation that ended last
    };

    template <class Done> void WaitFor(Core &core, std::unique_lock<std::mutex> &lock, Done done);
    void Changed();
    uint32_t Members(Group group) const;
    bool Enter(uint32_t index);
    bool Exit(uint32_t index, Core &core); // true: this was the last one
    bool Complete();
    std::string Report();

    KernelInfo info_;
    uint32_t blocks_;
    uint32_t total_;
    std::string kernel_;
    const ascend_kernel_services_t *services_;
    std::mutex mutex_;
    std::condition_variable changed_;
    uint64_t epoch_ = 0;  // counts changes that a waiting core may be waiting for
    uint32_t stuck_ = 0;  // cores that found nothing to do in this epoch
    uint32_t active_ = 0;
    uint32_t finished_ = 0;
    std::vector<bool> seen_;
    Rendezvous rendezvous_[3];
    std::map<std::tuple<int, int, uint32_t, CoreKind>, uint32_t> cross_; // raised flags of a receiving core
    std::map<std::tuple<int, int, uint32_t, CoreKind>, uint32_t> sets_;  // arrivals that have not raised a flag yet
    std::map<Key, uint64_t> signals_;
    std::map<Key, CoreClock> signal_clocks_;
    std::map<std::tuple<int, int, uint32_t, CoreKind>, CoreClock> set_clocks_;
    std::map<std::pair<int, uint32_t>, CoreClock> flag_clocks_; // flag, receiving core
    std::map<uint64_t, CoreClock> line_clocks_;
    std::atomic<bool> lines_used_{false};
    Races races_;
    std::vector<Summary> summaries_;
    std::map<std::string, uint64_t> apis_;
};

// Text of the last finished launch of this binary, as JSON.
std::string LastReport(uint64_t *stamp_ns);

} // namespace AscendC::sim

#endif // ASCENDC_SIM_LAUNCH_H
