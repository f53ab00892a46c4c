// SPDX-License-Identifier: Apache-2.0
//
// Declarations of template keys. They tell an operator build which instances of a kernel to make; here instances are made
// by whoever launches them.
#ifndef ASCENDC_SIM_TEMPLATE_ARGUMENT_H
#define ASCENDC_SIM_TEMPLATE_ARGUMENT_H

#define ASCENDC_TPL_ARGS_DECL(...)
#define ASCENDC_TPL_SEL(...)

#endif // ASCENDC_SIM_TEMPLATE_ARGUMENT_H
