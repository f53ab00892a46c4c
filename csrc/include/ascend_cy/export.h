/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASCEND_CY_EXPORT_H
#define ASCEND_CY_EXPORT_H

/* libascend_cy is built with hidden visibility; what is marked so is its interface. */
#define ASCEND_CY_API __attribute__((visibility("default")))

#endif
