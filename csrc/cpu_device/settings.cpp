/* SPDX-License-Identifier: Apache-2.0 */
#include "settings.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <vector>

#include "errors.h"
#include "faults.h"
#include "json.h"
#include "log.h"
#include "pool.h"

namespace acl_cpu {
namespace {

constexpr uint32_t most_devices = 64;

/* CPUs that the cgroup's quota is worth, rounded up; 0 where there is no quota. */
uint32_t cgroup_cpus()
{
    auto read_two = [](const char *path, long long *first, long long *second) {
        FILE *file = fopen(path, "re");
        if (file == nullptr) return 0;
        char word[64];
        int count = 0;
        if (fscanf(file, "%63s", word) == 1 && strcmp(word, "max") != 0) {
            *first = atoll(word);
            count = 1 + (fscanf(file, "%lld", second) == 1);
        }
        fclose(file);
        return count;
    };
    long long quota = 0;
    long long period = 0;
    bool known = read_two("/sys/fs/cgroup/cpu.max", &quota, &period) == 2;
    if (!known) {
        long long unused = 0;
        known = read_two("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", &quota, &unused) >= 1 &&
                read_two("/sys/fs/cgroup/cpu/cpu.cfs_period_us", &period, &unused) >= 1;
    }
    if (!known || quota <= 0 || period <= 0) return 0;
    return static_cast<uint32_t>((quota + period - 1) / period);
}

uint64_t physical_memory()
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0) return uint64_t{1} << 32;
    return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page);
}

/* "16MiB", "1.5 GB", "4096": units K M G T are powers of 1000, Ki Mi Gi Ti of 1024; B is optional. */
bool parse_bytes(const char *text, uint64_t *bytes)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || !(value >= 0)) return false;
    while (*end == ' ') ++end;
    static const char prefixes[] = "KMGT";
    const char *prefix = *end != '\0' ? strchr(prefixes, *end >= 'a' ? *end - 'a' + 'A' : *end) : nullptr;
    if (prefix != nullptr) {
        ++end;
        bool binary = *end == 'i';
        if (binary) ++end;
        value *= std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(prefix - prefixes + 1));
    }
    if (*end == 'B' || *end == 'b') ++end;
    if (*end != '\0' || value >= 9e18) return false;
    *bytes = static_cast<uint64_t>(value);
    return true;
}

bool parse_count(const char *text, uint64_t least, uint64_t most, uint32_t *count)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (end == text || *end != '\0' || text[0] == '-' || value < least || value > most) return false;
    *count = static_cast<uint32_t>(value);
    return true;
}

const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value != nullptr && value[0] != '\0' ? value : nullptr;
}

/* Everything that one reading gives; taken over only when all of it is good. */
struct Reading {
    Settings settings;
    uint32_t workers = 0;
    bool has_log_topics = false;
    uint32_t log_topics = 0;
    const char *faults = nullptr;
    std::string problem;
};

void complain(Reading *reading, const char *name, const char *value, const char *wanted)
{
    if (reading->problem.empty()) reading->problem = format("%s is \"%s\", but it must be %s", name, value, wanted);
}

