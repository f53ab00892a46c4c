/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles that can be checked without risk. All objects that users hold by handle live in one reserved stretch of
 * address space that is never unmapped. A handle is the address of its slot plus, in the low six bits, the slot's
 * generation; the slot's tag holds kind and generation of the object now in it. So a destroyed handle, one of another
 * kind, or an arbitrary number is recognised in a few instructions and never dereferenced outside the stretch. Slots
 * are reused oldest first, which keeps a stale handle recognisable for long.
 */
#ifndef ASCENDCL_CPU_HANDLES_H
#define ASCENDCL_CPU_HANDLES_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

namespace acl_cpu {

enum class Kind : uint32_t { None = 0, Context, Stream, Event, Notify, Binary, Function, Args, Label, LabelList, Physical, Pool, Model, ModelTask, TaskGroup, Condition };

constexpr uintptr_t SLOT_ALIGNMENT = 64;
constexpr uint32_t GENERATIONS = 64;
constexpr uint32_t TAG_MAGIC = 0xA5C10000u;

/* In front of every object. The tag is 0 while the slot is free. */
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

/* Objects that threads may still be looking at when they are destroyed say `renewable`: an object is made once for each
 * slot and stays one for ever; destroy() leaves it as it is, and renew() makes it the slot's next object. */
template <class T, class = void> struct IsRenewable : std::false_type {};
template <class T> struct IsRenewable<T, std::void_t<decltype(T::renewable)>> : std::true_type {};

/* All objects of one kind. */
template <class T> class Handles {
public:
    static constexpr size_t slot_bytes = (sizeof(Slot) + sizeof(T) + SLOT_ALIGNMENT - 1) / SLOT_ALIGNMENT * SLOT_ALIGNMENT;

    /* nullptr when no slot is left. */
    template <class... Arguments> T *create(const void *creator, Arguments &&...arguments)
    {
        Slot *slot = nullptr;
        bool fresh = false;
        {
            std::lock_guard<std::mutex> hold(lock_);
            /* Young free slots stay out of use for a while, so that stale handles are noticed. */
            if (free_count_ > quarantine || (free_count_ > 0 && exhausted_)) {
                slot = first_free_;
                first_free_ = slot->next_free;
                if (first_free_ == nullptr) last_free_ = nullptr;
                --free_count_;
            } else {
                slot = handle_arena::extend(slot_bytes);
                if (slot == nullptr) {
                    exhausted_ = true;
                    return nullptr;
                }
                slot->previous = newest_;
                newest_ = slot;
                fresh = true;
            }
        }
        slot->creator = creator;
        T *object = reinterpret_cast<T *>(slot + 1);
        if constexpr (IsRenewable<T>::value) {
            if (fresh) new (object) T;
            object->renew(std::forward<Arguments>(arguments)...);
        } else {
            new (object) T(std::forward<Arguments>(arguments)...);
        }
        slot->tag.store(tag_of(slot->generation), std::memory_order_release);
        live_.fetch_add(1, std::memory_order_relaxed);
        return object;
    }

    /* The handle stops being valid at once; the memory of the object stays readable for ever. */
    void destroy(T *object)
    {
        Slot *slot = slot_of(object);
        slot->tag.store(0, std::memory_order_release);
        if constexpr (!IsRenewable<T>::value) object->~T();
        live_.fetch_sub(1, std::memory_order_relaxed);
        std::lock_guard<std::mutex> hold(lock_);
        slot->generation = (slot->generation + 1) % GENERATIONS;
        slot->next_free = nullptr;
        if (last_free_ != nullptr) last_free_->next_free = slot;
        else first_free_ = slot;
        last_free_ = slot;
        ++free_count_;
    }

    /* Makes the handle invalid before the object is taken apart. Returns false if another thread did so first. */
    static bool retire(T *object)
    {
        Slot *slot = slot_of(object);
        uint32_t expected = tag_of(slot->generation);
        return slot->tag.compare_exchange_strong(expected, 0);
    }

    static T *find(const void *handle)
    {
        uintptr_t value = reinterpret_cast<uintptr_t>(handle);
        uintptr_t offset = value - handle_arena::base.load(std::memory_order_relaxed);
        if (offset >= handle_arena::used.load(std::memory_order_relaxed)) return nullptr;
        Slot *slot = reinterpret_cast<Slot *>(value & ~(SLOT_ALIGNMENT - 1));
        uint32_t generation = static_cast<uint32_t>(value & (SLOT_ALIGNMENT - 1));
        if (slot->tag.load(std::memory_order_acquire) != tag_of(generation)) return nullptr;
        return reinterpret_cast<T *>(slot + 1);
    }

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

    std::mutex lock_;
    Slot *newest_ = nullptr;
    Slot *first_free_ = nullptr;
    Slot *last_free_ = nullptr;
    uint32_t free_count_ = 0;
    bool exhausted_ = false;
    std::atomic<uint32_t> live_{0};
};

/* The one store of each kind; never destroyed. */
template <class T> Handles<T> &handles()
{
    static Handles<T> &store = *new Handles<T>;
    return store;
}

} // namespace acl_cpu
#endif
