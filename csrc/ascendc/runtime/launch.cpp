// SPDX-License-Identifier: Apache-2.0
#include "ascendc_sim/launch.h"

#include <chrono>
#include <ctime>

namespace AscendC::sim {

namespace {

// Cores are large and every block needs one: they are kept and lent out.
class CorePool {
public:
    std::unique_ptr<Core> Take()
    {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            if (!free_.empty()) {
                std::unique_ptr<Core> core = std::move(free_.back());
                free_.pop_back();
                return core;
            }
        }
        return std::make_unique<Core>();
    }
    void Give(std::unique_ptr<Core> core)
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (free_.size() < 64) {
            free_.push_back(std::move(core));
        }
    }

private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<Core>> free_;
};

// The launches that are under way in this binary, by the services object that stands for each.
class Registry {
public:
    std::mutex mutex;
    std::map<const ascend_kernel_services_t *, std::shared_ptr<Launch>> launches;
    std::string report;
    uint64_t report_stamp_ns = 0;
};

// Made when the binary is loaded, not at the first launch: at exit the device, which registers behind each load, then stops
// before these go.
CorePool the_cores;
Registry the_launches;

CorePool &Cores() { return the_cores; }

Registry &Launches() { return the_launches; }

uint64_t WallClock()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000ull + static_cast<uint64_t>(now.tv_nsec);
}

} // namespace

Launch::Launch(const KernelInfo &info, uint32_t blocks, const ascend_kernel_services_t *services)
    : info_(info), blocks_(blocks), total_(blocks * info.instances()),
      kernel_(services->kernel_name != nullptr ? services->kernel_name : "kernel"), services_(services), seen_(total_)
{
}

void Launch::RunBlock(const KernelInfo &info, uint32_t index, uint32_t blocks,
                      const ascend_kernel_services_t *services, const std::function<void()> &body)
{
    std::shared_ptr<Launch> launch;
    {
        Registry &registry = Launches();
        std::lock_guard<std::mutex> lock(registry.mutex);
        std::shared_ptr<Launch> &entry = registry.launches[services];
        // A launch that was stopped leaves its record behind; another may get a services object at the same address.
        if (entry == nullptr || entry->blocks_ != blocks || !entry->Enter(index)) {
            entry = std::make_shared<Launch>(info, blocks, services);
            entry->Enter(index);
        }
        launch = entry;
    }
    std::unique_ptr<Core> core = Cores().Take();
    core->Enter(*launch, launch->KindOf(index), launch->GroupOf(index), services);
    core->instance = index;
    try {
        body();
        core->Finish();
    } catch (const StopBlock &) {
    }
    core->Leave();
    const bool last = launch->Exit(index, *core);
    Cores().Give(std::move(core));
    if (last) {
        Registry &registry = Launches();
        std::string report = launch->Report();
        std::lock_guard<std::mutex> lock(registry.mutex);
        registry.report = std::move(report);
        registry.report_stamp_ns = WallClock();
        const auto found = registry.launches.find(services);
        if (found != registry.launches.end() && found->second == launch && launch->Complete()) {
            registry.launches.erase(found);
        }
    }
}

bool Launch::Enter(uint32_t index)
{
    std::lock_guard<std::mutex> lock(mutex_);
    if (index >= total_ || seen_[index]) {
        return false;
    }
    seen_[index] = true;
    ++active_;
    return true;
}

bool Launch::Exit(uint32_t index, Core &core)
{
    std::lock_guard<std::mutex> lock(mutex_);
    const Counters &counters = core.counters();
    Summary summary;
    summary.index = index;
    summary.kind = core.kind();
    std::copy(std::begin(counters.instructions), std::end(counters.instructions), summary.instructions);
    std::copy(std::begin(counters.bytes), std::end(counters.bytes), summary.bytes);
    std::copy(std::begin(counters.cycles), std::end(counters.cycles), summary.cycles);
    std::copy(std::begin(counters.peak), std::end(counters.peak), summary.peak);
    summary.gm_read = counters.gm_read;
    summary.gm_written = counters.gm_written;
    summary.repeats = counters.repeats;
    summaries_.push_back(summary);
    for (const ApiCount &api : counters.apis) {
        if (api.name != nullptr) {
            apis_[api.name] += api.calls;
        }
    }
    --active_;
    ++finished_;
    Changed();
    const bool stopped = services_->stop != nullptr && *services_->stop != 0;
    return finished_ == total_ || (stopped && active_ == 0);
}

bool Launch::Complete()
{
    std::lock_guard<std::mutex> lock(mutex_);
    return finished_ == total_;
}

void Launch::Changed()
{
    ++epoch_;
    stuck_ = 0;
    changed_.notify_all();
}

