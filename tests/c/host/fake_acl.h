/* SPDX-License-Identifier: Apache-2.0
 *
 * How tests steer fake_acl.c, a stand-in for a vendor's device library. It is loaded by libascend_cy, so tests ask it
 * for this table: fake_acl().
 */
#ifndef FAKE_ACL_H
#define FAKE_ACL_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct fake_acl_control {
    /* While a stream is held, its work waits. NULL is the default stream of device 0. */
    void (*hold)(void *stream, int on);
    /* The next `count` calls of `function` return `code`; the first `skip` are let through before. */
    void (*fail)(const char *function, int code, int skip, int count);
    /* Calls of `function` so far; of all functions for NULL. */
    long (*calls)(const char *function);
    /* The next `count` calls of `function` wait until all of them are there, ten seconds at most. */
    void (*meet)(const char *function, int count);
    /* The stream returns this code at its next synchronization. */
    void (*break_stream)(void *stream, int code);
    /* Of the last launch. */
    const char *(*last_kernel)(void);
    uint32_t (*last_blocks)(void);
    const void *(*last_args)(size_t *size);
    /* Live objects and bytes. */
    long (*streams)(void);
    long (*events)(void);
    size_t (*device_bytes)(void);
    size_t (*host_bytes)(void);
    long (*binaries)(void); /* loaded from memory */
} fake_acl_control;

static inline const fake_acl_control *fake_acl(void)
{
    static const fake_acl_control *cached;
    const fake_acl_control *control = __atomic_load_n(&cached, __ATOMIC_ACQUIRE);
    if (control == NULL) {
        void *library = dlopen("libascendcl.so", RTLD_LAZY | RTLD_NOLOAD);
        void *symbol = library != NULL ? dlsym(library, "fake_acl_controls") : NULL;
        if (symbol == NULL) {
            fputs("the fake device library is not loaded\n", stderr);
            abort();
        }
        control = (const fake_acl_control *)symbol;
        __atomic_store_n(&cached, control, __ATOMIC_RELEASE);
    }
    return control;
}

#endif
