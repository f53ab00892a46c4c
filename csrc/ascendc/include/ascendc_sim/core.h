// SPDX-License-Identifier: Apache-2.0
//
// The simulated core that runs one block: its memories, registers, pipes and what the checks know about them.
// Every API call opens with Begin(), then announces the bytes that it reads and writes, then does its work at once.
// Executing at issue gives the right values for every correctly ordered kernel; the clocks find the others.
#ifndef ASCENDC_SIM_CORE_H
#define ASCENDC_SIM_CORE_H

#include <cstdarg>

#include "memory.h"
#include "races.h"

#include "ascend_cy/kernel_abi.h"

namespace AscendC::sim {

// Where in the kernel source an API was called. As a default argument it names the caller's line.
struct Where {
    const char *file = "";
    int line = 0;

    static constexpr Where Here(const char *file = __builtin_FILE(), int line = __builtin_LINE())
    {
        return Where{file, line};
    }
};

// Thrown to leave a kernel early. What happened has been reported already.
struct StopBlock {};

class Launch; // what the blocks of one launch share

enum class CoreKind : uint8_t { kVector, kCube };

// State of a queue's buffer. Its clocks stand for the event flags that the hardware queue uses.
struct Buffer {
    uint8_t *address = nullptr;
    uint32_t length = 0;
    TBufState state = TBufState::FREE;
    Clock filled;  // of the producer, at EnQue
    Clock emptied; // of the consumer, at FreeTensor
    TPosition srcUser = TPosition::MAX; // of EnQue<src, dst>
    TPosition dstUser = TPosition::MAX;
};

struct ApiCount {
    const char *name = nullptr;
    uint64_t calls = 0;
};

struct Counters {
    static constexpr int kApiSlots = 256;

    uint64_t instructions[kPipes] = {};
    uint64_t bytes[kPipes] = {};  // MTE2, MTE3, …: moved; V: read and written
    uint64_t cycles[kPipes] = {}; // modelled
    uint64_t gm_read = 0;
    uint64_t gm_written = 0;
    uint64_t repeats = 0; // vector instructions' repeats
    uint32_t peak[kMemories] = {};
    ApiCount apis[kApiSlots]; // open addressing by the address of the name
};

struct EventFlag {
    bool raised = false;
    Clock clock;
    Where where;
};

enum class AtomicMode : uint8_t { kNone, kAdd, kMax, kMin };

class Core {
public:
    Core();

    static Core &Current()
    {
        if (unlikely(current_ == nullptr)) {
            NoBlock();
        }
        return *current_;
    }
    static Core *CurrentOrNull() { return current_; }

    // --- one block
    void Enter(Launch &launch, CoreKind kind, uint32_t block, const ascend_kernel_services_t *services);
    void Finish(); // checks at the end of a block that returned by itself
    void Leave();  // always, also after StopBlock

    // --- one API call
    void Begin(const char *api, Where where)
    {
        api_ = api;
        where_ = where;
        ++steps_;
        if (unlikely(*stop_ != 0 || (steps_ & 0x3ff) == 0)) {
            Poll();
        }
    }
    // The call is an instruction of `pipe`.
    void Begin(const char *api, Pipe pipe, Where where)
    {
        Begin(api, where);
        Issue(pipe);
    }
    [[noreturn]] void Fail(const char *format, ...) __attribute__((format(printf, 2, 3)));
    [[noreturn]] void FailWith(int32_t code, const char *format, ...) __attribute__((format(printf, 3, 4)));
    // Looks whether the launch was stopped or this block ran out of time.
    void Poll();

    // Announces that the current instruction reads (writes) on-chip bytes.
    void Read(const void *address, uint32_t length, const char *operand)
    {
        if (checks_ && length != 0) {
            CheckedRead(static_cast<const uint8_t *>(address), length, operand);
        }
    }
    // The same for copies that move whole blocks: bytes beside written ones travel along, which is no mistake.
    void ReadBlocks(const void *address, uint32_t length, const char *operand)
    {
        if (checks_ && length != 0) {
            CheckedRead(static_cast<const uint8_t *>(address), length, operand, LocalMemory::kBlock);
        }
    }
    void Write(const void *address, uint32_t length, const char *operand)
    {
        if (checks_ && length != 0) {
            CheckedWrite(static_cast<const uint8_t *>(address), length, operand);
        }
    }
    // Scalar access to on-chip bytes: the compiler orders the scalar unit with the other pipes by itself.
    void ScalarRead(const void *address, uint32_t length);
    void ScalarWrite(const void *address, uint32_t length);
    // Global memory.
    void CheckGlobal(const void *address, uint64_t length, const char *operand);
    // One burst from (to) global memory, after CheckGlobal: enters it into the books, then calls `copy`. Cores that
    // conflict are found here; `data` is what a store is about to write, or nullptr.
    template <class Copy>
    void LoadGlobal(Pipe pipe, const void *address, uint64_t length, const char *operand, Copy copy)
    {
        TouchGlobal(pipe, address, length, Touch::kRead, operand, nullptr, copy);
    }
    template <class Copy>
    void StoreGlobal(Pipe pipe, const void *address, uint64_t length, Touch touch, const char *operand, const void *data,
                     Copy copy)
    {
        TouchGlobal(pipe, address, length, touch, operand, static_cast<const uint8_t *>(data), copy);
    }
    void CountGlobal(Pipe pipe, uint64_t length, bool write)
    {
        counters_.bytes[Index(pipe)] += length;
        (write ? counters_.gm_written : counters_.gm_read) += length;
    }

