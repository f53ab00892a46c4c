// SPDX-License-Identifier: Apache-2.0
#include "ascendc_sim/core.h"

#include <cstdlib>
#include <ctime>

#include "ascendc_sim/launch.h"

namespace AscendC::sim {

thread_local Core *Core::current_ = nullptr;

namespace {

constexpr int32_t kAiCoreException = 507015;
constexpr int32_t kVectorCoreException = 507035;
constexpr int32_t kAiCoreTimeout = 507014;
constexpr int32_t kVectorCoreTimeout = 507034;

struct MemorySpec {
    const char *name;
    uint32_t capacity;
    uint32_t alignment;
};

constexpr MemorySpec kSpecs[kMemories] = {
    {"UB", 192 * 1024, 32},   {"L1", 512 * 1024, 32}, {"L0A", 64 * 1024, 512}, {"L0B", 64 * 1024, 512},
    {"L0C", 128 * 1024, 64}, {"BT", 1024, 64},       {"FB", 7 * 1024, 64},
};

int64_t Now()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

// Seconds that one block may take; a kernel that never ends is stopped after it.
double TimeLimit()
{
    const char *text = std::getenv("ASCEND_CY_SIM_TIMEOUT");
    const double seconds = text != nullptr ? std::atof(text) : 0;
    return seconds > 0 ? seconds : 600;
}

bool ChecksWanted()
{
    const char *text = std::getenv("ASCEND_CY_SIM_CHECKS");
    return text == nullptr || std::strcmp(text, "off") != 0;
}

// The part of a path that names the file for people.
const char *ShortName(const char *path)
{
    const char *slash = std::strrchr(path, '/');
    return slash != nullptr ? slash + 1 : path;
}

} // namespace

Core::Core()
{
    memories_.reserve(kMemories);
    for (int i = 0; i < kMemories; ++i) {
        memories_.emplace_back(kSpecs[i].name, kSpecs[i].capacity, kSpecs[i].alignment);
    }
}

LocalMemory &Core::memory(Mem which)
{
    return memories_[static_cast<int>(which)];
}

void Core::NoBlock()
{
    std::fprintf(stderr, "ascendc_sim: an Ascend C function was called outside a kernel\n");
    std::abort();
}

void Core::Enter(Launch &launch, CoreKind kind, uint32_t block, const ascend_kernel_services_t *services)
{
    launch_ = &launch;
    kind_ = kind;
    block_ = block;
    services_ = services;
    stop_ = services->stop;
    static const volatile uint32_t never = 0;
    if (stop_ == nullptr) {
        stop_ = &never;
    }
    checks_ = ChecksWanted();
    stopping_ = false;
    api_ = "";
    where_ = Where{};
    steps_ = 0;
    deadline_ns_ = Now() + static_cast<int64_t>(TimeLimit() * 1e9);
    counters_ = Counters{};
    registers_ = Registers{};
    allocation_ = Allocation{};
    pipe = nullptr;
    workspace = nullptr;
    next_known_ = 0;
    std::fill(std::begin(known_), std::end(known_), Known{});
    at_line_start_ = true;
    for (auto &event : flags_) {
        std::fill(std::begin(event), std::end(event), EventFlag{});
    }
    stores_.clear();
    core_clock_.clear();
    epoch_ = 0;
    // Numbers go on from block to block, so that the histories need no clearing: all that came before is done.
    JoinPipes();
    Seq highest = 0;
    for (const Clock &clock : clocks_) {
        highest = std::max(highest, *std::max_element(std::begin(clock.known), std::end(clock.known)));
    }
    const bool restart = highest > (1 << 30);
    for (int i = 0; i < kMemories; ++i) {
        const bool belongs = (i == static_cast<int>(Mem::UB)) == (kind == CoreKind::kVector);
        if (belongs) {
            memories_[i].Reset();
        }
        if (restart) {
            memories_[i].ForgetHistory();
        }
    }
    if (restart) {
        std::fill(std::begin(clocks_), std::end(clocks_), Clock{});
        std::fill(std::begin(finished_), std::end(finished_), 0);
    }
    current_ = this;
}

void Core::Finish()
{
    api_ = "end of the kernel";
    where_ = Where{};
    if (!checks_) {
        return;
    }
    for (int event = 0; event < static_cast<int>(HardEvent::MAX); ++event) {
        for (int id = 0; id < 8; ++id) {
            if (flags_[event][id].raised) {
                where_ = flags_[event][id].where;
                Fail("SetFlag<HardEvent::%s>(%d) has no WaitFlag", NameOf(static_cast<HardEvent>(event)), id);
            }
        }
    }
    for (int i = 0; i < allocation_.numBuffers; ++i) {
        if (allocation_.buffers[i].state == TBufState::ENQUE) {
            Fail("a tensor was put into a queue with EnQue and never taken out with DeQue (buffer at byte %u)",
                 memory(Mem::UB).Contains(allocation_.buffers[i].address)
                     ? memory(Mem::UB).OffsetOf(allocation_.buffers[i].address)
                     : 0);
        }
    }
}

void Core::Leave()
{
    for (int i = 0; i < kMemories; ++i) {
        NotePeak(static_cast<Mem>(i), memories_[i].high_water());
    }
    current_ = nullptr;
}

void Core::Poll()
{
    if (*stop_ != 0) {
        stopping_ = true;
        throw StopBlock{};
    }
    if (Now() > deadline_ns_) {
        FailWith(kind_ == CoreKind::kVector ? kVectorCoreTimeout : kAiCoreTimeout,
                 "the block did not end within %g s (ASCEND_CY_SIM_TIMEOUT)", TimeLimit());
    }
}

void Core::Report(int32_t code, const char *format, va_list args)
{
    char detail[512];
    std::vsnprintf(detail, sizeof(detail), format, args);
    char text[1024];
    if (where_.line != 0) {
        std::snprintf(text, sizeof(text), "%s: block %u: %s at %s:%d: %s", services_->kernel_name, block_, api_,
                      ShortName(where_.file), where_.line, detail);
    } else {
        std::snprintf(text, sizeof(text), "%s: block %u: %s: %s", services_->kernel_name, block_, api_, detail);
    }
    stopping_ = true;
    services_->violation(services_, block_, code, text);
    throw StopBlock{};
}

void Core::Fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Report(kind_ == CoreKind::kVector ? kVectorCoreException : kAiCoreException, format, args);
}

