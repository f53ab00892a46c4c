/* SPDX-License-Identifier: Apache-2.0
 *
 * aclInit, aclFinalize; fork and exit.
 */
#include "process.h"

#include <pthread.h>
#include <stdlib.h>

#include <mutex>
#include <string>
#include <vector>

#include "ascendcl_cpu.h"
#include "device.h"
#include "errors.h"
#include "event.h"
#include "faults.h"
#include "kernel.h"
#include "leaks.h"
#include "log.h"
#include "memory.h"
#include "model.h"
#include "notify.h"
#include "pool.h"
#include "settings.h"
#include "stream.h"

/* What atexit() and dlclose() are made of (Linux Standard Base): `owner` is an object's address, or any other. */
extern "C" int __cxa_atexit(void (*function)(void *), void *argument, void *owner);
extern "C" void __cxa_finalize(void *owner);

namespace acl_cpu {
namespace {

std::atomic<bool> used{false};

void after_fork_in_child()
{
    /* Threads, and whatever locks they held, exist in the parent only. If nothing was used there is nothing to lose:
     * the child may begin for itself. Else every call stops at the door, before any lock. */
    if (used.load()) g_gate.fetch_or(GATE_FORKED);
    reset_fault_lock_after_fork();
    reset_log_locks_after_fork();
}

/* Set while an entry is taken out of the exit handlers, which calls it. */
thread_local bool forgetting = false;

void stop_at_exit(void *)
{
    if (!forgetting && !forked_child()) pool().quiesce();
}

[[gnu::constructor]] void watch_forks() { pthread_atfork(nullptr, nullptr, after_fork_in_child); }

/* aclInit and aclFinalize. */
struct Init {
    std::mutex lock;
    uint64_t references = 0;
    bool finalized = false; /* at least once, and nothing since */
    bool has_config = false;
    std::string config;
    struct Callback {
        int type;
        void *function;
        void *user_data;
    };
    std::vector<Callback> on_init;
    std::vector<Callback> on_finalize;
};
Init &init_state = *new Init;

uint32_t explicit_contexts()
{
    uint32_t primaries = 0;
    for (uint32_t id = 0; id < device_count(); ++id) {
        Device *device = find_device(id);
        std::lock_guard<std::mutex> hold(device->lock);
        primaries += device->primary != nullptr;
    }
    uint32_t all = handles<Context>().live();
    return all > primaries ? all - primaries : 0;
}

aclError finalize_now()
{
    std::vector<Init::Callback> callbacks;
    {
        std::lock_guard<std::mutex> hold(init_state.lock);
        init_state.references = 0;
        init_state.finalized = true;
        callbacks = init_state.on_finalize;
    }
    for (const auto &callback : callbacks) {
        reinterpret_cast<aclFinalizeCallbackFunc>(callback.function)(callback.user_data);
    }
    log_live_objects();
    return ACL_SUCCESS;
}

aclError add_callback(std::vector<Init::Callback> Init::*list, int type, void *function, void *user_data)
{
    REQUIRE(function != nullptr, "cb_func is NULL");
    std::lock_guard<std::mutex> hold(init_state.lock);
    for (const auto &known : init_state.*list) {
        if (known.type == type && known.function == function) {
            return fail(ACL_ERROR_INVALID_PARAM, "cb_func is registered already for type %d", type);
        }
    }
    (init_state.*list).push_back({type, function, user_data});
    return ACL_SUCCESS;
}

aclError remove_callback(std::vector<Init::Callback> Init::*list, int type, void *function)
{
    REQUIRE(function != nullptr, "cb_func is NULL");
    std::lock_guard<std::mutex> hold(init_state.lock);
    auto &callbacks = init_state.*list;
    for (size_t i = 0; i < callbacks.size(); ++i) {
        if (callbacks[i].type != type || callbacks[i].function != function) continue;
        callbacks.erase(callbacks.begin() + static_cast<std::ptrdiff_t>(i));
        return ACL_SUCCESS;
    }
    return fail(ACL_ERROR_INVALID_PARAM, "cb_func is not registered for type %d", type);
}

} // namespace

void mark_used()
{
    if (used.load(std::memory_order_relaxed) || used.exchange(true)) return;
    quiesce_at_exit(&used);
}

void quiesce_at_exit(void *owner) { __cxa_atexit(stop_at_exit, nullptr, owner); }

void forget_exit_of(void *owner)
{
    forgetting = true;
    __cxa_finalize(owner);
    forgetting = false;
}

aclError pass_gate(const char *api)
{
    uint32_t gate = g_gate.load();
    if ((gate & GATE_FORKED) != 0) {
        return fail(ACL_ERROR_RT_INTERNAL_ERROR, "this process was forked after the device was used, and threads do not survive a "
                                                 "fork: use the device only in the child, or start the child with spawn or exec");
    }
    return (gate & GATE_FAULTS) != 0 ? call_fault(api) : ACL_SUCCESS;
}

} // namespace acl_cpu

