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
#include <thread>
#include <vector>

#include "event.h"
#include "host_function.h"
#include "launch_function.h"
#include "launch_log.h"
#include "profile.h"
#include "stream.h"
#include "thread_state.h"

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
        ascend_cy_stream *stream; // retained
        aclrtEvent event;         // passes when what is meant has; NULL where none could be had: the stream is asked
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

    std::vector<Mark> marks; // of a module that nobody refers to: pass when its launches have; as much room as for uses
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
constexpr size_t most_inline = 16;

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

// The function of a name on the current device, which is `device`. The mutex is held.
int look_up(Module *module, int32_t device, const char *name, aclrtFuncHandle *out)
{
    aclrtBinHandle binary = nullptr;
    if (const int error = binary_on(module, device, &binary))
        return error;
    return ACY_CALL(aclrtBinaryGetFunction, binary, name, out);
}

// The same for a kernel that is known. The mutex is held.
int look_up(UserKernel *kernel, int32_t device, aclrtFuncHandle *out)
{
    *out = kernel->handles[device].load(std::memory_order_acquire);
    if (*out != nullptr)
        return ACL_SUCCESS;
    if (const int error = look_up(kernel->module, device, kernel->name.c_str(), out))
        return error;
    kernel->handles[device].store(*out, std::memory_order_release);
    return ACL_SUCCESS;
}

int function_on(UserKernel *kernel, int32_t device, aclrtFuncHandle *out) noexcept
{
    *out = kernel->handles[device].load(std::memory_order_acquire);
    if (__builtin_expect(*out != nullptr, 1))
        return ACL_SUCCESS;
    try {
        std::lock_guard<std::mutex> lock(kernel->module->mutex);
        return look_up(kernel, device, out);
    } catch (const std::bad_alloc &) {
        return no_memory();
    }
}

// The device was reset since the binary was loaded, which took everything in it along.
void forget_binary(UserKernel *kernel, int32_t device, aclrtFuncHandle stale) noexcept
{
    Module *const module = kernel->module;
    std::lock_guard<std::mutex> lock(module->mutex);
    if (kernel->handles[device].load(std::memory_order_relaxed) != stale)
        return; // loaded again in the meantime
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
        if (module->uses.size() >= module->crowd)
            forget_passed_uses(module, &forgotten);
        module->uses.reserve(module->uses.size() + 1);
        module->marks.reserve(module->uses.capacity());
        module->uses.push_back({stream});
        retain_stream(stream);
    } catch (const std::bad_alloc &) {
        release(forgotten);
        return no_memory();
    }
    release(forgotten);
    return ACL_SUCCESS;
}

// Marks what is enqueued by now on streams that use a module, and takes the references over. There is room for the marks.
void mark_uses(std::vector<Module::Use> *uses, std::vector<Module::Mark> *marks) noexcept
{
    QuietScope quiet;
    for (const Module::Use &use : *uses) {
        aclrtEvent event = nullptr;
        DeviceScope scope(use.stream->device);
        if (scope.error() != ACL_SUCCESS || mark_stream(use.stream->device, use.stream->handle, &event) != ACL_SUCCESS)
            event = nullptr;
        marks->push_back({use.stream, event});
    }
    uses->clear();
}

void give_back(std::vector<Module::Mark> *marks) noexcept
{
    QuietScope quiet;
    for (const Module::Mark &mark : *marks) {
        if (mark.event != nullptr && device_usable()) {
            DeviceScope scope(mark.stream->device);
            give_event_back(mark.stream->device, mark.event);
        }
        release_stream_without_waiting(mark.stream);
    }
    marks->clear();
}

enum class Passed { No, Yes, Unknown };

// A stream that reports a failure has nothing running; the failure stays for whoever waits for it.
Passed has_passed(const Module::Mark &mark) noexcept
{
    if (mark.event != nullptr)
        return mark_passed(mark.event) ? Passed::Yes : Passed::No;
    QuietScope quiet;
    DeviceScope scope(mark.stream->device);
    if (scope.error() != ACL_SUCCESS)
        return Passed::Unknown;
    return stream_has_passed(mark.stream) ? Passed::Yes : Passed::No;
}