void Core::FailWith(int32_t code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Report(code, format, args);
}

void Core::CountApi()
{
    // Names are literals: the same call site always brings the same address.
    uint64_t slot = (reinterpret_cast<uintptr_t>(api_) * 0x9e3779b97f4a7c15ull) >> 56;
    for (int probe = 0; probe < Counters::kApiSlots; ++probe) {
        ApiCount &entry = counters_.apis[(slot + probe) % Counters::kApiSlots];
        if (entry.name == api_ || entry.name == nullptr) {
            entry.name = api_;
            ++entry.calls;
            return;
        }
    }
}

LocalMemory &Core::Locate(const uint8_t *address, uint32_t length, const char *operand)
{
    for (LocalMemory &memory : memories_) {
        if (memory.Contains(address)) {
            if (memory.OffsetOf(address) + static_cast<uint64_t>(length) > memory.capacity()) {
                Fail("%s ends at byte %llu of %s, which has %u bytes", operand,
                     static_cast<unsigned long long>(memory.OffsetOf(address)) + length, memory.name(),
                     memory.capacity());
            }
            return memory;
        }
    }
    Fail("%s lies in no on-chip memory of this core", operand);
}

void Core::CheckedRead(const uint8_t *address, uint32_t length, const char *operand, uint32_t grain)
{
    LocalMemory &memory = Locate(address, length, operand);
    const uint32_t offset = memory.OffsetOf(address);
    const uint32_t unwritten =
        grain == 1 ? memory.FirstUnwritten(offset, length) : memory.FirstUnwrittenBlock(offset, length);
    if (unlikely(unwritten != LocalMemory::kNone)) {
        Fail("%s reads byte %u of %s, which nobody has written (ErrorRead2; %s covers bytes %u to %u)", operand,
             unwritten, memory.name(), operand, offset, offset + length - 1);
    }
    const Clock &clock = clocks_[Index(pipe_)];
    for (int other = 0; other < kPipes; ++other) {
        if (other == Index(pipe_)) {
            continue;
        }
        const Pipe pipe = static_cast<Pipe>(other);
        if (const Seq seq = memory.WriterAfter(pipe, clock.known[other], offset, length)) {
            Unordered(memory, offset, length, operand, "reads", pipe, seq, "writes");
        }
    }
    memory.RecordRead(pipe_, seq_, offset, length);
}

