// SPDX-License-Identifier: Apache-2.0
//
// Kernels that tests use to keep a stream busy and to watch what happens around it. Only 8-byte slots.
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "ascend_cy/kernel_abi.h"

namespace {

void rest(int64_t ns, const ascend_kernel_services_t *services) {
    timespec now, end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += ns % 1000000000;
    end.tv_sec += ns / 1000000000 + end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    do {
        const timespec slice = {0, 1000000};
        nanosleep(&slice, nullptr);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (!*services->stop && (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec)));
}

// Waits, then stores a number.
struct SlowStore {
    int64_t ns;
    int64_t *target;
    int64_t value;
};
void slow_store(uint32_t block, uint32_t, const void *arguments, const ascend_kernel_services_t *services) {
    SlowStore args;
    memcpy(&args, arguments, sizeof args);
    rest(args.ns, services);
    args.target[block] = args.value;
}

// Waits, then copies floats: what it copies is what the source holds that late.
struct SlowCopy {
    int64_t ns;
    const float *source;
    float *target;
    int64_t count;
};
void slow_copy(uint32_t block, uint32_t blocks, const void *arguments, const ascend_kernel_services_t *services) {
    SlowCopy args;
    memcpy(&args, arguments, sizeof args);
    rest(args.ns, services);
    for (int64_t i = block; i < args.count; i += blocks) args.target[i] = args.source[i];
}

// Reports a fault from one block.
struct Fault {
    int64_t block;
    int64_t code;
};
void fault(uint32_t block, uint32_t, const void *arguments, const ascend_kernel_services_t *services) {
    Fault args;
    memcpy(&args, arguments, sizeof args);
    if (block == args.block)
        services->violation(services, block, static_cast<int32_t>(args.code), "the test asked for a fault");
}

#define SLOT(n, kind) {"slot" #n, 8 * n, 8, ASCEND_KERNEL_PARAM_##kind, 0}
const ascend_kernel_param_t store_params[] = {SLOT(0, INTEGER), SLOT(1, POINTER), SLOT(2, INTEGER)};
const ascend_kernel_param_t copy_params[] = {SLOT(0, INTEGER), SLOT(1, POINTER), SLOT(2, POINTER), SLOT(3, INTEGER)};
const ascend_kernel_param_t fault_params[] = {SLOT(0, INTEGER), SLOT(1, INTEGER)};

#define KERNEL(name, params) \
    {#name, name, nullptr, params, sizeof params / sizeof params[0], 8 * (sizeof params / sizeof params[0]), \
     ASCEND_KERNEL_CORE_VECTOR, 0, 1, 0}
const ascend_kernel_desc_t kernels[] = {
    KERNEL(slow_store, store_params),
    KERNEL(slow_copy, copy_params),
    KERNEL(fault, fault_params),
};

} // namespace

extern "C" ASCEND_KERNEL_EXPORT const ascend_kernel_table_t ascend_kernel_table;
const ascend_kernel_table_t ascend_kernel_table = {
    ASCEND_KERNEL_ABI_VERSION, sizeof(ascend_kernel_table_t),
    sizeof(ascend_kernel_desc_t), TARGET,
    sizeof kernels / sizeof kernels[0], 0,
    kernels, "kernels of the tests",
};