    // --- order
    void SetFlag(HardEvent event, int id, Where where);
    void WaitFlag(HardEvent event, int id, Where where);
    void Barrier(pipe_t pipe, Where where);
    // The pipe of that name, which this core must have. PIPE_ALL joins all pipes, and any of them stands for it then.
    Pipe PipeOf(pipe_t pipe);
    Clock Snapshot(Pipe pipe)
    {
        Clock &clock = clocks_[Index(pipe)];
        clock.Join(clocks_[Index(Pipe::S)]);
        return clock;
    }
    void Join(Pipe pipe, const Clock &clock)
    {
        Finished(Index(pipe), clock);
        clocks_[Index(pipe)].Join(clock);
    }
    void JoinAll(const Clock &clock)
    {
        for (int i = 0; i < kPipes; ++i) {
            Finished(i, clock);
            clocks_[i].Join(clock);
        }
    }
    // Every pipe waits for every other.
    void JoinPipes();

    // Hands all that this core did so far to `clock`, for who waits for it (takes over what `clock` knows).
    void Release(CoreClock &clock);
    // The same for a flag that `pipe` raises behind its own instructions: stores that this pipe does not follow are not
    // handed over.
    void Release(CoreClock &clock, Pipe pipe);
    void Acquire(const CoreClock &clock);
    // A load (store) of the scalar unit: it sees what cores did before they stored to the line (tells what this one did).
    void AcquireLine(const void *address);
    void ReleaseLine(const void *address);

    // --- memories
    LocalMemory &memory(Mem which);
    LocalMemory &MemoryOf(TPosition position);
    bool HasPipe(Pipe pipe) const;

    // --- registers
    struct Registers {
        bool counterMode = false;
        uint64_t mask[2] = {FULL_MASK, FULL_MASK};
        AtomicMode atomic = AtomicMode::kNone;
        bool saturateFloat = false; // CTRL[48]; off = infinity and NaN are kept, as ACL programs run
        bool saturateCast = true;
        uint64_t padValue = 0;
        float deqScale = 1.0f;
        uint8_t compareMask[16] = {};
        double accumulator = 0; // of the last ReduceSum(count)
        uint64_t maxMinValue = 0, maxMinIndex = 0;
        uint16_t mergeCounts[4] = {};
        uint64_t ctrl = 1ull << 48;
    };
    Registers &registers() { return registers_; }
    void FullMask()
    {
        registers_.counterMode = false;
        registers_.mask[0] = registers_.mask[1] = FULL_MASK;
    }

    // --- what TPipe and the allocators share
    struct Allocation {
        static constexpr int kMaxBuffers = 64;
        Buffer buffers[kMaxBuffers];
        int numBuffers = 0;
        uint32_t used[kMemories] = {}; // bytes handed out, per memory
        bool allocators[kMemories] = {}; // a LocalMemAllocator lives
        uint32_t tscmUsed = 0;         // from the end of L1
        uint8_t eventIds[static_cast<int>(HardEvent::MAX)] = {}; // bit i: id i is taken
    };
    Allocation &allocation() { return allocation_; }
    uint32_t instance = 0; // of the launch: its place among all cores
    void *pipe = nullptr;  // the TPipe that GetTPipePtr() returns
    uint8_t *workspace = nullptr;
    void NotePeak(Mem which, uint32_t bytes)
    {
        uint32_t &peak = counters_.peak[static_cast<int>(which)];
        peak = std::max(peak, bytes);
    }

    bool checks() const { return checks_; }
    bool stopping() const { return stopping_; }
    CoreKind kind() const { return kind_; }
    uint32_t block() const { return block_; }
    Launch &launch() { return *launch_; }
    const ascend_kernel_services_t *services() const { return services_; }
    Counters &counters() { return counters_; }
    const char *api() const { return api_; }
    Where where() const { return where_; }
    void Print(const char *text, size_t length);

private:
    struct Issued {
        const char *api;
        Where where;
    };
    static constexpr uint32_t kRecent = 512;

