// SPDX-License-Identifier: Apache-2.0
//
// Modules: the user's kernel binaries. A module is loaded on each device that launches from it, and unloaded everywhere
// once nobody refers to it and its launches have passed.
#include "ascend_cy/module.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "event.h"
#include "launch_function.h"
#include "launch_log.h"
#include "stream.h"

struct ascend_cy_kernel {
    ascend_cy_module *const module;
    const std::string name;
    const uint32_t log_id;
    std::atomic<aclrtFuncHandle> handles[ascend_cy::max_devices] = {};

    ascend_cy_kernel(ascend_cy_module *module_, const char *name_)
        : module(module_), name(name_), log_id(ascend_cy::launch_log_id_of(name_))
    {
    }
};

struct ascend_cy_module {
    struct Use {
        ascend_cy::Stream *stream; // retained
    };
    struct Mark {
        int32_t device;
        aclrtEvent event;
    };

    std::atomic<uint32_t> references{1};
    const std::string name;
    const std::vector<char> image;

    std::mutex mutex; // guards everything below; held while a binary is loaded, never while something is waited for
    std::map<int32_t, aclrtBinHandle> binaries; // by device
    std::map<std::string, std::unique_ptr<ascend_cy_kernel>> kernels;
    std::vector<Use> uses; // streams whose work may run kernels of the module
    size_t crowd = 8;      // so many uses are looked through for what has passed

    ascend_cy_module *next = nullptr; // of those that somebody refers to; guarded by modules_mutex
    ascend_cy_module *previous = nullptr;

    std::vector<Mark> marks; // of a module that nobody refers to: passes when its launches have; by the holder alone
    ascend_cy_module *next_dropped = nullptr;

    ascend_cy_module(const void *image_, size_t size, const char *name_)
        : name(name_), image(static_cast<const char *>(image_), static_cast<const char *>(image_) + size)
    {
    }
};

