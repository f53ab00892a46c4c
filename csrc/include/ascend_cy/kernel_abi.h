/* SPDX-License-Identifier: Apache-2.0
 *
 * The contract between an embedded device and a kernel binary built for it.
 *
 * A `cpu` or `sim` kernel binary is a shared object that exports one object, `ascend_kernel_table`
 * (type ascend_kernel_table_t). aclrtBinaryLoadFromFile opens the file, reads the table and refuses a table whose
 * abi_version it does not know. Nothing else is exchanged: a binary imports no symbol of the device.
 *
 * Plain data only, C99 and C++17. Structures may grow at their end; the *_size fields say how much is there.
 */
#ifndef ASCEND_CY_KERNEL_ABI_H
#define ASCEND_CY_KERNEL_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASCEND_KERNEL_ABI_VERSION 1u
#define ASCEND_KERNEL_TABLE_SYMBOL "ascend_kernel_table"

/* What a binary was built for. */
enum {
    ASCEND_KERNEL_TARGET_CPU = 1, /* fast host code; host pointers are legal arguments */
    ASCEND_KERNEL_TARGET_SIM = 2  /* Ascend C source under the checking simulator; arguments are checked */
};

enum {
    ASCEND_KERNEL_CORE_VECTOR = 1,
    ASCEND_KERNEL_CORE_CUBE = 2,
    ASCEND_KERNEL_CORE_MIX = 3
};

/* Flags of a kernel. */
enum {
    /* Blocks wait for each other (SyncAll): every block must make progress, so each gets a thread of its own. */
    ASCEND_KERNEL_BLOCKS_SYNCHRONIZE = 1u << 0
};

/* How one parameter is used. The device checks pointers of `sim` kernels before the launch. */
enum {
    ASCEND_KERNEL_PARAM_POINTER = 1, /* global memory; 0 is allowed and means "absent" */
    ASCEND_KERNEL_PARAM_INTEGER = 2,
    ASCEND_KERNEL_PARAM_FLOAT = 3,
    ASCEND_KERNEL_PARAM_STRUCT = 4 /* plain data by value */
};

typedef struct ascend_kernel_param {
    const char *name;
    uint32_t offset; /* bytes from the start of the argument block */
    uint32_t size;   /* bytes */
    uint32_t kind;   /* ASCEND_KERNEL_PARAM_* */
    uint32_t reserved;
} ascend_kernel_param_t;

/* Services that the device lends to the blocks of one launch. One object per launch, valid until its last block
 * returned; every function may be called from any block at the same time. */
typedef struct ascend_kernel_services ascend_kernel_services_t;
struct ascend_kernel_services {
    uint32_t struct_size;
    uint32_t reserved;
    void *launch;            /* the device's own, opaque */
    const char *kernel_name; /* as in the table */
    /* Not zero once a block reported a violation or the stream was aborted: return as soon as is convenient. */
    const volatile uint32_t *stop;
    /* Report a fault of this block; the message is copied. `code` is the AscendCL code the stream will return
     * (507015 AI Core exception, 507035 vector core exception, …). The block must return after it. */
    void (*violation)(const ascend_kernel_services_t *services, uint32_t block, int32_t code, const char *message);
    /* Find the device allocation that holds `address`. Returns 1 and fills base and size (bytes, as the caller of
     * aclrtMalloc asked), or 0 where the address belongs to no live allocation. */
    int (*find_allocation)(const ascend_kernel_services_t *services, const void *address, void **base, size_t *size);
    /* Write text of a kernel's printf; what one call writes is not torn apart. */
    void (*print)(const ascend_kernel_services_t *services, uint32_t block, const char *text, size_t length);
};

/* One block. `num_blocks` is as launched; `block` runs from 0 to num_blocks * instances_per_block - 1. */
typedef void (*ascend_kernel_entry_t)(uint32_t block, uint32_t num_blocks, const void *args,
                                      const ascend_kernel_services_t *services);

typedef struct ascend_kernel_desc {
    const char *name; /* what aclrtBinaryGetFunction looks up */
    ascend_kernel_entry_t entry;
    /* Expected work of the whole launch in nanoseconds on one core, or NULL where unknown. The device may run a
     * launch that it expects to be tiny in the calling thread when the stream is idle; it must be cheap. */
    uint64_t (*cost_ns)(const void *args, uint32_t num_blocks);
    const ascend_kernel_param_t *params;
    uint32_t num_params;
    uint32_t args_size; /* bytes of the argument block; a launch with fewer is refused */
    uint32_t core_kind; /* ASCEND_KERNEL_CORE_* */
    uint32_t flags;
    uint32_t instances_per_block; /* 1, or the cores of one mix group (1 cube + 2 vector = 3) */
    uint32_t reserved;
} ascend_kernel_desc_t;

typedef struct ascend_kernel_table {
    uint32_t abi_version; /* ASCEND_KERNEL_ABI_VERSION */
    uint32_t table_size;  /* sizeof(ascend_kernel_table_t) when the binary was built */
    uint32_t desc_size;   /* sizeof(ascend_kernel_desc_t) when the binary was built: the stride of `kernels` */
    uint32_t target;      /* ASCEND_KERNEL_TARGET_* */
    uint32_t num_kernels;
    uint32_t reserved;
    const ascend_kernel_desc_t *kernels;
    const char *build; /* free text for logs: compiler, instruction set */
} ascend_kernel_table_t;

#if defined(_WIN32)
#error "ascend_cy kernel binaries are ELF shared objects"
#endif
#define ASCEND_KERNEL_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
}
#endif
#endif /* ASCEND_CY_KERNEL_ABI_H */
