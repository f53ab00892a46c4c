// SPDX-License-Identifier: Apache-2.0
//
// Finds and loads the device library.
#ifndef ASCEND_CY_HOST_LOADER_H
#define ASCEND_CY_HOST_LOADER_H

#include <string>

#include "ascend_cy/runtime.h"

namespace ascend_cy {

struct LoadedDevice {
    ascend_cy_device_info_t info{};
    void *handle = nullptr; // of dlopen; never closed
    std::string requested;
    std::string library;
    std::string reason;
    std::string tried;
    std::string config; // what aclInit is to read, "" for nothing
    std::string error;  // what every call returns where info.error is set
};

// Decides by ASCEND_CY_DEVICE and loads; called once. Never fails: the error is in the result.
LoadedDevice *load_device();

} // namespace ascend_cy

#endif
