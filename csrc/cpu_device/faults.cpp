/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"

#include <dlfcn.h>
#include <time.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "ascendcl_cpu.h"
#include "errors.h"

namespace acl_cpu {

std::atomic<bool> g_kernel_faults{false};

namespace {

constexpr uint64_t without_end = UINT64_MAX;

struct Rule {
    enum { Call, Kernel, DeviceLost } what = Call;
    std::string name; /* "*": every one */
    aclError code = ACL_SUCCESS;
    uint64_t at = 1;
    uint64_t times = 1;
    double probability = 1;
    uint64_t random = 1;
    uint64_t delay_ns = 0;
    std::vector<std::string> skip;
    uint64_t matches = 0; /* so far */

    bool covers(const char *candidate) const
    {
        if (name != "*") return name == candidate;
        for (const std::string &skipped : skip) {
            if (skipped == candidate) return false;
        }
        return true;
    }

    /* Counts a match; true if it is one of those that fail. */
    bool strikes()
    {
        if (++matches < at || times == 0) return false;
        if (probability < 1) {
            /* xorshift: the same seed gives the same failures */
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            if (static_cast<double>(random >> 11) * 0x1p-53 >= probability) return false;
        }
        if (times != without_end) --times;
        return true;
    }
};

/* Never destroyed: calls may come while the process exits. */
struct Faults {
    std::mutex lock;
    std::vector<Rule> rules;
    uint64_t calls = 0;
    uint64_t given = 0;
    std::atomic<bool> chosen{false}; /* by ascendcl_cpu_set_faults */
};
Faults &faults = *new Faults;

bool parse_number(const std::string &text, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text.c_str(), &end, 10);
    return !text.empty() && text[0] != '-' && *end == '\0' && errno == 0;
}

/* A rule for a function that nobody can call would never show that its name is wrong. */
bool is_function(const std::string &name)
{
    if (name == "*") return true;
    Dl_info self;
    if (name.compare(0, 3, "acl") != 0 || dladdr(reinterpret_cast<void *>(&ascendcl_cpu_set_faults), &self) == 0) return false;
    void *library = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return true; /* linked in another way: nothing to compare with */
    bool known = dlsym(library, name.c_str()) != nullptr;
    dlclose(library);
    return known;
}

bool parse_time(const std::string &text, uint64_t *ns)
{
    char *end;
    double value = strtod(text.c_str(), &end);
    if (end == text.c_str() || !(value >= 0) || value > 1e9) return false;
    std::string unit = end;
    double scale = unit == "ns" ? 1 : unit == "us" ? 1e3 : unit == "ms" ? 1e6 : unit == "s" ? 1e9 : 0;
    *ns = static_cast<uint64_t>(value * scale);
    return scale != 0;
}

bool parse_rule(const std::string &text, Rule *rule, std::string *problem)
{
    bool has_subject = false;
    bool has_times = false;
    bool has_probability = false;
    for (size_t at = 0; at < text.size();) {
        size_t end = text.find(',', at);
        if (end == std::string::npos) end = text.size();
        std::string part = text.substr(at, end - at);
        at = end + 1;
        size_t first = part.find_first_not_of(' ');
        if (first == std::string::npos) continue;
        part = part.substr(first, part.find_last_not_of(' ') - first + 1);
        size_t equals = part.find('=');
        std::string key = part.substr(0, equals);
        std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
        uint64_t number = 0;
        bool good = !value.empty();
        if (key == "call" || key == "kernel") {
            rule->what = key == "call" ? Rule::Call : Rule::Kernel;
            rule->name = value;
            good = good && !has_subject && (key == "kernel" || is_function(value));
            has_subject = true;
        } else if (key == "device") {
            good = value == "lost" && !has_subject;
            rule->what = Rule::DeviceLost;
            rule->name = "*";
            rule->code = ACL_ERROR_RT_LOST_HEARTBEAT;
            rule->times = without_end;
            has_subject = has_times = true;
        } else if (key == "code") {
            good = parse_number(value, &number) && number > 0 && number <= INT32_MAX;
            rule->code = static_cast<aclError>(number);
        } else if (key == "at") {
            good = parse_number(value, &rule->at) && rule->at > 0;
        } else if (key == "times") {
            has_times = true;
            if (value == "always") rule->times = without_end;
            else good = parse_number(value, &rule->times) && rule->times > 0;
        } else if (key == "probability") {
            char *stop;
            rule->probability = strtod(value.c_str(), &stop);
            good = good && *stop == '\0' && rule->probability >= 0 && rule->probability <= 1;
            has_probability = true;
        } else if (key == "seed") {
            good = parse_number(value, &number);
            rule->random = number * 0x9E3779B97F4A7C15ull | 1;
        } else if (key == "delay") {
            good = parse_time(value, &rule->delay_ns);
        } else if (key == "skip") {
            good = is_function(value);
            rule->skip.push_back(value);
        } else {
            *problem = format("made of call=, kernel=, device=lost, code=, at=, times=, probability=, seed=, delay= and skip=, "
                              "but it has \"%s\"", part.c_str());
            return false;
        }
        if (!good) {
            *problem = format("understandable at \"%s\"", part.c_str());
            return false;
        }
    }
    if (!has_subject) {
        *problem = "rules of which each has call=, kernel= or device=lost";
        return false;
    }
    if (has_probability && !has_times) rule->times = without_end;
    if (rule->code == ACL_SUCCESS && rule->delay_ns == 0) {
        rule->code = rule->what == Rule::Kernel ? ACL_ERROR_RT_AICORE_EXCEPTION : ACL_ERROR_RT_DRV_INTERNAL_ERROR;
    }
    return true;
}

bool parse_spec(const char *spec, std::vector<Rule> *rules, std::string *problem)
{
    std::string text = spec != nullptr ? spec : "";
    for (size_t at = 0; at < text.size();) {
        size_t end = text.find(';', at);
        if (end == std::string::npos) end = text.size();
        std::string part = text.substr(at, end - at);
        at = end + 1;
        if (part.find_first_not_of(' ') == std::string::npos) continue;
        rules->emplace_back();
        if (!parse_rule(part, &rules->back(), problem)) return false;
    }
    return true;
}

void sleep_ns(uint64_t ns)
{
    timespec time = {static_cast<time_t>(ns / 1000000000u), static_cast<long>(ns % 1000000000u)};
    while (nanosleep(&time, &time) != 0) {
    }
}

} // namespace

