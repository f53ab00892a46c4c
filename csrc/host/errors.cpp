// SPDX-License-Identifier: Apache-2.0
#include "errors.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <new>

#include "thread_state.h"

namespace ascend_cy {

struct ThreadMessage {
    int code = 0;
    const char *function = "";
    bool absent_pending = false; // aclGetRecentErrMsg has not handed it out yet
    char text[4096] = "";
    char absent_text[2048] = "";
};

namespace {

// Made at a thread's first failure, so that threads without one pay nothing. NULL when there is no memory.
ThreadMessage *message_of_thread() noexcept
{
    if (thread_state.message == nullptr) {
        thread_state.message = new (std::nothrow) ThreadMessage;
        if (thread_state.message != nullptr)
            watch_thread_exit();
    }
    return thread_state.message;
}

void append(ThreadMessage *message, const char *format, va_list arguments) noexcept
{
    const size_t used = std::strlen(message->text);
    std::vsnprintf(message->text + used, sizeof message->text - used, format, arguments);
}

[[gnu::format(printf, 2, 3)]] void append(ThreadMessage *message, const char *format, ...) noexcept
{
    va_list arguments;
    va_start(arguments, format);
    append(message, format, arguments);
    va_end(arguments);
}

// A vendor message spans lines and ends in blanks; ours is used in the middle of sentences.
void trim_end(char *text) noexcept
{
    size_t length = std::strlen(text);
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' ' || text[length - 1] == '\r'))
        text[--length] = '\0';
}

// What to do about it, where the cause is nearly always the same. NULL: nothing to add.
const char *hint(int code, const char *function) noexcept
{
    switch (code) {
    case ACL_ERROR_RT_INVALID_DEVICEID:
        return "device ids run from 0 to the device count - 1";
    case ACL_ERROR_RT_CONTEXT_NULL:
        return "no device is current in this thread; make one current with ascend_cy_set_device (or aclrtSetDevice)";
    case ACL_ERROR_RT_STREAM_CONTEXT:
        return "the stream belongs to another device or context than the one current in this thread";
    case ACL_ERROR_RT_INVALID_HANDLE:
        return "the stream, event or function was destroyed, or its device was reset";
    case ACL_ERROR_RT_MEMORY_ALLOCATION:
    case ACL_ERROR_RT_DEVICE_OOM:
        return "the device is out of memory; release arrays or use smaller batches, or trim the memory pool";
    case ACL_ERROR_RT_NO_STREAM_RESOURCE:
        return "no stream slots are left on the device (an NPU has about 1000 to 2000, all processes together); "
               "close streams that are no longer needed";
    case ACL_ERROR_RT_NO_EVENT_RESOURCE:
        return "no event slots are left on the device; close events that are no longer needed";
    case ACL_ERROR_RT_PARAM_INVALID:
        if (std::strncmp(function, "aclrtLaunchKernel", 17) == 0)
            return "a launch takes 1 to 65535 blocks and the arguments that the kernel declares";
        return nullptr;
    case ACL_ERROR_COMPILING_STUB_MODE:
        return "this is the stub library of CANN's devlib folder, which is for linking only; put lib64 first in "
               "LD_LIBRARY_PATH";
    default:
        return nullptr;
    }
}

} // namespace

void free_thread_message() noexcept
{
    delete thread_state.message;
    thread_state.message = nullptr;
}

int fail(int code, const char *function, const char *format, ...) noexcept
{
    ThreadMessage *message = thread_state.quiet ? nullptr : message_of_thread();
    if (message == nullptr)
        return code;
    message->code = code;
    message->function = function;
    message->text[0] = '\0';
    va_list arguments;
    va_start(arguments, format);
    append(message, format, arguments);
    va_end(arguments);
    return code;
}

int fail_call(int code, const char *function) noexcept
{
    const char *given = device_table.aclGetRecentErrMsg(); // also when quiet: it must not turn up in a later failure
    ThreadMessage *message = thread_state.quiet ? nullptr : message_of_thread();
    if (message == nullptr)
        return code;
    message->code = code;
    message->function = function;
    message->text[0] = '\0';
    const bool told = given != nullptr && given[0] != '\0';
    if (told) {
        // the text may be our own absent_text, never message->text itself
        append(message, "%s", given);
        trim_end(message->text);
    } else {
        const char *name = ascend_cy_error_name(code);
        append(message, "%s returned %d%s%s", function, code, name != nullptr ? " " : "", name != nullptr ? name : "");
    }
    // A parameter error has a thousand causes: what the device says about this one is better than any guess.
    const char *const text = told && code == ACL_ERROR_RT_PARAM_INVALID ? nullptr : hint(code, function);
    if (text != nullptr)
        append(message, " (%s)", text);
    return code;
}

void add_to_message(const char *format, ...) noexcept
{
    ThreadMessage *message = thread_state.quiet ? nullptr : message_of_thread();
    if (message == nullptr)
        return;
    va_list arguments;
    va_start(arguments, format);
    append(message, format, arguments);
    va_end(arguments);
}

void note_absent(int code, const char *function, const char *text) noexcept
{
    ThreadMessage *message = message_of_thread();
    if (message == nullptr)
        return;
    std::snprintf(message->absent_text, sizeof message->absent_text, "%s", text);
    message->absent_pending = true;
    if (!thread_state.quiet)
        fail(code, function, "%s", message->absent_text);
}

const char *take_absent_message() noexcept
{
    ThreadMessage *message = thread_state.message;
    if (message == nullptr || !message->absent_pending)
        return nullptr;
    message->absent_pending = false;
    return message->absent_text;
}

QuietScope::QuietScope() noexcept : outer_(thread_state.quiet) { thread_state.quiet = true; }
QuietScope::~QuietScope() { thread_state.quiet = outer_; }

} // namespace ascend_cy

using namespace ascend_cy;

const char *ascend_cy_last_message(void)
{
    return thread_state.message != nullptr ? thread_state.message->text : "";
}

const char *ascend_cy_last_function(void)
{
    return thread_state.message != nullptr ? thread_state.message->function : "";
}

int ascend_cy_last_code(void) { return thread_state.message != nullptr ? thread_state.message->code : ACL_SUCCESS; }

int ascend_cy_record_error(int code, const char *function)
{
    return check(code, function != nullptr ? function : "");
}

const char *ascend_cy_error_name(int code)
{
    struct Name {
        int value;
        const char *name;
    };
    static constexpr Name names[] = {
#define NAME(name, value) {value, #name},
        ASCEND_CY_ACL_ERRORS(NAME)
#undef NAME
    };
    // A few hundred entries, looked through once a failure; the first of several names is the one to show.
    for (const Name &entry : names)
        if (entry.value == code)
            return entry.name;
    return nullptr;
}
