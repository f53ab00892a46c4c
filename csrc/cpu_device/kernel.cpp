/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading kernel binaries and finding functions in them.
 */
#include "kernel.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "device.h"
#include "errors.h"
#include "leaks.h"
#include "log.h"
#include "parking.h"
#include "process.h"

namespace acl_cpu {

namespace {

std::mutex &unload_lock = *new std::mutex;

/* dlopen takes a name that it has seen for the object it has, whatever the name stands for now. So names that must mean
 * another file are written in another way: the number goes in front of the last part as "./" and "/". */
std::string spelling(const std::string &path, uint32_t number)
{
    size_t last = path.rfind('/') + 1;
    std::string name = path.substr(0, last);
    for (; number != 0; number >>= 1) name += (number & 1) != 0 ? "./" : "/";
    return name + path.substr(last);
}

/* The files of loaded binaries, by the names that dlopen knows them by. */
struct OpenFile {
    dev_t device;
    ino_t inode;
    uint32_t users;
};
std::mutex &files_lock = *new std::mutex;
std::map<std::string, OpenFile> &open_files = *new std::map<std::string, OpenFile>;

/* The name by which to open what the path stands for now; another file may be loaded by that path still. */
std::string claim_name(const std::string &path, const struct stat &file)
{
    std::lock_guard<std::mutex> hold(files_lock);
    for (uint32_t number = 0;; ++number) {
        std::string name = spelling(path, number);
        OpenFile &known = open_files.emplace(name, OpenFile{file.st_dev, file.st_ino, 0}).first->second;
        if (known.device != file.st_dev || known.inode != file.st_ino) continue;
        ++known.users;
        return name;
    }
}

void release_name(const std::string &name)
{
    std::lock_guard<std::mutex> hold(files_lock);
    auto found = open_files.find(name);
    if (found != open_files.end() && --found->second.users == 0) open_files.erase(found);
}

/* Waits until no other thread is in a call that uses one of the slots. */
void wait_until_unused(const std::vector<const void *> &slots)
{
    auto used = [&] {
        std::vector<const void *> all = slots_in_use(true);
        return std::any_of(slots.begin(), slots.end(), [&](const void *slot) { return std::binary_search(all.begin(), all.end(), slot); });
    };
    while (used()) usleep(100);
}

void close_binary(Binary &binary)
{
    for (auto &entry : binary.functions) handles<Function>().destroy(entry.second);
    dlclose(binary.library);
    release_name(binary.opened_as);
    forget_exit_of(&binary);
    handles<Binary>().destroy(&binary);
}

} // namespace

void retain_recorded(Binary &binary)
{
    std::lock_guard<std::mutex> hold(unload_lock);
    ++binary.recorded;
}

void release_recorded(Binary &binary)
{
    {
        std::lock_guard<std::mutex> hold(unload_lock);
        if (--binary.recorded != 0 || !binary.unloaded) return;
    }
    close_binary(binary);
}

bool is_binary(const void *handle) { return Handles<Binary>::find(handle) != nullptr; }

void *binary_of_function(const void *function_handle)
{
    Function *function = Handles<Function>::find(function_handle);
    return function != nullptr ? function->binary->handle() : nullptr;
}

aclError find_function(const void *handle, Function **function)
{
    *function = Handles<Function>::find(handle);
    if (LIKELY(*function != nullptr)) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_INVALID_HANDLE, "func_handle %p is no function of a loaded binary", handle);
}

namespace {

aclError find_binary(const void *handle, Binary **binary)
{
    REQUIRE(handle != nullptr, "bin_handle is NULL");
    *binary = Handles<Binary>::find(handle);
    if (LIKELY(*binary != nullptr)) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_INVALID_HANDLE, "bin_handle %p is no loaded binary", handle);
}

