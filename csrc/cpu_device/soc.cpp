/* SPDX-License-Identifier: Apache-2.0 */
#include "soc.h"

#include <cstring>
#include <string>

namespace acl_cpu {
namespace {

constexpr uint32_t KiB = 1024;
constexpr uint64_t MiB = 1024 * 1024;

/* From the platform description files of the CANN runtime. */
constexpr Soc socs[] = {
    {"Ascend910B1", 2201, 24, 48, 192 * KiB, 192 * MiB},     {"Ascend910B2", 2201, 24, 48, 192 * KiB, 192 * MiB},
    {"Ascend910B3", 2201, 20, 40, 192 * KiB, 192 * MiB},     {"Ascend910B4", 2201, 20, 40, 192 * KiB, 96 * MiB},
    {"Ascend910B4-1", 2201, 20, 40, 192 * KiB, 168 * MiB},   {"Ascend910_9391", 2201, 24, 48, 192 * KiB, 192 * MiB},
    {"Ascend910_9392", 2201, 24, 48, 192 * KiB, 192 * MiB},  {"Ascend910_9381", 2201, 24, 48, 192 * KiB, 192 * MiB},
    {"Ascend910_9382", 2201, 24, 48, 192 * KiB, 192 * MiB},  {"Ascend910_9372", 2201, 20, 40, 192 * KiB, 192 * MiB},
    {"Ascend910_9362", 2201, 20, 40, 192 * KiB, 168 * MiB},  {"Ascend310P1", 2002, 10, 8, 256 * KiB, 16 * MiB},
    {"Ascend310P3", 2002, 8, 7, 256 * KiB, 16 * MiB},        {"Ascend910A", 1001, 32, 32, 256 * KiB, 32 * MiB},
    {"Ascend310B1", 3002, 1, 1, 248 * KiB, 4 * MiB},         {"Ascend950PR_9599", 3510, 36, 72, 248 * KiB, 128 * MiB},
    {"Ascend950PR_9589", 3510, 32, 64, 248 * KiB, 128 * MiB}, {"Ascend950PR_9579", 3510, 28, 56, 248 * KiB, 128 * MiB},
    {"Ascend950DT_9591", 3510, 36, 72, 248 * KiB, 128 * MiB},
};

} // namespace

const Soc *find_soc(const char *name)
{
    for (const Soc &soc : socs) {
        if (strcmp(soc.name, name) == 0) return &soc;
    }
    return nullptr;
}

bool soc_compatible(const char *built, const Soc &here)
{
    if (strcmp(built, here.name) == 0) return true;
    const Soc *other = find_soc(built);
    return other != nullptr && other->arch == here.arch;
}

const char *soc_names()
{
    static const std::string &all = *new std::string([] {
        std::string text;
        for (const Soc &soc : socs) text += (text.empty() ? "" : ", ") + std::string(soc.name);
        return text;
    }());
    return all.c_str();
}

} // namespace acl_cpu
