// SPDX-License-Identifier: Apache-2.0
//
// Prints what the host library found and what first calls give, one "key: value" a line, for test_c_host.py.
// Arguments name further things to try.
#include "check.h"

static void show(const char *key, const std::string &value)
{
    std::string line = value;
    for (char &letter : line)
        if (letter == '\n')
            letter = '|';
    std::printf("%s: %s\n", key, line.c_str());
}

static void show(const char *key, long long value) { show(key, std::to_string(value)); }

static void show_failure(const char *key, int code)
{
    show((std::string(key) + ".code").c_str(), code);
    show((std::string(key) + ".message").c_str(), code != 0 ? ascend_cy_last_message() : "");
    show((std::string(key) + ".function").c_str(), code != 0 ? ascend_cy_last_function() : "");
}

int main(int argc, char **argv)
{
    const ascend_cy_device_info_t *info = ascend_cy_device_info();
    show("kind", info->kind);
    show("unified", info->unified);
    show("requested", info->requested);
    show("library", info->library);
    show("reason", info->reason);
    show("tried", info->tried);
    show("error", info->error);
    show("package", ascend_cy_package_dir());
    CHECK(ascend_cy_device_info() == info);

    uint32_t count = 99;
    show_failure("count", ascend_cy_device_count(&count));
    show("devices", count);
    int32_t device = -1;
    if (info->error == 0) // harmless questions made no context
        show("context", ascend_cy_acl_get_table()->aclrtGetDevice(&device));
    ascend_cy_acl_get_table()->aclGetRecentErrMsg();

    for (int i = 1; i < argc; ++i) {
        const std::string what = argv[i];
        if (what == "init")
            show_failure("init", ascend_cy_init());
        else if (what == "context") {
            show_failure("ensure", ascend_cy_ensure_context());
            show_failure("device", ascend_cy_current_device(&device));
            show("device", device);
        } else if (what == "soc") {
            const char *soc = ascend_cy_acl_get_table()->aclrtGetSocName();
            show("soc", soc != nullptr ? soc : "NULL");
        } else if (what.rfind("has:", 0) == 0) {
            show(what.c_str(), ascend_cy_has(what.c_str() + 4));
        } else if (what == "absent") { // of an 8.1 library
            const ascend_cy_acl_table *table = ascend_cy_acl_get_table();
            show("absent.result", table->aclrtLaunchHostFunc(nullptr, nullptr, nullptr));
            show("absent.message", ascend_cy_last_message());
            show("absent.function", ascend_cy_last_function());
            const char *recent = table->aclGetRecentErrMsg();
            show("absent.recent", recent != nullptr ? recent : "NULL");
            recent = table->aclGetRecentErrMsg();
            show("absent.again", recent != nullptr ? recent : "NULL");
            show("absent.later", table->aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMD_PRINTF_FIFO_SIZE_PER_CORE, 0));
            show("absent.later_message", ascend_cy_last_message());
            show("absent.pointer", table->aclrtCreateStreamConfigHandle() == nullptr ? "NULL" : "?");
            show("absent.u32", table->aclrtGetTaskIdFromExceptionInfo(nullptr) == UINT32_MAX ? "ones" : "?");
            show_failure("absent.record", ascend_cy_record_error(table->aclrtLaunchHostFunc(nullptr, nullptr, nullptr),
                                                                 "aclrtLaunchHostFunc"));
        } else if (what == "raw") { // without any device
            const ascend_cy_acl_table *table = ascend_cy_acl_get_table();
            void *pointer = nullptr;
            show("raw.code", table->aclrtMalloc(&pointer, 64, ACL_MEM_MALLOC_HUGE_FIRST));
            const char *recent = table->aclGetRecentErrMsg();
            show("raw.recent", recent != nullptr ? recent : "NULL");
            show_failure("raw.host", ascend_cy_ensure_context());
        } else if (what == "names") {
            for (int code : {0, 100000, 107002, 207001, 507015, 507916, 123})
                show(("name." + std::to_string(code)).c_str(),
                     ascend_cy_error_name(code) != nullptr ? ascend_cy_error_name(code) : "NULL");
        } else if (what == "kernel") {
            static float x[8], y[8];
            show_failure("kernel", ascend_cy_layernorm(x, nullptr, nullptr, y, nullptr, nullptr, 1, 8, ACL_FLOAT, 0, 0,
                                                       1e-5, nullptr));
        } else {
            std::fprintf(stderr, "unknown argument %s\n", what.c_str());
            return 2;
        }
    }
    return 0;
}
