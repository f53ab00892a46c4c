/* SPDX-License-Identifier: Apache-2.0 */
#include "gang.h"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace acl_cpu {
namespace {

struct Run {
    Job *job;
    std::atomic<uint32_t> left;
};

/* A cached thread: asleep until it is given a block. */
struct Member {
    std::condition_variable given;
    Run *run = nullptr;
    uint32_t block = 0;
};

struct Gang {
    std::mutex lock;
    std::vector<Member *> idle;
    uint32_t threads = 0;

    static void *main(void *member)
    {
        gang().serve(*static_cast<Member *>(member));
        return nullptr;
    }

    void serve(Member &member)
    {
        std::unique_lock<std::mutex> hold(lock);
        for (;;) {
            member.given.wait(hold, [&] { return member.run != nullptr; });
            Run *run = member.run;
            hold.unlock();
            Job *job = run->job;
            job->run_block(member.block);
            /* From here on the run belongs to whoever is last. */
            bool last = run->left.fetch_sub(1, std::memory_order_acq_rel) == 1;
            hold.lock();
            member.run = nullptr;
            idle.push_back(&member);
            if (!last) continue;
            hold.unlock();
            delete run;
            job->blocks_done();
            hold.lock();
        }
    }

    bool grow(uint32_t wanted)
    {
        while (idle.size() < wanted) {
            if (threads >= most_gang_threads) return false;
            Member *member = new Member;
            pthread_attr_t attributes;
            pthread_attr_init(&attributes);
            pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
            sigset_t all;
            sigset_t before;
            sigfillset(&all);
            pthread_sigmask(SIG_SETMASK, &all, &before);
            pthread_t thread;
            int error = pthread_create(&thread, &attributes, main, member);
            pthread_sigmask(SIG_SETMASK, &before, nullptr);
            pthread_attr_destroy(&attributes);
            if (error != 0) {
                delete member;
                return false;
            }
            pthread_setname_np(thread, "acl-gang");
            ++threads;
            idle.push_back(member);
        }
        return true;
    }

    static Gang &gang()
    {
        static Gang &instance = *new Gang;
        return instance;
    }
};

} // namespace

bool run_gang(Job &job, uint32_t blocks)
{
    Gang &gang = Gang::gang();
    std::lock_guard<std::mutex> hold(gang.lock);
    if (!gang.grow(blocks)) return false;
    Run *run = new Run{&job, {blocks}};
    for (uint32_t block = 0; block < blocks; ++block) {
        Member *member = gang.idle.back();
        gang.idle.pop_back();
        member->run = run;
        member->block = block;
        member->given.notify_one();
    }
    return true;
}

} // namespace acl_cpu
