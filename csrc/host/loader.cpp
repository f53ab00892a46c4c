// SPDX-License-Identifier: Apache-2.0
#include "loader.h"

#include <climits>
#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>
#include <vector>

#include "env.h"

namespace ascend_cy {

namespace {

// Newest name first: libacl_rt.so is preferred from 8.5 on, libascendcl.so is what every release has.
const char *const vendor_names[] = {"libacl_rt.so", "libascendcl.so"};
const char *const embedded_name = "libascendcl_cpu.so";

std::string path_of(void *handle, const char *fallback)
{
    void *symbol = dlsym(handle, "aclrtGetDeviceCount");
    Dl_info where;
    if (symbol != nullptr && dladdr(symbol, &where) != 0 && where.dli_fname != nullptr)
        return where.dli_fname;
    return fallback;
}

std::string last_dl_error()
{
    const char *text = dlerror();
    return text != nullptr ? text : "unknown error";
}

// Asks a library that is loaded for its devices; "" if there is at least one, else what is wrong with it.
std::string why_unusable(void *handle)
{
    using CountFunction = aclError (*)(uint32_t *);
    const auto count_devices = reinterpret_cast<CountFunction>(dlsym(handle, "aclrtGetDeviceCount"));
    if (count_devices == nullptr)
        return "it has no aclrtGetDeviceCount, so it is no AscendCL library";
    uint32_t count = 0;
    const aclError code = count_devices(&count);
    if (code == ACL_ERROR_COMPILING_STUB_MODE)
        return "it is the link-time stub from CANN's devlib folder";
    if (code != ACL_SUCCESS) {
        const char *name = ascend_cy_error_name(code);
        return "aclrtGetDeviceCount returned " + std::to_string(code) + (name != nullptr ? std::string(" ") + name : "");
    }
    return count == 0 ? "it reports no device" : "";
}

// One place where the vendor's library may be.
struct Candidate {
    std::string name; // for dlopen
    int flags;
    std::string origin; // for people
};

std::vector<Candidate> vendor_candidates()
{
    std::vector<Candidate> candidates;
    // Another package of this process (torch_npu) may have chosen one: two copies would be two worlds.
    for (const char *name : vendor_names)
        candidates.push_back({name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD, "already loaded in this process"});
    std::string first;
    for (const char *variable : {"ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"}) {
        const std::string root = env_text(variable);
        if (root.empty() || root == first)
            continue;
        first = root;
        for (const char *name : vendor_names)
            candidates.push_back({root + "/lib64/" + name, RTLD_NOW | RTLD_LOCAL, variable});
    }
    for (const char *name : vendor_names)
        candidates.push_back({name, RTLD_NOW | RTLD_LOCAL, "search path of the dynamic loader"});
    return candidates;
}

bool try_vendor(LoadedDevice *device)
{
    for (const Candidate &candidate : vendor_candidates()) {
        device->tried += candidate.name + " (" + candidate.origin + "): ";
        void *handle = dlopen(candidate.name.c_str(), candidate.flags);
        if (handle == nullptr) {
            // with RTLD_NOLOAD glibc gives no reason, there is just nothing to find
            device->tried += (candidate.flags & RTLD_NOLOAD) != 0 ? "not loaded" : last_dl_error();
            device->tried += '\n';
            continue;
        }
        // A library that turns out useless stays loaded: the vendor's starts threads, which dlclose would pull the
        // ground from under.
        const std::string trouble = why_unusable(handle);
        if (trouble.empty()) {
            device->handle = handle;
            device->library = path_of(handle, candidate.name.c_str());
            device->reason = "CANN's library " + device->library + " reports at least one device (" + candidate.origin + ")";
            device->tried += "taken\n";
            device->info.kind = ASCEND_CY_KIND_NPU;
            return true;
        }
        device->tried += trouble + '\n';
    }
    return false;
}

bool try_embedded(LoadedDevice *device, int kind, const std::string &reason)
{
    const std::string path = std::string(ascend_cy_package_dir()) + "/" + embedded_name;
    device->tried += path + " (embedded device): ";
    void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        device->tried += last_dl_error() + '\n';
        return false;
    }
    device->tried += "taken\n";
    device->handle = handle;
    device->library = path;
    device->reason = reason;
    device->info.kind = kind;
    if (kind == ASCEND_CY_KIND_SIM)
        device->config = std::string(ascend_cy_package_dir()) + "/device_sim.json";
    return true;
}

void set_error(LoadedDevice *device, int code, const std::string &text)
{
    device->info.kind = ASCEND_CY_KIND_NONE;
    device->info.error = code;
    device->error = text;
    device->reason = text.substr(0, text.find('\n'));
}

void choose(LoadedDevice *device)
{
    const std::string &requested = device->requested;
    if (requested == "npu") {
        if (!try_vendor(device))
            set_error(device, ACL_ERROR_RT_NO_DEVICE,
                      "ASCEND_CY_DEVICE=npu, but no NPU can be used; tried:\n" + device->tried +
                          "Source CANN's set_env.sh and check the driver with npu-smi, or leave ASCEND_CY_DEVICE unset to "
                          "run on the embedded CPU device.");
    } else if (requested == "cpu" || requested == "sim") {
        const int kind = requested == "sim" ? ASCEND_CY_KIND_SIM : ASCEND_CY_KIND_CPU;
        if (!try_embedded(device, kind, "ASCEND_CY_DEVICE=" + requested))
            set_error(device, ACL_ERROR_INVALID_FILE,
                      "the embedded device library cannot be loaded, so this installation is broken; tried:\n" +
                          device->tried);
    } else if (requested == "auto") {
        if (try_vendor(device))
            return;
        if (!try_embedded(device, ASCEND_CY_KIND_CPU, "no NPU can be used, so the embedded CPU device runs"))
            set_error(device, ACL_ERROR_INVALID_FILE,
                      "neither an NPU nor the embedded device can be used; tried:\n" + device->tried);
    } else {
        set_error(device, ACL_ERROR_INVALID_PARAM,
                  "ASCEND_CY_DEVICE is \"" + requested + "\"; allowed are auto, npu, cpu and sim");
    }
}

} // namespace

