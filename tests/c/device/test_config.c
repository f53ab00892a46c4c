/* SPDX-License-Identifier: Apache-2.0
 * The configuration file: target, default device, messages of the process. One process for each file. */
#include <pthread.h>

#include "check.h"

static void *other_thread(void *unused)
{
    (void)unused;
    int32_t device = -1;
    OK(aclrtGetDevice(&device)); /* the default device serves every thread */
    CHECK(device == 1);
    CHECK(aclrtGetDevice(NULL) == 100000);
    return NULL;
}

int main(void)
{
    char path[] = "/tmp/device-test-XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    fputs("{\"embedded_device\": {\"target\": \"sim\"}, \"defaultDevice\": {\"default_device\": \"1\"},\n"
          " \"err_msg_mode\": \"1\", \"dump\": {\"x\": [1, 2.5e3, true, null, \"\\u00e4\\n\"]}}\n",
          file);
    fclose(file);
    setenv("ASCENDCL_CPU_DEVICES", "2", 1);
    OK(aclInit(path));
    int64_t cores = 0;
    OK(aclGetDeviceCapability(0, ACL_DEVICE_INFO_VECTOR_CORE_NUM, &cores));
    CHECK(cores == 48);
    OK(aclGetDeviceCapability(0, ACL_DEVICE_INFO_AI_CORE_NUM, &cores));
    CHECK(cores == 24);
    OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE, &cores));
    CHECK(cores == 192 * 1024);
    pthread_t thread;
    pthread_create(&thread, NULL, other_thread, NULL);
    pthread_join(thread, NULL);
    /* messages belong to the process here */
    CHECK(aclGetRecentErrMsg() != NULL);
    CHECK(aclGetRecentErrMsg() == NULL);
    /* the same file again is fine, another one is not */
    OK(aclFinalize());
    OK(aclInit(path));
    OK(aclFinalize());
    CHECK(aclInit(NULL) == 100000);
    unlink(path);
    return check_result("config");
}