using namespace acl_cpu;

aclError aclInit(const char *config_path)
{
    ACL_ENTRY();
    const char *path = config_path != nullptr && config_path[0] != '\0' ? config_path : nullptr;
    std::vector<Init::Callback> callbacks;
    std::string text;
    {
        std::lock_guard<std::mutex> hold(init_state.lock);
        if (init_state.references != 0) {
            ++init_state.references;
            return fail(ACL_ERROR_REPEAT_INITIALIZE, "AscendCL is initialized already");
        }
        if (init_state.finalized) {
            /* Settings may not change under contexts that live on, so a file must be what it was. */
            std::string again;
            if (path != nullptr) {
                FILE *file = fopen(path, "re");
                if (file == nullptr) return fail(ACL_ERROR_INVALID_FILE, "cannot read the configuration file %s", path);
                char part[4096];
                for (size_t got; (got = fread(part, 1, sizeof part, file)) > 0;) again.append(part, got);
                fclose(file);
            }
            if (init_state.has_config != (path != nullptr) || again != init_state.config) {
                return fail(ACL_ERROR_INVALID_PARAM, "AscendCL was initialized before with another configuration file");
            }
        }
        if (handles<Context>().live() == 0) {
            RETURN_IF_ERROR(load_settings(path, &text));
        } else if (path != nullptr && !init_state.finalized) {
            return fail(ACL_ERROR_INVALID_PARAM, "the device is in use already, so %s cannot take effect: call aclInit first", path);
        }
        if (!init_state.finalized) {
            init_state.has_config = path != nullptr;
            init_state.config = text;
        }
        init_state.finalized = false;
        init_state.references = 1;
        callbacks = init_state.on_init;
        text = init_state.config;
    }
    for (const auto &callback : callbacks) {
        reinterpret_cast<aclInitCallbackFunc>(callback.function)(text.c_str(), text.size(), callback.user_data);
    }
    return ACL_SUCCESS;
}

aclError aclFinalize(void)
{
    ACL_ENTRY_RELEASE();
    {
        std::lock_guard<std::mutex> hold(init_state.lock);
        if (init_state.references == 0) {
            if (!init_state.finalized) return ACL_SUCCESS; /* never initialized */
            return fail(ACL_ERROR_REPEAT_FINALIZE, "AscendCL is finalized already");
        }
    }
    return finalize_now();
}

aclError aclFinalizeReference(uint64_t *ref_count)
{
    ACL_ENTRY_RELEASE();
    uint64_t left;
    {
        std::lock_guard<std::mutex> hold(init_state.lock);
        if (init_state.references == 0) {
            if (ref_count != nullptr) *ref_count = 0;
            return fail(ACL_ERROR_REPEAT_FINALIZE, "AscendCL is not initialized");
        }
        left = --init_state.references;
    }
    if (ref_count != nullptr) *ref_count = left;
    return left == 0 ? finalize_now() : ACL_SUCCESS;
}

aclError aclInitCallbackRegister(aclRegisterCallbackType type, aclInitCallbackFunc cb_func, void *user_data)
{
    ACL_ENTRY();
    return add_callback(&Init::on_init, type, reinterpret_cast<void *>(cb_func), user_data);
}

aclError aclInitCallbackUnRegister(aclRegisterCallbackType type, aclInitCallbackFunc cb_func)
{
    ACL_ENTRY();
    return remove_callback(&Init::on_init, type, reinterpret_cast<void *>(cb_func));
}

aclError aclFinalizeCallbackRegister(aclRegisterCallbackType type, aclFinalizeCallbackFunc cb_func, void *user_data)
{
    ACL_ENTRY();
    return add_callback(&Init::on_finalize, type, reinterpret_cast<void *>(cb_func), user_data);
}

aclError aclFinalizeCallbackUnRegister(aclRegisterCallbackType type, aclFinalizeCallbackFunc cb_func)
{
    ACL_ENTRY();
    return remove_callback(&Init::on_finalize, type, reinterpret_cast<void *>(cb_func));
}

int ascendcl_cpu_live_objects(ascendcl_cpu_live_t *live)
{
    t_state.api = __func__;
    if (live == nullptr || live->struct_size < sizeof *live) {
        return fail(ACL_ERROR_INVALID_PARAM, "live is NULL or live->struct_size is too small");
    }
    if (forked_child()) return pass_gate(__func__);
    uint32_t defaults = handles<Context>().live(); /* each context has one default stream */
    uint32_t streams = handles<Stream>().live() - internal_streams();
    live->contexts = explicit_contexts();
    live->streams = streams > defaults ? streams - defaults : 0;
    live->events = handles<Event>().live();
    live->notifies = live_notify_count();
    live->binaries = handles<Binary>().live();
    live->allocations = static_cast<uint32_t>(live_allocations(&live->bytes));
    live->models = handles<Model>().live();
    return ACL_SUCCESS;
}
