/* SPDX-License-Identifier: Apache-2.0
 *
 * AscendCL through ascend_cy.
 *
 * By default a program sees the functions of the device that ascend_cy has chosen (an NPU or the embedded
 * device) as a table:
 *
 *     aclError code = ascend_cy_acl()->aclrtMalloc(&ptr, size, ACL_MEM_MALLOC_HUGE_FIRST);
 *
 * Nothing has to be linked, but `import ascend_cy` must have happened in the process before the first use.
 * An entry is never NULL: where the library in use lacks a function, calling it gives 207000.
 *
 * With ASCEND_CY_ACL_PROTOTYPES defined, the header declares plain prototypes instead, for a program that
 * links a device library itself, and for the embedded device library, which defines them.
 */
#ifndef ASCEND_CY_ACL_H
#define ASCEND_CY_ACL_H

#include "ascend_cy/acl_types.h"

#include "ascend_cy/acl_functions.h"
#include "ascend_cy/export.h"

/* The place of every function in the list: ASCEND_CY_ACL_INDEX_aclInit is 0. */
enum {
#define ASCEND_CY_ACL_INDEX(kind, since, ret, name, parameters, arguments) ASCEND_CY_ACL_INDEX_##name,
    ASCEND_CY_ACL_FUNCTIONS(ASCEND_CY_ACL_INDEX)
#undef ASCEND_CY_ACL_INDEX
    ASCEND_CY_ACL_FUNCTION_COUNT
};

#ifdef ASCEND_CY_ACL_PROTOTYPES

#ifndef ASCEND_CY_VENDOR_ACL /* else CANN's headers have declared what they know */

#ifdef __cplusplus
extern "C" {
#endif

#define ASCEND_CY_ACL_PROTOTYPE(kind, since, ret, name, parameters, arguments) \
    ASCEND_CY_API ret name parameters;
ASCEND_CY_ACL_FUNCTIONS(ASCEND_CY_ACL_PROTOTYPE)
#undef ASCEND_CY_ACL_PROTOTYPE

/* Varargs, hence in neither the list nor the table. */
ASCEND_CY_API void aclAppLog(aclLogLevel level, const char *function, const char *file, uint32_t line,
                             const char *format, ...) __attribute__((format(printf, 5, 6)));

#ifdef __cplusplus
}
#endif

#endif

#else /* the table */

/* With CANN's own headers of an older release, later functions are there, but without their types. */
#define ASCEND_CY_ACL_FIELD_TYPED(ret, name, parameters) ret(*name) parameters;
#define ASCEND_CY_ACL_FIELD_UNTYPED(ret, name, parameters) void (*name)(void);
#define ASCEND_CY_ACL_FIELD_A ASCEND_CY_ACL_FIELD_TYPED
#if ASCEND_CY_ACL_LEVEL >= 2
#define ASCEND_CY_ACL_FIELD_B ASCEND_CY_ACL_FIELD_TYPED
#else
#define ASCEND_CY_ACL_FIELD_B ASCEND_CY_ACL_FIELD_UNTYPED
#endif
#if ASCEND_CY_ACL_LEVEL >= 3
#define ASCEND_CY_ACL_FIELD_C ASCEND_CY_ACL_FIELD_TYPED
#else
#define ASCEND_CY_ACL_FIELD_C ASCEND_CY_ACL_FIELD_UNTYPED
#endif
#if ASCEND_CY_ACL_LEVEL >= 4
#define ASCEND_CY_ACL_FIELD_D ASCEND_CY_ACL_FIELD_TYPED
#else
#define ASCEND_CY_ACL_FIELD_D ASCEND_CY_ACL_FIELD_UNTYPED
#endif
#if ASCEND_CY_ACL_LEVEL >= 5
#define ASCEND_CY_ACL_FIELD_E ASCEND_CY_ACL_FIELD_TYPED
#else
#define ASCEND_CY_ACL_FIELD_E ASCEND_CY_ACL_FIELD_UNTYPED
#endif
#if ASCEND_CY_ACL_LEVEL >= 6
#define ASCEND_CY_ACL_FIELD_M ASCEND_CY_ACL_FIELD_TYPED
#else
#define ASCEND_CY_ACL_FIELD_M ASCEND_CY_ACL_FIELD_UNTYPED
#endif

#define ASCEND_CY_ACL_FIELD(kind, since, ret, name, parameters, arguments) \
    ASCEND_CY_ACL_FIELD_##since(ret, name, parameters)

typedef struct ascend_cy_acl_table {
    uint32_t size; /* of this struct in the library; a larger one has more functions at the end */
    uint32_t reserved;
    ASCEND_CY_ACL_FUNCTIONS(ASCEND_CY_ACL_FIELD)
} ascend_cy_acl_table;

ASCEND_CY_STATIC_ASSERT(sizeof(ascend_cy_acl_table) == 8 + 8 * (size_t)ASCEND_CY_ACL_FUNCTION_COUNT,
                        "the table is a header and one pointer per function");

#ifdef __cplusplus
extern "C" {
#endif

/* Exported by libascend_cy. */
ASCEND_CY_API const ascend_cy_acl_table *ascend_cy_acl_get_table(void);

#ifdef __cplusplus
}
#endif

#ifdef ASCEND_CY_BUILDING_HOST

static inline const ascend_cy_acl_table *ascend_cy_acl(void) { return ascend_cy_acl_get_table(); }

#else

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASCEND_CY_HOST_LIBRARY "libascend_cy.so"

/*
 * The slow half of ascend_cy_acl(). Only a library that is already in the process will do: loading a second
 * copy would mean a second set of devices, streams and pools. There is nobody to return an error to in the
 * middle of a C expression, hence the abort.
 */
__attribute__((noinline, cold, unused)) static const ascend_cy_acl_table *ascend_cy_acl_find(void)
{
    typedef const ascend_cy_acl_table *(*get_table_function)(void);
    get_table_function get_table = NULL;
    const ascend_cy_acl_table *table;
    void *library = dlopen(ASCEND_CY_HOST_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
    void *symbol = library != NULL ? dlsym(library, "ascend_cy_acl_get_table") : NULL;

    if (symbol == NULL) {
        fputs("ascend_cy: AscendCL was used before " ASCEND_CY_HOST_LIBRARY
              " was loaded; `import ascend_cy` first\n",
              stderr);
        abort();
    }
    memcpy(&get_table, &symbol, sizeof get_table); /* ISO C has no cast from void * to a function pointer */
    table = get_table();
    if (table == NULL || table->size < sizeof *table) {
        fputs("ascend_cy: this program was compiled for a newer ascend_cy than the one imported; "
              "upgrade ascend_cy\n",
              stderr);
        abort();
    }
    return table;
}

/* The table of the device in use; for any thread. After the first call it costs a load and a compare. */
static inline const ascend_cy_acl_table *ascend_cy_acl(void)
{
    static const ascend_cy_acl_table *cached = NULL;
    const ascend_cy_acl_table *table = __atomic_load_n(&cached, __ATOMIC_ACQUIRE);

    if (__builtin_expect(table == NULL, 0)) {
        table = ascend_cy_acl_find(); /* two threads may both look: they find the same table */
        __atomic_store_n(&cached, table, __ATOMIC_RELEASE);
    }
    return table;
}

#endif /* ASCEND_CY_BUILDING_HOST */

#endif /* the table */

#endif /* ASCEND_CY_ACL_H */
