/* SPDX-License-Identifier: Apache-2.0
 *
 * Sleeping until something changes. Waiters queue in one of a few process-wide places chosen by the address of what
 * they wait for, so whoever wakes them never touches the object itself after the change that lets its owner destroy it.
 */
#ifndef ASCENDCL_CPU_PARKING_H
#define ASCENDCL_CPU_PARKING_H

#include <time.h>

#include <atomic>
#include <cstdint>

namespace acl_cpu {

/* Nanoseconds of CLOCK_MONOTONIC. */
inline uint64_t now_ns()
{
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

constexpr uint64_t NO_DEADLINE = UINT64_MAX;

inline uint64_t deadline_in_ms(int64_t ms) { return ms < 0 ? NO_DEADLINE : now_ns() + static_cast<uint64_t>(ms) * 1000000u; }

inline void cpu_relax()
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

struct alignas(64) ParkingPlace {
    std::atomic<uint32_t> epoch;
    std::atomic<uint32_t> waiters;
};

constexpr uint32_t PARKING_PLACES = 64;
extern ParkingPlace parking_places[PARKING_PLACES];

inline ParkingPlace &parking_place(const void *key)
{
    return parking_places[(reinterpret_cast<uintptr_t>(key) >> 6) % PARKING_PLACES];
}

/* futex; false when the deadline has passed. */
bool park(std::atomic<uint32_t> *word, uint32_t expected, uint64_t deadline);
void wake_parked(ParkingPlace &place);

/* Wakes who waits for `key`. Call it after a sequentially consistent change of what they wait for. */
inline void unpark(const void *key)
{
    ParkingPlace &place = parking_place(key);
    if (__builtin_expect(place.waiters.load(std::memory_order_seq_cst) != 0, 0)) wake_parked(place);
}

/* Sleeps until done() or the deadline; returns done(). done() must load its state sequentially consistently. */
template <class Done> bool park_until(const void *key, uint64_t deadline, Done done)
{
    ParkingPlace &place = parking_place(key);
    place.waiters.fetch_add(1, std::memory_order_seq_cst);
    bool result;
    for (;;) {
        uint32_t epoch = place.epoch.load(std::memory_order_seq_cst);
        result = done();
        if (result) break;
        if (!park(&place.epoch, epoch, deadline)) {
            result = done();
            break;
        }
    }
    place.waiters.fetch_sub(1, std::memory_order_relaxed);
    return result;
}

} // namespace acl_cpu
#endif
