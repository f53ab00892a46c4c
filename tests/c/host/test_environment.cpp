// SPDX-License-Identifier: Apache-2.0
//
// ASCEND_CY_POOL_LIMIT: takes the bytes it should mean, or "refused", and prints the message then.
#include "check.h"

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    ascend_cy_pool_stats_t now;
    ascend_cy_buffer_t *buffer = nullptr;
    const int code = ascend_cy_pool_stats(0, &now);
    if (std::strcmp(argv[1], "refused") == 0) {
        CHECK_EQ(code, ACL_ERROR_INVALID_PARAM);
        std::puts(ascend_cy_last_message());
        CHECK_EQ(ascend_cy_buffer_create(1, ascend_cy_default_stream(0), &buffer), ACL_ERROR_INVALID_PARAM);
        return 0;
    }
    OK(code);
    const uint64_t limit = std::strtoull(argv[1], nullptr, 10);
    CHECK_EQ(now.limit_bytes, limit);
    CHECK_EQ(ascend_cy_buffer_create(limit + 1, ascend_cy_default_stream(0), &buffer), ACL_ERROR_RT_MEMORY_ALLOCATION);
    if (limit > 4096) {
        OK(ascend_cy_buffer_create(4096, ascend_cy_default_stream(0), &buffer));
        ascend_cy_buffer_release(buffer);
    }
    return 0;
}
