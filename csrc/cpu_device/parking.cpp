/* SPDX-License-Identifier: Apache-2.0 */
#include "parking.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace acl_cpu {

ParkingPlace parking_places[PARKING_PLACES];

bool park(std::atomic<uint32_t> *word, uint32_t expected, uint64_t deadline)
{
    timespec until = {static_cast<time_t>(deadline / 1000000000u), static_cast<long>(deadline % 1000000000u)};
    /* FUTEX_WAIT_BITSET takes an absolute time of CLOCK_MONOTONIC. */
    long result = syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, deadline == NO_DEADLINE ? nullptr : &until,
                          nullptr, FUTEX_BITSET_MATCH_ANY);
    return !(result != 0 && errno == ETIMEDOUT);
}

void wake_parked(ParkingPlace &place)
{
    place.epoch.fetch_add(1, std::memory_order_seq_cst);
    syscall(SYS_futex, &place.epoch, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

} // namespace acl_cpu
