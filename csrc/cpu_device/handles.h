/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles that can be checked without risk. All objects that users hold by handle live in one reserved stretch of
 * address space that is never unmapped. A handle is the address of its slot plus, in the low six bits, the slot's
 * generation; the slot's tag holds kind and generation of the object now in it. So a destroyed handle, one of another
 * kind, or an arbitrary number is recognised in a few instructions and never dereferenced outside the stretch. Slots
 * are reused oldest first, which keeps a stale handle recognisable for long.
 *
 * Whoever finds an object may use it until the innermost UseScope ends (in_use.h), even if another thread destroys it
 * meanwhile: a destroyed object stays as it is until its slot is used again, and only then its destructor runs. What must
 * be given back sooner than that (files, references) is given back by whoever destroys it.
 */
#ifndef ASCENDCL_CPU_HANDLES_H
#define ASCENDCL_CPU_HANDLES_H

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "in_use.h"

namespace acl_cpu {

enum class Kind : uint32_t { None = 0, Context, Stream, Event, Notify, Binary, Function, Args, Label, LabelList, Physical, Pool, Model, ModelTask, TaskGroup, Condition };

constexpr uintptr_t SLOT_ALIGNMENT = 64;
constexpr uint32_t GENERATIONS = 64;
constexpr uint32_t TAG_MAGIC = 0xA5C10000u;

/* In front of every object. The tag is 0 while the slot is free. Calls under way may read the rest after that; only the
 * next object writes it. */
struct Slot {
    std::atomic<uint32_t> tag;
    uint32_t generation;
    const void *creator; /* return address of the call that made the object */
    Slot *next_free;
    Slot *previous; /* made before this one, of the same kind */
};
static_assert(sizeof(Slot) == 32, "objects start 32 bytes behind their slot");

namespace handle_arena {
extern std::atomic<uintptr_t> base; /* 0 until the first object is made */
extern std::atomic<uintptr_t> used; /* bytes handed out */
/* A new slot of `bytes` (a multiple of SLOT_ALIGNMENT), or nullptr when the stretch is used up. */
Slot *extend(size_t bytes);
} // namespace handle_arena

/* All objects of one kind. */
template <class T> class Handles {
public:
    static constexpr size_t slot_bytes = (sizeof(Slot) + sizeof(T) + SLOT_ALIGNMENT - 1) / SLOT_ALIGNMENT * SLOT_ALIGNMENT;

    /* nullptr when no slot is left. */
    template <class... Arguments> T *create(const void *creator, Arguments &&...arguments)
    {
        bool fresh = false;
        Slot *slot = take_slot(&fresh);
        if (slot == nullptr) return nullptr;
        T *object = reinterpret_cast<T *>(slot + 1);
        if (!fresh) {
            object->~T();
            slot->generation = (slot->generation + 1) % GENERATIONS;
        }
        slot->creator = creator;
        new (object) T(std::forward<Arguments>(arguments)...);
        slot->tag.store(tag_of(slot->generation), std::memory_order_release);
        live_.fetch_add(1, std::memory_order_relaxed);
        return object;
    }

    /* The handle stops being valid at once; the object stays as it is until its slot is used again. */
    void destroy(T *object)
    {
        Slot *slot = slot_of(object);
        slot->tag.store(0, std::memory_order_seq_cst);
        live_.fetch_sub(1, std::memory_order_relaxed);
        std::lock_guard<std::mutex> hold(lock_);
        free_.push(slot);
    }

    /* Makes the handle invalid before the object is taken apart. Returns false if another thread did so first. */
    static bool retire(T *object)
    {
        Slot *slot = slot_of(object);
        uint32_t expected = tag_of(slot->generation);
        return slot->tag.compare_exchange_strong(expected, 0);
    }

    /* nullptr for what is no live object of this kind. The object is in use from now on. */
    static T *find(const void *handle)
    {
        uintptr_t value = reinterpret_cast<uintptr_t>(handle);
        uintptr_t offset = value - handle_arena::base.load(std::memory_order_relaxed);
        if (offset >= handle_arena::used.load(std::memory_order_relaxed)) return nullptr;
        Slot *slot = reinterpret_cast<Slot *>(value & ~(SLOT_ALIGNMENT - 1));
        uint32_t generation = static_cast<uint32_t>(value & (SLOT_ALIGNMENT - 1));
        begin_use(slot);
        if (slot->tag.load(std::memory_order_seq_cst) != tag_of(generation)) return nullptr;
        return reinterpret_cast<T *>(slot + 1);
    }

    /* The object is in use from now on; it must be certain that it is alive when this returns. */
    static void use(const T *object) { begin_use(slot_of(object)); }
    static const void *slot_for_use(const T *object) { return slot_of(object); }

    static void *handle_of(const T *object)
    {
        const Slot *slot = slot_of(object);
        return reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(slot) + slot->generation);
    }

