/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of launch.h, runtime.h, pool.h and module.h for programs that do not link libascend_cy (a second copy of
 * it would be a second set of devices, streams and pools):
 *
 *     const char *misfit = ascend_cy_misfit();            // once, before anything else
 *     if (misfit != NULL) ... refuse to be imported, with this text
 *     int code = ASCEND_CY_FUNCTION(ascend_cy_vector_add)(a, b, y, n, ACL_FLOAT, stream);
 *
 * `import ascend_cy` must have happened in the process before.
 */
#ifndef ASCEND_CY_SYMBOL_H
#define ASCEND_CY_SYMBOL_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ascend_cy/acl.h"
#include "ascend_cy/runtime.h"

typedef void (*ascend_cy_any_function)(void);

/* A function of the libascend_cy in this process; NULL where there is no such library, or no such function in it. */
static inline ascend_cy_any_function ascend_cy_symbol(const char *name)
{
    void *library = dlopen("libascend_cy.so", RTLD_LAZY | RTLD_NOLOAD);
    void *symbol = library != NULL ? dlsym(library, name) : NULL;
    ascend_cy_any_function function = NULL;
    memcpy(&function, &symbol, sizeof function); /* ISO C has no cast from void * to a function pointer */
    if (library != NULL)
        dlclose(library); /* only the reference that dlopen counted: ascend_cy's modules hold their own */
    return function;
}

/* Why this program cannot use the ascend_cy in this process, in a sentence; NULL if it can. */
static inline const char *ascend_cy_misfit(void)
{
    static char text[200];
    int (*version)(void) = (int (*)(void))ascend_cy_symbol("ascend_cy_abi_version");

    if (version == NULL)
        return ascend_cy_symbol("ascend_cy_init") == NULL ? "ascend_cy is not loaded in this process; `import ascend_cy` first"
                                                          : "this ascend_cy is older than the one this program was compiled for";
    if (version() == ASCEND_CY_ABI_VERSION)
        return NULL;
    snprintf(text, sizeof text,
             "this program was compiled against binary interface %d of ascend_cy, but the ascend_cy in this process has %d: "
             "build it again",
             ASCEND_CY_ABI_VERSION, version());
    return text;
}

/* The slow half of ASCEND_CY_FUNCTION. There is nobody to return an error to in the middle of an expression. */
__attribute__((unused)) static ascend_cy_any_function ascend_cy_required_symbol(const char *name)
{
    ascend_cy_any_function function = ascend_cy_symbol(name);
    if (function == NULL) {
        fprintf(stderr, "ascend_cy: %s is not there; `import ascend_cy` first, of the version that this was compiled for\n", name);
        abort();
    }
    return function;
}

/* A function with its own type. It costs a look-up by name: keep the result where it is called often. */
#define ASCEND_CY_FUNCTION(name) ((__typeof__(&name))ascend_cy_required_symbol(#name))

#endif /* ASCEND_CY_SYMBOL_H */
