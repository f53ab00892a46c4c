/* SPDX-License-Identifier: Apache-2.0
 *
 * Which objects the calls under way use. Another thread may destroy an object in the middle of a call; its handle is
 * invalid at once, but its slot (handles.h) becomes another object only after the calls that found it have returned.
 *
 * Each thread writes down what its calls have found, in a record that only it writes; who wants to use a slot again
 * reads the records of all threads. So a call pays a few plain stores, and destroying and making pay for the order
 * between the two: the thread that reuses slots makes all others pass a memory barrier (membarrier), once for many slots.
 * Where the system has no such call, each entry is an atomic exchange instead.
 */
#ifndef ASCENDCL_CPU_IN_USE_H
#define ASCENDCL_CPU_IN_USE_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace acl_cpu {

/* The record of one thread. */
struct Uses {
    static constexpr uint32_t places = 27;
    constexpr explicit Uses(uint32_t quick) : quick_places(quick) {}

    std::atomic<uint32_t> count{0};             /* valid entries; what does not fit is elsewhere */
    uint32_t base = 0;                          /* of these, of calls that the innermost one was made from */
    const uint32_t quick_places;                /* entries that plain stores make: 0 without membarrier */
    std::atomic<const void *> current{nullptr}; /* the thread's current context, between calls as well */
    std::atomic<const void *> slots[places] = {};
};

/* Never nullptr: threads that found nothing yet share one that stays empty. */
extern __thread Uses *t_uses __attribute__((tls_model("initial-exec")));

/* Makes the record if need be; for entries that do not fit as well. */
[[gnu::cold]] void begin_use_slowly(const void *slot);
/* The thread's current context. */
void set_current_slot(const void *slot);

/* The slot stays what it is until the call (or the innermost UseScope) ends, provided that it is alive after this: check
 * its tag then, with a sequentially consistent load. */
inline void begin_use(const void *slot)
{
    Uses *mine = t_uses;
    uint32_t count = mine->count.load(std::memory_order_relaxed);
    if (__builtin_expect(count >= mine->quick_places, 0)) return begin_use_slowly(slot);
    mine->slots[count].store(slot, std::memory_order_release);
    mine->count.store(count + 1, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

/* At the end of each exported function (ACL_ENTRY): what it found is no longer in use. */
struct UseEnd {
    UseEnd() = default;
    ~UseEnd()
    {
        Uses *mine = t_uses;
        mine->count.store(mine->base, std::memory_order_release);
    }
    UseEnd(const UseEnd &) = delete;
    UseEnd &operator=(const UseEnd &) = delete;
};

/* What is found within the scope is in use until its end, and what was found before stays so, even if functions are called
 * that end with UseEnd. For code of the user that is called in the middle of a function, for threads of the device where
 * they look for an object, and for loops that find many. */
class UseScope {
public:
    UseScope();
    ~UseScope();
    UseScope(const UseScope &) = delete;
    UseScope &operator=(const UseScope &) = delete;

private:
    Uses &mine_;
    const uint32_t before_;
};

/* All slots that are in use now, sorted; `others`: by other threads. A slot whose tag was cleared before the call, and
 * that is not among them, is used by nobody and never again. */
std::vector<const void *> slots_in_use(bool others = false);

} // namespace acl_cpu
#endif
