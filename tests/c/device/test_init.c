/* SPDX-License-Identifier: Apache-2.0
 * Initialisation, finalisation, messages and last errors, versions. */
#include "check.h"

static char folder[256];

static const char *write_file(const char *name, const char *text)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    return path;
}

static int init_calls, finalize_calls;
static aclError on_init(const char *config, size_t length, void *data)
{
    init_calls += *(int *)data;
    CHECK(config != NULL && strlen(config) == length);
    return 0;
}
static aclError on_finalize(void *data)
{
    finalize_calls += *(int *)data;
    return 0;
}

static void before_initialisation(void)
{
    uint64_t count = 7;
    CHECK(aclGetRecentErrMsg() == NULL);
    OK(aclFinalize()); /* never initialised: nothing to do */
    FAILS(100037, aclFinalizeReference(&count));
    CHECK(count == 0);
}

static void bad_files(void)
{
    FAILS(100003, aclInit("/no/such/file.json"));
    FAILS(100006, aclInit(write_file("bad.json", "{\"dump\": {\"a\": [1, 2,]}}")));
    FAILS(100006, aclInit(write_file("bad.json", "{\"a\": 1} x")));
    FAILS(100006, aclInit(write_file("bad.json", "{'a': 1}")));
    FAILS(100006, aclInit(write_file("bad.json", "")));
    FAILS(100000, aclInit(write_file("bad.json", "{\"embedded_device\": {\"target\": \"gpu\"}}")));
    FAILS(100000, aclInit(write_file("bad.json", "{\"defaultDevice\": {\"default_device\": \"99\"}}")));
    FAILS(100000, aclInit(write_file("bad.json", "{\"err_msg_mode\": \"2\"}")));
}

static void counting(void)
{
    int one = 1;
    uint64_t count = 0;
    OK(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, on_init, &one));
    FAILS(100000, aclInitCallbackRegister(ACL_REG_TYPE_OTHER, on_init, &one));
    FAILS(100000, aclInitCallbackRegister(ACL_REG_TYPE_OTHER, NULL, &one));
    OK(aclFinalizeCallbackRegister(ACL_REG_TYPE_OTHER, on_finalize, &one));
    FAILS(100000, aclFinalizeCallbackRegister(ACL_REG_TYPE_OTHER, NULL, NULL));
    OK(aclInit(""));
    CHECK(init_calls == 1);
    FAILS(100002, aclInit(NULL));
    FAILS(100002, aclInit("/no/such/file.json"));
    OK(aclFinalizeReference(&count));
    CHECK(count == 2);
    OK(aclFinalizeReference(NULL));
    CHECK(finalize_calls == 0);
    OK(aclFinalizeReference(&count));
    CHECK(count == 0 && finalize_calls == 1);
    FAILS(100037, aclFinalize());
    /* again, and all references at once */
    OK(aclInit(NULL));
    FAILS(100002, aclInit(NULL));
    OK(aclFinalize());
    FAILS(100037, aclFinalize());
    FAILS(100037, aclFinalizeReference(&count));
    FAILS(100000, aclInit(write_file("other.json", "{}")));
    CHECK(init_calls == 2 && finalize_calls == 2);
    OK(aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, on_init));
    FAILS(100000, aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, on_init));
    OK(aclFinalizeCallbackUnRegister(ACL_REG_TYPE_OTHER, on_finalize));
    FAILS(100000, aclFinalizeCallbackUnRegister(ACL_REG_TYPE_OTHER, on_finalize));
    OK(aclInit(NULL));
    CHECK(init_calls == 2);
    OK(aclFinalize());
}

static void messages(void)
{
    int32_t device;
    /* acl layer: a message, but no last error */
    CHECK(aclrtGetDevice(NULL) == 100000);
    CHECK(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL) == 0);
    const char *text = aclGetRecentErrMsg();
    CHECK(text != NULL && strstr(text, "aclrtGetDevice") != NULL && strstr(text, "device_id") != NULL);
    CHECK(aclGetRecentErrMsg() == NULL);
    /* runtime layer: both; the newest message counts */
    CHECK(aclrtGetDevice(&device) == 107002);
    CHECK(aclrtSetDevice(1234) == 107001);
    CHECK(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL) == 107001);
    CHECK(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL) == 107001);
    text = aclGetRecentErrMsg();
    CHECK(text != NULL && strstr(text, "1234") != NULL);
    CHECK(aclGetRecentErrMsg() == NULL);
    CHECK(aclrtGetLastError(ACL_RT_THREAD_LEVEL) == 107001);
    CHECK(aclrtGetLastError(ACL_RT_THREAD_LEVEL) == 0);
    FAILS(100000, aclrtPeekAtLastError((aclrtLastErrLevel)1));
    FAILS(100000, aclrtGetLastError((aclrtLastErrLevel)1));
    /* success clears nothing */
    uint32_t count;
    CHECK(aclrtSetDevice(-1) == 107001);
    OK(aclrtGetDeviceCount(&count));
    CHECK(count == 1);
    CHECK(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL) == 107001);
    CHECK(aclGetRecentErrMsg() != NULL);
    CHECK(aclrtGetLastError(ACL_RT_THREAD_LEVEL) == 107001);
}

static void versions(void)
{
    int32_t major, minor, patch, number = 0;
    char text[128] = "";
    char name[] = "runtime", unknown[] = "no-such-package";
    aclCANNPackageVersion version;
    OK(aclrtGetVersion(&major, &minor, &patch));
    CHECK(major == ACL_MAJOR_VERSION && minor == ACL_MINOR_VERSION && patch == ACL_PATCH_VERSION);
    FAILS(100000, aclrtGetVersion(NULL, &minor, &patch));
    OK(aclsysGetVersionStr(name, text));
    CHECK(strcmp(text, "9.1.0") == 0);
    OK(aclsysGetVersionNum(name, &number));
    CHECK(number == 90100000);
    FAILS(100003, aclsysGetVersionStr(unknown, text));
    FAILS(100003, aclsysGetVersionNum(unknown, &number));
    FAILS(100000, aclsysGetVersionStr(NULL, text));
    FAILS(100000, aclsysGetVersionStr(name, NULL));
    FAILS(100000, aclsysGetVersionNum(name, NULL));
    OK(aclsysGetCANNVersion(ACL_PKG_NAME_RUNTIME, &version));
    CHECK(strcmp(version.version, "9.1.0") == 0 && strcmp(version.majorVersion, "9") == 0);
    FAILS(100000, aclsysGetCANNVersion(ACL_PKG_NAME_RUNTIME, NULL));
    FAILS(100000, aclsysGetCANNVersion((aclCANNPackageName)99, &version));
    FAILS(100003, aclsysGetCANNVersion(ACL_PKG_NAME_OPP, &version));
}

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/device-test-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    before_initialisation();
    bad_files();
    messages();
    counting();
    versions();
    return check_result("init");
}
