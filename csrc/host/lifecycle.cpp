// SPDX-License-Identifier: Apache-2.0
#include "lifecycle.h"

#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <pthread.h>

#include "device_log.h"
#include "errors.h"
#include "hazard/hazard.h"
#include "host_function.h"
#include "pool/device_pool.h"
#include "pool/pinned_pool.h"
#include "profile.h"

namespace ascend_cy {

std::atomic<bool> device_ready{false};

namespace {

// Everything here outlives main(): nothing may run when the process ends (DESIGN 3), so there are no destructors.

std::once_flag load_once;
std::atomic<LoadedDevice *> the_device{nullptr};
std::atomic<bool> load_started{false};

std::mutex init_mutex;
std::atomic<bool> init_started{false};
bool init_done = false; // guarded by init_mutex; what failed is tried again at the next use
bool must_finalize = false;
std::atomic<bool> shut_down{false};
std::atomic<bool> forked_child{false};

constexpr int forked_code = ACL_ERROR_UNINITIALIZE;
constexpr const char *forked_reason =
    "this process was forked after its parent had used the device, which does not survive a fork; start worker processes "
    "with the method \"spawn\" or \"forkserver\", or fork before the first use of the device";

const std::string *hazard_refusal = nullptr; // "" for none; never deleted

// Runs in the child of fork, where this is the only thread: plain stores only.
void mark_forked_child()
{
    if (!load_started.load(std::memory_order_relaxed))
        return; // the device was not touched: the child starts afresh
    forget_device_log_of_parent();
    // Neither was it by harmless questions (how many devices?), which pre-forking servers ask. What a vendor's library
    // keeps from them is not known.
    const LoadedDevice *device = the_device.load(std::memory_order_relaxed);
    if (device != nullptr && device->info.kind != ASCEND_CY_KIND_NPU && !init_started.load(std::memory_order_relaxed))
        return;
    forked_child.store(true, std::memory_order_relaxed);
    device_ready.store(false, std::memory_order_relaxed);
    poison_table(forked_code, forked_reason); // so that callers of raw AscendCL functions get the error too
}

void load() noexcept
{
    pthread_atfork(nullptr, nullptr, mark_forked_child);
    load_started.store(true);
    LoadedDevice *device = load_device();
    if (device->info.error == 0) {
        fill_table(device->handle);
        hazard_refusal = new std::string(hazard::start());
        if (hazard::on())
            ranges_wanted.store(true, std::memory_order_relaxed); // for the names
    } else
        poison_table(device->info.error, device->error.c_str());
    the_device.store(device, std::memory_order_release);
}

int initialise() noexcept
{
    const LoadedDevice *device = loaded_device();
    if (device->info.error != 0)
        return fail(device->info.error, "", "%s", device->error.c_str());
    if (!hazard_refusal->empty())
        return fail(ACL_ERROR_INVALID_PARAM, "", "%s", hazard_refusal->c_str());
    const int code = device_table.aclInit(device->config.empty() ? nullptr : device->config.c_str());
    must_finalize = code == ACL_SUCCESS;
    // Somebody else in the process was first (torch_npu): live with it, and leave finalizing to them.
    return code == ACL_ERROR_REPEAT_INITIALIZE ? ACL_SUCCESS : check(code, "aclInit");
}

} // namespace

const LoadedDevice *loaded_device() noexcept
{
    if (const LoadedDevice *device = the_device.load(std::memory_order_acquire))
        return device;
    std::call_once(load_once, load);
    return the_device.load(std::memory_order_acquire);
}

int beyond_use() noexcept
{
    if (forked_child.load(std::memory_order_relaxed))
        return fail(forked_code, "", "%s", forked_reason);
    if (shut_down.load(std::memory_order_relaxed))
        return fail(ACL_ERROR_UNINITIALIZE, "", "the device was shut down: the process is about to end");
    return ACL_SUCCESS;
}

int make_ready() noexcept
{
    if (const int error = beyond_use())
        return error; // in a forked child the lock may be held for ever
    std::lock_guard<std::mutex> lock(init_mutex);
    if (const int error = beyond_use())
        return error;
    if (!init_done) {
        init_started.store(true, std::memory_order_relaxed);
        if (const int error = initialise())
            return error;
        find_tool_library(loaded_device()->info.kind == ASCEND_CY_KIND_NPU);
        init_done = true;
        device_ready.store(true, std::memory_order_release);
    }
    return ACL_SUCCESS;
}

} // namespace ascend_cy

using namespace ascend_cy;

const ascend_cy_device_info_t *ascend_cy_device_info(void)
{
    static constexpr ascend_cy_device_info_t in_forked_child = {
        ASCEND_CY_KIND_NONE, 0, "", "", "this process was forked after its parent had used the device", "", forked_code};
    // A child forked while another thread was loading has half a device and a lock nobody will open.
    if (forked_child.load(std::memory_order_relaxed) && the_device.load(std::memory_order_relaxed) == nullptr)
        return &in_forked_child;
    return &loaded_device()->info;
}

int ascend_cy_init(void) { return ready(); }

int ascend_cy_has(const char *function)
{
    if (function == nullptr || ascend_cy_device_info()->error != 0)
        return 0;
    // By name and not by table index, so that functions outside the list can be asked for as well.
    return dlsym(loaded_device()->handle, function) != nullptr ? 1 : 0;
}

const ascend_cy_acl_table *ascend_cy_acl_get_table(void)
{
    ascend_cy_device_info();
    return &device_table;
}

int ascend_cy_abi_version(void) { return ASCEND_CY_ABI_VERSION; }

int ascend_cy_is_forked_child(void) { return forked_child.load(std::memory_order_relaxed) ? 1 : 0; }

void ascend_cy_shutdown(void)
{
    if (forked_child.load(std::memory_order_relaxed))
        return;
    std::lock_guard<std::mutex> lock(init_mutex);
    const bool was_ready = init_done;
    if (shut_down.exchange(true) || !was_ready)
        return;
    // Cached memory goes back while the device may still be called; whatever is released after this line is dropped.
    QuietScope quiet;
    give_back_idle_memory();
    give_back_idle_pinned_memory();
    device_ready.store(false, std::memory_order_release);
    const bool callbacks_stopped = stop_host_function_thread();
    if (!must_finalize || !callbacks_stopped)
        return;
    // Others may have initialised after us: where references are counted, ours is the only one to give up.
    if (device_has[ASCEND_CY_ACL_INDEX_aclFinalizeReference]) {
        uint64_t left = 0;
        device_table.aclFinalizeReference(&left);
    } else {
        device_table.aclFinalize();
    }
}

int ascend_cy_is_initialized(void) { return ascend_cy::device_usable() && !ascend_cy_is_forked_child(); }
