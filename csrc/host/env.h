// SPDX-License-Identifier: Apache-2.0
//
// Environment variables.
#ifndef ASCEND_CY_HOST_ENV_H
#define ASCEND_CY_HOST_ENV_H

#include <cstdint>
#include <string>

namespace ascend_cy {

// "" where it is not set.
std::string env_text(const char *name);

// A number of bytes, with K, M, G or T (powers of 1024) behind it if wanted: "512M". False where it is no such thing.
bool parse_bytes(const std::string &text, uint64_t *bytes);

} // namespace ascend_cy

#endif
