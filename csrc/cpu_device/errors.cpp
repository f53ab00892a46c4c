/* SPDX-License-Identifier: Apache-2.0 */
#include "errors.h"

#include <pthread.h>

#include <cstdarg>
#include <cstdio>
#include <mutex>

#include "log.h"

namespace acl_cpu {

__thread ThreadState t_state __attribute__((tls_model("initial-exec"))) = {};
std::atomic<uint32_t> g_gate{0};

/* The parts that own memory. Freed by a pthread key, whose destructors run after those of C++ thread_local objects:
 * a user's thread_local destructor may still call AscendCL. */
struct ThreadExtras {
    std::string message;   /* newest, not yet read */
    bool has_message = false;
    std::string handed_out; /* what the last aclGetRecentErrMsg returned */
};

namespace {

pthread_key_t extras_key;
pthread_once_t extras_once = PTHREAD_ONCE_INIT;

void free_extras(void *extras)
{
    delete static_cast<ThreadExtras *>(extras);
    t_state.extras = nullptr;
}

ThreadExtras &extras()
{
    if (t_state.extras == nullptr) {
        pthread_once(&extras_once, [] { pthread_key_create(&extras_key, free_extras); });
        t_state.extras = new ThreadExtras;
        pthread_setspecific(extras_key, t_state.extras);
    }
    return *t_state.extras;
}

std::atomic<bool> process_wide{false};
/* Never destroyed: threads may report errors while the process exits. */
std::mutex &shared_lock = *new std::mutex;
ThreadExtras &shared_extras = *new ThreadExtras;

void store(std::string message)
{
    if (process_wide.load(std::memory_order_relaxed) && !forked_child()) {
        std::lock_guard<std::mutex> hold(shared_lock);
        shared_extras.message = std::move(message);
        shared_extras.has_message = true;
        return;
    }
    ThreadExtras &mine = extras();
    mine.message = std::move(message);
    mine.has_message = true;
}

std::string vformat(const char *text, va_list arguments)
{
    char small[512];
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(small, sizeof small, text, arguments);
    std::string result;
    if (length >= static_cast<int>(sizeof small)) {
        result.resize(static_cast<size_t>(length) + 1);
        vsnprintf(&result[0], result.size(), text, again);
        result.pop_back();
    } else if (length > 0) {
        result.assign(small, static_cast<size_t>(length));
    }
    va_end(again);
    return result;
}

/* The acl layer (100xxx, 200xxx, 500xxx) leaves the last error alone, the runtime layer sets it. */
bool sets_last_error(aclError code)
{
    int family = code / 1000;
    return family == 107 || family == 207 || family == 507;
}

} // namespace

void set_process_wide_messages(bool on) { process_wide.store(on); }

std::string format(const char *text, ...)
{
    va_list arguments;
    va_start(arguments, text);
    std::string result = vformat(text, arguments);
    va_end(arguments);
    return result;
}

const char *error_name(aclError code)
{
    static constexpr struct {
        aclError code;
        const char *name;
    } names[] = {
#define NAME_OF_ERROR(name, value) {value, #name},
        ASCEND_CY_ACL_ERRORS(NAME_OF_ERROR)
#undef NAME_OF_ERROR
    };
    for (const auto &entry : names) {
        if (entry.code == code) return entry.name;
    }
    return "unknown error";
}

aclError fail_with(aclError code, const char *message)
{
    if (sets_last_error(code)) t_state.last_error = code;
    const char *api = t_state.api != nullptr ? t_state.api : "AscendCL";
    if (!forked_child()) LOG(ERRORS, "%s returns %d %s: %s", api, code, error_name(code), message);
    store(std::string(api) + ": " + message);
    return code;
}

aclError fail(aclError code, const char *text, ...)
{
    va_list arguments;
    va_start(arguments, text);
    std::string message = vformat(text, arguments);
    va_end(arguments);
    return fail_with(code, message.c_str());
}

} // namespace acl_cpu

using namespace acl_cpu;

const char *aclGetRecentErrMsg(void)
{
    /* No gate: the message of an injected fault must be readable. */
    if (process_wide.load(std::memory_order_relaxed) && !forked_child()) {
        std::lock_guard<std::mutex> hold(shared_lock);
        if (!shared_extras.has_message) return nullptr;
        shared_extras.has_message = false;
        ThreadExtras &mine = extras();
        mine.handed_out.swap(shared_extras.message);
        return mine.handed_out.c_str();
    }
    if (t_state.extras == nullptr || !t_state.extras->has_message) return nullptr;
    ThreadExtras &mine = *t_state.extras;
    mine.has_message = false;
    mine.handed_out.swap(mine.message);
    return mine.handed_out.c_str();
}

aclError aclrtPeekAtLastError(aclrtLastErrLevel level)
{
    if (level != ACL_RT_THREAD_LEVEL) {
        t_state.api = __func__;
        return fail(ACL_ERROR_INVALID_PARAM, "level is %d, only ACL_RT_THREAD_LEVEL (0) exists", static_cast<int>(level));
    }
    return t_state.last_error;
}

aclError aclrtGetLastError(aclrtLastErrLevel level)
{
    if (level != ACL_RT_THREAD_LEVEL) {
        t_state.api = __func__;
        return fail(ACL_ERROR_INVALID_PARAM, "level is %d, only ACL_RT_THREAD_LEVEL (0) exists", static_cast<int>(level));
    }
    aclError error = t_state.last_error;
    t_state.last_error = ACL_SUCCESS;
    return error;
}