namespace ascend_cy {

namespace {

using Module = ascend_cy_module;
using UserKernel = ascend_cy_kernel;

constexpr uint32_t most_blocks = 65535;

std::mutex modules_mutex; // before a module's own
Module *all_modules = nullptr; // guarded by modules_mutex

std::mutex dropped_mutex;
Module *dropped_modules = nullptr; // guarded by dropped_mutex
std::atomic<int> dropped_count{0};
std::atomic<int64_t> live_count{0};

int no_memory() noexcept { return fail(ACL_ERROR_BAD_ALLOC, "", "out of host memory"); }

// On the current device.
int load_binary(const Module &module, aclrtBinHandle *out) noexcept
{
    const size_t size = module.image.size();
    if (device_has[ASCEND_CY_ACL_INDEX_aclrtBinaryLoadFromData]) {
        aclrtBinaryLoadOption option = {};
        option.type = ACL_RT_BINARY_LOAD_OPT_MAGIC;
        option.value.magic = ACL_RT_BINARY_MAGIC_ELF_AICORE;
        const aclrtBinaryLoadOptions options = {&option, 1};
        return ACY_CALL(aclrtBinaryLoadFromData, module.image.data(), size, &options, out);
    }
    // The form of CANN 8.1; the data outlives the binary, as it must.
    const aclrtBinary binary = device_table.aclrtCreateBinary(module.image.data(), size);
    if (binary == nullptr)
        return fail_call(ACL_ERROR_INVALID_PARAM, "aclrtCreateBinary");
    const int error = ACY_CALL(aclrtBinaryLoad, binary, out);
    device_table.aclrtDestroyBinary(binary);
    return error;
}

// The module's binary on the current device, which is `device`. The mutex is held.
int binary_on(Module *module, int32_t device, aclrtBinHandle *out)
{
    aclrtBinHandle &binary = module->binaries[device];
    if (binary == nullptr)
        if (const int error = load_binary(*module, &binary)) {
            module->binaries.erase(device);
            add_to_message(" (module %s)", module->name.c_str());
            return error;
        }
    *out = binary;
    return ACL_SUCCESS;
}

int function_on(UserKernel *kernel, int32_t device, aclrtFuncHandle *out) noexcept
{
    *out = kernel->handles[device].load(std::memory_order_acquire);
    if (__builtin_expect(*out != nullptr, 1))
        return ACL_SUCCESS;
    try {
        std::lock_guard<std::mutex> lock(kernel->module->mutex);
        aclrtBinHandle binary = nullptr;
        if (const int error = binary_on(kernel->module, device, &binary))
            return error;
        if (const int error = ACY_CALL(aclrtBinaryGetFunction, binary, kernel->name.c_str(), out))
            return error;
        kernel->handles[device].store(*out, std::memory_order_release);
        return ACL_SUCCESS;
    } catch (const std::bad_alloc &) {
        return no_memory();
    }
}

// The device was reset since the binary was loaded, which took everything in it along.
void forget_binary(Module *module, int32_t device) noexcept
{
    std::lock_guard<std::mutex> lock(module->mutex);
    module->binaries.erase(device);
    for (auto &entry : module->kernels)
        entry.second->handles[device].store(nullptr, std::memory_order_release);
}

// Takes out the uses that have passed; to be released without the lock, which is held here.
void forget_passed_uses(Module *module, std::vector<Module::Use> *forgotten)
{
    QuietScope quiet;
    const auto busy = [](const Module::Use &use) { return !stream_is_idle(use.stream); };
    const auto first = std::stable_partition(module->uses.begin(), module->uses.end(), busy);
    forgotten->insert(forgotten->end(), first, module->uses.end());
    module->uses.erase(first, module->uses.end());
    module->crowd = std::max<size_t>(8, 2 * module->uses.size());
}

void release(const std::vector<Module::Use> &uses) noexcept
{
    for (const Module::Use &use : uses)
        release_stream_without_waiting(use.stream);
}

int record_use(Module *module, Stream *stream) noexcept
{
    std::vector<Module::Use> forgotten;
    try {
        std::lock_guard<std::mutex> lock(module->mutex);
        for (const Module::Use &use : module->uses)
            if (use.stream == stream)
                return ACL_SUCCESS;
        module->uses.reserve(module->uses.size() + 1);
        if (module->uses.size() >= module->crowd)
            forget_passed_uses(module, &forgotten);
        module->uses.push_back({stream});
        retain_stream(stream);
    } catch (const std::bad_alloc &) {
        return no_memory();
    }
    release(forgotten);
    return ACL_SUCCESS;
}

// Marks what is enqueued by now on all streams that use the module. A stream that cannot be marked is waited for.
std::vector<Module::Mark> mark_uses(std::vector<Module::Use> uses)
{
    QuietScope quiet;
    std::vector<Module::Mark> marks;
    marks.reserve(uses.size());
    for (const Module::Use &use : uses) {
        DeviceScope scope(use.stream->device);
        aclrtEvent event = nullptr;
        if (scope.error() == ACL_SUCCESS && mark_stream(use.stream->device, use.stream->handle, &event) == ACL_SUCCESS)
            marks.push_back({use.stream->device, event});
        else
            device_table.aclrtSynchronizeStream(use.stream->handle);
        release_stream_without_waiting(use.stream);
    }
    return marks;
}

void give_back(std::vector<Module::Mark> *marks) noexcept
{
    for (const Module::Mark &mark : *marks) {
        DeviceScope scope(mark.device);
        if (scope.error() == ACL_SUCCESS)
            give_event_back(mark.device, mark.event);
    }
    marks->clear();
}

// Nothing of it runs any more.
void destroy(Module *module) noexcept
{
    QuietScope quiet; // there is nobody to tell
    if (device_usable())
        for (const auto &entry : module->binaries) {
            DeviceScope scope(entry.first);
            if (scope.error() == ACL_SUCCESS)
                device_table.aclrtBinaryUnLoad(entry.second);
        }
    delete module;
    live_count.fetch_sub(1, std::memory_order_relaxed);
}

bool all_passed(const std::vector<Module::Mark> &marks) noexcept
{
    return std::all_of(marks.begin(), marks.end(), [](const Module::Mark &mark) { return mark_passed(mark.event); });
}

void collect_dropped_modules() noexcept
{
    if (__builtin_expect(dropped_count.load(std::memory_order_relaxed) == 0, 1) || !device_usable())
        return;
    QuietScope quiet;
    Module *passed = nullptr;
    {
        std::lock_guard<std::mutex> lock(dropped_mutex);
        for (Module **link = &dropped_modules; *link != nullptr;) {
            Module *const module = *link;
            if (!all_passed(module->marks)) {
                link = &module->next_dropped;
                continue;
            }
            *link = module->next_dropped;
            module->next_dropped = passed;
            passed = module;
            dropped_count.fetch_sub(1, std::memory_order_relaxed);
        }
    }
    while (Module *const module = passed) {
        passed = module->next_dropped;
        give_back(&module->marks);
        destroy(module);
    }
}

} // namespace

} // namespace ascend_cy