void Core::CheckedWrite(const uint8_t *address, uint32_t length, const char *operand)
{
    LocalMemory &memory = Locate(address, length, operand);
    const uint32_t offset = memory.OffsetOf(address);
    const Clock &clock = clocks_[Index(pipe_)];
    for (int other = 0; other < kPipes; ++other) {
        if (other == Index(pipe_)) {
            continue;
        }
        const Pipe pipe = static_cast<Pipe>(other);
        if (const Seq seq = memory.WriterAfter(pipe, clock.known[other], offset, length)) {
            Unordered(memory, offset, length, operand, "writes", pipe, seq, "writes");
        }
        if (const Seq seq = memory.ReaderAfter(pipe, clock.known[other], offset, length)) {
            Unordered(memory, offset, length, operand, "writes", pipe, seq, "reads");
        }
    }
    // Copies of one pipe start in order, but may overtake each other. The compiler orders those of V.
    if (pipe_ == Pipe::MTE2) {
        if (const Seq seq = memory.WriterBetween(pipe_, finished_[Index(pipe_)], seq_, offset, length)) {
            Unordered(memory, offset, length, operand, "writes", pipe_, seq, "writes");
        }
    }
    memory.MarkWritten(offset, length);
    memory.RecordWrite(pipe_, seq_, offset, length);
}

void Core::Unordered(LocalMemory &memory, uint32_t offset, uint32_t length, const char *operand, const char *verb,
                     Pipe other, Seq seq, const char *otherVerb)
{
    const Issued &earlier = recent_[Index(other)][static_cast<uint32_t>(seq) % kRecent];
    const bool remembered = clocks_[Index(other)].known[Index(other)] - seq < static_cast<Seq>(kRecent);
    if (other == pipe_) {
        Fail("%s writes bytes %u to %u of %s, which %s of pipe %s%s%d writes, and nothing orders the two "
             "(ErrorSync1; PipeBarrier<PIPE_%s> is missing)",
             operand, offset, offset + length - 1, memory.name(), remembered ? earlier.api : "an earlier instruction",
             NameOf(other), remembered ? " at line " : " number ", remembered ? earlier.where.line : seq, NameOf(other));
    }
    Fail("%s %s bytes %u to %u of %s, which %s of pipe %s%s%d %s, and nothing orders pipe %s after it "
         "(%s; HardEvent::%s_%s is missing)",
         operand, verb, offset, offset + length - 1, memory.name(), remembered ? earlier.api : "an earlier instruction",
         NameOf(other), remembered ? " at line " : " number ", remembered ? earlier.where.line : seq, otherVerb,
         NameOf(pipe_), std::strcmp(verb, "reads") == 0 ? "ErrorSync2" : "ErrorSync1", NameOf(other), NameOf(pipe_));
}

