// SPDX-License-Identifier: Apache-2.0
//
// A kernel binary for the embedded device whose operators do nothing: what is left of a call is the way there.
#include <stddef.h>
#include <stdint.h>

#include "ascend_cy/kernel_abi.h"

static void entry(uint32_t, uint32_t, const void *, const ascend_kernel_services_t *) {}

static uint64_t cost_ns(const void *, uint32_t) { return 0; }

#define EMPTY(name) {name, entry, cost_ns, nullptr, 0, 0, ASCEND_KERNEL_CORE_VECTOR, 0, 1, 0}
static const ascend_kernel_desc_t kernels[] = {
    EMPTY("layernorm_fp32"),  EMPTY("layernorm_fp16"),  EMPTY("layernorm_bf16"),
    EMPTY("vector_add_fp32"), EMPTY("vector_add_fp16"), EMPTY("vector_add_bf16"),
};

extern "C" ASCEND_KERNEL_EXPORT const ascend_kernel_table_t ascend_kernel_table = {
    ASCEND_KERNEL_ABI_VERSION, sizeof(ascend_kernel_table_t), sizeof(ascend_kernel_desc_t), ASCEND_KERNEL_TARGET_CPU,
    sizeof kernels / sizeof kernels[0], 0, kernels, "empty",
};
