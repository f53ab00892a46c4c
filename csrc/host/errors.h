// SPDX-License-Identifier: Apache-2.0
//
// Failures: the calling thread's message, and the one helper through which every AscendCL return code goes.
#ifndef ASCEND_CY_HOST_ERRORS_H
#define ASCEND_CY_HOST_ERRORS_H

#include "ascend_cy/runtime.h"
#include "table.h"

namespace ascend_cy {

// Leaves a message of our own; `function` is the AscendCL function to blame, "" if none. Returns code.
[[gnu::cold, gnu::noinline, gnu::format(printf, 3, 4)]] int fail(int code, const char *function, const char *format,
                                                                  ...) noexcept;

// An AscendCL function just returned `code` in this thread: takes the device's message before another call can
// replace it, adds a hint where the cause is a known one. Returns code.
[[gnu::cold, gnu::noinline]] int fail_call(int code, const char *function) noexcept;

// Adds a sentence to this thread's message.
[[gnu::cold, gnu::noinline, gnu::format(printf, 1, 2)]] void add_to_message(const char *format, ...) noexcept;

inline int check(int code, const char *function) noexcept
{
    return __builtin_expect(code == ACL_SUCCESS, 1) ? ACL_SUCCESS : fail_call(code, function);
}

// Calls an AscendCL function through the table: ACY_CALL(aclrtMalloc, &pointer, size, policy).
#define ACY_CALL(name, ...) ::ascend_cy::check(::ascend_cy::device_table.name(__VA_ARGS__), #name)

// What an absent function leaves: a message for ascend_cy_last_message and for the next aclGetRecentErrMsg.
[[gnu::cold]] void note_absent(int code, const char *function, const char *text) noexcept;
// The message note_absent left for aclGetRecentErrMsg, once; NULL if none.
const char *take_absent_message() noexcept;

// Saves this thread's message around code that may fail without the caller being told (frees, clean-up).
class QuietScope {
public:
    QuietScope() noexcept;
    ~QuietScope();
    QuietScope(const QuietScope &) = delete;
    QuietScope &operator=(const QuietScope &) = delete;

private:
    bool outer_;
};

} // namespace ascend_cy

#endif