// False when time is up, or it would have to wait in a host function.
bool wait_for(const Module::Mark &mark, const Deadline &deadline) noexcept
{
    QuietScope quiet; // failures of work belong to those who wait for their streams
    if (mark.event == nullptr) {
        while (has_passed(mark) == Passed::No) {
            if (thread_state.in_host_function || (deadline.limited() && deadline.left_ms() == 0))
                return false;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return true;
    }
    DeviceScope scope(mark.stream->device);
    return wait_for_mark(mark.event, deadline);
}

// Nothing of it runs any more.
void destroy(Module *module) noexcept
{
    QuietScope quiet; // there is nobody to tell
    if (device_usable())
        for (const auto &entry : module->binaries) {
            DeviceScope scope(entry.first); // where it cannot be entered, the call is refused at worst
            ACY_CALL(aclrtBinaryUnLoad, entry.second);
        }
    delete module;
    live_count.fetch_sub(1, std::memory_order_relaxed);
}

bool all_passed(const std::vector<Module::Mark> &marks) noexcept
{
    return std::all_of(marks.begin(), marks.end(),
                       [](const Module::Mark &mark) { return has_passed(mark) == Passed::Yes; });
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

// The calling thread's device; one is made current where there is none.
int this_device(int32_t *device) noexcept
{
    *device = -1;
    if (const int error = ascend_cy_current_device(device))
        return error;
    return *device >= 0 && *device < max_devices ? ACL_SUCCESS : check_device_id(*device);
}

} // namespace

} // namespace ascend_cy

using namespace ascend_cy;

struct ascend_cy_launches {
    std::vector<Module::Mark> marks;
    std::string module;
};

int ascend_cy_module_load(const void *image, size_t size, const char *name, ascend_cy_module_t **out)
{
    *out = nullptr;
    if (image == nullptr || size == 0)
        return fail(ACL_ERROR_INVALID_PARAM, "", "the image of a kernel binary is empty");
    int32_t device = -1;
    if (const int error = this_device(&device))
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
    mark_uses(&module->uses, &module->marks);
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

int ascend_cy_module_launches(ascend_cy_module_t *module, ascend_cy_launches_t **out)
{
    *out = nullptr;
    if (module == nullptr)
        return fail(ACL_ERROR_INVALID_PARAM, "", "the module is NULL");
    if (const int error = ready())
        return error;
    try {
        auto launches = std::make_unique<ascend_cy_launches>();
        launches->module = module->name;
        std::vector<Module::Use> uses;
        {
            std::lock_guard<std::mutex> lock(module->mutex);
            uses = module->uses;
            launches->marks.reserve(uses.size());
            for (const Module::Use &use : uses)
                retain_stream(use.stream);
        }
        mark_uses(&uses, &launches->marks);
        *out = launches.release();
        return ACL_SUCCESS;
    } catch (const std::bad_alloc &) {
        return no_memory();
    }
}

int ascend_cy_launches_wait(ascend_cy_launches_t *launches, int32_t timeout_ms)
{
    if (launches == nullptr)
        return fail(ACL_ERROR_INVALID_PARAM, "", "the launches are NULL");
    if (timeout_ms < -1)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "", "timeout_ms is %d; it is -1 (no limit) or not negative", timeout_ms);
    if (const int error = ready())
        return error;
    const Deadline deadline(timeout_ms);
    for (const Module::Mark &mark : launches->marks)
        if (!wait_for(mark, deadline))
            return thread_state.in_host_function
                       ? refuse_to_wait("kernels of the module have not finished")
                       : fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "", "kernels of module %s have not finished",
                              launches->module.c_str());
    return ACL_SUCCESS;
}

void ascend_cy_launches_release(ascend_cy_launches_t *launches)
{
    if (launches == nullptr || ascend_cy_is_forked_child())
        return; // the parent's, and the locks may never open
    give_back(&launches->marks);
    delete launches;
}

int ascend_cy_module_wait(ascend_cy_module_t *module, int32_t timeout_ms)
{
    ascend_cy_launches_t *launches = nullptr;
    int code = ascend_cy_module_launches(module, &launches);
    if (code == ACL_SUCCESS)
        code = ascend_cy_launches_wait(launches, timeout_ms);
    ascend_cy_launches_release(launches);
    return code;
}

