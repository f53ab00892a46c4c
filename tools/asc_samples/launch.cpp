// SPDX-License-Identifier: Apache-2.0
//
// A `sim` kernel binary whose one kernel runs a closure of the program that loaded it. Programs link it together with the
// simulator, so that kernels stay where the vendor's compiler leaves them too: in the program.
#include "launch.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "acl/acl.h"
#include "ascendc_sim/launch.h"

namespace asc_samples {
namespace {

// The services of one launch under the kernel's own name, which also say aloud what was violated.
struct Named {
    ascend_kernel_services_t services;
    const ascend_kernel_services_t *original;
};

void Violation(const ascend_kernel_services_t *services, uint32_t block, int32_t code, const char *message)
{
    std::fprintf(stderr, "[violation %d] %s\n", code, message);
    const auto *named = reinterpret_cast<const Named *>(services);
    named->original->violation(named->original, block, code, message);
}

int Find(const ascend_kernel_services_t *services, const void *address, void **base, size_t *size)
{
    const auto *named = reinterpret_cast<const Named *>(services);
    return named->original->find_allocation(named->original, address, base, size);
}

void Print(const ascend_kernel_services_t *services, uint32_t block, const char *text, size_t length)
{
    const auto *named = reinterpret_cast<const Named *>(services);
    named->original->print(named->original, block, text, length);
}

// One object a launch, however many blocks ask.
const ascend_kernel_services_t *NamedServices(const Call &call, uint32_t blocks, const ascend_kernel_services_t *services)
{
    struct Use {
        std::unique_ptr<Named> named;
        uint32_t asked = 0;
    };
    static std::mutex mutex;
    static std::map<const ascend_kernel_services_t *, Use> uses;
    static std::multimap<const ascend_kernel_services_t *, std::unique_ptr<Named>> *past =
        new std::multimap<const ascend_kernel_services_t *, std::unique_ptr<Named>>;
    std::lock_guard<std::mutex> lock(mutex);
    Use &use = uses[services];
    if (use.named == nullptr || use.asked == blocks || use.named->services.kernel_name != call.name) {
        if (use.named != nullptr) {
            past->emplace(services, std::move(use.named));
        }
        use.named = std::make_unique<Named>(Named{*services, services});
        use.named->services.kernel_name = call.name;
        use.named->services.violation = Violation;
        use.named->services.find_allocation = services->find_allocation != nullptr ? Find : nullptr;
        use.named->services.print = services->print != nullptr ? Print : nullptr;
        use.asked = 0;
    }
    ++use.asked;
    return &use.named->services;
}

void Run(uint32_t block, uint32_t blocks, const void *args, const ascend_kernel_services_t *services)
{
    const Call *call = nullptr;
    std::memcpy(&call, args, sizeof(call));
    AscendC::sim::Launch::RunBlock(AscendC::sim::KernelInfo{ASCEND_KERNEL_CORE_VECTOR, 0, 1}, block, blocks,
                                   NamedServices(*call, blocks, services), [call] { call->run(*call); });
}

const ascend_kernel_param_t kParameters[] = {{"call", 0, 8, ASCEND_KERNEL_PARAM_INTEGER, 0}};

ascend_kernel_desc_t Describe(const char *name, uint32_t flags)
{
    ascend_kernel_desc_t desc = {};
    desc.name = name;
    desc.entry = Run;
    desc.params = kParameters;
    desc.num_params = 1;
    desc.args_size = 8;
    desc.core_kind = ASCEND_KERNEL_CORE_VECTOR;
    desc.flags = flags;
    desc.instances_per_block = 1;
    return desc;
}

const ascend_kernel_desc_t kKernels[] = {Describe("alone", 0), Describe("together", ASCEND_KERNEL_BLOCKS_SYNCHRONIZE)};

void Need(aclError code, const char *what)
{
    if (code != ACL_SUCCESS) {
        std::fprintf(stderr, "[violation %d] %s failed\n", code, what);
        std::exit(3);
    }
}

aclrtFuncHandle Function(const char *name)
{
    static aclrtBinHandle binary = [] {
        Dl_info self;
        aclrtBinHandle handle = nullptr;
        if (dladdr(reinterpret_cast<const void *>(&Run), &self) == 0) {
            std::abort();
        }
        Need(aclrtBinaryLoadFromFile(self.dli_fname, nullptr, &handle), "aclrtBinaryLoadFromFile");
        return handle;
    }();
    aclrtFuncHandle function = nullptr;
    Need(aclrtBinaryGetFunction(binary, name, &function), "aclrtBinaryGetFunction");
    return function;
}

} // namespace

void Enqueue(Call *call, bool synchronizes, const Configuration &configuration)
{
    Need(aclrtLaunchKernelWithHostArgs(Function(synchronizes ? "together" : "alone"),
                                       static_cast<uint32_t>(configuration.blocks), configuration.stream, nullptr, &call,
                                       sizeof(call), nullptr, 0),
         call->name);
}

} // namespace asc_samples

extern "C" ASCEND_KERNEL_EXPORT const ascend_kernel_table_t ascend_kernel_table;
extern "C" const ascend_kernel_table_t ascend_kernel_table = {
    ASCEND_KERNEL_ABI_VERSION, sizeof(ascend_kernel_table_t), sizeof(ascend_kernel_desc_t), ASCEND_KERNEL_TARGET_SIM, 2, 0,
    asc_samples::kKernels, "Ascend C simulator inside a program"};