bool check_fault_spec(const char *spec, std::string *problem)
{
    std::vector<Rule> rules;
    return parse_spec(spec, &rules, problem);
}

void set_fault_spec(const char *spec)
{
    std::vector<Rule> rules;
    std::string problem;
    if (!parse_spec(spec, &rules, &problem)) return;
    std::lock_guard<std::mutex> hold(faults.lock);
    faults.rules = std::move(rules);
    faults.calls = faults.given = 0;
    bool calls = false;
    bool kernels = false;
    for (const Rule &rule : faults.rules) (rule.what == Rule::Kernel ? kernels : calls) = true;
    g_kernel_faults.store(kernels);
    if (calls) g_gate.fetch_or(GATE_FAULTS);
    else g_gate.fetch_and(~GATE_FAULTS);
}

bool faults_chosen() { return faults.chosen.load(); }

aclError call_fault(const char *api)
{
    uint64_t delay = 0;
    aclError code = ACL_SUCCESS;
    uint64_t match = 0;
    {
        std::lock_guard<std::mutex> hold(faults.lock);
        bool counted = false;
        for (Rule &rule : faults.rules) {
            if (rule.what == Rule::Kernel || !rule.covers(api)) continue;
            counted = true;
            if (!rule.strikes()) continue;
            delay += rule.delay_ns;
            if (code == ACL_SUCCESS && rule.code != ACL_SUCCESS) {
                code = rule.code;
                match = rule.matches;
            }
        }
        faults.calls += counted;
        faults.given += code != ACL_SUCCESS;
    }
    if (delay != 0) sleep_ns(delay);
    if (code == ACL_SUCCESS) return ACL_SUCCESS;
    return fail(code, "injected fault (match %llu of its rule)", static_cast<unsigned long long>(match));
}

KernelFault kernel_fault(const char *kernel)
{
    std::lock_guard<std::mutex> hold(faults.lock);
    KernelFault result = {ACL_SUCCESS, 0};
    for (Rule &rule : faults.rules) {
        if (rule.what != Rule::Kernel || !rule.covers(kernel) || !rule.strikes()) continue;
        result.delay_ns += rule.delay_ns;
        if (result.code == ACL_SUCCESS) result.code = rule.code;
    }
    faults.given += result.code != ACL_SUCCESS;
    return result;
}

void reset_fault_lock_after_fork() { new (&faults.lock) std::mutex; }

} // namespace acl_cpu

int ascendcl_cpu_set_faults(const char *spec)
{
    std::string problem;
    if (!acl_cpu::check_fault_spec(spec, &problem)) {
        acl_cpu::t_state.api = __func__;
        return acl_cpu::fail(ACL_ERROR_INVALID_PARAM, "spec is \"%s\", but it must be %s", spec, problem.c_str());
    }
    acl_cpu::faults.chosen.store(true);
    acl_cpu::set_fault_spec(spec);
    return ACL_SUCCESS;
}

void ascendcl_cpu_fault_counts(uint64_t *calls, uint64_t *given)
{
    std::lock_guard<std::mutex> hold(acl_cpu::faults.lock);
    if (calls != nullptr) *calls = acl_cpu::faults.calls;
    if (given != nullptr) *given = acl_cpu::faults.given;
}