int ascend_cy_module_kernel(ascend_cy_module_t *module, const char *name, ascend_cy_kernel_t **out)
{
    *out = nullptr;
    if (module == nullptr || name == nullptr)
        return fail(ACL_ERROR_INVALID_PARAM, "", "the %s is NULL", module == nullptr ? "module" : "name of the kernel");
    int32_t device = -1;
    if (const int error = this_device(&device))
        return error;
    try {
        std::lock_guard<std::mutex> lock(module->mutex);
        aclrtFuncHandle function = nullptr;
        const auto known = module->kernels.find(name);
        if (known != module->kernels.end()) {
            if (const int error = look_up(known->second.get(), device, &function))
                return error;
            *out = known->second.get();
            return ACL_SUCCESS;
        }
        if (const int error = look_up(module, device, name, &function)) // first: names that are none leave nothing behind
            return error;
        auto kernel = std::make_unique<UserKernel>(module, name);
        kernel->handles[device].store(function, std::memory_order_release);
        UserKernel *const made = kernel.get();
        module->kernels.emplace(name, std::move(kernel));
        *out = made;
        return ACL_SUCCESS;
    } catch (const std::bad_alloc &) {
        return no_memory();
    }
}

namespace {

int function_here(ascend_cy_kernel_t *kernel, aclrtFuncHandle *function)
{
    if (kernel == nullptr)
        return fail(ACL_ERROR_INVALID_PARAM, "", "the kernel is NULL");
    int32_t device = -1;
    if (const int error = this_device(&device))
        return error;
    return function_on(kernel, device, function);
}

// The data must be where the older way to launch can put it, too: in the order of the slots.
int check_inline_data(size_t params_size, size_t size, const ascend_cy_inline_data_t *inline_data, size_t count) noexcept
{
    if (count > most_inline)
        return fail(ACL_ERROR_INVALID_PARAM, "", "a launch has at most %zu pieces of inline data, got %zu", most_inline, count);
    size_t free_slot = 0;
    for (size_t i = 0; i < count; ++i) {
        const ascend_cy_inline_data_t &piece = inline_data[i];
        if (piece.slot % 8 != 0 || piece.slot < free_slot || size_t{piece.slot} + 8 > params_size)
            return fail(ACL_ERROR_INVALID_PARAM, "", "inline data %zu: slot %u is a multiple of 8 behind the slot before, within "
                        "%zu bytes of parameters", i, piece.slot, params_size);
        if (piece.data % 8 != 0 || piece.data < params_size || piece.size == 0 || size_t{piece.data} + piece.size > size)
            return fail(ACL_ERROR_INVALID_PARAM, "", "inline data %zu: %u bytes at %u are not behind %zu bytes of parameters, on a "
                        "multiple of 8, within %zu bytes", i, piece.size, piece.data, params_size, size);
        free_slot = piece.slot + 8;
    }
    return ACL_SUCCESS;
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
    if (params_size > size || (size != 0 && args == nullptr))
        return fail(ACL_ERROR_INVALID_PARAM, "", "%zu bytes of parameters in a block of %zu bytes at %p", params_size, size, args);
    if (__builtin_expect(count != 0, 0))
        if (const int error = check_inline_data(params_size, size, inline_data, count))
            return error;
    if (const int error = ready())
        return error;
    const int32_t device = stream->device;
    DeviceScope scope(device);
    if (scope.error() != ACL_SUCCESS)
        return scope.error();
    aclrtFuncHandle function = nullptr;
    if (const int error = function_on(kernel, device, &function))
        return error;
    // A launch has arguments, whether the kernel reads them or not: AscendCL refuses a block of no bytes.
    static const uint64_t nothing = 0;
    const ArgumentBlock block = params_size != 0 ? ArgumentBlock{args, params_size, size, inline_data, count}
                                                 : ArgumentBlock{&nothing, sizeof nothing, sizeof nothing, nullptr, 0};
    const RangeScope range(kernel->name.c_str(), device, stream->handle);
    int code = launch_function(function, blocks, block, stream->handle);
    if (__builtin_expect(code == ACL_ERROR_RT_INVALID_HANDLE, 0) && !stream_is_gone(stream->handle)) {
        forget_binary(kernel, device, function);
        if (const int error = function_on(kernel, device, &function))
            return error;
        code = launch_function(function, blocks, block, stream->handle);
    }
    if (code != ACL_SUCCESS)
        return code;
    log_launch(device, kernel->log_id, blocks, stream->handle);
    // Also after a failure here the launch is under way; then the one way to be safe is to wait for it.
    if (const int error = record_use(kernel->module, stream)) {
        if (!wait_for_whole_stream(stream->handle))
            ascend_cy_module_retain(kernel->module); // a host function must not wait: the module stays for ever
        return error;
    }
    return ACL_SUCCESS;
}