/* What is wrong with a table, or an empty string. */
std::string fault_of_table(const ascend_kernel_table_t *table)
{
    if (table == nullptr) return "it has no " ASCEND_KERNEL_TABLE_SYMBOL ", so it is no kernel binary for this device";
    if (table->abi_version != ASCEND_KERNEL_ABI_VERSION) {
        return format("its table has version %u, this device knows version %u", table->abi_version, ASCEND_KERNEL_ABI_VERSION);
    }
    if (table->table_size < sizeof(ascend_kernel_table_t) || table->desc_size < sizeof(ascend_kernel_desc_t)) {
        return "its table is shorter than the version says";
    }
    if (table->target != ASCEND_KERNEL_TARGET_CPU && table->target != ASCEND_KERNEL_TARGET_SIM) {
        return format("it was built for an unknown target (%u)", table->target);
    }
    if (table->num_kernels != 0 && table->kernels == nullptr) return "its list of kernels is missing";
    for (uint32_t i = 0; i < table->num_kernels; ++i) {
        auto *desc = reinterpret_cast<const ascend_kernel_desc_t *>(reinterpret_cast<const char *>(table->kernels) +
                                                                    size_t{i} * table->desc_size);
        if (desc->name == nullptr || desc->entry == nullptr || desc->instances_per_block == 0) {
            return format("its kernel %u has no name, no entry or no instances", i);
        }
    }
    return std::string();
}

/* `open_as` is what dlopen gets, `shown` what messages call it. */
aclError load(const char *open_as, const char *shown, const void *creator, aclrtBinHandle *bin_handle)
{
    Context *context = nullptr;
    RETURN_IF_ERROR(require_context(&context));
    void *library = dlopen(open_as, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char *why = dlerror();
        return fail(ACL_ERROR_RT_PARAM_INVALID, "cannot load %s: %s", shown, why != nullptr ? why : "unknown reason");
    }
    auto *table = static_cast<const ascend_kernel_table_t *>(dlsym(library, ASCEND_KERNEL_TABLE_SYMBOL));
    std::string fault = fault_of_table(table);
    if (!fault.empty()) {
        dlclose(library);
        return fail(ACL_ERROR_RT_PARAM_INVALID, "cannot use %s: %s", shown, fault.c_str());
    }
    Binary *binary = handles<Binary>().create(creator);
    if (binary == nullptr) {
        dlclose(library);
        return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "too many binaries are loaded");
    }
    /* The object's exit handlers run before what was registered earlier, hence the device stops before the object's
     * destructors only if it registers again behind each load. */
    quiesce_at_exit(binary);
    binary->path = shown;
    binary->opened_as = open_as;
    binary->library = library;
    binary->table = table;
    binary->context = context;
    binary->checks_pointers = table->target == ASCEND_KERNEL_TARGET_SIM;
    *bin_handle = binary->handle();
    LOG(LAUNCHES, "binary %s loaded: %u kernels, target %u, %s", shown, table->num_kernels, table->target,
        table->build != nullptr ? table->build : "");
    return ACL_SUCCESS;
}

aclError check_options(const aclrtBinaryLoadOptions *options, bool magic_allowed)
{
    if (options == nullptr || options->numOpt == 0) return ACL_SUCCESS;
    REQUIRE(options->options != nullptr, "options->options is NULL, but options->numOpt is %zu", options->numOpt);
    for (size_t i = 0; i < options->numOpt; ++i) {
        switch (options->options[i].type) {
        case ACL_RT_BINARY_LOAD_OPT_LAZY_LOAD: break;
        case ACL_RT_BINARY_LOAD_OPT_MAGIC:
            if (!magic_allowed) {
                return fail(ACL_ERROR_RT_PARAM_INVALID, "option %zu is ACL_RT_BINARY_LOAD_OPT_MAGIC, which files do not take", i);
            }
            break;
        case ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE:
            return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "AI CPU kernels are not supported on this device");
        default:
            return fail(ACL_ERROR_RT_PARAM_INVALID, "option %zu has the unknown type %d", i,
                        static_cast<int>(options->options[i].type));
        }
    }
    return ACL_SUCCESS;
}

/* dlopen takes names only, so the image becomes a file without a name. */
aclError load_image(const void *data, size_t length, const void *creator, aclrtBinHandle *bin_handle)
{
    if (length < 4 || memcmp(data, "\177ELF", 4) != 0) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "data is no ELF image");
    }
    int file = memfd_create("ascend_kernel", MFD_CLOEXEC);
    if (file < 0) return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "no memory file for the image: %s", strerror(errno));
    for (size_t done = 0; done < length;) {
        ssize_t wrote = write(file, static_cast<const char *>(data) + done, length - done);
        if (wrote <= 0) {
            close(file);
            return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "no memory for the image of %zu bytes", length);
        }
        done += static_cast<size_t>(wrote);
    }
    /* The file's number is used again for the next image. */
    static std::atomic<uint32_t> images{0};
    std::string name = spelling("/proc/self/fd/" + std::to_string(file), images.fetch_add(1));
    std::string shown = format("image of %zu bytes", length);
    aclError error = load(name.c_str(), shown.c_str(), creator, bin_handle);
    close(file);
    return error;
}

