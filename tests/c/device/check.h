/* SPDX-License-Identifier: Apache-2.0
 * The few macros of the C tests. Each test program runs its functions in order and ends with 0 if all checks held. */
#ifndef DEVICE_TEST_CHECK_H
#define DEVICE_TEST_CHECK_H

#define ASCEND_CY_ACL_PROTOTYPES
#include "ascend_cy/acl.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int check_failures = 0;

static inline const char *check_message(void)
{
    const char *message = aclGetRecentErrMsg();
    return message != NULL ? message : "no message";
}

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            ++check_failures;                                                         \
        }                                                                             \
    } while (0)

/* For upper bounds of times, which mean nothing under a sanitizer. */
#define IN_TIME(condition) CHECK(getenv("DEVICE_TEST_SLOW") != NULL || (condition))

/* The call succeeds. */
#define OK(call)                                                                                              \
    do {                                                                                                      \
        aclError check_code = (call);                                                                         \
        if (check_code != 0) {                                                                                \
            fprintf(stderr, "%s:%d: %s gave %d: %s\n", __FILE__, __LINE__, #call, check_code, check_message()); \
            ++check_failures;                                                                                 \
        }                                                                                                     \
    } while (0)

/* The call fails with `code` and leaves a message; codes of the runtime layer also set the last error. */
#define FAILS(code, call)                                                                                     \
    do {                                                                                                      \
        (void)aclrtGetLastError(ACL_RT_THREAD_LEVEL);                                                         \
        (void)aclGetRecentErrMsg();                                                                           \
        aclError check_code = (call);                                                                         \
        aclError check_last = aclrtGetLastError(ACL_RT_THREAD_LEVEL);                                         \
        int check_family = (code) / 1000;                                                                     \
        int check_runtime = check_family == 107 || check_family == 207 || check_family == 507;                \
        if (check_code != (code)) {                                                                           \
            fprintf(stderr, "%s:%d: %s gave %d, not %d\n", __FILE__, __LINE__, #call, check_code, (int)(code)); \
            ++check_failures;                                                                                 \
        } else if (check_last != (check_runtime ? (code) : 0)) {                                              \
            fprintf(stderr, "%s:%d: after %s the last error is %d\n", __FILE__, __LINE__, #call, check_last); \
            ++check_failures;                                                                                 \
        }                                                                                                     \
        if (aclGetRecentErrMsg() == NULL) {                                                                   \
            fprintf(stderr, "%s:%d: %s left no message\n", __FILE__, __LINE__, #call);                        \
            ++check_failures;                                                                                 \
        }                                                                                                     \
        if (aclGetRecentErrMsg() != NULL) {                                                                   \
            fprintf(stderr, "%s:%d: the message of %s was not consumed\n", __FILE__, __LINE__, #call);        \
            ++check_failures;                                                                                 \
        }                                                                                                     \
    } while (0)

static inline double seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static inline int check_result(const char *name)
{
    printf("%s: %s\n", name, check_failures == 0 ? "passed" : "FAILED");
    return check_failures == 0 ? 0 : 1;
}

/* Path of the kernels of this folder, built for cpu or sim. */
static inline const char *kernel_path(const char *target)
{
    static char path[4096];
    const char *folder = getenv("DEVICE_TEST_KERNELS");
    snprintf(path, sizeof path, "%s/test_kernels_%s.so", folder != NULL ? folder : ".", target);
    return path;
}

static inline aclrtFuncHandle kernel(aclrtBinHandle binary, const char *name)
{
    aclrtFuncHandle function = NULL;
    OK(aclrtBinaryGetFunction(binary, name, &function));
    return function;
}

static inline aclError run(aclrtFuncHandle function, uint32_t blocks, aclrtStream stream, void *args, size_t size)
{
    uint64_t none[1] = {0};
    return aclrtLaunchKernelWithHostArgs(function, blocks, stream, NULL, size != 0 ? args : none, size != 0 ? size : 8, NULL, 0);
}

struct pointer_and_value {
    void *p;
    int64_t value;
};

static inline aclError run_with(aclrtFuncHandle function, uint32_t blocks, aclrtStream stream, void *p, int64_t value)
{
    struct pointer_and_value args = {p, value};
    return run(function, blocks, stream, &args, sizeof args);
}

#endif
