// SPDX-License-Identifier: Apache-2.0
#include "table.h"

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>

#include "errors.h"

namespace ascend_cy {

namespace {

// Why every function is absent; code 0 means only those are that the device library lacks.
int poison_code = 0;
const char *poison_reason = "";

int absent(const char *function, const char *since) noexcept
{
    if (poison_code != 0) {
        note_absent(poison_code, function, poison_reason);
        return poison_code;
    }
    char text[256];
    std::snprintf(text, sizeof text, "%s is not in the device library that is loaded: CANN has it since %s", function,
                  since);
    note_absent(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, function, text);
    return ACL_ERROR_RT_FEATURE_NOT_SUPPORT;
}

// The result of an absent function by kind: the error, or NULL or all ones where the result is no aclError.
#define RESULT_ERR(ret, code) return code
#define RESULT_PTR(ret, code) return (static_cast<void>(code), static_cast<ret>(nullptr))
#define RESULT_U32(ret, code) return (static_cast<void>(code), static_cast<ret>(UINT32_MAX))
#define RESULT_SIZE(ret, code) return (static_cast<void>(code), static_cast<ret>(SIZE_MAX))
#define RESULT_U16(ret, code) return (static_cast<void>(code), static_cast<ret>(UINT16_MAX))
#define RESULT_F32(ret, code) return (static_cast<void>(code), __builtin_nanf(""))
#define RESULT_VOID(ret, code) static_cast<void>(code)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define STUB(kind, since, ret, name, parameters, arguments)              \
    ret absent_##name parameters                                         \
    {                                                                    \
        const int code = absent(#name, ASCEND_CY_ACL_SINCE_##since);     \
        RESULT_##kind(ret, code);                                        \
    }
ASCEND_CY_ACL_FUNCTIONS(STUB)
#undef STUB
#pragma GCC diagnostic pop

const char *(*device_recent_message)(void) = nullptr;

// In front of the device's: the message of a stub comes first, so that raw callers get it in the usual way.
const char *recent_message(void)
{
    if (const char *text = take_absent_message())
        return text;
    return device_recent_message != nullptr ? device_recent_message() : nullptr;
}

const char *const names[] = {
#define NAME(kind, since, ret, name, parameters, arguments) #name,
    ASCEND_CY_ACL_FUNCTIONS(NAME)
#undef NAME
};

constexpr ascend_cy_acl_table make_stub_table()
{
    ascend_cy_acl_table table = {
        sizeof(ascend_cy_acl_table),
        0,
#define FIELD(kind, since, ret, name, parameters, arguments) absent_##name,
        ASCEND_CY_ACL_FUNCTIONS(FIELD)
#undef FIELD
    };
    table.aclGetRecentErrMsg = recent_message;
    return table;
}

constexpr ascend_cy_acl_table stub_table = make_stub_table();

} // namespace

ascend_cy_acl_table device_table = stub_table;
bool device_has[ASCEND_CY_ACL_FUNCTION_COUNT];

void fill_table(void *library) noexcept
{
    // The table is a header and one pointer a function, in the order of the list (asserted in acl.h).
    char *const entries = reinterpret_cast<char *>(&device_table) + offsetof(ascend_cy_acl_table, aclInit);
    device_table = stub_table;
    for (int i = 0; i < ASCEND_CY_ACL_FUNCTION_COUNT; ++i) {
        void *symbol = dlsym(library, names[i]);
        device_has[i] = symbol != nullptr;
        if (symbol != nullptr)
            std::memcpy(entries + i * sizeof symbol, &symbol, sizeof symbol);
    }
    device_recent_message = device_has[ASCEND_CY_ACL_INDEX_aclGetRecentErrMsg] ? device_table.aclGetRecentErrMsg : nullptr;
    device_table.aclGetRecentErrMsg = recent_message;
}

void poison_table(int code, const char *why) noexcept
{
    poison_code = code;
    poison_reason = why;
    device_table = stub_table;
    std::memset(device_has, 0, sizeof device_has);
    device_recent_message = nullptr;
}

} // namespace ascend_cy