aclError get_function(Binary &binary, const ascend_kernel_desc_t *desc, aclrtFuncHandle *func_handle)
{
    std::lock_guard<std::mutex> hold(binary.lock);
    Function *&known = binary.functions[desc->name];
    if (known == nullptr) {
        known = handles<Function>().create(nullptr, &binary, desc);
        if (known == nullptr) return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "too many functions are in use");
    }
    *func_handle = known->handle();
    return ACL_SUCCESS;
}

/* What aclrtCreateBinary makes: the caller's data, which must outlive it. */
struct RawBinary {
    const void *data;
    size_t length;
};

} // namespace
} // namespace acl_cpu

using namespace acl_cpu;

aclError aclrtBinaryLoadFromFile(const char *bin_path, aclrtBinaryLoadOptions *options, aclrtBinHandle *bin_handle)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(bin_path);
    REQUIRE_NOT_NULL(bin_handle);
    RETURN_IF_ERROR(check_options(options, false));
    char absolute[PATH_MAX];
    if (realpath(bin_path, absolute) == nullptr) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "cannot read %s: %s", bin_path, strerror(errno));
    }
    struct stat file;
    if (stat(absolute, &file) != 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "cannot read %s: %s", bin_path, strerror(errno));
    std::string name = claim_name(absolute, file);
    aclError error = load(name.c_str(), absolute, __builtin_return_address(0), bin_handle);
    if (error != ACL_SUCCESS) release_name(name);
    return error;
}

aclError aclrtBinaryLoadFromData(const void *data, size_t length, const aclrtBinaryLoadOptions *options,
                                 aclrtBinHandle *bin_handle)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(data);
    REQUIRE_NOT_NULL(bin_handle);
    if (length == 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "length is 0");
    RETURN_IF_ERROR(check_options(options, true));
    return load_image(data, length, __builtin_return_address(0), bin_handle);
}

aclrtBinary aclrtCreateBinary(const void *data, size_t data_len)
{
    t_state.api = __func__;
    if (data == nullptr || data_len == 0) {
        fail(ACL_ERROR_INVALID_PARAM, "data is NULL or data_len is 0");
        return nullptr;
    }
    RawBinary *binary = new RawBinary{data, data_len};
    track(binary, "binary object", __builtin_return_address(0));
    return binary;
}

aclError aclrtDestroyBinary(aclrtBinary binary)
{
    ACL_ENTRY_RELEASE();
    REQUIRE_NOT_NULL(binary);
    untrack(binary);
    delete static_cast<RawBinary *>(binary);
    return ACL_SUCCESS;
}

aclError aclrtBinaryLoad(aclrtBinary binary, aclrtBinHandle *bin_handle)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(binary);
    REQUIRE_NOT_NULL(bin_handle);
    const RawBinary *raw = static_cast<RawBinary *>(binary);
    return load_image(raw->data, raw->length, __builtin_return_address(0), bin_handle);
}

aclError aclrtBinaryUnLoad(aclrtBinHandle bin_handle)
{
    ACL_ENTRY_RELEASE();
    Binary *binary = nullptr;
    RETURN_IF_ERROR(find_binary(bin_handle, &binary));
    Context *context = nullptr;
    RETURN_IF_ERROR(require_context(&context));
    if (!Handles<Binary>::retire(binary)) return fail(ACL_ERROR_RT_INVALID_HANDLE, "bin_handle %p is being unloaded", bin_handle);
    /* Calls of other threads that found it, or one of its functions, come to their end first: they may make functions,
     * run kernels, or enqueue them. */
    std::vector<const void *> slots{Handles<Binary>::slot_for_use(binary)};
    wait_until_unused(slots);
    slots.clear();
    for (auto &entry : binary->functions) {
        Handles<Function>::retire(entry.second);
        slots.push_back(Handles<Function>::slot_for_use(entry.second));
    }
    wait_until_unused(slots);
    /* The caller should have waited; unmapping running code would be worse than waiting here. */
    if (binary->launches_under_way.load() != 0) synchronize_device(*context->device, NO_DEADLINE);
    while (binary->launches_under_way.load() != 0) usleep(100);
    LOG(LAUNCHES, "binary %s unloaded", binary->path.c_str());
    {
        std::lock_guard<std::mutex> hold(unload_lock);
        binary->unloaded = true;
        if (binary->recorded != 0) return ACL_SUCCESS; /* a runtime instance launches its kernels */
    }
    close_binary(*binary);
    return ACL_SUCCESS;
}