using namespace ascend_cy;

int ascend_cy_module_load(const void *image, size_t size, const char *name, ascend_cy_module_t **out)
{
    *out = nullptr;
    if (image == nullptr || size == 0)
        return fail(ACL_ERROR_INVALID_PARAM, "", "the image of a kernel binary is empty");
    int32_t device = -1;
    if (const int error = ascend_cy_current_device(&device))
        return error;
    collect_dropped_modules();
    try {
        auto module = std::make_unique<Module>(image, size, name != nullptr ? name : "from memory");
        aclrtBinHandle binary = nullptr;
        if (const int error = binary_on(module.get(), device, &binary))
            return error;
        live_count.fetch_add(1, std::memory_order_relaxed);
        std::lock_guard<std::mutex> lock(modules_mutex);
        module->next = all_modules;
        if (all_modules != nullptr)
            all_modules->previous = module.get();
        all_modules = *out = module.release();
        return ACL_SUCCESS;
    } catch (const std::bad_alloc &) {
        return no_memory();
    }
}

void ascend_cy_module_retain(ascend_cy_module_t *module) { module->references.fetch_add(1, std::memory_order_relaxed); }

void ascend_cy_module_release(ascend_cy_module_t *module)
{
    if (module == nullptr || module->references.fetch_sub(1, std::memory_order_acq_rel) != 1)
        return;
    if (ascend_cy_is_forked_child())
        return; // the parent's, and the locks may never open
    {
        std::lock_guard<std::mutex> lock(modules_mutex);
        (module->previous != nullptr ? module->previous->next : all_modules) = module->next;
        if (module->next != nullptr)
            module->next->previous = module->previous;
    }
    if (!device_usable()) { // the process ends: let everything be
        release(module->uses);
        delete module;
        live_count.fetch_sub(1, std::memory_order_relaxed);
        return;
    }
    std::vector<Module::Use> uses;
    uses.swap(module->uses);
    try {
        module->marks = mark_uses(std::move(uses));
    } catch (const std::bad_alloc &) {
        return; // leaked rather than unloaded under running kernels
    }
    {
        std::lock_guard<std::mutex> lock(dropped_mutex);
        module->next_dropped = dropped_modules;
        dropped_modules = module;
        dropped_count.fetch_add(1, std::memory_order_relaxed);
    }
    collect_dropped_modules();
}

int64_t ascend_cy_live_modules(void)
{
    if (ascend_cy_is_forked_child())
        return 0;
    collect_dropped_modules();
    if (device_usable()) {
        std::vector<Module::Use> forgotten;
        try {
            std::lock_guard<std::mutex> lock(modules_mutex);
            for (Module *module = all_modules; module != nullptr; module = module->next) {
                std::lock_guard<std::mutex> inner(module->mutex);
                forget_passed_uses(module, &forgotten);
            }
        } catch (const std::bad_alloc &) {
            // they stay until the next look
        }
        release(forgotten);
    }
    return live_count.load(std::memory_order_relaxed);
}

int ascend_cy_module_wait(ascend_cy_module_t *module, int32_t timeout_ms)
{
    if (module == nullptr)
        return fail(ACL_ERROR_INVALID_PARAM, "", "the module is NULL");
    if (timeout_ms < -1)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "", "timeout_ms is %d; it is -1 (no limit) or not negative", timeout_ms);
    if (const int error = ready())
        return error;
    std::vector<Module::Mark> marks;
    try {
        std::vector<Module::Use> uses;
        {
            std::lock_guard<std::mutex> lock(module->mutex);
            uses = module->uses;
            for (const Module::Use &use : uses)
                retain_stream(use.stream);
        }
        marks = mark_uses(std::move(uses));
    } catch (const std::bad_alloc &) {
        return no_memory();
    }
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end = Clock::now() + std::chrono::milliseconds(timeout_ms);
    int result = ACL_SUCCESS;
    for (const Module::Mark &mark : marks) {
        QuietScope quiet; // failures of work belong to those who wait for their streams
        DeviceScope scope(mark.device);
        if (scope.error() != ACL_SUCCESS)
            continue;
        if (timeout_ms == -1) {
            wait_for_mark(mark.event);
            continue;
        }
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
        const int32_t slice = static_cast<int32_t>(std::max<int64_t>(left, 1)); // AscendCL refuses 0
        if (device_table.aclrtSynchronizeEventWithTimeout(mark.event, slice) == ACL_ERROR_RT_EVENT_SYNC_TIMEOUT) {
            result = ACL_ERROR_RT_STREAM_SYNC_TIMEOUT;
            break;
        }
    }
    give_back(&marks);
    return result == ACL_SUCCESS ? ACL_SUCCESS : fail(result, "", "kernels of module %s have not finished", module->name.c_str());
}

