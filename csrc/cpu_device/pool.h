/* SPDX-License-Identifier: Apache-2.0
 *
 * The threads that execute streams and blocks.
 *
 * Two kinds of work: streams that are ready (they need one executor), and jobs that are open (work in blocks, where
 * more threads may join). A thread that waits for a stream helps with exactly that stream, so a worker that is not
 * scheduled delays nobody; the number of threads in one job never exceeds the number of workers.
 */
#ifndef ASCENDCL_CPU_POOL_H
#define ASCENDCL_CPU_POOL_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "task.h"

namespace acl_cpu {

/* Work in blocks, of which each is run once, by any thread, in any order. */
class Job {
public:
    explicit Job(uint32_t blocks) : total(blocks) {}
    virtual ~Job() = default;
    virtual void run_block(uint32_t index) = 0;
    /* Called by the last thread to leave, when it is not the one that called Pool::run(). The job may end here. */
    virtual void blocks_done() = 0;
    /* Worth waking threads for: false for blocks that take less than waking one. */
    std::atomic<bool> eager{true};
    uint64_t block_ns = UNKNOWN_COST; /* expected duration of one block */

protected:
    uint32_t total;

private:
    friend class Pool;
    std::atomic<uint32_t> next_{0};
    std::atomic<uint32_t> participants_{0};
    std::atomic<bool> open_{false}; /* written under the pool's lock, like the rest */
    Stream *owner_ = nullptr;
    Job *next_open_ = nullptr;
    Job *previous_open_ = nullptr;
};

class Pool {
public:
    static constexpr uint32_t most_workers = 1024;

    /* 0: as many as there are usable CPUs. */
    void set_workers(uint32_t count);
    uint32_t workers() const { return workers_.load(std::memory_order_relaxed); }

    /* A stream that has tasks and no executor. */
    void schedule(Stream &stream);
    /* Whether other streams wait for an executor. */
    bool others_wait() const { return ready_count_.load(std::memory_order_relaxed) != 0; }

    /* Leaves a job to workers and to those who wait for the stream. */
    void offer(Job &job, Stream *owner);
    /* Runs a job; returns Done when all blocks are done, Pending if other threads still work on the last ones. */
    Step run(Job &job, Stream *owner);

    /* Executes work of the stream or of one that it waits for. False if there is nothing to do. With a deadline only
     * work is begun that is expected to end long before. */
    bool help(Stream &stream, uint32_t target, uint64_t deadline);
    /* Whether the calling thread has the time for work of this duration. */
    static bool has_time_for(uint64_t duration_ns);
    /* Cheap hint for help(). */
    static bool may_help(const Stream &stream);
    /* Forgets the stream; it must be idle. */
    void forget(Stream &stream);

    bool spins() const { return spin_limit_.load(std::memory_order_relaxed) != 0; }
    /* At exit: no new work is begun by workers, and those that run get a moment to end. Waiting threads go on. */
    void quiesce();
    bool stopping() const { return stopping_.load(std::memory_order_relaxed); }

private:
    std::unique_lock<std::mutex> lock_soon();
    void worker();
    static void *worker_main(void *pool);
    bool find_work(Stream **stream, Job **job);
    /* False when the thread left before the blocks were used up, see give_way(). */
    bool work_on(Job &job);
    void leave(Job &job);
    bool give_way(Job &job, bool insists);
    void push_ready(Stream &stream);
    void remove_ready(Stream &stream);
    void open(Job &job, Stream *owner, uint32_t participants);
    void close(Job &job);
    void close_locked(Job &job);
    uint32_t room(const Job &job) const;
    void update_hint();
    void wake_for(std::unique_lock<std::mutex> &hold);
    bool start_thread();

    std::mutex lock_;
    static constexpr uint32_t priorities = 8;
    Stream *first_ready_[priorities] = {};
    Stream *last_ready_[priorities] = {};
    Job *first_open_ = nullptr;
    uint64_t last_small_ns_ = 0; /* when the last job of short blocks was opened */
    bool jobs_first_ = false;    /* whose turn it is when both kinds of work wait */
    uint32_t started_ = 0;       /* threads alive */
    uint32_t sleeping_ = 0;      /* of these, asleep and not yet told to wake */
    uint32_t tokens_ = 0;        /* wake-ups given and not yet taken */
    uint32_t spinning_ = 0;      /* awake and looking for work */
    std::condition_variable sleep_;
    std::atomic<uint32_t> workers_{1};
    std::atomic<uint32_t> spin_limit_{0};
    std::atomic<uint32_t> busy_{0};
    std::atomic<bool> stopping_{false};
    std::atomic<uint64_t> quiet_by_{0}; /* quiesce() waits no longer than until then */
    /* Read all the time by threads that look for work, hence in a cache line of its own. */
    alignas(64) std::atomic<uint32_t> hint_{0}; /* ready streams plus places in open jobs */
    std::atomic<uint32_t> ready_count_{0};
};

/* The one pool; never destroyed. */
Pool &pool();

/* How long threads look for work before they sleep. */
constexpr uint64_t SPIN_NS = 30000;
/* Blocks shorter than this are done faster than a second thread has found them. */
constexpr uint64_t WORTH_SHARING_NS = 2000;
/* Blocks longer than this are worth waking all workers at once. */
constexpr uint64_t LONG_BLOCK_NS = 100000;

} // namespace acl_cpu
#endif
