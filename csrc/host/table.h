// SPDX-License-Identifier: Apache-2.0
//
// The function table: AscendCL as the rest of this library, and everybody else, calls it.
#ifndef ASCEND_CY_HOST_TABLE_H
#define ASCEND_CY_HOST_TABLE_H

#include "ascend_cy/acl.h"

namespace ascend_cy {

// Never holds a NULL: stubs from the start, the device library's functions once it is loaded.
extern ascend_cy_acl_table device_table;

// Fills the table from a device library (dlopen handle). Functions it lacks keep their stub.
void fill_table(void *library) noexcept;

// Makes every function a stub that returns `code` and leaves `why` (static storage, or never freed). Only copies
// memory, so that it may run in a forked child.
void poison_table(int code, const char *why) noexcept;

// Which functions the device library has, by ASCEND_CY_ACL_INDEX_*.
extern bool device_has[ASCEND_CY_ACL_FUNCTION_COUNT];

} // namespace ascend_cy

#endif
