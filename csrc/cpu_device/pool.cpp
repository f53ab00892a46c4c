/* SPDX-License-Identifier: Apache-2.0 */
#include "pool.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "ascendcl_cpu.h"
#include "settings.h"
#include "stream.h"

namespace acl_cpu {

namespace {

thread_local bool t_is_worker = false;
/* Until when a helping thread has time. */
thread_local uint64_t t_deadline = NO_DEADLINE;

} // namespace

/* The lock is held for a fraction of a microsecond, and sleeping for it takes longer: try for a moment. */
std::unique_lock<std::mutex> Pool::lock_soon()
{
    std::unique_lock<std::mutex> hold(lock_, std::defer_lock);
    for (int i = 0; i < 100 && spins(); ++i) {
        if (hold.try_lock()) return hold;
        cpu_relax();
    }
    hold.lock();
    return hold;
}

bool Pool::has_time_for(uint64_t duration_ns)
{
    if (LIKELY(t_deadline == NO_DEADLINE)) return true;
    if (duration_ns == UNKNOWN_COST) return false;
    uint64_t now = now_ns();
    return now < t_deadline && duration_ns <= (t_deadline - now) / 4;
}

Pool &pool()
{
    static Pool &instance = *new Pool;
    return instance;
}

void Pool::set_workers(uint32_t count)
{
    uint32_t cpus = usable_cpus();
    std::unique_lock<std::mutex> hold = lock_soon();
    workers_.store(count == 0 ? std::min(cpus, most_workers) : std::min(count, most_workers));
    /* The CPU of the thread that uses the device is left to it: idle workers spin on at most half of the others'. */
    spin_limit_.store(cpus <= 1 ? 0 : std::max(1u, cpus / 2));
    update_hint();
    sleep_.notify_all(); /* surplus threads end, missing ones are started when there is work */
    tokens_ += sleeping_;
    spinning_ += sleeping_;
    sleeping_ = 0;
}

/* ---- ready streams ---- */

void Pool::push_ready(Stream &stream)
{
    uint32_t level = std::min(stream.priority.load(std::memory_order_relaxed), priorities - 1);
    stream.next_ready = nullptr;
    stream.previous_ready = last_ready_[level];
    if (last_ready_[level] != nullptr) last_ready_[level]->next_ready = &stream;
    else first_ready_[level] = &stream;
    last_ready_[level] = &stream;
    stream.ready.store(true, std::memory_order_seq_cst);
    ready_count_.store(ready_count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void Pool::remove_ready(Stream &stream)
{
    /* The priority may have changed since; the list is found by its ends. */
    for (uint32_t level = 0; level < priorities; ++level) {
        if (first_ready_[level] == &stream) first_ready_[level] = stream.next_ready;
        if (last_ready_[level] == &stream) last_ready_[level] = stream.previous_ready;
    }
    if (stream.next_ready != nullptr) stream.next_ready->previous_ready = stream.previous_ready;
    if (stream.previous_ready != nullptr) stream.previous_ready->next_ready = stream.next_ready;
    stream.ready.store(false, std::memory_order_relaxed);
    ready_count_.store(ready_count_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

void Pool::schedule(Stream &stream)
{
    std::unique_lock<std::mutex> hold = lock_soon();
    push_ready(stream);
    update_hint();
    bool alone = stopping();
    wake_for(hold);
    /* Nobody but its waiters will execute it; the address only selects the sleepers. */
    if (alone) unpark(&stream);
}

/* ---- open jobs ---- */

uint32_t Pool::room(const Job &job) const
{
    uint32_t claimed = job.next_.load(std::memory_order_relaxed);
    uint32_t inside = job.participants_.load(std::memory_order_relaxed);
    uint32_t most = workers();
    if (claimed >= job.total || inside >= most) return 0;
    return std::min(most - inside, job.total - claimed);
}

void Pool::update_hint()
{
    uint32_t work = ready_count_.load(std::memory_order_relaxed);
    for (Job *job = first_open_; job != nullptr; job = job->next_open_) work += room(*job);
    hint_.store(work, std::memory_order_relaxed);
}

void Pool::open(Job &job, Stream *owner, uint32_t participants)
{
    std::unique_lock<std::mutex> hold = lock_soon();
    if (participants == 0) {
        /* Somebody has to be awake; unless the blocks are long, more are not woken by the thread that launches, which
         * may come to help itself. */
        job.eager.store(job.block_ns >= LONG_BLOCK_NS, std::memory_order_relaxed);
    } else if (!job.eager.load(std::memory_order_relaxed)) {
        /* One job of short blocks does not repay a wake-up; a series does, since who is awake stays so in between. */
        uint64_t now = now_ns();
        bool series = job.block_ns >= WORTH_SHARING_NS && now - last_small_ns_ < 2 * SPIN_NS;
        job.eager.store(series, std::memory_order_relaxed);
        last_small_ns_ = now;
    }
    job.participants_.store(participants, std::memory_order_relaxed);
    job.owner_ = owner;
    job.open_.store(true, std::memory_order_relaxed);
    job.previous_open_ = nullptr;
    job.next_open_ = first_open_;
    if (first_open_ != nullptr) first_open_->previous_open_ = &job;
    first_open_ = &job;
    if (owner != nullptr) owner->open_job.store(&job, std::memory_order_seq_cst);
    update_hint();
    wake_for(hold);
}

void Pool::close_locked(Job &job)
{
    if (!job.open_.load(std::memory_order_relaxed)) return;
    job.open_.store(false, std::memory_order_release);
    if (job.previous_open_ != nullptr) job.previous_open_->next_open_ = job.next_open_;
    else first_open_ = job.next_open_;
    if (job.next_open_ != nullptr) job.next_open_->previous_open_ = job.previous_open_;
    if (job.owner_ != nullptr) job.owner_->open_job.store(nullptr, std::memory_order_relaxed);
    update_hint();
}

void Pool::close(Job &job)
{
    if (!job.open_.load(std::memory_order_acquire)) return; /* somebody was faster */
    std::unique_lock<std::mutex> hold = lock_soon();
    close_locked(job);
}

/* A thread leaves a job between blocks: a worker when a stream would have to wait for an executor otherwise and somebody
 * stays behind to finish the job; anybody who insists, because the process exits or its time is up. What is left is then
 * for others to find. */
bool Pool::give_way(Job &job, bool insists)
{
    std::unique_lock<std::mutex> hold = lock_soon();
    if (!job.open_.load(std::memory_order_relaxed)) return false;
    /* No block is left: whoever leaves now, with nobody else in the job, would leave it open for ever. */
    if (job.next_.load(std::memory_order_relaxed) >= job.total) return false;
    bool needed = ready_count_.load(std::memory_order_relaxed) > spinning_;
    if (!insists && !(needed && job.participants_.load(std::memory_order_relaxed) > 1)) return false;
    /* The job is open, so nobody has found its blocks used up yet: who stays sees the number before leaving. */
    job.participants_.fetch_sub(1, std::memory_order_acq_rel);
    job.eager.store(true, std::memory_order_relaxed);
    update_hint();
    wake_for(hold);
    return true;
}

bool Pool::work_on(Job &job)
{
    bool first = true;
    for (;;) {
        if (UNLIKELY(t_is_worker && (others_wait() || stopping())) && give_way(job, stopping())) return false;
        if (UNLIKELY(t_deadline != NO_DEADLINE) && now_ns() >= t_deadline && give_way(job, true)) return false;
        uint32_t index = job.next_.fetch_add(1, std::memory_order_relaxed);
        if (index >= job.total) return true;
        job.run_block(index);
        if (first && !job.eager.load(std::memory_order_relaxed)) {
            /* So many blocks are left that a wake-up pays after all. */
            first = false;
            if (job.next_.load(std::memory_order_relaxed) + 2 < job.total) {
                std::unique_lock<std::mutex> hold = lock_soon();
                job.eager.store(true, std::memory_order_relaxed);
                wake_for(hold);
            }
        }
    }
}

void Pool::offer(Job &job, Stream *owner)
{
    bool alone = stopping();
    open(job, owner, 0);
    if (alone) unpark(owner);
}

Step Pool::run(Job &job, Stream *owner)
{
    if (job.total == 1 || workers() == 1) {
        for (uint32_t index = 0; index < job.total; ++index) job.run_block(index);
        return Step::Done;
    }
    open(job, owner, 1);
    if (!work_on(job)) return Step::Pending;
    close(job);
    /* Closed, so nobody joins any more; who brings the number to zero saw all blocks done. */
    return job.participants_.fetch_sub(1, std::memory_order_acq_rel) == 1 ? Step::Done : Step::Pending;
}

void Pool::leave(Job &job)
{
    close(job);
    if (job.participants_.fetch_sub(1, std::memory_order_acq_rel) == 1) job.blocks_done();
}

/* ---- threads ---- */

bool Pool::start_thread()
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    /* Signals are for the user's threads. */
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    int error = pthread_create(&thread, &attributes, worker_main, this);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    if (error != 0) return false;
    char name[16];
    snprintf(name, sizeof name, "acl-worker-%u", started_ % 1000);
    pthread_setname_np(thread, name);
    ++started_;
    ++spinning_;
    return true;
}

/* Wakes as many sleepers as there is work that no awake thread is going to take. Unlocks. */
void Pool::wake_for(std::unique_lock<std::mutex> &hold)
{
    if (stopping()) {
        hold.unlock();
        return;
    }
    uint32_t wanted = ready_count_.load(std::memory_order_relaxed);
    for (Job *job = first_open_; job != nullptr; job = job->next_open_) {
        bool abandoned = job->participants_.load(std::memory_order_relaxed) == 0;
        bool eager = job->eager.load(std::memory_order_relaxed);
        if (eager || abandoned) wanted += eager ? room(*job) : 1;
    }
    uint32_t wakes = 0;
    while (spinning_ < wanted) {
        if (sleeping_ != 0) {
            --sleeping_;
            ++tokens_;
            ++spinning_;
            ++wakes;
        } else if (started_ >= workers() || !start_thread()) {
            break;
        }
    }
    hold.unlock();
    while (wakes-- != 0) sleep_.notify_one();
}

bool Pool::find_work(Stream **stream, Job **job)
{
    /* Something new comes before helping with what others do already; streams and jobs that nobody works on take
     * turns. */
    jobs_first_ = !jobs_first_;
    for (int turn = 0; turn < 3; ++turn) {
        bool streams = turn == (jobs_first_ ? 1 : 0);
        if (streams) {
            for (Stream *ready : first_ready_) {
                if (ready == nullptr) continue;
                remove_ready(*ready);
                *stream = ready;
                return true;
            }
            continue;
        }
        for (Job *open = first_open_; open != nullptr; open = open->next_open_) {
            bool abandoned = open->participants_.load(std::memory_order_relaxed) == 0;
            if (room(*open) == 0 || (turn < 2 && !abandoned)) continue;
            open->participants_.fetch_add(1, std::memory_order_relaxed);
            *job = open;
            return true;
        }
    }
    return false;
}

void *Pool::worker_main(void *pool)
{
    t_is_worker = true;
    static_cast<Pool *>(pool)->worker();
    return nullptr;
}

void Pool::worker()
{
    std::unique_lock<std::mutex> hold = lock_soon();
    for (;;) {
        /* Here: locked, and counted as spinning. */
        Stream *stream = nullptr;
        Job *job = nullptr;
        if (started_ > workers()) {
            --started_;
            --spinning_;
            return;
        }
        if (!stopping() && find_work(&stream, &job)) {
            --spinning_;
            busy_.fetch_add(1, std::memory_order_relaxed);
            update_hint();
            hold.unlock();
            if (stream != nullptr) {
                stream->execute(0, false);
            } else if (work_on(*job)) {
                leave(*job);
            }
            busy_.fetch_sub(1, std::memory_order_release);
            hold = lock_soon();
            ++spinning_;
            continue;
        }
        update_hint(); /* what it promised may be taken by now */
        if (spinning_ <= spin_limit_.load(std::memory_order_relaxed) && !stopping()) {
            hold.unlock();
            uint64_t until = now_ns() + SPIN_NS;
            bool found = false;
            do {
                for (int i = 0; i < 64 && !found; ++i) {
                    cpu_relax();
                    found = hint_.load(std::memory_order_relaxed) != 0;
                }
            } while (!found && now_ns() < until);
            hold = lock_soon();
            if (found) continue;
            if (hint_.load(std::memory_order_relaxed) != 0) continue;
        }
        --spinning_;
        ++sleeping_;
        sleep_.wait(hold, [this] { return tokens_ != 0; });
        --tokens_;
    }
}

/* ---- helping ---- */

bool Pool::may_help(const Stream &stream)
{
    return stream.ready.load(std::memory_order_seq_cst) || stream.open_job.load(std::memory_order_relaxed) != nullptr ||
           stream.blocked_on.load(std::memory_order_relaxed) != nullptr;
}

bool Pool::help(Stream &stream, uint32_t target, uint64_t deadline)
{
    if (!may_help(stream)) return false;
    struct Deadline { /* for all that is called from here */
        explicit Deadline(uint64_t until) { t_deadline = until; }
        ~Deadline() { t_deadline = NO_DEADLINE; }
    } scope(deadline);
    UseScope uses;
    std::unique_lock<std::mutex> hold = lock_soon();
    Stream *candidate = &stream;
    /* Follow what the stream waits for; the chain is short, and a cycle (a deadlock of the user's) must end here. */
    for (int depth = 0; candidate != nullptr && depth < 16; ++depth) {
        bool own = candidate == &stream;
        if (candidate->ready.load(std::memory_order_relaxed)) {
            if (!candidate->has_time_for_next()) return false;
            remove_ready(*candidate);
            update_hint();
            hold.unlock();
            candidate->execute(target, own);
            return true;
        }
        Job *job = candidate->open_job.load(std::memory_order_relaxed);
        if (job != nullptr && room(*job) != 0) {
            if (!has_time_for(job->block_ns)) return false;
            job->participants_.fetch_add(1, std::memory_order_relaxed);
            update_hint();
            hold.unlock();
            if (work_on(*job)) leave(*job);
            return true;
        }
        candidate = Handles<Stream>::find(candidate->blocked_on.load(std::memory_order_relaxed));
    }
    return false;
}

void Pool::quiesce()
{
    {
        std::lock_guard<std::mutex> hold(lock_);
        stopping_.store(true);
    }
    /* Called once for each binary that is loaded; the time is for all of them. */
    uint64_t until = 0;
    uint64_t limit = now_ns() + 200000000;
    if (quiet_by_.compare_exchange_strong(until, limit)) until = limit;
    while (busy_.load(std::memory_order_acquire) != 0 && now_ns() < until) usleep(500);
}

} // namespace acl_cpu

int ascendcl_cpu_set_workers(uint32_t count)
{
    acl_cpu::t_state.api = __func__;
    if (count > acl_cpu::Pool::most_workers) {
        return acl_cpu::fail(ACL_ERROR_RT_PARAM_INVALID, "count is %u, at most %u workers are possible", count,
                             acl_cpu::Pool::most_workers);
    }
    acl_cpu::choose_workers(count);
    return ACL_SUCCESS;
}

uint32_t ascendcl_cpu_get_workers(void)
{
    acl_cpu::settings();
    return acl_cpu::pool().workers();
}