void Core::ScalarRead(const void *address, uint32_t length)
{
    if (!checks_) {
        return;
    }
    const auto *bytes = static_cast<const uint8_t *>(address);
    LocalMemory &memory = Locate(bytes, length, "the tensor");
    const uint32_t offset = memory.OffsetOf(bytes);
    const uint32_t unwritten = memory.FirstUnwritten(offset, length);
    if (unlikely(unwritten != LocalMemory::kNone)) {
        Fail("reads byte %u of %s, which nobody has written (ErrorRead2)", unwritten, memory.name());
    }
    Clock &scalar = clocks_[Index(Pipe::S)];
    for (int other = 1; other < kPipes; ++other) {
        if (memory.WriterAfter(static_cast<Pipe>(other), scalar.known[other], offset, length) != 0) {
            scalar.Join(clocks_[other]);
        }
    }
}

void Core::ScalarWrite(const void *address, uint32_t length)
{
    if (!checks_) {
        return;
    }
    const auto *bytes = static_cast<const uint8_t *>(address);
    LocalMemory &memory = Locate(bytes, length, "the tensor");
    const uint32_t offset = memory.OffsetOf(bytes);
    Clock &scalar = clocks_[Index(Pipe::S)];
    for (int other = 1; other < kPipes; ++other) {
        const Pipe pipe = static_cast<Pipe>(other);
        if (memory.WriterAfter(pipe, scalar.known[other], offset, length) != 0 ||
            memory.ReaderAfter(pipe, scalar.known[other], offset, length) != 0) {
            scalar.Join(clocks_[other]);
        }
    }
    memory.MarkWritten(offset, length);
}

void Core::CheckGlobal(const void *address, uint64_t length, const char *operand)
{
    if (!checks_ || length == 0 || services_->find_allocation == nullptr) {
        return;
    }
    const auto *p = static_cast<const uint8_t *>(address);
    for (const Known &known : known_) {
        if (p >= known.base && static_cast<uint64_t>(p - known.base) + length <= known.size) {
            return;
        }
    }
    void *base = nullptr;
    size_t size = 0;
    if (p == nullptr) {
        Fail("%s is a null address in global memory", operand);
    }
    if (services_->find_allocation(services_, address, &base, &size) == 0) {
        Fail("%s touches %llu bytes of global memory at %p, which no allocation holds (ErrorRead1/ErrorWrite1)", operand,
             static_cast<unsigned long long>(length), address);
    }
    const uint64_t offset = static_cast<uint64_t>(p - static_cast<const uint8_t *>(base));
    if (offset + length > size) {
        Fail("%s touches bytes %llu to %llu of a global memory allocation of %llu bytes (ErrorRead3/ErrorWrite2)",
             operand, static_cast<unsigned long long>(offset), static_cast<unsigned long long>(offset + length - 1),
             static_cast<unsigned long long>(size));
    }
    known_[next_known_++ % 4] = Known{static_cast<const uint8_t *>(base), size};
}

std::mutex *Core::SharedMutex()
{
    return launch_->total() > 1 ? &launch_->races().mutex() : nullptr;
}

void Core::EnterAccess(Pipe pipe, uint64_t start, uint64_t end, Touch touch, const char *operand, const uint8_t *data,
                       std::unique_lock<std::mutex> &lock)
{
    const Access access{instance, epoch_, touch, pipe == Pipe::S, where_.line, api_};
    const Races::Conflict conflict = launch_->races().Enter(start, end, access, core_clock_, data);
    if (!conflict.found) {
        return;
    }
    lock.unlock();
    static const char *const verbs[] = {"reads", "writes", "adds to"};
    char place[160];
    DescribeGlobal(conflict.start, conflict.end, place, sizeof(place));
    Fail("%s %s %s, which %s at line %d of block %u %s, and nothing orders the two cores", operand,
         verbs[static_cast<int>(touch)], place, conflict.other.api, conflict.other.line,
         launch_->GroupOf(conflict.other.core), verbs[static_cast<int>(conflict.other.touch)]);
}

