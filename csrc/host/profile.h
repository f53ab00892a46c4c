// SPDX-License-Identifier: Apache-2.0
//
// Ranges around launches; nothing but a look at a flag while nobody records.
#ifndef ASCEND_CY_HOST_PROFILE_H
#define ASCEND_CY_HOST_PROFILE_H

#include <atomic>

#include "context.h"

namespace ascend_cy {

struct OpenRange;

extern std::atomic<bool> ranges_wanted;

// The device must be current. NULL where it cannot be recorded.
[[gnu::cold, gnu::noinline]] OpenRange *begin_range(const char *name, int32_t device, aclrtStream stream) noexcept;
[[gnu::cold, gnu::noinline]] void end_range(OpenRange *range) noexcept;

// Looks for the vendor's tool library; at initialisation.
void find_tool_library(bool may_load) noexcept;

class RangeScope {
public:
    RangeScope(const char *name, int32_t device, aclrtStream stream) noexcept
    {
        if (__builtin_expect(ranges_wanted.load(std::memory_order_relaxed), 0))
            range_ = begin_range(name, device, stream);
    }
    ~RangeScope()
    {
        if (__builtin_expect(range_ != nullptr, 0))
            end_range(range_);
    }
    RangeScope(const RangeScope &) = delete;
    RangeScope &operator=(const RangeScope &) = delete;

private:
    OpenRange *range_ = nullptr;
};

} // namespace ascend_cy

#endif
