/* SPDX-License-Identifier: Apache-2.0 */
#include "in_use.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

namespace acl_cpu {

namespace {

Uses no_uses{0};

struct Record : Uses {
    using Uses::Uses;
    std::mutex lock;
    std::vector<const void *> more; /* what does not fit; under the lock */
    bool taken = true;              /* by a living thread; under the lock of the list, like the next one */
    Record *next = nullptr;
};

/* Records live for ever; those of threads that ended are taken by new ones. */
std::mutex &records_lock = *new std::mutex;
Record *records = nullptr;

pthread_key_t record_key;
pthread_once_t record_once = PTHREAD_ONCE_INIT;
bool has_membarrier = false;

void give_back(void *record)
{
    Record *mine = static_cast<Record *>(record);
    t_uses = &no_uses;
    mine->base = 0;
    mine->current.store(nullptr, std::memory_order_release);
    mine->count.store(0, std::memory_order_release);
    std::lock_guard<std::mutex> hold(records_lock);
    mine->taken = false;
}

void prepare()
{
    pthread_key_create(&record_key, give_back);
    has_membarrier = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

Record &own_record()
{
    if (t_uses != &no_uses) return *static_cast<Record *>(t_uses);
    pthread_once(&record_once, prepare);
    Record *record;
    {
        std::lock_guard<std::mutex> hold(records_lock);
        record = records;
        while (record != nullptr && record->taken) record = record->next;
        if (record == nullptr) {
            record = new Record(has_membarrier ? Uses::places : 0);
            record->next = records;
            records = record;
        }
        record->taken = true;
    }
    t_uses = record;
    pthread_setspecific(record_key, record);
    return *record;
}

} // namespace

__thread Uses *t_uses = &no_uses;

void begin_use_slowly(const void *slot)
{
    Record &mine = own_record();
    uint32_t count = mine.count.load(std::memory_order_relaxed);
    if (count < Uses::places) {
        mine.slots[count].store(slot, std::memory_order_release);
    } else {
        std::lock_guard<std::mutex> hold(mine.lock);
        mine.more.resize(count - Uses::places); /* those behind were of calls that have ended */
        mine.more.push_back(slot);
    }
    mine.count.exchange(count + 1, std::memory_order_seq_cst);
}

void set_current_slot(const void *slot) { own_record().current.store(slot, std::memory_order_seq_cst); }

UseScope::UseScope() : mine_(own_record()), before_(mine_.base) { mine_.base = mine_.count.load(std::memory_order_relaxed); }

UseScope::~UseScope()
{
    mine_.count.store(mine_.base, std::memory_order_release);
    mine_.base = before_;
}

std::vector<const void *> slots_in_use(bool others)
{
    /* Every entry made before its thread looked at the tag is visible from here on. Without the call each entry is an
     * exchange, see begin_use_slowly(). */
    pthread_once(&record_once, prepare);
    if (has_membarrier) syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    std::vector<const void *> result;
    std::lock_guard<std::mutex> hold(records_lock);
    for (Record *record = records; record != nullptr; record = record->next) {
        if (others && record == t_uses) continue;
        uint32_t count = record->count.load(std::memory_order_seq_cst);
        for (uint32_t i = 0; i < std::min(count, Uses::places); ++i) {
            result.push_back(record->slots[i].load(std::memory_order_acquire));
        }
        if (count > Uses::places) {
            std::lock_guard<std::mutex> hold_record(record->lock);
            result.insert(result.end(), record->more.begin(), record->more.end());
        }
        if (const void *current = record->current.load(std::memory_order_seq_cst)) result.push_back(current);
    }
    std::sort(result.begin(), result.end());
    return result;
}

} // namespace acl_cpu