// Stores of pipe MTE3 may overtake each other, and loads of MTE2 may overtake stores. Storing the same bytes again, as at
// the end of tiles that are moved back to fit, does no harm in either order.
void Core::CompareStores(Pipe pipe, uint64_t start, uint64_t end, Touch touch, const char *operand, const uint8_t *data)
{
    const bool store = touch != Touch::kRead;
    const Seq done = store ? finished_[Index(Pipe::MTE3)] : clocks_[Index(Pipe::MTE2)].known[Index(Pipe::MTE3)];
    auto at = stores_.upper_bound(start);
    if (at != stores_.begin() && std::prev(at)->second.end > start) {
        --at;
    }
    while (at != stores_.end() && at->first < end) {
        const uint64_t old_start = at->first;
        const GlobalStore old = at->second;
        const uint64_t first = std::max(start, old_start);
        const uint64_t last = std::min(end, old.end);
        const auto same = [&] {
            return touch == Touch::kWrite && !old.atomic && data != nullptr &&
                   std::memcmp(reinterpret_cast<const void *>(first), data + (first - start), last - first) == 0;
        };
        if (old.seq > done && old.seq != seq_ && !(touch == Touch::kAtomic && old.atomic) && !same()) {
            char place[160];
            DescribeGlobal(first, last, place, sizeof(place));
            Fail("%s %s %s, which %s of pipe MTE3 at line %d writes, and nothing orders %s (%s is missing)", operand,
                 store ? "writes" : "reads", place, old.by.api, old.by.where.line,
                 store ? "the two" : "pipe MTE2 after it",
                 store ? "ErrorSync1; PipeBarrier<PIPE_MTE3>" : "ErrorSync2; HardEvent::MTE3_MTE2");
        }
        if (!store) {
            ++at;
            continue;
        }
        at = stores_.erase(at);
        if (old_start < start) {
            stores_.emplace(old_start, GlobalStore{start, old.seq, old.atomic, old.by});
        }
        if (old.end > end) {
            stores_.emplace(end, GlobalStore{old.end, old.seq, old.atomic, old.by});
        }
    }
    if (store && pipe == Pipe::MTE3) {
        stores_.emplace(start, GlobalStore{end, seq_, touch == Touch::kAtomic, Issued{api_, where_}});
        if (stores_.size() > 1024) {
            const Seq known = std::min(finished_[Index(Pipe::MTE3)], clocks_[Index(Pipe::MTE2)].known[Index(Pipe::MTE3)]);
            for (auto it = stores_.begin(); it != stores_.end();) {
                it = it->second.seq <= known ? stores_.erase(it) : std::next(it);
            }
        }
    }
}

void Core::DescribeGlobal(uint64_t start, uint64_t end, char *text, size_t capacity) const
{
    void *base = nullptr;
    size_t size = 0;
    const auto *address = reinterpret_cast<const void *>(start);
    if (services_->find_allocation == nullptr || services_->find_allocation(services_, address, &base, &size) == 0) {
        std::snprintf(text, capacity, "%llu bytes of global memory at %p", static_cast<unsigned long long>(end - start),
                      address);
        return;
    }
    const uint64_t offset = start - reinterpret_cast<uintptr_t>(base);
    std::snprintf(text, capacity, "bytes %llu to %llu of a global memory allocation of %llu bytes",
                  static_cast<unsigned long long>(offset), static_cast<unsigned long long>(offset + (end - start) - 1),
                  static_cast<unsigned long long>(size));
}

void Core::Release(CoreClock &clock)
{
    if (!checks_) {
        return;
    }
    if (core_clock_.empty()) {
        core_clock_.resize(launch_->total());
    }
    core_clock_[instance] = ++epoch_;
    JoinClock(clock, core_clock_);
}