static std::string names_of_kernels(const Binary &binary)
{
    constexpr uint32_t MOST = 16; /* a message, no list */
    std::string names;
    for (uint32_t i = 0; i < binary.table->num_kernels && i < MOST; ++i)
        names += std::string(i == 0 ? "" : ", ") + binary.desc(i)->name;
    if (binary.table->num_kernels > MOST) names += " and " + std::to_string(binary.table->num_kernels - MOST) + " more";
    return names.empty() ? "none" : names;
}

aclError aclrtBinaryGetFunction(aclrtBinHandle bin_handle, const char *kernel_name, aclrtFuncHandle *func_handle)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(bin_handle);
    REQUIRE_NOT_NULL(kernel_name);
    REQUIRE_NOT_NULL(func_handle);
    Binary *binary = nullptr;
    RETURN_IF_ERROR(find_binary(bin_handle, &binary));
    for (uint32_t i = 0; i < binary->table->num_kernels; ++i) {
        const ascend_kernel_desc_t *desc = binary->desc(i);
        if (strcmp(desc->name, kernel_name) == 0) return get_function(*binary, desc, func_handle);
    }
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s has no kernel \"%s\"; it has %s", binary->path.c_str(), kernel_name,
                names_of_kernels(*binary).c_str());
}

aclError aclrtBinaryGetFunctionByEntry(aclrtBinHandle bin_handle, uint64_t func_entry, aclrtFuncHandle *func_handle)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(bin_handle);
    REQUIRE_NOT_NULL(func_handle);
    Binary *binary = nullptr;
    RETURN_IF_ERROR(find_binary(bin_handle, &binary));
    /* The tiling key is what follows the last underscore of the name. */
    for (uint32_t i = 0; i < binary->table->num_kernels; ++i) {
        const ascend_kernel_desc_t *desc = binary->desc(i);
        const char *underscore = strrchr(desc->name, '_');
        if (underscore == nullptr || underscore[1] < '0' || underscore[1] > '9') continue;
        char *end;
        unsigned long long key = strtoull(underscore + 1, &end, 10);
        if (*end == '\0' && key == func_entry) return get_function(*binary, desc, func_handle);
    }
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s has no kernel with the key %llu", binary->path.c_str(),
                static_cast<unsigned long long>(func_entry));
}

aclError aclrtGetFunctionName(aclrtFuncHandle func_handle, uint32_t max_len, char *name)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(func_handle);
    REQUIRE_NOT_NULL(name);
    Function *function = nullptr;
    RETURN_IF_ERROR(find_function(func_handle, &function));
    size_t needed = strlen(function->desc->name) + 1;
    if (max_len < needed) return fail(ACL_ERROR_RT_PARAM_INVALID, "max_len is %u, the name needs %zu bytes", max_len, needed);
    memcpy(name, function->desc->name, needed);
    return ACL_SUCCESS;
}