LoadedDevice *load_device()
{
    auto *device = new LoadedDevice;
    device->requested = env_text("ASCEND_CY_DEVICE");
    if (device->requested.empty())
        device->requested = "auto";
    choose(device);
    device->info.unified = device->info.kind == ASCEND_CY_KIND_CPU;
    device->info.requested = device->requested.c_str();
    device->info.library = device->library.c_str();
    device->info.reason = device->reason.c_str();
    device->info.tried = device->tried.c_str();
    return device;
}

} // namespace ascend_cy

const char *ascend_cy_package_dir(void)
{
    static const std::string *const folder = [] {
        auto *path = new std::string(ascend_cy::env_text("ASCEND_CY_PACKAGE_DIR")); // lives as long as the process
        Dl_info where;
        if (path->empty() && dladdr(reinterpret_cast<void *>(&ascend_cy_package_dir), &where) != 0 &&
            where.dli_fname != nullptr) {
            // The loader keeps the name as it was found, which may be relative to a folder that is no longer current.
            char absolute[PATH_MAX];
            if (realpath(where.dli_fname, absolute) != nullptr)
                *path = absolute;
            const size_t slash = path->rfind('/');
            path->resize(slash == std::string::npos ? 0 : slash);
            // An editable install: this library lies in the build's folder, which links the package's files together elsewhere.
            const std::string staged = *path + "/../../staged/ascend_cy";
            if (access((*path + "/" + ascend_cy::embedded_name).c_str(), F_OK) != 0 &&
                access((staged + "/" + ascend_cy::embedded_name).c_str(), F_OK) == 0 && realpath(staged.c_str(), absolute) != nullptr)
                *path = absolute;
        }
        return path;
    }();
    return folder->c_str();
}