void Core::Release(CoreClock &clock, Pipe pipe)
{
    Release(clock);
    if (!checks_ || pipe == Pipe::MTE3 || launch_->total() == 1) {
        return;
    }
    const Seq done = Snapshot(pipe).known[Index(Pipe::MTE3)];
    const std::lock_guard<std::mutex> lock(launch_->races().mutex());
    for (const auto &[start, store] : stores_) {
        if (store.seq > done) {
            // As if it came behind the flag. Conflicts with what other cores did so far are known already.
            const Access access{instance, epoch_, store.atomic ? Touch::kAtomic : Touch::kWrite, false, store.by.where.line,
                                store.by.api};
            launch_->races().Enter(start, store.end, access, core_clock_, nullptr);
        }
    }
}

void Core::Acquire(const CoreClock &clock)
{
    if (checks_ && !clock.empty()) {
        JoinClock(core_clock_, clock);
    }
}

void Core::AcquireLine(const void *address)
{
    if (checks_ && launch_->total() > 1) {
        launch_->AcquireLine(*this, address);
    }
}

void Core::ReleaseLine(const void *address)
{
    if (checks_ && launch_->total() > 1) {
        launch_->ReleaseLine(*this, address);
    }
}

bool Core::HasPipe(Pipe pipe) const
{
    const bool vector = pipe == Pipe::V;
    const bool cube = pipe == Pipe::M || pipe == Pipe::MTE1 || pipe == Pipe::FIX;
    return kind_ == CoreKind::kVector ? !cube : !vector;
}

void Core::SetFlag(HardEvent event, int id, Where where)
{
    Begin("SetFlag", where);
    const Pipe from = SourceOf(event);
    if (id < 0 || id > 7) {
        Fail("event id %d is not within 0..7", id);
    }
    if (!HasPipe(from) || !HasPipe(TargetOf(event))) {
        Fail("HardEvent::%s names a pipe that this core does not have", NameOf(event));
    }
    EventFlag &flag = flags_[static_cast<int>(event)][id];
    if (checks_ && flag.raised) {
        Fail("HardEvent::%s id %d is raised already, since line %d (ErrorSync4)", NameOf(event), id, flag.where.line);
    }
    flag.raised = true;
    flag.where = where;
    flag.clock = Snapshot(from);
}

void Core::WaitFlag(HardEvent event, int id, Where where)
{
    Begin("WaitFlag", where);
    if (id < 0 || id > 7) {
        Fail("event id %d is not within 0..7", id);
    }
    if (!HasPipe(SourceOf(event)) || !HasPipe(TargetOf(event))) {
        Fail("HardEvent::%s names a pipe that this core does not have", NameOf(event));
    }
    EventFlag &flag = flags_[static_cast<int>(event)][id];
    if (checks_ && !flag.raised) {
        Fail("waits for HardEvent::%s id %d, which no SetFlag raised before (ErrorSync3)", NameOf(event), id);
    }
    flag.raised = false;
    Join(TargetOf(event), flag.clock);
}

void Core::Barrier(pipe_t pipe, Where where)
{
    Begin("PipeBarrier", where);
    if (pipe == PIPE_ALL) {
        JoinPipes();
        return;
    }
    if (pipe == PIPE_S) {
        Fail("PIPE_S is not allowed: the scalar unit is in order by itself");
    }
    const Pipe which = PipeOf(pipe);
    Finished(Index(which), clocks_[Index(which)]);
}

Pipe Core::PipeOf(pipe_t pipe)
{
    static constexpr Pipe kMap[] = {Pipe::S, Pipe::V, Pipe::M, Pipe::MTE1, Pipe::MTE2, Pipe::MTE3};
    if (pipe == PIPE_ALL) {
        JoinPipes();
        return Pipe::S;
    }
    if (pipe != PIPE_FIX && pipe > PIPE_MTE3) {
        Fail("pipe %d does not exist on this chip", static_cast<int>(pipe));
    }
    const Pipe which = pipe == PIPE_FIX ? Pipe::FIX : kMap[pipe];
    if (!HasPipe(which)) {
        Fail("this core has no pipe %s", NameOf(which));
    }
    return which;
}

