/* SPDX-License-Identifier: Apache-2.0
 *
 * What the user may choose: environment variables and the file of aclInit. docs/device.md lists them.
 */
#ifndef ASCENDCL_CPU_SETTINGS_H
#define ASCENDCL_CPU_SETTINGS_H

#include <cstdint>
#include <string>

#include "entry.h"
#include "soc.h"

namespace acl_cpu {

enum class Target { Cpu, Sim };

struct Settings {
    Target target = Target::Cpu;
    uint32_t devices = 1;
    uint64_t memory_bytes = 0;      /* of each device */
    uint64_t link_bytes_per_second = 0; /* 0: copies take the time they take */
    const Soc *soc = nullptr;
    uint32_t cube_cores = 0;
    uint32_t vector_cores = 0;
    uint32_t usable_cpus = 1;
    int32_t default_device = -1; /* of the JSON file; -1: none */

    bool operator==(const Settings &other) const
    {
        return usable_cpus == other.usable_cpus && target == other.target && devices == other.devices &&
               memory_bytes == other.memory_bytes && link_bytes_per_second == other.link_bytes_per_second && soc == other.soc &&
               cube_cores == other.cube_cores && vector_cores == other.vector_cores && default_device == other.default_device;
    }
};

/* CPUs that this process may use, by affinity and cgroup quota. */
uint32_t usable_cpus();

/* The settings in force; reads the environment at the first use. */
const Settings &settings();
/* The number of workers by function call, which stands against the environment from now on. */
void choose_workers(uint32_t count);

/* Reads the environment again and applies a configuration file (nullptr: none). With an error nothing changes.
 * Called by aclInit, while no context exists. */
aclError load_settings(const char *config_path, std::string *config_text);

} // namespace acl_cpu
#endif