    [[noreturn]] static void NoBlock();
    void Issue(Pipe pipe)
    {
        pipe_ = pipe;
        Clock &clock = clocks_[Index(pipe)];
        Finished(Index(pipe), clocks_[Index(Pipe::S)]);
        clock.Join(clocks_[Index(Pipe::S)]);
        seq_ = ++clock.known[Index(pipe)];
        recent_[Index(pipe)][static_cast<uint32_t>(seq_) % kRecent] = Issued{api_, where_};
        ++counters_.instructions[Index(pipe)];
        CountApi();
    }
    // A pipe that waits for `clock` sees its own instructions up to there finished, and not just issued.
    void Finished(int pipe, const Clock &clock) { finished_[pipe] = std::max(finished_[pipe], clock.known[pipe]); }
    void CountApi();
    template <class Copy>
    void TouchGlobal(Pipe pipe, const void *address, uint64_t length, Touch touch, const char *operand,
                     const uint8_t *data, Copy copy)
    {
        if (!checks_) {
            copy();
            return;
        }
        const auto start = reinterpret_cast<uintptr_t>(address);
        if (pipe == Pipe::MTE2 || pipe == Pipe::MTE3) {
            CompareStores(pipe, start, start + length, touch, operand, data);
        }
        if (std::mutex *mutex = SharedMutex()) {
            std::unique_lock<std::mutex> lock(*mutex);
            EnterAccess(pipe, start, start + length, touch, operand, data, lock);
            if (touch == Touch::kRead) {
                lock.unlock();
            }
            copy();
        } else {
            copy();
        }
    }
    // Of the launch's books, or nullptr for a core that is alone.
    std::mutex *SharedMutex();
    void EnterAccess(Pipe pipe, uint64_t start, uint64_t end, Touch touch, const char *operand, const uint8_t *data,
                     std::unique_lock<std::mutex> &lock);
    void CompareStores(Pipe pipe, uint64_t start, uint64_t end, Touch touch, const char *operand, const uint8_t *data);
    void DescribeGlobal(uint64_t start, uint64_t end, char *text, size_t capacity) const;
    void CheckedRead(const uint8_t *address, uint32_t length, const char *operand, uint32_t grain = 1);
    void CheckedWrite(const uint8_t *address, uint32_t length, const char *operand);
    LocalMemory &Locate(const uint8_t *address, uint32_t length, const char *operand);
    [[noreturn]] void Unordered(LocalMemory &memory, uint32_t offset, uint32_t length, const char *operand,
                                const char *verb, Pipe other, Seq seq, const char *otherVerb);
    [[noreturn]] void Report(int32_t code, const char *format, va_list args);

    static thread_local Core *current_;

    const char *api_ = "";
    Where where_;
    Pipe pipe_ = Pipe::S;
    Seq seq_ = 0;
    uint64_t steps_ = 0;
    const volatile uint32_t *stop_ = nullptr;
    bool checks_ = true;
    bool stopping_ = false;
    Clock clocks_[kPipes];
    Seq finished_[kPipes] = {}; // a pipe's own last instruction that is certainly done when the next one starts
    struct GlobalStore {
        uint64_t end;
        Seq seq;
        bool atomic;
        Issued by;
    };
    std::map<uint64_t, GlobalStore> stores_; // of pipe MTE3, by the first byte; they do not overlap
    CoreClock core_clock_;
    uint32_t epoch_ = 0; // releases of this core
    EventFlag flags_[static_cast<int>(HardEvent::MAX)][8];
    Issued recent_[kPipes][kRecent];
    std::vector<LocalMemory> memories_;
    Registers registers_;
    Allocation allocation_;
    Counters counters_;
    Launch *launch_ = nullptr;
    CoreKind kind_ = CoreKind::kVector;
    uint32_t block_ = 0;
    const ascend_kernel_services_t *services_ = nullptr;
    int64_t deadline_ns_ = 0;
    struct Known {
        const uint8_t *base;
        size_t size;
    };
    Known known_[4] = {}; // allocations seen lately
    uint32_t next_known_ = 0;
    bool at_line_start_ = true;

    friend class Launch;
};

// The two pipes of an event.
Pipe SourceOf(HardEvent event);
Pipe TargetOf(HardEvent event);
const char *NameOf(HardEvent event);
const char *NameOf(TPosition position);
Mem MemoryKindOf(TPosition position); // on 2201

} // namespace AscendC::sim

#endif // ASCENDC_SIM_CORE_H
