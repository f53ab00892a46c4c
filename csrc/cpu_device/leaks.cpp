/* SPDX-License-Identifier: Apache-2.0 */
#include "leaks.h"

#include <dlfcn.h>

#include <cstdarg>
#include <cstdio>
#include <map>
#include <mutex>

#ifdef ASCENDCL_CPU_BACKTRACE
#include <backtrace.h>
#endif

#include "device.h"
#include "errors.h"
#include "event.h"
#include "kernel.h"
#include "log.h"
#include "memory.h"
#include "stream.h"

namespace acl_cpu {
namespace {

struct Tracked {
    const char *what;
    const void *creator;
};
std::mutex &tracked_lock = *new std::mutex;
std::map<const void *, Tracked> &tracked = *new std::map<const void *, Tracked>;

#ifdef ASCENDCL_CPU_BACKTRACE
/* Function, file and line by the debug information; empty where there is none for this code. */
std::string place_by_debug_information(uintptr_t code)
{
    /* Made once and kept: it holds the tables that were read. */
    static backtrace_state *state =
        backtrace_create_state(nullptr, 1, [](void *, const char *, int) {}, nullptr);
    std::string result;
    if (state == nullptr) return result;
    backtrace_pcinfo(
        state, code,
        [](void *text, uintptr_t, const char *file, int line, const char *function) {
            if (file == nullptr) return 0;
            *static_cast<std::string *>(text) = format("%s (%s:%d)", function != nullptr ? function : "?", file, line);
            return 1; /* the innermost of inlined functions */
        },
        [](void *, const char *, int) {}, &result);
    return result;
}
#endif

} // namespace

std::string place(const void *return_address)
{
    if (return_address == nullptr) return "an unknown place";
    /* The call itself, which lies before the address it returns to. */
    uintptr_t code = reinterpret_cast<uintptr_t>(return_address) - 1;
#ifdef ASCENDCL_CPU_BACKTRACE
    std::string known = place_by_debug_information(code);
    if (!known.empty()) return known;
#endif
    Dl_info info;
    if (dladdr(reinterpret_cast<void *>(code), &info) == 0 || info.dli_fname == nullptr) return "an unknown place";
    auto offset = [&](const void *base) { return static_cast<unsigned long>(code - reinterpret_cast<uintptr_t>(base)); };
    if (info.dli_sname == nullptr) return format("%s+%#lx", info.dli_fname, offset(info.dli_fbase));
    return format("%s+%#lx (%s+%#lx)", info.dli_sname, offset(info.dli_saddr), info.dli_fname, offset(info.dli_fbase));
}

void log_leak(const void *creator, const char *format, ...)
{
    char what[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    LOG(LEAKS, "%s alive, made by %s", what, place(creator).c_str());
}

void track(const void *object, const char *what, const void *creator)
{
    if (forked_child()) return; /* the lock may be held by a thread that exists in the parent only */
    std::lock_guard<std::mutex> hold(tracked_lock);
    tracked[object] = {what, creator};
}

void untrack(const void *object)
{
    if (forked_child()) return;
    std::lock_guard<std::mutex> hold(tracked_lock);
    tracked.erase(object);
}

void log_live_objects()
{
    if (!logs(ASCENDCL_CPU_LOG_LEAKS)) return;
    for (uint32_t id = 0; id < device_count(); ++id) {
        Device *device = find_device(id);
        for (void *handle : streams_of(*device)) {
            UseScope scope;
            Stream *stream = Handles<Stream>::find(handle);
            if (stream == nullptr || stream->is_default() || stream->internal) continue;
            log_leak(Handles<Stream>::creator_of(stream), "stream %d (%p) of device %u is", stream->id, handle, id);
        }
    }
    handles<Event>().for_each_live([](Event *event) {
        log_leak(Handles<Event>::creator_of(event), "event %d (%p) is", event->id, event->handle());
    });
    log_live_notifies();
    handles<Binary>().for_each_live([](Binary *binary) {
        log_leak(Handles<Binary>::creator_of(binary), "binary %s (%p) is", binary->path.c_str(), binary->handle());
    });
    handles<Context>().for_each_live([](Context *context) {
        if (context->primary) return;
        log_leak(Handles<Context>::creator_of(context), "context %p of device %d is", context->handle(), context->device->id);
    });
    log_live_models();
    log_live_labels();
    log_live_pools();
    log_live_physical();
    for_each_allocation(
        [](const Allocation &allocation, void *) {
            void *base = reinterpret_cast<void *>(allocation.base);
            bool mapping = allocation.kind == MemoryKind::Mapped || (allocation.kind == MemoryKind::Registered && allocation.mapped);
            if (mapping) log_leak(allocation.creator, "the mapping of %zu bytes at %p is", allocation.size, base);
            else if (allocation.kind != MemoryKind::Registered) log_leak(allocation.creator, "%zu bytes at %p are", allocation.size, base);
        },
        nullptr);
    log_live_registrations();
    std::lock_guard<std::mutex> hold(tracked_lock);
    for (const auto &[object, entry] : tracked) log_leak(entry.creator, "%s %p is", entry.what, object);
}

} // namespace acl_cpu
