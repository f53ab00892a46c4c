/* SPDX-License-Identifier: Apache-2.0
 * The records of what calls under way use, by themselves: test_in_use [no_membarrier]. The race is the one that matters:
 * a call writes down what it found and then looks whether it is alive; who destroyed it asks then who uses it. One of the
 * two must notice the other. test_lifetimes.cpp has the same by way of AscendCL. */
#include "../../../csrc/cpu_device/in_use.cpp"

#include <sched.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <thread>

#include "no_membarrier.h"

extern "C" {
#include "check.h"
}

using acl_cpu::begin_use;
using acl_cpu::set_current_slot;
using acl_cpu::UseEnd;
using acl_cpu::Uses;
using acl_cpu::UseScope;

static char objects[4 * Uses::places];

static bool used(const void *slot, bool others = false)
{
    std::vector<const void *> slots = acl_cpu::slots_in_use(others);
    return std::binary_search(slots.begin(), slots.end(), slot);
}

/* Runs parts one after the other in another thread, which lives on in between. */
class Thread {
public:
    ~Thread()
    {
        run(nullptr);
        thread_.join();
    }
    void run(std::function<void()> part)
    {
        std::unique_lock<std::mutex> hold(lock_);
        part_ = std::move(part);
        begun_ = true;
        changed_.notify_all();
        changed_.wait(hold, [this] { return !begun_; });
    }

private:
    void loop()
    {
        for (bool more = true; more;) {
            std::unique_lock<std::mutex> hold(lock_);
            changed_.wait(hold, [this] { return begun_; });
            more = part_ != nullptr;
            if (more) part_();
            begun_ = false;
            changed_.notify_all();
        }
    }

    std::mutex lock_;
    std::condition_variable changed_;
    std::function<void()> part_;
    bool begun_ = false;
    std::thread thread_{[this] { loop(); }};
};

static void calls()
{
    Thread other;
    CHECK(!used(&objects[0]));
    other.run([] { begin_use(&objects[0]); });
    CHECK(used(&objects[0]) && used(&objects[0], true) && !used(&objects[1]));
    other.run([] { CHECK(used(&objects[0]) && !used(&objects[0], true)); });
    other.run([] {
        UseScope scope; /* of a callback in the middle of the call */
        begin_use(&objects[1]);
        {
            UseEnd end; /* of a call that the callback makes */
            begin_use(&objects[2]);
            CHECK(used(&objects[0]) && used(&objects[1]) && used(&objects[2]));
        }
        CHECK(used(&objects[0]) && !used(&objects[1]) && !used(&objects[2]));
        begin_use(&objects[3]);
    });
    CHECK(used(&objects[0]) && !used(&objects[3]));
    other.run([] { UseEnd end; });
    CHECK(!used(&objects[0]));
    other.run([] { set_current_slot(&objects[0]); });
    CHECK(used(&objects[0]));
    other.run([] { set_current_slot(&objects[1]); });
    CHECK(!used(&objects[0]) && used(&objects[1]));
}

/* More than a record has places for. */
static void many_objects()
{
    Thread other;
    other.run([] {
        for (const char &object : objects) begin_use(&object);
    });
    for (const char &object : objects) CHECK(used(&object));
    other.run([] { UseEnd end; });
    for (const char &object : objects) CHECK(!used(&object));
    other.run([] {
        for (uint32_t i = 0; i <= Uses::places; ++i) begin_use(&objects[2 * i]);
    });
    for (uint32_t i = 0; i <= 2 * Uses::places; ++i) CHECK(used(&objects[i]) == (i % 2 == 0));
}

/* Records of threads that ended are used by no one, and taken by the next. */
static void threads_that_end()
{
    for (int i = 0; i < 50; ++i) {
        std::thread([] {
            set_current_slot(&objects[0]);
            begin_use(&objects[1]);
        }).join();
        CHECK(!used(&objects[0]) && !used(&objects[1]));
    }
}

template <class Condition> static void wait_until(Condition condition)
{
    for (int i = 0; !condition(); ++i) {
        if (i % 1000 == 999) sched_yield();
    }
}

/* Both sides at once, again and again, with little between the two steps of each. */
static void race()
{
    static std::atomic<uint32_t> begun, answered, ended, tag;
    static uint32_t rounds = 20000, seen;
    const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(3);
    std::thread user([] {
        for (uint32_t i = 1; i <= rounds; ++i) {
            wait_until([i] { return begun >= i; });
            {
                UseEnd end;
                begin_use(&objects[0]);
                seen = tag.load(std::memory_order_seq_cst);
                answered = i;
                wait_until([i] { return ended >= i; });
            }
        }
    });
    uint32_t missed = 0;
    for (uint32_t i = 1; i <= rounds; ++i) {
        tag = 1;
        begun = i;
        for (volatile uint32_t wait = i % 128; wait != 0; wait = wait - 1) {
        }
        tag.store(0, std::memory_order_seq_cst);
        const bool noticed = used(&objects[0]);
        wait_until([i] { return answered >= i; });
        missed += seen == 1 && !noticed;
        if (std::chrono::steady_clock::now() > last) rounds = i; /* the other thread reads it in its next round */
        ended = i;
    }
    user.join();
    CHECK(missed == 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !membarrier_as_asked(argv[1])) return NOT_RUN;
    for (auto test : {calls, many_objects, threads_that_end, race}) test();
    return check_result("in_use");
}
