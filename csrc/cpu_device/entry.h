/* SPDX-License-Identifier: Apache-2.0
 *
 * What every exported function begins with, and how it reports an error.
 *
 *     aclError aclrtFoo(void *p)
 *     {
 *         ACL_ENTRY();
 *         REQUIRE(p != nullptr, "p is NULL");
 *         if (...) return fail(ACL_ERROR_RT_PARAM_INVALID, "p = %p is ...", p);
 *         return ACL_SUCCESS;
 *     }
 */
#ifndef ASCENDCL_CPU_ENTRY_H
#define ASCENDCL_CPU_ENTRY_H

#define ASCEND_CY_ACL_PROTOTYPES
#include "ascend_cy/acl.h"

#include <atomic>
#include <cstdint>

#include "in_use.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

namespace acl_cpu {

struct Context;
struct ThreadExtras;

/* What a call needs to know about its thread. Plain data in static TLS (hence __thread, which needs no check for an
 * initialiser): reading it costs one instruction, and it outlives every destructor of the thread. */
struct ThreadState {
    const char *api;      /* the exported function now running, for messages */
    Context *context;     /* current context; may be stale, compare its tag with context_tag */
    uint32_t context_tag; /* its tag when it became current */
    aclError last_error;
    uint32_t last_task_id;
    uint32_t last_stream_id;
    ThreadExtras *extras; /* rarely used parts, made on demand */
};

extern __thread ThreadState t_state __attribute__((tls_model("initial-exec")));

/* Reasons to stop at the door. Almost always 0, so the test costs a load and a predicted branch. */
enum : uint32_t { GATE_FAULTS = 1u << 0, GATE_FORKED = 1u << 1 };
extern std::atomic<uint32_t> g_gate;

/* Slow path: consults fault rules and the fork state. Returns the error to give, or ACL_SUCCESS. */
aclError pass_gate(const char *api);
/* True in a process forked after the device was used. */
inline bool forked_child() { return (g_gate.load(std::memory_order_relaxed) & GATE_FORKED) != 0; }

/* Stores a message for aclGetRecentErrMsg, prefixed by the name of the API function; codes of the runtime layer also
 * become the thread's last error (codes of the acl layer do not, as with the vendor). Returns `code`. */
[[gnu::cold, gnu::format(printf, 2, 3)]] aclError fail(aclError code, const char *format, ...);
/* The same for a message that is already complete. */
[[gnu::cold]] aclError fail_with(aclError code, const char *message);

} // namespace acl_cpu

#define ACL_ENTRY()                                                                       \
    ::acl_cpu::UseEnd use_end;                                                            \
    ::acl_cpu::t_state.api = __func__;                                                    \
    if (UNLIKELY(::acl_cpu::g_gate.load(std::memory_order_relaxed) != 0)) {               \
        if (aclError gate_error = ::acl_cpu::pass_gate(__func__)) return gate_error;      \
    }                                                                                     \
    static_assert(true, "")

/* For functions that give something back: in a forked child they do nothing and say so by success, since the parent
 * owns what they would free. */
#define ACL_ENTRY_RELEASE()                                     \
    ::acl_cpu::t_state.api = __func__;                          \
    if (UNLIKELY(::acl_cpu::forked_child())) return ACL_SUCCESS; \
    ACL_ENTRY()

/* Refusals of the acl layer: 100000, the last error stays as it is. */
#define REQUIRE(condition, ...) \
    if (UNLIKELY(!(condition))) return ::acl_cpu::fail(ACL_ERROR_INVALID_PARAM, __VA_ARGS__)
#define REQUIRE_NOT_NULL(argument) REQUIRE((argument) != nullptr, #argument " is NULL")
/* Passes an error on that is already reported. */
#define RETURN_IF_ERROR(expression)                              \
    do {                                                         \
        if (aclError passed_error = (expression)) return passed_error; \
    } while (0)

#endif