    static const void *creator_of(const T *object) { return slot_of(object)->creator; }
    static uint32_t live_tag(const T *object) { return slot_of(object)->tag.load(std::memory_order_relaxed); }

    /* Visits what is alive; the visitor must not create or destroy objects of this kind. For reports. */
    template <class Visit> void for_each_live(Visit visit)
    {
        std::lock_guard<std::mutex> hold(lock_);
        for (Slot *slot = newest_; slot != nullptr; slot = slot->previous) {
            if (slot->tag.load(std::memory_order_acquire) != 0) visit(reinterpret_cast<T *>(slot + 1));
        }
    }

    uint32_t live() const { return live_.load(std::memory_order_relaxed); }

private:
    static constexpr uint32_t quarantine = 64;

    static constexpr uint32_t tag_of(uint32_t generation)
    {
        return TAG_MAGIC | static_cast<uint32_t>(T::kind) << 8 | generation;
    }
    static Slot *slot_of(const T *object) { return reinterpret_cast<Slot *>(const_cast<T *>(object)) - 1; }

    /* Free slots, first in, first out. */
    struct Queue {
        Slot *first = nullptr;
        Slot *last = nullptr;
        uint32_t length = 0;

        void push(Slot *slot)
        {
            slot->next_free = nullptr;
            if (last != nullptr) last->next_free = slot;
            else first = slot;
            last = slot;
            ++length;
        }
        Slot *pop()
        {
            Slot *slot = first;
            if (slot == nullptr) return nullptr;
            first = slot->next_free;
            if (first == nullptr) last = nullptr;
            --length;
            return slot;
        }
    };

    Slot *take_slot(bool *fresh)
    {
        std::lock_guard<std::mutex> hold(lock_);
        for (;;) {
            if (unused_.first == nullptr && (exhausted_ || free_.length >= 2 * quarantine)) find_unused();
            if (Slot *slot = unused_.pop()) return slot;
            if (exhausted_) return nullptr;
            Slot *slot = handle_arena::extend(slot_bytes);
            exhausted_ = slot == nullptr;
            if (exhausted_) continue;
            slot->previous = newest_;
            newest_ = slot;
            *fresh = true;
            return slot;
        }
    }

    /* Young free slots stay out of use for a while, so that stale handles are noticed. */
    void find_unused()
    {
        uint32_t examined = exhausted_ ? free_.length : free_.length - quarantine;
        if (examined == 0) return;
        std::vector<const void *> used = slots_in_use();
        for (uint32_t i = 0; i < examined; ++i) {
            Slot *slot = free_.pop();
            bool in_use = std::binary_search(used.begin(), used.end(), static_cast<const void *>(slot));
            (in_use ? free_ : unused_).push(slot);
        }
    }

    std::mutex lock_;
    Slot *newest_ = nullptr;
    Queue free_;   /* may be in use by calls that began before their objects were destroyed */
    Queue unused_; /* certainly not */
    bool exhausted_ = false;
    std::atomic<uint32_t> live_{0};
};

/* How many refer to an object: its handle, and tasks that outlive the call that made them. */
class References {
public:
    /* False if the last one is gone: the object was destroyed during the call. */
    bool retain()
    {
        uint32_t seen = count_.load(std::memory_order_relaxed);
        while (seen != 0 && !count_.compare_exchange_weak(seen, seen + 1, std::memory_order_relaxed)) {
        }
        return seen != 0;
    }
    /* False if none is left to give back, for those that the user counts. */
    bool give_back(bool *last)
    {
        uint32_t seen = count_.load(std::memory_order_relaxed);
        while (seen != 0 && !count_.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel, std::memory_order_relaxed)) {
        }
        *last = seen == 1;
        return seen != 0;
    }
    /* True for the last one. */
    bool release() { return count_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

private:
    std::atomic<uint32_t> count_{1};
};

/* The one store of each kind; never destroyed. */
template <class T> Handles<T> &handles()
{
    static Handles<T> &store = *new Handles<T>;
    return store;
}

} // namespace acl_cpu
#endif
