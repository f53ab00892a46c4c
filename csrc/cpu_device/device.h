/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices and contexts.
 */
#ifndef ASCENDCL_CPU_DEVICE_H
#define ASCENDCL_CPU_DEVICE_H

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "entry.h"
#include "handles.h"

namespace acl_cpu {

struct Stream;
class HostThread;

struct Device {
    explicit Device(int32_t number) : id(number) {}

    const int32_t id;
    std::mutex lock;
    /* ---- under the lock ---- */
    Context *primary = nullptr;
    uint32_t set_count = 0; /* aclrtSetDevice minus aclrtResetDevice */
    std::vector<Context *> contexts; /* the primary one included */
    uint32_t streams = 0;
    int32_t next_stream_id = 0;

    /* ---- memory ---- */
    std::atomic<uint64_t> memory_used{0};
    std::atomic<uint64_t> memory_peak{0};

    /* ---- settings by calls; 0: as the SoC says ---- */
    std::atomic<uint32_t> limit_cube{0};
    std::atomic<uint32_t> limit_vector{0};
    std::atomic<uint64_t> peers{0};  /* bit i: device i may be accessed from here */
    std::atomic<int32_t> overflow_mode{1}; /* ACL_RT_OVERFLOW_MODE_INFNAN */
    std::atomic<uint32_t> core_faults{0};  /* kernels that failed since aclrtRepairError */

    /* ---- emulated links: when the last copy of each direction ends ---- */
    std::atomic<uint64_t> upload_busy_until{0};
    std::atomic<uint64_t> download_busy_until{0};
};

struct Context {
    static constexpr Kind kind = Kind::Context;

    Context(Device *on, bool is_primary) : device(on), primary(is_primary) {}

    Device *const device;
    const bool primary;
    Stream *default_stream = nullptr;
    void *default_handle = nullptr;
    /* Set when one of its streams failed in stop-on-failure mode. */
    std::atomic<aclError> failure{ACL_SUCCESS};
    std::atomic<bool> stop_on_failure{false};
    std::atomic<bool> ending{false};
    std::atomic<bool> closed{false}; /* takes no new streams and runtime instances; set before its own are ended */
    std::atomic<uint32_t> models{0}; /* runtime instances that are alive */

    std::mutex lock;
    /* ---- under the lock ---- */
    Stream *streams = nullptr;
    std::map<int, int64_t> options;        /* aclrtCtxSetSysParamOpt */
    std::shared_ptr<HostThread> host_thread; /* runs host functions; made by the first */

    void *handle() const { return Handles<Context>::handle_of(this); }
};

/* nullptr where there is no such device. */
Device *find_device(int64_t id);
uint32_t device_count();
/* nullptr and an error report (107001) where there is none. */
Device *require_device(int64_t id);

/* Current context of the thread, or nullptr. It may be used until it is no longer current, even if it is destroyed. */
inline Context *current_context()
{
    Context *context = t_state.context;
    if (UNLIKELY(context == nullptr || Handles<Context>::live_tag(context) != t_state.context_tag)) return nullptr;
    return context;
}
/* The same, made from the default device of aclInit's file if there is one; reports 107002. */
aclError require_context(Context **context);
void make_current(Context *context);

/* All streams of a device as handles, default streams included. */
std::vector<void *> streams_of(Device &device);
/* Waits for all streams of the device and gives the first error. */
aclError synchronize_device(Device &device, uint64_t deadline);

/* The error of a context in which a stream stopped at a failure. */
aclError context_failure(const Context &context);

/* Copies of `bytes` on an emulated link end at the returned time (0: at once). */
uint64_t reserve_link(Device &device, bool upload, uint64_t bytes);

} // namespace acl_cpu
#endif
