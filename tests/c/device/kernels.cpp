/* SPDX-License-Identifier: Apache-2.0
 * Kernels for the tests of the embedded device. Compiled twice: for target cpu, and with -DTARGET=2 for sim. */
#include <atomic>
#include <cstdio>
#include <cstring>
#include <time.h>

#include "ascend_cy/kernel_abi.h"

#ifndef TARGET
#define TARGET ASCEND_KERNEL_TARGET_CPU
#endif

namespace {

uint64_t now_ns()
{
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return uint64_t(time.tv_sec) * 1000000000u + uint64_t(time.tv_nsec);
}

void pause_until(uint64_t end, const ascend_kernel_services_t *services)
{
    while (now_ns() < end && *services->stop == 0) {
        timespec time = {0, 200000};
        nanosleep(&time, nullptr);
    }
}

struct OnePointer { void *p; };
struct PointerAndValue { void *p; int64_t value; };
struct AddArgs { const float *x; const float *y; float *out; int64_t count; };
struct MixedArgs { void *p; int32_t a; int32_t b; double c; };

void empty(uint32_t, uint32_t, const void *, const ascend_kernel_services_t *) {}
uint64_t empty_cost(const void *, uint32_t) { return 100; }

/* Adds to a 64-bit word, without atomicity between launches: shows lost order. */
void add_value(uint32_t, uint32_t, const void *args, const ascend_kernel_services_t *)
{
    auto *a = static_cast<const PointerAndValue *>(args);
    auto *word = static_cast<volatile int64_t *>(a->p);
    *word = *word + a->value;
}
void double_word(uint32_t, uint32_t, const void *args, const ascend_kernel_services_t *)
{
    auto *word = static_cast<volatile int64_t *>(static_cast<const OnePointer *>(args)->p);
    *word = *word * 2;
}

/* Sleeps `value` microseconds in every block, then adds 1 to the word. */
void sleep_us(uint32_t, uint32_t, const void *args, const ascend_kernel_services_t *services)
{
    auto *a = static_cast<const PointerAndValue *>(args);
    pause_until(now_ns() + uint64_t(a->value) * 1000u, services);
    if (a->p != nullptr) static_cast<std::atomic<int64_t> *>(a->p)->fetch_add(1);
}

/* Busy for `value` microseconds per block. */
void spin_us(uint32_t, uint32_t, const void *args, const ascend_kernel_services_t *services)
{
    auto *a = static_cast<const PointerAndValue *>(args);
    uint64_t end = now_ns() + uint64_t(a->value) * 1000u;
    while (now_ns() < end && *services->stop == 0) {
    }
    if (a->p != nullptr) static_cast<std::atomic<int64_t> *>(a->p)->fetch_add(1);
}
uint64_t spin_cost(const void *args, uint32_t blocks)
{
    return uint64_t(static_cast<const PointerAndValue *>(args)->value) * 1000u * blocks;
}

void vector_add(uint32_t block, uint32_t blocks, const void *args, const ascend_kernel_services_t *)
{
    auto *a = static_cast<const AddArgs *>(args);
    int64_t begin = a->count * block / blocks;
    int64_t end = a->count * (block + 1) / blocks;
    for (int64_t i = begin; i < end; ++i) a->out[i] = a->x[i] + a->y[i];
}

/* Marks its block in an array of 64-bit words. */
void mark(uint32_t block, uint32_t blocks, const void *args, const ascend_kernel_services_t *)
{
    static_cast<std::atomic<int64_t> *>(static_cast<const OnePointer *>(args)->p)[block].fetch_add(blocks);
}

void trap(uint32_t block, uint32_t, const void *, const ascend_kernel_services_t *services)
{
    services->violation(services, block, 507015, "deliberate trap");
}
uint64_t tiny_cost(const void *, uint32_t) { return 500; }

/* Says that it runs (word 0), then runs until told to end (word 1): keeps one thread busy. */
void hold(uint32_t, uint32_t, const void *args, const ascend_kernel_services_t *services)
{
    auto *words = static_cast<std::atomic<int64_t> *>(static_cast<const OnePointer *>(args)->p);
    words[0].store(1);
    while (words[1].load() == 0 && *services->stop == 0) {
        timespec time = {0, 200000};
        nanosleep(&time, nullptr);
    }
}

/* Its last block takes `value` microseconds, which its cost does not tell. */
void late(uint32_t block, uint32_t blocks, const void *args, const ascend_kernel_services_t *services)
{
    auto *a = static_cast<const PointerAndValue *>(args);
    if (block + 1 == blocks) pause_until(now_ns() + uint64_t(a->value) * 1000u, services);
    static_cast<std::atomic<int64_t> *>(a->p)->fetch_add(1);
}
uint64_t late_cost(const void *, uint32_t blocks) { return 30000u * blocks; }

/* All blocks meet at a barrier in memory: a counter that must reach the number of blocks. */
void barrier(uint32_t, uint32_t blocks, const void *args, const ascend_kernel_services_t *services)
{
    auto *count = static_cast<std::atomic<int64_t> *>(static_cast<const OnePointer *>(args)->p);
    count->fetch_add(1);
    while (count->load() < int64_t(blocks) && *services->stop == 0) {
        timespec time = {0, 50000};
        nanosleep(&time, nullptr);
    }
}

/* Reads two 32-bit integers and a double laid out by the compiler's rules. */
void mixed(uint32_t, uint32_t, const void *args, const ascend_kernel_services_t *)
{
    auto *a = static_cast<const MixedArgs *>(args);
    *static_cast<double *>(a->p) = a->a * 1000.0 + a->b + a->c;
}

/* Copies what a placeholder points to. */
void copy_word(uint32_t, uint32_t, const void *args, const ascend_kernel_services_t *services)
{
    struct Both { int64_t *out; const int64_t *data; };
    auto *a = static_cast<const Both *>(args);
    void *base;
    size_t size;
    *a->out = services->find_allocation(services, a->data, &base, &size) != 0 ? *a->data : -1;
}

void say(uint32_t block, uint32_t, const void *, const ascend_kernel_services_t *services)
{
    char text[64];
    int length = snprintf(text, sizeof text, "block %u says hello\n", block);
    services->print(services, block, text, size_t(length));
}

/* Asks where an address lives: writes base and size. */
void where(uint32_t, uint32_t, const void *args, const ascend_kernel_services_t *services)
{
    struct Three { void *asked; int64_t *base; int64_t *size; };
    auto *a = static_cast<const Three *>(args);
    void *base = nullptr;
    size_t size = 0;
    int found = services->find_allocation(services, a->asked, &base, &size);
    *a->base = found != 0 ? int64_t(base) : 0;
    *a->size = int64_t(size);
}

#define POINTER(n, at) {n, at, 8, ASCEND_KERNEL_PARAM_POINTER, 0}
#define INTEGER(n, at) {n, at, 8, ASCEND_KERNEL_PARAM_INTEGER, 0}
const ascend_kernel_param_t one_pointer[] = {POINTER("p", 0)};
const ascend_kernel_param_t pointer_and_value[] = {POINTER("p", 0), INTEGER("value", 8)};
const ascend_kernel_param_t add_params[] = {POINTER("x", 0), POINTER("y", 8), POINTER("out", 16), INTEGER("count", 24)};
const ascend_kernel_param_t mixed_params[] = {POINTER("p", 0), {"a", 8, 4, ASCEND_KERNEL_PARAM_INTEGER, 0},
                                              {"b", 12, 4, ASCEND_KERNEL_PARAM_INTEGER, 0},
                                              {"c", 16, 8, ASCEND_KERNEL_PARAM_FLOAT, 0}};
const ascend_kernel_param_t two_pointers[] = {POINTER("out", 0), POINTER("data", 8)};
const ascend_kernel_param_t where_params[] = {INTEGER("asked", 0), POINTER("base", 8), POINTER("size", 16)};

#define KERNEL(function, cost, params, count, bytes, flags) \
    {#function, function, cost, params, count, bytes, ASCEND_KERNEL_CORE_VECTOR, flags, 1, 0}
const ascend_kernel_desc_t kernels[] = {
    KERNEL(empty, empty_cost, nullptr, 0, 0, 0),
    KERNEL(add_value, nullptr, pointer_and_value, 2, 16, 0),
    KERNEL(double_word, tiny_cost, one_pointer, 1, 8, 0),
    KERNEL(sleep_us, nullptr, pointer_and_value, 2, 16, 0),
    KERNEL(spin_us, spin_cost, pointer_and_value, 2, 16, 0),
    KERNEL(hold, nullptr, one_pointer, 1, 8, 0),
    KERNEL(late, late_cost, pointer_and_value, 2, 16, 0),
    KERNEL(vector_add, nullptr, add_params, 4, 32, 0),
    KERNEL(mark, nullptr, one_pointer, 1, 8, 0),
    KERNEL(trap, nullptr, nullptr, 0, 0, 0),
    {"trap_tiny", trap, tiny_cost, nullptr, 0, 0, ASCEND_KERNEL_CORE_CUBE, 0, 1, 0},
    KERNEL(barrier, nullptr, one_pointer, 1, 8, ASCEND_KERNEL_BLOCKS_SYNCHRONIZE),
    {"mixed_2", mixed, tiny_cost, mixed_params, 4, 24, ASCEND_KERNEL_CORE_VECTOR, 0, 1, 0},
    KERNEL(copy_word, tiny_cost, two_pointers, 2, 16, 0),
    KERNEL(say, nullptr, nullptr, 0, 0, 0),
    KERNEL(where, tiny_cost, where_params, 3, 24, 0),
    {"mark_mix", mark, nullptr, one_pointer, 1, 8, ASCEND_KERNEL_CORE_MIX, 0, 3, 0},
};

} // namespace

extern "C" ASCEND_KERNEL_EXPORT const ascend_kernel_table_t ascend_kernel_table = {
    ASCEND_KERNEL_ABI_VERSION, sizeof(ascend_kernel_table_t), sizeof(ascend_kernel_desc_t), TARGET,
    sizeof kernels / sizeof kernels[0], 0, kernels, "tests",
};
