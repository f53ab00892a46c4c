/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of process and context: system parameters, timeouts of operators, resource limits.
 */
#include <algorithm>
#include <cstdint>
#include <mutex>

#include "device.h"
#include "options.h"
#include "waiting.h"

namespace acl_cpu {

std::atomic<uint32_t> g_op_wait_timeout_s{0};
std::atomic<uint64_t> g_op_execute_timeout_us{0};

namespace {

constexpr uint64_t no_timeout = UINT64_MAX;

/* Timeouts count in steps of the timer. */
constexpr uint64_t interval_us = 1000;

std::atomic<int64_t> process_options[4] = {{0}, {0}, {0}, {0}};
std::atomic<size_t> simd_stack_bytes{32768};
std::atomic<size_t> printf_bytes{1 << 20};

aclError check_option(aclSysParamOpt opt)
{
    if (opt >= ACL_OPT_DETERMINISTIC && opt <= ACL_OPT_ENABLE_KERNEL_EARLY_START) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID, "opt is %d, not one of aclSysParamOpt", static_cast<int>(opt));
}

aclError check_option_value(int64_t value)
{
    if (value == 0 || value == 1) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID, "value is %lld, not 0 or 1", static_cast<long long>(value));
}

aclError simt_limit(aclrtDeviceLimit limit)
{
    if (limit >= ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE && limit <= ACL_RT_DEV_LIMIT_SIMT_PRINTF_FIFO_SIZE) {
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "limit %d is about SIMT, which this device has not", static_cast<int>(limit));
    }
    return fail(ACL_ERROR_RT_PARAM_INVALID, "limit is %d, not one of aclrtDeviceLimit", static_cast<int>(limit));
}

} // namespace
} // namespace acl_cpu

using namespace acl_cpu;

/* ---- system parameters ---- */

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value)
{
    ACL_ENTRY();
    RETURN_IF_ERROR(check_option(opt));
    RETURN_IF_ERROR(check_option_value(value));
    process_options[opt].store(value);
    return ACL_SUCCESS;
}

aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t *value)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(value);
    RETURN_IF_ERROR(check_option(opt));
    *value = process_options[opt].load();
    return ACL_SUCCESS;
}

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value)
{
    ACL_ENTRY();
    RETURN_IF_ERROR(check_option(opt));
    RETURN_IF_ERROR(check_option_value(value));
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    std::lock_guard<std::mutex> hold(context->lock);
    context->options[opt] = value;
    return ACL_SUCCESS;
}

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t *value)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(value);
    RETURN_IF_ERROR(check_option(opt));
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    std::lock_guard<std::mutex> hold(context->lock);
    auto found = context->options.find(opt);
    if (found == context->options.end()) {
        return fail(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, "opt %d was not set in the current context", static_cast<int>(opt));
    }
    *value = found->second;
    return ACL_SUCCESS;
}

/* ---- timeouts ---- */

aclError aclrtSetOpWaitTimeout(uint32_t timeout)
{
    ACL_ENTRY();
    g_op_wait_timeout_s.store(timeout);
    return ACL_SUCCESS;
}

aclError aclrtSetOpExecuteTimeOut(uint32_t timeout)
{
    ACL_ENTRY();
    g_op_execute_timeout_us.store(timeout * uint64_t{1000000});
    return ACL_SUCCESS;
}

aclError aclrtSetOpExecuteTimeOutWithMs(uint32_t timeout)
{
    ACL_ENTRY();
    g_op_execute_timeout_us.store(timeout * uint64_t{1000});
    return ACL_SUCCESS;
}

aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t *actual_timeout)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(actual_timeout);
    uint64_t steps = timeout / interval_us + (timeout % interval_us != 0);
    g_op_execute_timeout_us.store(steps * interval_us);
    *actual_timeout = timeout == 0 ? no_timeout : steps * interval_us;
    return ACL_SUCCESS;
}

aclError aclrtGetOpExecuteTimeout(uint32_t *timeout_ms)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(timeout_ms);
    *timeout_ms = static_cast<uint32_t>(std::min<uint64_t>(g_op_execute_timeout_us.load() / 1000, UINT32_MAX));
    return ACL_SUCCESS;
}

aclError aclrtGetOpTimeOutInterval(uint64_t *interval)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(interval);
    *interval = interval_us;
    return ACL_SUCCESS;
}

/* ---- resource limits ---- */

aclError aclrtDeviceSetLimit(aclrtDeviceLimit limit, size_t value)
{
    ACL_ENTRY();
    switch (limit) {
    case ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE: simd_stack_bytes.store(value); return ACL_SUCCESS;
    case ACL_RT_DEV_LIMIT_SIMD_PRINTF_FIFO_SIZE_PER_CORE: printf_bytes.store(value); return ACL_SUCCESS;
    default: return simt_limit(limit);
    }
}

aclError aclrtDeviceGetLimit(aclrtDeviceLimit limit, size_t *value)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(value);
    switch (limit) {
    case ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE: *value = simd_stack_bytes.load(); return ACL_SUCCESS;
    case ACL_RT_DEV_LIMIT_SIMD_PRINTF_FIFO_SIZE_PER_CORE: *value = printf_bytes.load(); return ACL_SUCCESS;
    default: return simt_limit(limit);
    }
}

aclError aclrtDeviceL2CacheFlush(void *rsv)
{
    ACL_ENTRY();
    REQUIRE(rsv == nullptr, "rsv is %p, it must be NULL", rsv);
    Context *context;
    return require_context(&context); /* caches are coherent here */
}
