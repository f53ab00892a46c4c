/* SPDX-License-Identifier: Apache-2.0
 *
 * Figures of the SoCs that the device can pretend to be.
 */
#ifndef ASCENDCL_CPU_SOC_H
#define ASCENDCL_CPU_SOC_H

#include <cstdint>

namespace acl_cpu {

struct Soc {
    const char *name;
    uint32_t arch; /* value of ACL_DEV_ATTR_NPU_ARCH */
    uint32_t cube_cores;
    uint32_t vector_cores;
    uint32_t ub_bytes;
    uint64_t l2_bytes;
};

/* nullptr for names not in the table. */
const Soc *find_soc(const char *name);
/* Whether a binary built for `built` runs on `here`: the same architecture. Both may be names outside the table. */
bool soc_compatible(const char *built, const Soc &here);
const char *soc_names(); /* "Ascend910B1, Ascend910B2, ..." for messages */

} // namespace acl_cpu
#endif