void Core::JoinPipes()
{
    Clock all;
    for (const Clock &clock : clocks_) {
        all.Join(clock);
    }
    JoinAll(all);
}

LocalMemory &Core::MemoryOf(TPosition position)
{
    return memory(MemoryKindOf(position));
}

void Core::Print(const char *text, size_t length)
{
    std::string line;
    size_t start = 0;
    while (start < length) {
        const void *newline = std::memchr(text + start, '\n', length - start);
        const size_t end = newline != nullptr ? static_cast<const char *>(newline) - text + 1 : length;
        if (at_line_start_) {
            char prefix[48];
            std::snprintf(prefix, sizeof(prefix), "[%s Block %u/%u] ", kind_ == CoreKind::kVector ? "AIV" : "AIC", block_,
                          launch_->blocks());
            line += prefix;
        }
        line.append(text + start, end - start);
        at_line_start_ = newline != nullptr;
        start = end;
    }
    if (services_->print != nullptr) {
        services_->print(services_, block_, line.data(), line.size());
    }
}

namespace {

struct EventSpec {
    const char *name;
    Pipe from;
    Pipe to;
};

#define EVENT(from, to) EventSpec{#from "_" #to, Pipe::from, Pipe::to}
constexpr EventSpec kEvents[static_cast<int>(HardEvent::MAX)] = {
    EVENT(MTE2, MTE1), EVENT(MTE1, MTE2), EVENT(MTE1, M),    EVENT(M, MTE1),   EVENT(MTE2, V),   EVENT(V, MTE2),
    EVENT(MTE3, V),    EVENT(V, MTE3),    EVENT(M, V),       EVENT(V, M),      EVENT(V, V),      EVENT(MTE3, MTE1),
    EVENT(MTE1, MTE3), EVENT(MTE1, V),    EVENT(MTE2, M),    EVENT(M, MTE2),   EVENT(V, MTE1),   EVENT(M, FIX),
    EVENT(FIX, M),     EVENT(MTE3, MTE2), EVENT(MTE2, MTE3), EVENT(S, V),      EVENT(V, S),      EVENT(S, MTE2),
    EVENT(MTE2, S),    EVENT(S, MTE3),    EVENT(MTE3, S),    EVENT(MTE2, FIX), EVENT(FIX, MTE2), EVENT(FIX, S),
    EVENT(M, S),       EVENT(FIX, MTE3),  EVENT(MTE1, FIX),  EVENT(FIX, MTE1), EVENT(FIX, FIX),
};
#undef EVENT

} // namespace

Pipe SourceOf(HardEvent event)
{
    return kEvents[static_cast<int>(event)].from;
}
Pipe TargetOf(HardEvent event)
{
    return kEvents[static_cast<int>(event)].to;
}
const char *NameOf(HardEvent event)
{
    return kEvents[static_cast<int>(event)].name;
}

const char *NameOf(TPosition position)
{
    static const char *const names[] = {"GM",  "A1",     "A2",      "B1",  "B2",   "C1",        "C2",          "CO1", "CO2",
                                        "VECIN", "VECOUT", "VECCALC", "SPM", "TSCM", "C2PIPE2GM", "C2PIPE2LOCAL"};
    const auto index = static_cast<unsigned>(position);
    return index < sizeof(names) / sizeof(names[0]) ? names[index] : "unknown";
}

Mem MemoryKindOf(TPosition position)
{
    switch (position) {
    case TPosition::A1:
    case TPosition::B1:
    case TPosition::C1:
    case TPosition::TSCM:
    case TPosition::SPM:
        return Mem::L1;
    case TPosition::A2:
        return Mem::L0A;
    case TPosition::B2:
        return Mem::L0B;
    case TPosition::CO1:
        return Mem::L0C;
    case TPosition::C2:
        return Mem::BT;
    case TPosition::C2PIPE2GM:
        return Mem::FB;
    default:
        return Mem::UB;
    }
}

} // namespace AscendC::sim
