/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel binaries, functions and argument lists.
 */
#ifndef ASCENDCL_CPU_KERNEL_H
#define ASCENDCL_CPU_KERNEL_H

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "ascend_cy/kernel_abi.h"
#include "entry.h"
#include "handles.h"

namespace acl_cpu {

struct Binary;

struct Function {
    static constexpr Kind kind = Kind::Function;

    Function(Binary *from, const ascend_kernel_desc_t *described) : binary(from), desc(described) {}

    Binary *const binary;
    const ascend_kernel_desc_t *const desc; /* in the binary's shared object */

    void *handle() const { return Handles<Function>::handle_of(this); }
};

struct Binary {
    static constexpr Kind kind = Kind::Binary;

    std::string path;
    std::string opened_as; /* what dlopen knows it by */
    void *library = nullptr; /* of dlopen */
    const ascend_kernel_table_t *table = nullptr;
    Context *context = nullptr; /* where it was loaded */
    bool checks_pointers = false; /* a `sim` binary */
    std::atomic<uint32_t> launches_under_way{0};
    /* Launches in runtime instances: the library stays until they are gone. */
    uint32_t recorded = 0; /* under the lock of unloading, like the next one */
    bool unloaded = false;

    std::mutex lock;
    /* ---- under the lock ---- */
    std::map<std::string, Function *> functions;

    void *handle() const { return Handles<Binary>::handle_of(this); }
    const ascend_kernel_desc_t *desc(uint32_t index) const
    {
        const char *first = reinterpret_cast<const char *>(table->kernels);
        return reinterpret_cast<const ascend_kernel_desc_t *>(first + size_t{index} * table->desc_size);
    }
};

void retain_recorded(Binary &binary);
void release_recorded(Binary &binary);

bool is_binary(const void *handle);
/* Handle of the binary that a function handle belongs to, or nullptr. */
void *binary_of_function(const void *function_handle);
/* Reports 107017. */
aclError find_function(const void *handle, Function **function);
/* Copies the name of a kernel with its library for messages. */

/* ---- argument lists (aclrtKernelArgs*) ---- */

/* Where a finished list stands, for the launch. */
struct ArgsView {
    uint8_t *block;
    size_t size;      /* with the data of the placeholders */
    size_t params;    /* bytes of the parameters alone */
    const aclrtPlaceHolderInfo *placeholders;
    size_t num_placeholders;
    const Function *function;
};
/* Reports 107017 for what is no list, 107000 for one that is not finalized. */
aclError finished_args(void *handle, ArgsView *view);

} // namespace acl_cpu
#endif
