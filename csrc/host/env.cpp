// SPDX-License-Identifier: Apache-2.0
#include "env.h"

#include <cerrno>
#include <cstdlib>

namespace ascend_cy {

std::string env_text(const char *name)
{
    const char *value = std::getenv(name);
    return value != nullptr ? value : "";
}

bool parse_bytes(const std::string &text, uint64_t *bytes)
{
    if (text.empty() || text[0] < '0' || text[0] > '9')
        return false;
    char *end = nullptr;
    errno = 0;
    const unsigned long long number = std::strtoull(text.c_str(), &end, 10);
    if (errno != 0)
        return false;
    std::string unit(end);
    if (!unit.empty() && unit.back() == 'B')
        unit.pop_back();
    if (!unit.empty() && unit.back() == 'i')
        unit.pop_back();
    unsigned shift = 0;
    if (unit == "K" || unit == "k")
        shift = 10;
    else if (unit == "M" || unit == "m")
        shift = 20;
    else if (unit == "G" || unit == "g")
        shift = 30;
    else if (unit == "T" || unit == "t")
        shift = 40;
    else if (!unit.empty())
        return false;
    if (number > (UINT64_MAX >> shift))
        return false;
    *bytes = static_cast<uint64_t>(number) << shift;
    return true;
}

} // namespace ascend_cy
