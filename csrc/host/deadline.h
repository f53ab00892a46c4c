// SPDX-License-Identifier: Apache-2.0
//
// How long a wait may take, where the caller wants the thread back in between (Python looks for Ctrl-C).
#ifndef ASCEND_CY_HOST_DEADLINE_H
#define ASCEND_CY_HOST_DEADLINE_H

#include <chrono>
#include <cstdint>

namespace ascend_cy {

class Deadline {
public:
    // -1: no limit.
    explicit Deadline(int32_t timeout_ms = -1) noexcept : limited_(timeout_ms >= 0)
    {
        if (limited_)
            end_ = Clock::now() + std::chrono::milliseconds(timeout_ms);
    }

    bool limited() const noexcept { return limited_; }

    // Rounded up, so that a wait of this length reaches the end; 0 when time is up.
    int32_t left_ms() const noexcept
    {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now()).count();
        return left > 0 ? static_cast<int32_t>(left) : 0;
    }

private:
    using Clock = std::chrono::steady_clock;

    bool limited_;
    Clock::time_point end_{};
};

} // namespace ascend_cy

#endif