int ascend_cy_module_kernel(ascend_cy_module_t *module, const char *name, ascend_cy_kernel_t **out)
{
    *out = nullptr;
    if (module == nullptr || name == nullptr)
        return fail(ACL_ERROR_INVALID_PARAM, "", "the %s is NULL", module == nullptr ? "module" : "name of the kernel");
    int32_t device = -1;
    if (const int error = ascend_cy_current_device(&device))
        return error;
    UserKernel *kernel = nullptr;
    try {
        std::lock_guard<std::mutex> lock(module->mutex);
        std::unique_ptr<UserKernel> &place = module->kernels[name];
        if (place == nullptr)
            place = std::make_unique<UserKernel>(module, name);
        kernel = place.get();
    } catch (const std::bad_alloc &) {
        return no_memory();
    }
    aclrtFuncHandle function = nullptr;
    if (const int error = function_on(kernel, device, &function))
        return error;
    *out = kernel;
    return ACL_SUCCESS;
}

namespace {

int function_here(ascend_cy_kernel_t *kernel, aclrtFuncHandle *function)
{
    int32_t device = -1;
    if (const int error = ascend_cy_current_device(&device))
        return error;
    return function_on(kernel, device, function);
}

} // namespace

int ascend_cy_kernel_param_count(ascend_cy_kernel_t *kernel, size_t *count)
{
    *count = 0;
    aclrtFuncHandle function = nullptr;
    if (const int error = function_here(kernel, &function))
        return error;
    return ACY_CALL(aclrtFunctionGetParamCount, function, count);
}

int ascend_cy_kernel_param(ascend_cy_kernel_t *kernel, size_t index, size_t *offset, size_t *size)
{
    *offset = *size = 0;
    aclrtFuncHandle function = nullptr;
    if (const int error = function_here(kernel, &function))
        return error;
    return ACY_CALL(aclrtFunctionGetParamInfo, function, index, offset, size);
}

int ascend_cy_kernel_launch(ascend_cy_kernel_t *kernel, uint32_t blocks, void *args, size_t params_size, size_t size,
                            const ascend_cy_inline_data_t *inline_data, size_t count, ascend_cy_stream_t *stream)
{
    if (kernel == nullptr || stream == nullptr)
        return fail(ACL_ERROR_INVALID_PARAM, "", "the %s is NULL", kernel == nullptr ? "kernel" : "stream");
    if (blocks == 0 || blocks > most_blocks)
        return fail(ACL_ERROR_INVALID_PARAM, "", "blocks is %u; a launch has 1 to %u", blocks, most_blocks);
    if (count > 16)
        return fail(ACL_ERROR_INVALID_PARAM, "", "a launch has at most 16 pieces of inline data, got %zu", count);
    if (const int error = ready())
        return error;
    const int32_t device = stream->device;
    DeviceScope scope(device);
    if (scope.error() != ACL_SUCCESS)
        return scope.error();
    aclrtFuncHandle function = nullptr;
    if (const int error = function_on(kernel, device, &function))
        return error;
    const ArgumentBlock block = {args, params_size, size, inline_data, count};
    int code = launch_function(function, blocks, block, stream->handle);
    if (__builtin_expect(code == ACL_ERROR_RT_INVALID_HANDLE, 0)) {
        forget_binary(kernel->module, device);
        if (const int error = function_on(kernel, device, &function))
            return error;
        code = launch_function(function, blocks, block, stream->handle);
    }
    if (code != ACL_SUCCESS)
        return code;
    log_launch(device, kernel->log_id, blocks, stream->handle);
    // Also after a failure here the launch is under way; then the one way to be safe is to wait for it.
    if (const int error = record_use(kernel->module, stream)) {
        device_table.aclrtSynchronizeStream(stream->handle);
        return error;
    }
    return ACL_SUCCESS;
}