void read_environment(Reading *reading)
{
    Settings &s = reading->settings;
    s.usable_cpus = usable_cpus();
    s.memory_bytes = physical_memory();
    s.soc = find_soc("Ascend910B1");

    if (const char *text = variable("ASCENDCL_CPU_DEVICES")) {
        if (!parse_count(text, 0, most_devices, &s.devices)) complain(reading, "ASCENDCL_CPU_DEVICES", text, "0 to 64");
    }
    if (const char *text = variable("ASCENDCL_CPU_MEMORY")) {
        if (!parse_bytes(text, &s.memory_bytes) || s.memory_bytes == 0) {
            complain(reading, "ASCENDCL_CPU_MEMORY", text, "a size such as 16MiB or 4GiB");
        }
    }
    if (const char *text = variable("ASCENDCL_CPU_LINK_BANDWIDTH")) {
        if (!parse_bytes(text, &s.link_bytes_per_second)) {
            complain(reading, "ASCENDCL_CPU_LINK_BANDWIDTH", text, "bytes per second such as 2GB, or 0");
        }
    }
    if (const char *text = variable("ASCENDCL_CPU_WORKERS")) {
        if (!parse_count(text, 1, Pool::most_workers, &reading->workers)) {
            complain(reading, "ASCENDCL_CPU_WORKERS", text, "1 to 1024");
        }
    }
    if (const char *text = variable("ASCENDCL_CPU_SOC")) {
        if (const Soc *soc = find_soc(text)) s.soc = soc;
        else complain(reading, "ASCENDCL_CPU_SOC", text, soc_names());
    }
    if (const char *text = variable("ASCENDCL_CPU_CORES")) {
        uint32_t cores = 0;
        if (parse_count(text, 1, 65535, &cores)) s.cube_cores = s.vector_cores = cores;
        else complain(reading, "ASCENDCL_CPU_CORES", text, "1 to 65535");
    }
    if (const char *text = variable("ASCENDCL_CPU_LOG")) {
        const char *bad_word = nullptr;
        reading->has_log_topics = parse_log_topics(text, &reading->log_topics, &bad_word);
        if (!reading->has_log_topics) {
            complain(reading, "ASCENDCL_CPU_LOG", text, "a list of memory, streams, launches, errors, leaks, or all");
        }
    }
    if ((reading->faults = variable("ASCENDCL_CPU_FAULT")) != nullptr) {
        std::string problem;
        if (!check_fault_spec(reading->faults, &problem)) {
            complain(reading, "ASCENDCL_CPU_FAULT", reading->faults, problem.c_str());
        }
    }
}

/* The keys of the configuration file that mean something here. */
aclError read_config(const char *path, const std::string &text, Reading *reading)
{
    Json root;
    std::string problem;
    if (!parse_json(text, &root, &problem)) {
        return fail(ACL_ERROR_PARSE_FILE, "%s is not valid JSON: %s", path, problem.c_str());
    }
    if (const Json *device = root.find("embedded_device")) {
        if (const Json *target = device->find("target")) {
            if (target->string == "cpu") reading->settings.target = Target::Cpu;
            else if (target->string == "sim") reading->settings.target = Target::Sim;
            else return fail(ACL_ERROR_INVALID_PARAM, "%s: embedded_device.target is \"%s\", not \"cpu\" or \"sim\"", path,
                             target->string.c_str());
        }
    }
    if (const Json *section = root.find("defaultDevice")) {
        if (const Json *device = section->find("default_device")) {
            uint32_t id = 0;
            if (!parse_count(device->string.c_str(), 0, most_devices, &id) || id >= reading->settings.devices) {
                return fail(ACL_ERROR_INVALID_PARAM, "%s: default_device is \"%s\", there are %u devices", path,
                            device->string.c_str(), reading->settings.devices);
            }
            reading->settings.default_device = static_cast<int32_t>(id);
        }
    }
    if (const Json *mode = root.find("err_msg_mode")) {
        if (mode->string != "0" && mode->string != "1") {
            return fail(ACL_ERROR_INVALID_PARAM, "%s: err_msg_mode is \"%s\", not \"0\" or \"1\"", path, mode->string.c_str());
        }
        set_process_wide_messages(mode->string == "1");
    }
    return ACL_SUCCESS;
}

std::mutex &load_lock = *new std::mutex;
/* What ascendcl_cpu_set_workers asked for; it stands against the environment. Under the lock. */
bool workers_chosen = false;
uint32_t chosen_workers = 0;

/* Cores are those of the SoC for `sim`; for `cpu`, where a block is host code, as many as run at once. */
void choose_cores(Reading *reading)
{
    Settings &s = reading->settings;
    if (s.cube_cores != 0) return;
    if (s.target == Target::Sim) {
        s.cube_cores = s.soc->cube_cores;
        s.vector_cores = s.soc->vector_cores;
    } else {
        uint32_t workers = workers_chosen ? chosen_workers : reading->workers;
        s.cube_cores = s.vector_cores = workers != 0 ? workers : s.usable_cpus;
    }
}

