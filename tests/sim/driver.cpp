// SPDX-License-Identifier: Apache-2.0
//
// A device of a few lines for tests of `sim` kernel binaries: loads a binary, keeps allocations, runs a launch on some
// threads, and keeps what was reported and printed. Behind plain C functions, for ctypes.
#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "ascend_cy/kernel_abi.h"

namespace {

struct Binary {
    void *handle;
    const ascend_kernel_table_t *table;
};

std::mutex g_mutex;
std::map<uintptr_t, size_t> g_allocations;

struct Launch {
    std::atomic<uint32_t> stop{0};
    int32_t code = 0;
    std::string message;
    std::string printed;
};

int FindAllocation(const ascend_kernel_services_t *, const void *address, void **base, size_t *size)
{
    std::lock_guard<std::mutex> lock(g_mutex);
    const auto at = reinterpret_cast<uintptr_t>(address);
    auto found = g_allocations.upper_bound(at);
    if (found == g_allocations.begin()) {
        return 0;
    }
    --found;
    if (at >= found->first + found->second) {
        return 0;
    }
    *base = reinterpret_cast<void *>(found->first);
    *size = found->second;
    return 1;
}

void Violation(const ascend_kernel_services_t *services, uint32_t, int32_t code, const char *message)
{
    auto *launch = static_cast<Launch *>(services->launch);
    std::lock_guard<std::mutex> lock(g_mutex);
    if (launch->code == 0) {
        launch->code = code;
        launch->message = message;
    }
    launch->stop = 1;
}

void Print(const ascend_kernel_services_t *services, uint32_t, const char *text, size_t length)
{
    auto *launch = static_cast<Launch *>(services->launch);
    std::lock_guard<std::mutex> lock(g_mutex);
    launch->printed.append(text, length);
}

const ascend_kernel_desc_t *Find(const Binary &binary, const char *name)
{
    for (uint32_t i = 0; i < binary.table->num_kernels; ++i) {
        const auto *desc = reinterpret_cast<const ascend_kernel_desc_t *>(
            reinterpret_cast<const char *>(binary.table->kernels) + size_t(i) * binary.table->desc_size);
        if (std::strcmp(desc->name, name) == 0) {
            return desc;
        }
    }
    return nullptr;
}

void CopyText(const std::string &text, char *buffer, size_t size)
{
    if (size != 0) {
        std::strncpy(buffer, text.c_str(), size - 1);
        buffer[size - 1] = '\0';
    }
}

} // namespace

extern "C" {

Binary *driver_open(const char *path, char *error, size_t error_size)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        CopyText(dlerror(), error, error_size);
        return nullptr;
    }
    const auto *table = static_cast<const ascend_kernel_table_t *>(dlsym(handle, ASCEND_KERNEL_TABLE_SYMBOL));
    if (table == nullptr || table->abi_version != ASCEND_KERNEL_ABI_VERSION) {
        CopyText("no usable kernel table", error, error_size);
        return nullptr;
    }
    return new Binary{handle, table};
}

uint32_t driver_num_kernels(const Binary *binary) { return binary->table->num_kernels; }
uint32_t driver_target(const Binary *binary) { return binary->table->target; }
const ascend_kernel_desc_t *driver_kernel(const Binary *binary, uint32_t index) { return binary->table->kernels + index; }

// `guard` bytes before and after the allocation belong to nobody.
void *driver_alloc(size_t size, size_t guard)
{
    auto *block = static_cast<char *>(std::aligned_alloc(512, (size + 2 * guard + 511) / 512 * 512));
    std::lock_guard<std::mutex> lock(g_mutex);
    g_allocations[reinterpret_cast<uintptr_t>(block + guard)] = size;
    return block + guard;
}

void driver_free(void *address, size_t guard)
{
    std::lock_guard<std::mutex> lock(g_mutex);
    g_allocations.erase(reinterpret_cast<uintptr_t>(address));
    std::free(static_cast<char *>(address) - guard);
}

// Runs the blocks on `threads` threads; 0: a thread for each, as kernels that synchronise need. Returns the code of the
// first violation, 0 if there was none, -1 for an unknown kernel, -2 for too few arguments.
int32_t driver_launch(const Binary *binary, const char *name, uint32_t blocks, const void *args, size_t args_size,
                      uint32_t threads, char *message, size_t message_size, char *printed, size_t printed_size)
{
    const ascend_kernel_desc_t *desc = Find(*binary, name);
    if (desc == nullptr) {
        return -1;
    }
    if (args_size < desc->args_size) {
        return -2;
    }
    Launch launch;
    ascend_kernel_services_t services = {};
    services.struct_size = sizeof(services);
    services.launch = &launch;
    services.kernel_name = desc->name;
    services.stop = reinterpret_cast<const volatile uint32_t *>(&launch.stop);
    services.violation = Violation;
    services.find_allocation = FindAllocation;
    services.print = Print;
    const uint32_t total = blocks * desc->instances_per_block;
    if (threads == 0 || (desc->flags & ASCEND_KERNEL_BLOCKS_SYNCHRONIZE) != 0) {
        threads = total;
    }
    std::atomic<uint32_t> next{0};
    const auto work = [&] {
        for (uint32_t block = next++; block < total && launch.stop == 0; block = next++) {
            desc->entry(block, blocks, args, &services);
        }
    };
    if (threads == 1) {
        work();
    } else {
        std::vector<std::thread> pool;
        for (uint32_t i = 0; i < threads; ++i) {
            pool.emplace_back(work);
        }
        for (std::thread &thread : pool) {
            thread.join();
        }
    }
    CopyText(launch.message, message, message_size);
    CopyText(launch.printed, printed, printed_size);
    return launch.code;
}

size_t driver_report(const Binary *binary, char *buffer, size_t capacity)
{
    using Function = size_t (*)(char *, size_t, uint64_t *);
    const auto function = reinterpret_cast<Function>(dlsym(binary->handle, "ascend_sim_last_report"));
    return function != nullptr ? function(buffer, capacity, nullptr) : 0;
}

} // extern "C"
