/* SPDX-License-Identifier: Apache-2.0
 *
 * What CANN's devlib folder holds: libraries to link with, in which every function says so.
 */
#define ASCEND_CY_ACL_PROTOTYPES
#include "ascend_cy/acl.h"

aclError aclrtGetDeviceCount(uint32_t *count)
{
    *count = 0;
    return ACL_ERROR_COMPILING_STUB_MODE;
}
