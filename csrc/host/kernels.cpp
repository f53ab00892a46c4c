// SPDX-License-Identifier: Apache-2.0
#include "kernels.h"

#include <cctype>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "env.h"
#include "errors.h"
#include "launch_function.h"
#include "launch_log.h"
#include "profile.h"

namespace ascend_cy {

namespace {

// Binaries in use, by operator and device. Guarded by load_mutex; under it nothing runs but the device's loader.
std::mutex load_mutex;

std::map<std::pair<std::string, int32_t>, aclrtBinHandle> &loaded_binaries()
{
    static auto *const binaries = new std::map<std::pair<std::string, int32_t>, aclrtBinHandle>; // never destroyed
    return *binaries;
}

// Instruction-set levels that `cpu` binaries are built for, best first, by the name in the file.
#if defined(__x86_64__)
bool has_level_3()
{
    __builtin_cpu_init();
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    // F16C, LZCNT and MOVBE belong to the level too, but not every compiler's __builtin_cpu_supports knows them.
    const bool basic = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0 && (c & bit_MOVBE) != 0;
    const bool extended = __get_cpuid(0x80000001, &a, &b, &c, &d) != 0 && (c & bit_LZCNT) != 0;
    return basic && extended && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

bool has_level_4()
{
    return has_level_3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

std::vector<std::string> supported_levels()
{
    std::vector<std::string> levels;
    if (has_level_4())
        levels.emplace_back("x86-64-v4");
    if (has_level_3())
        levels.emplace_back("x86-64-v3");
    levels.emplace_back("x86-64-v1");
    return levels;
}
#elif defined(__aarch64__)
std::vector<std::string> supported_levels() { return {"aarch64"}; }
#else
std::vector<std::string> supported_levels() { return {"generic"}; }
#endif

// The levels to try, best first: all that this CPU has, or from ASCEND_CY_KERNEL_LEVEL down.
int levels_to_try(std::vector<std::string> *out)
{
    *out = supported_levels();
    std::string wanted = env_text("ASCEND_CY_KERNEL_LEVEL");
    if (wanted.empty())
        return ACL_SUCCESS;
    if (wanted.size() == 2 && wanted[0] == 'v')
        wanted = "x86-64-" + wanted;
    std::string allowed;
    for (size_t i = 0; i < out->size(); ++i) {
        if ((*out)[i] == wanted) {
            out->erase(out->begin(), out->begin() + static_cast<std::ptrdiff_t>(i));
            return ACL_SUCCESS;
        }
        allowed += (i == 0 ? "" : ", ") + (*out)[i];
    }
    return fail(ACL_ERROR_INVALID_PARAM, "", "ASCEND_CY_KERNEL_LEVEL is \"%s\"; this CPU can run %s", wanted.c_str(),
                allowed.c_str());
}

// The family that a SoC name belongs to, as device kernels are compiled for: "Ascend910B1" is of "ascend910b". The bare
// names Ascend910, 910A, 910B and 910Pro… are of the first generation.
std::string soc_family(const std::string &soc)
{
    std::string name;
    for (const char letter : soc)
        name += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    const auto begins = [&name](const char *start) { return name.rfind(start, 0) == 0; };
    if (begins("ascend910_93"))
        return "ascend910_93";
    if (begins("ascend910b") && name.size() > 10 && std::isdigit(static_cast<unsigned char>(name[10])) != 0)
        return "ascend910b";
    for (const char *family : {"ascend950", "ascend350", "ascend910", "ascend310p", "ascend310b", "ascend310"})
        if (begins(family))
            return family;
    return name;
}

std::string user_kernel_folder()
{
    std::string root = env_text("ASCEND_CY_CACHE_DIR");
    if (root.empty()) {
        root = env_text("XDG_CACHE_HOME");
        if (root.empty()) {
            const std::string home = env_text("HOME");
            root = home.empty() ? "" : home + "/.cache";
        }
        root = root.empty() ? "" : root + "/ascend_cy";
    }
    return root.empty() ? "" : root + "/kernels";
}

// Files that may hold an operator's kernels on the device in use, best first.
int candidate_files(const std::string &op, std::vector<std::string> *out)
{
    const std::string package = std::string(ascend_cy_package_dir()) + "/kernels/";
    switch (loaded_device()->info.kind) {
    case ASCEND_CY_KIND_CPU: {
        std::vector<std::string> levels;
        if (const int error = levels_to_try(&levels))
            return error;
        for (const std::string &level : levels)
            out->push_back(package + "cpu/" + op + "." + level + ".so");
        return ACL_SUCCESS;
    }
    case ASCEND_CY_KIND_SIM:
        out->push_back(package + "sim/" + op + ".so");
        return ACL_SUCCESS;
    default: {
        const char *soc = device_table.aclrtGetSocName();
        if (soc == nullptr)
            return fail(ACL_ERROR_RT_SOC_VERSION, "aclrtGetSocName", "the device does not tell its SoC");
        const std::string file = "/" + soc_family(soc) + "/" + op + ".o";
        out->push_back(package + file.substr(1));
        const std::string user = user_kernel_folder();
        if (!user.empty())
            out->push_back(user + file); // what `ascend-cy` compiled on this machine
        return ACL_SUCCESS;
    }
    }
}

int open_binary(const std::string &op, aclrtBinHandle *out)
{
    std::vector<std::string> files;
    if (const int error = candidate_files(op, &files))
        return error;
    std::string looked_at;
    for (const std::string &file : files) {
        if (access(file.c_str(), R_OK) == 0)
            return ACY_CALL(aclrtBinaryLoadFromFile, file.c_str(), nullptr, out);
        looked_at += "\n  " + file;
    }
    const int kind = loaded_device()->info.kind;
    const char *const advice = kind == ASCEND_CY_KIND_NPU ? " (`ascend-cy build-kernels` compiles it where CANN's compiler is; the "
                                                            "embedded device has it: ASCEND_CY_DEVICE=cpu)"
                               : kind == ASCEND_CY_KIND_SIM ? " (the embedded one has it: ASCEND_CY_DEVICE=cpu)"
                                                            : "";
    return fail(ACL_ERROR_KERNEL_NOT_FOUND, "", "there is no %s kernel for this device%s; looked for%s", op.c_str(), advice,
                looked_at.c_str());
}

} // namespace

int Kernel::load(int32_t device, aclrtFuncHandle *out) noexcept
{
    try {
        std::lock_guard<std::mutex> lock(load_mutex);
        *out = handles_[device].load(std::memory_order_relaxed);
        if (*out != nullptr)
            return ACL_SUCCESS; // another thread was faster
        aclrtBinHandle &binary = loaded_binaries()[{op_, device}];
        if (binary == nullptr)
            if (const int error = open_binary(op_, &binary)) {
                binary = nullptr;
                return error;
            }
        if (const int error = ACY_CALL(aclrtBinaryGetFunction, binary, entry_, out))
            return error;
        if (log_id_ == 0)
            log_id_ = launch_log_id(entry_);
        handles_[device].store(*out, std::memory_order_release);
        return ACL_SUCCESS;
    } catch (const std::bad_alloc &) {
        return fail(ACL_ERROR_BAD_ALLOC, "", "out of host memory");
    }
}

void Kernel::forget(int32_t device, aclrtFuncHandle stale) noexcept
{
    std::lock_guard<std::mutex> lock(load_mutex);
    if (!handles_[device].compare_exchange_strong(stale, nullptr, std::memory_order_acq_rel))
        return; // loaded again in the meantime
    for (auto &entry : loaded_binaries())
        if (entry.first.second == device && entry.first.first == op_)
            entry.second = nullptr;
}

std::atomic<const DeviceTraits *> device_traits_table[max_devices];

const DeviceTraits *learn_device_traits(int32_t device) noexcept
{
    const int kind = loaded_device()->info.kind;
    int64_t cores = 0;
    // The 8.1 form: aclrtGetDeviceInfo is younger and says the same.
    if (ACY_CALL(aclGetDeviceCapability, static_cast<uint32_t>(device), ACL_DEVICE_INFO_VECTOR_CORE_NUM, &cores) != 0)
        return nullptr;
    if (cores <= 0) // SoCs whose AI cores do both kinds of work
        if (ACY_CALL(aclGetDeviceCapability, static_cast<uint32_t>(device), ACL_DEVICE_INFO_AI_CORE_NUM, &cores) != 0)
            return nullptr;
    // The end of the buffer holds a core's message box. Values that cannot be bytes are ignored.
    constexpr int64_t message_box = 256;
    int64_t ub_bytes = 0;
    {
        QuietScope quiet; // older releases cannot be asked
        if (ACY_CALL(aclrtGetDeviceInfo, static_cast<uint32_t>(device), ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE, &ub_bytes) != 0 ||
            ub_bytes < 32 * 1024)
            ub_bytes = message_box;
    }
    auto *made = new (std::nothrow) DeviceTraits{kind, cores > 0 ? cores : 1, ub_bytes - message_box};
    if (made == nullptr) {
        fail(ACL_ERROR_BAD_ALLOC, "", "out of host memory");
        return nullptr;
    }
    const DeviceTraits *there = nullptr;
    if (device_traits_table[device].compare_exchange_strong(there, made, std::memory_order_acq_rel))
        return made;
    delete made;
    return there;
}

namespace {

inline int launch_once(aclrtFuncHandle function, uint32_t blocks, const void *args, size_t size,
                       aclrtStream stream) noexcept
{
    return launch_function(function, blocks, {args, size, size, nullptr, 0}, stream);
}

// The device may have been reset since the binary was loaded, which took the function with it.
[[gnu::cold, gnu::noinline]] int launch_anew(Kernel *kernel, int32_t device, aclrtFuncHandle stale, uint32_t blocks,
                                             const void *args, size_t size, aclrtStream stream) noexcept
{
    kernel->forget(device, stale);
    aclrtFuncHandle function = nullptr;
    if (const int error = kernel->function(device, &function))
        return error;
    return launch_once(function, blocks, args, size, stream);
}

} // namespace

int launch(Kernel *kernel, int32_t device, uint32_t blocks, const void *args, size_t size, aclrtStream stream) noexcept
{
    aclrtFuncHandle function = nullptr;
    if (const int error = kernel->function(device, &function))
        return error;
    const RangeScope range(kernel->name(), device, stream);
    int code = launch_once(function, blocks, args, size, stream);
    if (__builtin_expect(code == ACL_ERROR_RT_INVALID_HANDLE, 0) && !stream_is_gone(stream))
        code = launch_anew(kernel, device, function, blocks, args, size, stream);
    if (__builtin_expect(code == ACL_SUCCESS, 1))
        log_launch(device, kernel->log_id(), blocks, stream);
    return code;
}

} // namespace ascend_cy