aclError aclrtGetFunctionAttribute(aclrtFuncHandle func_handle, aclrtFuncAttribute attr_type, int64_t *attr_value)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(func_handle);
    REQUIRE_NOT_NULL(attr_value);
    Function *function = nullptr;
    RETURN_IF_ERROR(find_function(func_handle, &function));
    const ascend_kernel_desc_t *desc = function->desc;
    switch (attr_type) {
    case ACL_FUNC_ATTR_KERNEL_TYPE:
        *attr_value = desc->core_kind == ASCEND_KERNEL_CORE_CUBE  ? ACL_KERNEL_TYPE_CUBE
                      : desc->core_kind == ASCEND_KERNEL_CORE_MIX ? ACL_KERNEL_TYPE_MIX
                                                                  : ACL_KERNEL_TYPE_VECTOR;
        return ACL_SUCCESS;
    case ACL_FUNC_ATTR_KERNEL_RATIO:
        /* cube cores in the upper half, vector cores in the lower */
        *attr_value = desc->core_kind == ASCEND_KERNEL_CORE_CUBE  ? int64_t{1} << 16
                      : desc->core_kind == ASCEND_KERNEL_CORE_MIX ? int64_t{1} << 16 | (desc->instances_per_block - 1)
                                                                  : 1;
        return ACL_SUCCESS;
    case ACL_FUNC_ATTR_KERNEL_SCHED_MODE:
        *attr_value = (desc->flags & ASCEND_KERNEL_BLOCKS_SYNCHRONIZE) != 0 ? 1 : 0;
        return ACL_SUCCESS;
    }
    return fail(ACL_ERROR_RT_PARAM_INVALID, "attr_type is %d, not one of aclrtFuncAttribute", static_cast<int>(attr_type));
}

aclError aclrtFunctionGetBinary(aclrtFuncHandle func_handle, aclrtBinHandle *bin_handle)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(func_handle);
    REQUIRE_NOT_NULL(bin_handle);
    Function *function = nullptr;
    RETURN_IF_ERROR(find_function(func_handle, &function));
    *bin_handle = function->binary->handle();
    return ACL_SUCCESS;
}

aclError aclrtFunctionGetParamCount(const void *func, size_t *param_count)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(func);
    REQUIRE_NOT_NULL(param_count);
    Function *function = nullptr;
    RETURN_IF_ERROR(find_function(func, &function));
    *param_count = function->desc->num_params;
    return ACL_SUCCESS;
}

aclError aclrtFunctionGetParamInfo(const void *func, size_t param_index, size_t *param_offset, size_t *param_size)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(func);
    REQUIRE_NOT_NULL(param_offset);
    Function *function = nullptr;
    RETURN_IF_ERROR(find_function(func, &function));
    const ascend_kernel_desc_t *desc = function->desc;
    if (param_index >= desc->num_params || desc->params == nullptr) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "param_index is %zu, kernel %s has %u parameters", param_index, desc->name,
                    desc->num_params);
    }
    *param_offset = desc->params[param_index].offset;
    if (param_size != nullptr) *param_size = desc->params[param_index].size;
    return ACL_SUCCESS;
}

aclError aclrtGetFunctionAddr(aclrtFuncHandle func_handle, void **aic_addr, void **aiv_addr)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(func_handle);
    REQUIRE_NOT_NULL(aic_addr);
    REQUIRE_NOT_NULL(aiv_addr);
    Function *function = nullptr;
    RETURN_IF_ERROR(find_function(func_handle, &function));
    void *entry = reinterpret_cast<void *>(function->desc->entry);
    *aic_addr = function->desc->core_kind != ASCEND_KERNEL_CORE_VECTOR ? entry : nullptr;
    *aiv_addr = function->desc->core_kind != ASCEND_KERNEL_CORE_CUBE ? entry : nullptr;
    return ACL_SUCCESS;
}

aclError aclrtBinaryGetGlobal(aclrtBinHandle bin_handle, const char *name, void **dptr, size_t *size)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(bin_handle);
    REQUIRE_NOT_NULL(name);
    REQUIRE(dptr != nullptr || size != nullptr, "dptr and size are both NULL");
    Binary *binary = nullptr;
    RETURN_IF_ERROR(find_binary(bin_handle, &binary));
    void *address = dlsym(binary->library, name);
    Dl_info info;
    const ElfW(Sym) *symbol = nullptr;
    if (address != nullptr) {
        if (dladdr1(address, &info, reinterpret_cast<void **>(const_cast<ElfW(Sym) **>(&symbol)), RTLD_DL_SYMENT) == 0) symbol = nullptr;
    }
    if (symbol == nullptr || symbol->st_size == 0) {
        return fail(ACL_ERROR_RT_SYMBOL_NOT_FOUND, "%s has no global variable \"%s\"", binary->path.c_str(), name);
    }
    if (dptr != nullptr) *dptr = address;
    if (size != nullptr) *size = symbol->st_size;
    return ACL_SUCCESS;
}
