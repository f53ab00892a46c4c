// SPDX-License-Identifier: Apache-2.0
//
// Ascend C on a host: everything that a kernel source for dav-2201 includes by this name, implemented by the checking
// simulator. docs/simulator.md says what is there.
#ifndef ASCENDC_SIM_KERNEL_OPERATOR_H
#define ASCENDC_SIM_KERNEL_OPERATOR_H

#include "ascendc_sim/tiling_macros.h"

#endif // ASCENDC_SIM_KERNEL_OPERATOR_H
