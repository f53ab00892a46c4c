// SPDX-License-Identifier: Apache-2.0
//
// Hazard mode of the memory pools (ASCEND_CY_POOL_HAZARD): follows the order of streams, and finds work that uses pool memory
// without being ordered behind what it must follow, or after it was freed.
//
// Everything rests on the function table: in this mode its entries for launches, copies, events and waits are replaced by ones
// that look and then call the device library. Without the mode nothing is replaced, and nothing costs anything.
//
// What is an error does not depend on timing: two uses of the same bytes, one of them a write, must be ordered by a stream, an
// event, or a wait of the host (of any thread) in between, whether they met this time or not.
#ifndef ASCEND_CY_HOST_HAZARD_HAZARD_H
#define ASCEND_CY_HOST_HAZARD_HAZARD_H

#include <cstddef>
#include <cstdint>
#include <string>

#include "../pool/block.h"

namespace ascend_cy::hazard {

enum class Mode : uint8_t {
    Off,
    Raise,  // the call fails
    Report, // a line on stderr, and the call goes on
};

extern Mode mode; // set before anything else runs, never changed

inline bool on() noexcept { return __builtin_expect(mode != Mode::Off, 0); }

// Reads the environment and, where the mode is wanted, takes the places in the table. Gives "", or what is wrong with the value.
std::string start();

// ---- what the pools tell: only while on() ----

void segment_came(const void *pointer, size_t bytes) noexcept;
void segment_goes(const void *pointer) noexcept;
void block_used(const Block *block) noexcept;
// Its last reference went; `uses` are the streams it was recorded on. Poisons it, or has it poisoned when it is given out again.
void block_freed(const Block *block) noexcept;

// ---- what the package asks for its own ends ----

// What the thread asks AscendCL while one of these lives is no wait of the program: which work has passed already is a matter of
// timing, and what is found must not be. It counts for memory that the pool gives out again, and for what is told below.
class OwnQuestion {
public:
    OwnQuestion() noexcept
    {
        if (on())
            begin();
    }
    ~OwnQuestion()
    {
        if (on())
            end();
    }
    OwnQuestion(const OwnQuestion &) = delete;
    OwnQuestion &operator=(const OwnQuestion &) = delete;

private:
    static void begin() noexcept;
    static void end() noexcept;
};

// No event was needed to order `stream` behind the stream that this thread asked about last: that one has nothing left.
void follows_idle(const Stream *stream) noexcept;
// The pool no longer orders others behind what `stream` did with the block, which has passed.
void use_forgotten(const Block *block, const Stream *stream) noexcept;

// The buffers that the next launches of this thread on `stream` read and write, as ordered; none ends it.
void expect(const Block *const *buffers, int reads, int count, aclrtStream stream) noexcept;

// The name of what the thread is about to enqueue; it must live until it is taken back.
void push_name(const char *name) noexcept;
void pop_name() noexcept;

} // namespace ascend_cy::hazard

#endif