template <class Done> void Launch::WaitFor(Core &core, std::unique_lock<std::mutex> &lock, Done done)
{
    // Blocks without a core of their own start when others have ended: those never do.
    constexpr uint32_t kCubes = 24;
    constexpr uint32_t kVectors = 48;
    if (core.checks() && (blocks_ * info_.cubes > kCubes || blocks_ * info_.vectors > kVectors)) {
        lock.unlock();
        core.Fail("waits for other cores in a launch of %u blocks with %u cube and %u vector cores each; no chip of this "
                  "kind has more than %u and %u: deadlock",
                  blocks_, info_.cubes, info_.vectors, kCubes, kVectors);
    }
    uint64_t examined = ~0ull;
    while (!done()) {
        if (examined != epoch_) {
            examined = epoch_;
            ++stuck_;
        }
        if (stuck_ + finished_ == total_) {
            lock.unlock();
            core.Fail("waits for other cores, and every other core waits too or has ended: deadlock");
        }
        changed_.wait_for(lock, std::chrono::milliseconds(20));
        lock.unlock();
        core.Poll();
        lock.lock();
    }
}

uint32_t Launch::Members(Group group) const
{
    switch (group) {
    case Group::kVectors:
        return blocks_ * info_.vectors;
    case Group::kCubes:
        return blocks_ * info_.cubes;
    default:
        return total_;
    }
}

void Launch::Barrier(Core &core, Group group)
{
    std::unique_lock<std::mutex> lock(mutex_);
    Rendezvous &meeting = rendezvous_[static_cast<int>(group)];
    const uint64_t generation = meeting.generation;
    core.Release(meeting.gathered);
    if (++meeting.arrived == Members(group)) {
        meeting.arrived = 0;
        ++meeting.generation;
        meeting.released = std::exchange(meeting.gathered, {});
        Changed();
    } else {
        WaitFor(core, lock, [&] { return meeting.generation != generation; });
    }
    // The next generation cannot end before this core arrives again.
    core.Acquire(meeting.released);
}

void Launch::CrossSet(Core &core, int mode, int flag, Pipe pipe)
{
    std::lock_guard<std::mutex> lock(mutex_);
    const uint32_t group = GroupOf(core.instance);
    const CoreKind own = core.kind();
    // Raises the flag of every core of `kind` in the scope once all senders of the scope have set it.
    const auto arrive = [&](uint32_t scope, CoreKind senders, uint32_t needed, CoreKind receivers) {
        const auto key = std::make_tuple(mode, flag, scope, senders);
        CoreClock &sent = set_clocks_[key];
        core.Release(sent, pipe);
        if (++sets_[key] % needed != 0) {
            return;
        }
        for (uint32_t i = 0; i < total_; ++i) {
            if (KindOf(i) == receivers && (mode == 0 || GroupOf(i) == scope)) {
                uint32_t &raised = cross_[std::make_tuple(mode, flag, i, receivers)];
                if (++raised > 15) {
                    core.Fail("flag %d was set more than 15 times without a wait", flag);
                }
                JoinClock(flag_clocks_[{flag, i}], sent);
            }
        }
        Changed();
    };
    if (mode == 0) {
        arrive(0, own, own == CoreKind::kCube ? Members(Group::kCubes) : Members(Group::kVectors), own);
    } else if (mode == 1) {
        arrive(group, own, info_.vectors, own);
    } else if (own == CoreKind::kCube) {
        arrive(group, own, 1, CoreKind::kVector);
    } else {
        arrive(group, own, info_.vectors, CoreKind::kCube);
    }
}

void Launch::CrossWait(Core &core, int, int flag)
{
    std::unique_lock<std::mutex> lock(mutex_);
    // On this chip the wait does not look at the mode: any set of this flag that reached the core counts.
    const auto raised = [&]() -> uint32_t * {
        for (int mode = 0; mode < 3; ++mode) {
            const auto found = cross_.find(std::make_tuple(mode, flag, core.instance, core.kind()));
            if (found != cross_.end() && found->second != 0) {
                return &found->second;
            }
        }
        return nullptr;
    };
    WaitFor(core, lock, [&] { return raised() != nullptr; });
    --*raised();
    core.Acquire(flag_clocks_[{flag, core.instance}]);
}

void Launch::Signal(Core &core, const Key &key)
{
    std::lock_guard<std::mutex> lock(mutex_);
    core.Release(signal_clocks_[key]);
    ++signals_[key];
    Changed();
}

void Launch::AwaitSignal(Core &core, const Key &key)
{
    std::unique_lock<std::mutex> lock(mutex_);
    WaitFor(core, lock, [&] { return signals_[key] != 0; });
    --signals_[key];
    core.Acquire(signal_clocks_[key]);
}

uint64_t Launch::Arrive(Core &core, const Key &key)
{
    std::lock_guard<std::mutex> lock(mutex_);
    core.Release(signal_clocks_[key]);
    const uint64_t count = ++signals_[key];
    Changed();
    return count;
}

void Launch::AwaitCount(Core &core, const Key &key, uint64_t count)
{
    std::unique_lock<std::mutex> lock(mutex_);
    WaitFor(core, lock, [&] { return signals_[key] >= count; });
    core.Acquire(signal_clocks_[key]);
}

