// SPDX-License-Identifier: Apache-2.0
//
// Another name under which kernels include Ascend C.
#include "kernel_operator.h"