/* Readers hold references, so a changed reading goes into new memory, and the old ones stay; the same one comes back when
 * aclInit reads the same again. Under the lock. */
std::vector<std::unique_ptr<const Settings>> &readings = *new std::vector<std::unique_ptr<const Settings>>;
std::atomic<const Settings *> current{nullptr};

void adopt(const Reading &reading)
{
    /* What was asked for by function call stands against the environment. */
    if (reading.has_log_topics) adopt_log_topics(reading.log_topics);
    if (reading.faults != nullptr && !faults_chosen()) set_fault_spec(reading.faults);
    pool().set_workers(workers_chosen ? chosen_workers : reading.workers);
    auto same = std::find_if(readings.begin(), readings.end(),
                             [&](const std::unique_ptr<const Settings> &known) { return *known == reading.settings; });
    if (same == readings.end()) {
        readings.push_back(std::make_unique<const Settings>(reading.settings));
        same = std::prev(readings.end());
    }
    current.store(same->get(), std::memory_order_release);
}

void print_problem(const std::string &problem) { fprintf(stderr, "ascendcl_cpu: %s\n", problem.c_str()); }

} // namespace

uint32_t usable_cpus()
{
    uint32_t count = 0;
    /* The fixed-size set ends at 1024 CPUs; larger machines need a larger one. */
    for (int most = 1024; most <= 65536 && count == 0; most *= 4) {
        cpu_set_t *set = CPU_ALLOC(most);
        size_t bytes = CPU_ALLOC_SIZE(most);
        if (set == nullptr) break;
        if (sched_getaffinity(0, bytes, set) == 0) count = static_cast<uint32_t>(CPU_COUNT_S(bytes, set));
        CPU_FREE(set);
    }
    if (count == 0) count = 1;
    uint32_t quota = cgroup_cpus();
    return quota != 0 && quota < count ? quota : count;
}

const Settings &settings()
{
    const Settings *known = current.load(std::memory_order_acquire);
    if (LIKELY(known != nullptr)) return *known;
    std::lock_guard<std::mutex> hold(load_lock);
    if (current.load() == nullptr) {
        Reading reading;
        read_environment(&reading);
        /* Without aclInit there is nobody to tell: say it once and go on with the defaults for what was bad. */
        if (!reading.problem.empty()) {
            print_problem(reading.problem + "; ignored");
            reading.faults = nullptr;
        }
        choose_cores(&reading);
        adopt(reading);
    }
    return *current.load();
}

void choose_workers(uint32_t count)
{
    settings();
    std::lock_guard<std::mutex> hold(load_lock);
    workers_chosen = true;
    chosen_workers = count;
    pool().set_workers(count);
}

aclError load_settings(const char *config_path, std::string *config_text)
{
    std::lock_guard<std::mutex> hold(load_lock);
    Reading reading;
    read_environment(&reading);
    if (!reading.problem.empty()) {
        print_problem(reading.problem);
        return fail(ACL_ERROR_INVALID_PARAM, "%s", reading.problem.c_str());
    }
    if (config_path != nullptr) {
        FILE *file = fopen(config_path, "re");
        if (file == nullptr) return fail(ACL_ERROR_INVALID_FILE, "cannot read the configuration file %s", config_path);
        char part[4096];
        for (size_t got; (got = fread(part, 1, sizeof part, file)) > 0;) config_text->append(part, got);
        bool bad = ferror(file) != 0;
        fclose(file);
        if (bad) return fail(ACL_ERROR_INVALID_FILE, "cannot read the configuration file %s", config_path);
        RETURN_IF_ERROR(read_config(config_path, *config_text, &reading));
    }
    choose_cores(&reading);
    adopt(reading);
    return ACL_SUCCESS;
}

} // namespace acl_cpu
