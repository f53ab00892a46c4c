/* SPDX-License-Identifier: Apache-2.0
 *
 * User callbacks at changes of devices and streams.
 */
#ifndef ASCENDCL_CPU_STATE_CALLBACKS_H
#define ASCENDCL_CPU_STATE_CALLBACKS_H

#include "entry.h"

namespace acl_cpu {

struct Stream;

void notify_device_state(int32_t device, aclrtDeviceState state);
void notify_stream_state(Stream &stream, aclrtStreamState state);

} // namespace acl_cpu
#endif