namespace {
// Caches exchange lines of 64 bytes.
uint64_t LineOf(const void *address)
{
    return reinterpret_cast<uintptr_t>(address) / 64;
}
} // namespace

void Launch::ReleaseLine(Core &core, const void *address)
{
    std::lock_guard<std::mutex> lock(mutex_);
    lines_used_.store(true, std::memory_order_relaxed);
    core.Release(line_clocks_[LineOf(address)]);
}

void Launch::AcquireLine(Core &core, const void *address)
{
    if (!lines_used_.load(std::memory_order_relaxed)) {
        return;
    }
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = line_clocks_.find(LineOf(address));
    if (found != line_clocks_.end()) {
        core.Acquire(found->second);
    }
}

namespace {

// Writes `"name": {"V": 1, …}` for the pipes that have something to say.
void AppendPipes(std::string &text, const char *name, const uint64_t (&values)[kPipes])
{
    text += std::string("\"") + name + "\": {";
    bool first = true;
    for (int i = 0; i < kPipes; ++i) {
        if (values[i] != 0) {
            text += std::string(first ? "\"" : ", \"") + NameOf(static_cast<Pipe>(i)) + "\": " + std::to_string(values[i]);
            first = false;
        }
    }
    text += "}";
}

} // namespace

std::string Launch::Report()
{
    std::lock_guard<std::mutex> lock(mutex_);
    static const char *const memories[kMemories] = {"UB", "L1", "L0A", "L0B", "L0C", "BT", "FB"};
    Summary sum;
    std::vector<Summary> sorted = summaries_;
    std::sort(sorted.begin(), sorted.end(), [](const Summary &a, const Summary &b) { return a.index < b.index; });
    for (const Summary &core : sorted) {
        for (int i = 0; i < kPipes; ++i) {
            sum.instructions[i] += core.instructions[i];
            sum.bytes[i] += core.bytes[i];
            sum.cycles[i] += core.cycles[i];
        }
        for (int i = 0; i < kMemories; ++i) {
            sum.peak[i] = std::max(sum.peak[i], core.peak[i]);
        }
        sum.gm_read += core.gm_read;
        sum.gm_written += core.gm_written;
        sum.repeats += core.repeats;
    }
    const auto fields = [&](std::string &text, const Summary &core) {
        AppendPipes(text, "instructions", core.instructions);
        text += ", ";
        AppendPipes(text, "bytes", core.bytes);
        text += ", ";
        AppendPipes(text, "cycles", core.cycles);
        text += ", \"gm_read\": " + std::to_string(core.gm_read) + ", \"gm_written\": " + std::to_string(core.gm_written) +
                ", \"vector_repeats\": " + std::to_string(core.repeats) + ", \"peak\": {";
        bool first = true;
        for (int i = 0; i < kMemories; ++i) {
            if (core.peak[i] != 0) {
                text += std::string(first ? "\"" : ", \"") + memories[i] + "\": " + std::to_string(core.peak[i]);
                first = false;
            }
        }
        text += "}";
    };
    const bool stopped = services_->stop != nullptr && *services_->stop != 0;
    std::string text = "{\"kernel\": \"" + kernel_ + "\", \"blocks\": " + std::to_string(blocks_) +
                       ", \"completed\": " + (!stopped && finished_ == total_ ? "true" : "false") + ", ";
    fields(text, sum);
    text += ", \"apis\": {";
    bool first = true;
    for (const auto &[name, calls] : apis_) {
        text += std::string(first ? "\"" : ", \"") + name + "\": " + std::to_string(calls);
        first = false;
    }
    text += "}, \"cores\": [";
    first = true;
    for (const Summary &core : sorted) {
        text += std::string(first ? "" : ", ") + "{\"core\": " + std::to_string(core.index) +
                ", \"kind\": " + (core.kind == CoreKind::kVector ? "\"AIV\", " : "\"AIC\", ");
        fields(text, core);
        text += "}";
        first = false;
    }
    text += "]}";
    return text;
}

std::string LastReport(uint64_t *stamp_ns)
{
    Registry &registry = Launches();
    std::lock_guard<std::mutex> lock(registry.mutex);
    if (stamp_ns != nullptr) {
        *stamp_ns = registry.report_stamp_ns;
    }
    return registry.report;
}

} // namespace AscendC::sim

// For tools: copies the report of this binary's last launch, ends it with a zero, and returns its length. `stamp_ns` tells
// (on the monotonic clock) when the launch ended; 0 if there was none.
extern "C" __attribute__((visibility("default"))) size_t ascend_sim_last_report(char *buffer, size_t capacity,
                                                                               uint64_t *stamp_ns)
{
    const std::string report = AscendC::sim::LastReport(stamp_ns);
    if (capacity != 0) {
        const size_t length = std::min(report.size(), capacity - 1);
        std::memcpy(buffer, report.data(), length);
        buffer[length] = '\0';
    }
    return report.size();
}
