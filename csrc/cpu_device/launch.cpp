/* SPDX-License-Identifier: Apache-2.0
 *
 * Launching kernels.
 */
#include <cstdio>
#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

#include "device.h"
#include "errors.h"
#include "faults.h"
#include "gang.h"
#include "kernel.h"
#include "log.h"
#include "memory.h"
#include "model.h"
#include "options.h"
#include "pool.h"
#include "stream.h"
#include "timer.h"

namespace acl_cpu {
namespace {

constexpr uint32_t most_blocks = 65535;
/* Blocks shorter than this are not worth waking a sleeping thread for. */
constexpr uint64_t worth_waking_ns = 20000;

struct KernelTask;

/* The services of a launch, with the way back to it. */
struct Services : ascend_kernel_services_t {
    KernelTask *task;
};

void report_violation(const ascend_kernel_services_t *services, uint32_t block, int32_t code, const char *message);
int find_for_kernel(const ascend_kernel_services_t *services, const void *address, void **base, size_t *size);
void print_for_kernel(const ascend_kernel_services_t *services, uint32_t block, const char *text, size_t length);

/* The blocks of one launch, when several threads share them. */
struct BlockJob final : Job {
    BlockJob(KernelTask *of, uint32_t blocks) : Job(blocks), task(of) {}
    void run_block(uint32_t index) override;
    void blocks_done() override;
    KernelTask *task;
};

/* The attributes of a launch, as the caller gave them. */
struct KeptAttributes {
    explicit KeptAttributes(const aclrtLaunchKernelCfg &given) : attrs(given.attrs, given.attrs + given.numAttrs)
    {
        cfg.attrs = attrs.data();
        cfg.numAttrs = attrs.size();
    }
    std::vector<aclrtLaunchKernelAttr> attrs;
    aclrtLaunchKernelCfg cfg;
};

struct KernelTask final : Task {
    static constexpr size_t small_bytes = 256;

    KernelTask(Function *launched, uint32_t num_blocks, const void *bytes, size_t size, uint64_t expected_ns)
        : function(launched), desc(launched->desc), blocks(num_blocks), args(static_cast<const uint8_t *>(bytes)),
          args_size(size), expected(expected_ns)
    {
    }

    KernelTask(KernelTask &&other) noexcept
        : Task(std::move(other)), function(other.function), desc(other.desc), blocks(other.blocks), args(other.args),
          args_size(other.args_size), expected(other.expected), queue_only(other.queue_only), placeholders(other.placeholders),
          num_placeholders(other.num_placeholders), args_on_device(other.args_on_device), timeout_us(other.timeout_us),
          attributes(other.attributes)
    {
        function->binary->launches_under_way.fetch_add(1);
        counted = true;
    }

    ~KernelTask() override
    {
        if (large != nullptr) delete[] large;
        if (counted) function->binary->launches_under_way.fetch_sub(1);
        if (is_prototype) release_recorded(*function->binary);
    }

    const char *name() const override { return desc->name; }
    uint64_t cost_ns() const override { return queue_only ? UNKNOWN_COST : expected; }
    uint64_t busy_ns() const override { return waits_between_blocks() ? 0 : expected; }
    bool waits_between_blocks() const { return (desc->flags & ASCEND_KERNEL_BLOCKS_SYNCHRONIZE) != 0 && instances() > 1; }
    void *function_handle() const override { return function->handle(); }
    const void *arguments(uint32_t *size) const override
    {
        *size = static_cast<uint32_t>(args_size);
        return args;
    }
    /* Copies find the arguments here, placeholders patched. */
    void become_prototype() override
    {
        retain_recorded(*function->binary);
        is_prototype = true;
        counted = false;
        function->binary->launches_under_way.fetch_sub(1);
        placeholders = nullptr;
        num_placeholders = 0;
    }

    aclmdlRITaskType task_type() const override { return ACL_MODEL_RI_TASK_KERNEL; }
    void describe(aclmdlRITaskParams &params) const override
    {
        aclmdlRIKernelTaskParams &kernel = params.kernelTaskParams;
        kernel.funcHandle = function->handle();
        kernel.cfg = attributes != nullptr ? &attributes->cfg : nullptr;
        kernel.args = const_cast<uint8_t *>(args);
        kernel.isHostArgs = !args_on_device;
        kernel.argsSize = args_size;
        kernel.numBlocks = blocks;
    }
    aclError with_params(const aclmdlRITaskParams &params, std::shared_ptr<Task> *result) const override;

    uint32_t instances() const { return blocks * desc->instances_per_block; }

    /* Takes a copy of a block in host memory; one in device memory is the caller's until the kernel is done. */
    void keep_arguments()
    {
        if (args_on_device) return;
        uint8_t *copy = small;
        if (args_size > small_bytes) copy = large = new uint8_t[args_size];
        memcpy(copy, args, args_size);
        patch(copy);
        args = copy;
    }

    /* Placeholder slots get the address of their data in the block at hand. */
    void patch(uint8_t *block) const
    {
        for (size_t i = 0; i < num_placeholders; ++i) {
            uint8_t *data = block + placeholders[i].dataOffset;
            memcpy(block + placeholders[i].addrOffset, &data, sizeof data);
        }
    }

    void equip()
    {
        services.struct_size = sizeof(ascend_kernel_services_t);
        services.reserved = 0;
        services.launch = this;
        services.kernel_name = desc->name;
        services.stop = &stop;
        services.violation = report_violation;
        services.find_allocation = find_for_kernel;
        services.print = print_for_kernel;
        services.task = this;
    }

    void run_block(uint32_t index) { desc->entry(index, blocks, args, &services); }

    bool hands_out_blocks() const
    {
        return timeout_us == 0 && !waits_between_blocks() && !g_kernel_faults.load(std::memory_order_relaxed) &&
               !(args_on_device && function->binary->checks_pointers);
    }

    void start_elsewhere()
    {
        equip();
        LOG(LAUNCHES, "stream %d: kernel %s, %u blocks", stream->id, desc->name, blocks);
        make_job();
        pool().offer(*job, stream);
    }

    void make_job()
    {
        uint32_t count = instances();
        job.emplace(this, count);
        if (expected != UNKNOWN_COST) job->block_ns = expected / count;
        job->eager = job->block_ns >= worth_waking_ns;
    }

    Step start(Stream &on) override
    {
        equip();
        if (UNLIKELY(g_kernel_faults.load(std::memory_order_relaxed)) && !survives_faults()) return Step::Done;
        if (UNLIKELY(args_on_device && function->binary->checks_pointers) && !pointers_are_good()) return Step::Done;
        LOG(LAUNCHES, "stream %d: kernel %s, %u blocks", on.id, desc->name, blocks);
        if (UNLIKELY(timeout_us != 0)) begin_timeout(on);
        uint32_t count = instances();
        bool alone = count == 1 || expected <= TINY_NS;
        if (UNLIKELY(waits_between_blocks())) {
            job.emplace(this, count);
            if (run_gang(*job, count)) return Step::Pending;
            set_error(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL,
                      format("kernel %s: no threads for %u blocks that wait for each other", desc->name, count));
            return Step::Done;
        }
        if (alone) {
            for (uint32_t index = 0; index < count && !stopped(); ++index) run_block(index);
            return finished();
        }
        make_job();
        Step step = pool().run(*job, &on);
        return step == Step::Done ? finished() : step;
    }

    /* Tells the blocks to stop when time is up. One that does not listen cannot be ended. */
    void begin_timeout(Stream &on)
    {
        timer = Timer::instance().add(now_ns() + timeout_us * 1000u, [handle = on.handle(), task = id] {
            UseScope scope;
            Stream *late = Handles<Stream>::find(handle);
            if (late == nullptr) return;
            std::lock_guard<std::mutex> hold(late->lock);
            if (late->current == nullptr || late->current->id != task) return;
            static_cast<KernelTask *>(late->current)->time_out();
        });
    }

    void time_out()
    {
        bool vector = desc->core_kind == ASCEND_KERNEL_CORE_VECTOR;
        violate(vector ? ACL_ERROR_RT_VECTOR_CORE_TIMEOUT : ACL_ERROR_RT_AICORE_TIMEOUT,
                format("kernel %s took longer than its timeout of %llu us", desc->name, static_cast<unsigned long long>(timeout_us)));
    }

    /* The first violation counts. */
    void violate(aclError code, std::string text)
    {
        {
            std::lock_guard<std::mutex> hold(violation_lock);
            if (violation_code == ACL_SUCCESS) {
                violation_code = code;
                violation_text = std::move(text);
            }
        }
        raise_stop();
    }

    /* All blocks have returned. */
    Step finished()
    {
        if (UNLIKELY(timeout_us != 0)) Timer::instance().cancel(timer);
        if (UNLIKELY(stopped())) take_violation();
        return Step::Done;
    }

    void take_violation()
    {
        std::lock_guard<std::mutex> hold(violation_lock);
        if (violation_code != ACL_SUCCESS) set_error(violation_code, violation_text);
    }

    bool withdraw() override
    {
        raise_stop();
        return false;
    }

    bool stopped() const { return __atomic_load_n(&stop, __ATOMIC_RELAXED) != 0; }
    void raise_stop() { __atomic_store_n(&stop, 1u, __ATOMIC_RELAXED); }

    bool survives_faults()
    {
        KernelFault fault = kernel_fault(desc->name);
        if (fault.delay_ns != 0) {
            timespec time = {static_cast<time_t>(fault.delay_ns / 1000000000u), static_cast<long>(fault.delay_ns % 1000000000u)};
            nanosleep(&time, nullptr);
        }
        if (fault.code == ACL_SUCCESS) return true;
        set_error(fault.code, format("kernel %s: injected fault", desc->name));
        return false;
    }

    bool pointers_are_good();

    Function *const function;
    const ascend_kernel_desc_t *const desc;
    const uint32_t blocks;
    const uint8_t *args;
    const size_t args_size;
    const uint64_t expected; /* duration on one thread, or UNKNOWN_COST */
    bool queue_only = false; /* may not run in the calling thread however short it is */
    const aclrtPlaceHolderInfo *placeholders = nullptr;
    size_t num_placeholders = 0;
    bool args_on_device = false;
    bool counted = false;
    bool is_prototype = false;
    uint64_t timeout_us = 0;
    std::shared_ptr<KeptAttributes> attributes; /* of recorded launches */
    Timer::Id timer = 0;
    volatile uint32_t stop = 0;
    Services services; /* filled by equip() */
    uint8_t *large = nullptr;
    std::optional<BlockJob> job;
    std::mutex violation_lock;
    aclError violation_code = ACL_SUCCESS;
    std::string violation_text;
    alignas(16) uint8_t small[small_bytes]; /* written by keep_arguments() only */
};

void BlockJob::run_block(uint32_t index)
{
    if (!task->stopped()) task->run_block(index);
}

void BlockJob::blocks_done()
{
    KernelTask *ended = task;
    ended->finished();
    ended->stream->finish_pending(ended); /* deletes this too */
}

/* ---- services ---- */

KernelTask &task_of(const ascend_kernel_services_t *services) { return *static_cast<const Services *>(services)->task; }

void report_violation(const ascend_kernel_services_t *services, uint32_t block, int32_t code, const char *message)
{
    KernelTask &task = task_of(services);
    task.violate(code != ACL_SUCCESS ? code : ACL_ERROR_RT_AICORE_EXCEPTION,
                 format("kernel %s, block %u: %s", task.desc->name, block, message != nullptr ? message : ""));
}

int find_for_kernel(const ascend_kernel_services_t *services, const void *address, void **base, size_t *size)
{
    KernelTask &task = task_of(services);
    uintptr_t offset = reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(task.args);
    if (offset < task.args_size) { /* the data of a placeholder */
        *base = const_cast<uint8_t *>(task.args);
        *size = task.args_size;
        return 1;
    }
    Allocation found;
    if (!find_allocation(address, &found)) return 0;
    *base = reinterpret_cast<void *>(found.base);
    *size = found.size;
    return 1;
}

void print_for_kernel(const ascend_kernel_services_t *, uint32_t, const char *text, size_t length)
{
    flockfile(stdout);
    fwrite(text, 1, length, stdout);
    fflush(stdout);
    funlockfile(stdout);
}

/* ---- checks ---- */

/* What is wrong with the pointers among the arguments, or an empty string. Placeholder slots are exempt: they point
 * into the block. */
std::string fault_of_pointers(const ascend_kernel_desc_t *desc, const uint8_t *args, size_t args_size,
                              const aclrtPlaceHolderInfo *placeholders, size_t num_placeholders)
{
    for (uint32_t i = 0; i < desc->num_params && desc->params != nullptr; ++i) {
        const ascend_kernel_param_t &param = desc->params[i];
        if (param.kind != ASCEND_KERNEL_PARAM_POINTER || size_t{param.offset} + sizeof(void *) > args_size) continue;
        bool is_placeholder = false;
        for (size_t p = 0; p < num_placeholders; ++p) is_placeholder |= placeholders[p].addrOffset == param.offset;
        if (is_placeholder) continue;
        const void *address;
        memcpy(&address, args + param.offset, sizeof address);
        if (address == nullptr) continue;
        Allocation found;
        if (find_allocation(address, &found) && found.kind != MemoryKind::Pinned) continue;
        return format("kernel %s: parameter %u (%s) is %p, which is no live device memory (host memory, or freed)", desc->name, i,
                      param.name != nullptr ? param.name : "unnamed", address);
    }
    return std::string();
}

} // namespace

bool KernelTask::pointers_are_good()
{
    std::string fault = fault_of_pointers(desc, args, args_size, nullptr, 0);
    if (fault.empty()) return true;
    set_error(ACL_ERROR_RT_AICORE_EXCEPTION, fault);
    return false;
}

namespace {

/* Attributes of a launch that mean something here. */
struct Attributes {
    uint64_t timeout_us = g_op_execute_timeout_us.load(std::memory_order_relaxed);
};

aclError read_attributes(const aclrtLaunchKernelCfg *cfg, Attributes *result)
{
    if (cfg == nullptr || cfg->numAttrs == 0) return ACL_SUCCESS;
    REQUIRE(cfg->attrs != nullptr, "cfg->attrs is NULL, but cfg->numAttrs is %zu", cfg->numAttrs);
    bool seconds = false;
    bool microseconds = false;
    for (size_t i = 0; i < cfg->numAttrs; ++i) {
        const aclrtLaunchKernelAttr &attr = cfg->attrs[i];
        switch (attr.id) {
        case ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE:
            if (attr.value.schemMode > 2) {
                return fail(ACL_ERROR_RT_PARAM_INVALID, "attribute %zu: the schedule mode is %u, not 0 to 2", i, attr.value.schemMode);
            }
            break;
        case ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT:
            seconds = true;
            result->timeout_us = uint64_t{attr.value.timeout} * 1000000u;
            break;
        case ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US:
            microseconds = true;
            result->timeout_us = uint64_t{attr.value.timeoutUs.timeoutHigh} << 32 | attr.value.timeoutUs.timeoutLow;
            break;
        case ACL_RT_LAUNCH_KERNEL_ATTR_DYN_UBUF_SIZE:
        case ACL_RT_LAUNCH_KERNEL_ATTR_ENGINE_TYPE:
        case ACL_RT_LAUNCH_KERNEL_ATTR_BLOCKDIM_OFFSET:
        case ACL_RT_LAUNCH_KERNEL_ATTR_BLOCK_TASK_PREFETCH:
        case ACL_RT_LAUNCH_KERNEL_ATTR_DATA_DUMP:
        case ACL_RT_LAUNCH_KERNEL_ATTR_ENABLE_PROFILING: break; /* hints and hardware without a counterpart */
        default:
            return fail(ACL_ERROR_RT_PARAM_INVALID, "attribute %zu has the unknown id %d", i, static_cast<int>(attr.id));
        }
    }
    if (seconds && microseconds) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "TIMEOUT and TIMEOUT_US exclude each other");
    }
    return ACL_SUCCESS;
}

struct HostBlock {
    const uint8_t *bytes;
    size_t size;
    const aclrtPlaceHolderInfo *placeholders;
    size_t num_placeholders;
};

aclError check_blocks(const Function &function, uint32_t num_blocks)
{
    if (num_blocks > most_blocks) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "num_blocks is %u, at most %u are possible", num_blocks, most_blocks);
    }
    const ascend_kernel_desc_t *desc = function.desc;
    if ((desc->flags & ASCEND_KERNEL_BLOCKS_SYNCHRONIZE) != 0 && num_blocks * desc->instances_per_block > most_gang_threads) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "kernel %s waits between blocks, so at most %u of them can run, not %u", desc->name,
                    most_gang_threads, num_blocks * desc->instances_per_block);
    }
    return ACL_SUCCESS;
}

aclError check_size(const Function &function, size_t size)
{
    if (LIKELY(size >= function.desc->args_size)) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID, "kernel %s takes %u bytes of arguments, %zu were given", function.desc->name,
                function.desc->args_size, size);
}

/* Launches with an argument block in host memory. */
aclError launch(Function &function, uint32_t num_blocks, aclrtStream stream, const aclrtLaunchKernelCfg *cfg,
                const HostBlock &block)
{
    RETURN_IF_ERROR(check_blocks(function, num_blocks));
    RETURN_IF_ERROR(check_size(function, block.size));
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    Attributes attributes;
    if (UNLIKELY(cfg != nullptr)) RETURN_IF_ERROR(read_attributes(cfg, &attributes));
    if (UNLIKELY(function.binary->checks_pointers)) {
        std::string fault =
            fault_of_pointers(function.desc, block.bytes, block.size, block.placeholders, block.num_placeholders);
        if (!fault.empty()) return fail_with(ACL_ERROR_RT_PARAM_INVALID, fault.c_str());
    }
    const uint8_t *bytes = block.bytes;
    /* A kernel that runs in this call reads the caller's block; its placeholders need a copy that may be patched. */
    alignas(16) uint8_t patched[1024];
    bool fits = block.num_placeholders == 0 || block.size <= sizeof patched;
    if (UNLIKELY(block.num_placeholders != 0) && fits) {
        memcpy(patched, bytes, block.size);
        for (size_t i = 0; i < block.num_placeholders; ++i) {
            uint8_t *data = patched + block.placeholders[i].dataOffset;
            memcpy(patched + block.placeholders[i].addrOffset, &data, sizeof data);
        }
        bytes = patched;
    }
    uint64_t expected = UNKNOWN_COST;
    if (LIKELY(function.desc->cost_ns != nullptr)) expected = function.desc->cost_ns(bytes, num_blocks);
    KernelTask task(&function, num_blocks, bytes, block.size, expected);
    /* Blocks that wait for each other need threads; only queued kernels can be stopped by a timer. */
    task.queue_only = UNLIKELY(!fits || attributes.timeout_us != 0 || task.waits_between_blocks());
    task.placeholders = block.placeholders;
    task.num_placeholders = block.num_placeholders;
    task.timeout_us = attributes.timeout_us;
    if (UNLIKELY(cfg != nullptr) && is_recording(*target)) task.attributes = std::make_shared<KeptAttributes>(*cfg);
    return submit(*target, std::move(task));
}

/* Launches with an argument block in device memory, which may still be on its way there. */
aclError launch_from_device(aclrtFuncHandle func_handle, uint32_t num_blocks, const void *args_data, size_t args_size,
                            const aclrtLaunchKernelCfg *cfg, aclrtStream stream)
{
    REQUIRE_NOT_NULL(func_handle);
    REQUIRE_NOT_NULL(args_data);
    Function *function;
    RETURN_IF_ERROR(find_function(func_handle, &function));
    if (num_blocks == 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "num_blocks is 0");
    if (args_size == 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "args_size is 0");
    RETURN_IF_ERROR(check_blocks(*function, num_blocks));
    RETURN_IF_ERROR(check_size(*function, args_size));
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    Attributes attributes;
    RETURN_IF_ERROR(read_attributes(cfg, &attributes));
    Allocation found;
    RETURN_IF_ERROR(check_range(args_data, args_size, "args_data", &found));
    if (function->binary->checks_pointers && !found.on_device()) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "kernel %s: args_data %p is no live device memory", function->desc->name, args_data);
    }
    /* What is still on its way cannot be asked for its cost. */
    bool readable = target->idle() && function->desc->cost_ns != nullptr;
    uint64_t expected = readable ? function->desc->cost_ns(args_data, num_blocks) : UNKNOWN_COST;
    KernelTask task(function, num_blocks, args_data, args_size, expected);
    task.queue_only = attributes.timeout_us != 0 || task.waits_between_blocks();
    task.args_on_device = true;
    task.timeout_us = attributes.timeout_us;
    if (cfg != nullptr && is_recording(*target)) task.attributes = std::make_shared<KeptAttributes>(*cfg);
    return submit(*target, std::move(task));
}

} // namespace

aclError KernelTask::with_params(const aclmdlRITaskParams &params, std::shared_ptr<Task> *result) const
{
    const aclmdlRIKernelTaskParams &wanted = params.kernelTaskParams;
    Function *launched;
    if (wanted.funcHandle == nullptr || wanted.args == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "the function or the arguments are NULL");
    RETURN_IF_ERROR(find_function(wanted.funcHandle, &launched));
    if (wanted.numBlocks == 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "numBlocks is 0");
    RETURN_IF_ERROR(check_blocks(*launched, wanted.numBlocks));
    RETURN_IF_ERROR(check_size(*launched, wanted.argsSize));
    Attributes read;
    RETURN_IF_ERROR(read_attributes(wanted.cfg, &read));
    const uint8_t *bytes = static_cast<const uint8_t *>(wanted.args);
    if (wanted.isHostArgs == 0) {
        Allocation found;
        RETURN_IF_ERROR(check_range(bytes, wanted.argsSize, "args", &found));
    } else if (launched->binary->checks_pointers) {
        std::string fault = fault_of_pointers(launched->desc, bytes, wanted.argsSize, nullptr, 0);
        if (!fault.empty()) return fail_with(ACL_ERROR_RT_PARAM_INVALID, fault.c_str());
    }
    KernelTask task(launched, wanted.numBlocks, bytes, wanted.argsSize, UNKNOWN_COST);
    task.args_on_device = wanted.isHostArgs == 0;
    task.timeout_us = read.timeout_us;
    task.thread = thread;
    if (wanted.cfg != nullptr) task.attributes = std::make_shared<KeptAttributes>(*wanted.cfg);
    std::shared_ptr<KernelTask> changed = std::make_shared<KernelTask>(std::move(task));
    changed->keep_arguments();
    changed->become_prototype();
    *result = changed;
    return ACL_SUCCESS;
}

} // namespace acl_cpu

using namespace acl_cpu;

aclError aclrtLaunchKernelWithHostArgs(aclrtFuncHandle func_handle, uint32_t num_blocks, aclrtStream stream,
                                       aclrtLaunchKernelCfg *cfg, void *host_args, size_t args_size,
                                       aclrtPlaceHolderInfo *place_holder_array, size_t place_holder_num)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(func_handle);
    REQUIRE_NOT_NULL(host_args);
    REQUIRE(place_holder_num == 0 || place_holder_array != nullptr, "place_holder_array is NULL, but place_holder_num is %zu",
            place_holder_num);
    Function *function;
    RETURN_IF_ERROR(find_function(func_handle, &function));
    if (UNLIKELY(num_blocks == 0)) return fail(ACL_ERROR_RT_PARAM_INVALID, "num_blocks is 0");
    if (UNLIKELY(args_size == 0)) return fail(ACL_ERROR_RT_PARAM_INVALID, "args_size is 0");
    for (size_t i = 0; i < place_holder_num; ++i) {
        const aclrtPlaceHolderInfo &info = place_holder_array[i];
        if (args_size < sizeof(void *) || info.addrOffset > args_size - sizeof(void *) || info.dataOffset >= args_size) {
            return fail(ACL_ERROR_RT_PARAM_INVALID, "placeholder %zu (slot at %u, data at %u) lies outside the %zu bytes of arguments",
                        i, info.addrOffset, info.dataOffset, args_size);
        }
    }
    return launch(*function, num_blocks, stream, cfg,
                  {static_cast<const uint8_t *>(host_args), args_size, place_holder_array, place_holder_num});
}

aclError aclrtLaunchKernelWithConfig(aclrtFuncHandle func_handle, uint32_t num_blocks, aclrtStream stream,
                                     aclrtLaunchKernelCfg *cfg, aclrtArgsHandle args_handle, void *reserve)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(func_handle);
    REQUIRE_NOT_NULL(args_handle);
    REQUIRE(reserve == nullptr, "reserve is %p, it must be NULL", reserve);
    REQUIRE(num_blocks != 0, "num_blocks is 0");
    Function *function;
    RETURN_IF_ERROR(find_function(func_handle, &function));
    ArgsView view;
    RETURN_IF_ERROR(finished_args(args_handle, &view));
    return launch(*function, num_blocks, stream, cfg, {view.block, view.size, view.placeholders, view.num_placeholders});
}

aclError aclrtLaunchKernel(aclrtFuncHandle func_handle, uint32_t num_blocks, const void *args_data, size_t args_size,
                           aclrtStream stream)
{
    ACL_ENTRY();
    return launch_from_device(func_handle, num_blocks, args_data, args_size, nullptr, stream);
}

aclError aclrtLaunchKernelV2(aclrtFuncHandle func_handle, uint32_t num_blocks, const void *args_data, size_t args_size,
                             aclrtLaunchKernelCfg *cfg, aclrtStream stream)
{
    ACL_ENTRY();
    return launch_from_device(func_handle, num_blocks, args_data, args_size, cfg, stream);
}

aclError aclrtLaunchKernelWithArgsArray(void *func, uint32_t num_blocks, aclrtStream stream, aclrtLaunchKernelCfg *cfg,
                                        void **args)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(func);
    Function *function;
    RETURN_IF_ERROR(find_function(func, &function));
    const ascend_kernel_desc_t *desc = function->desc;
    if (num_blocks == 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "num_blocks is 0");
    if (desc->num_params != 0) {
        REQUIRE_NOT_NULL(args);
        if (desc->params == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "kernel %s does not describe its parameters", desc->name);
    }
    size_t size = desc->args_size;
    for (uint32_t i = 0; i < desc->num_params; ++i) {
        size = std::max(size, size_t{desc->params[i].offset} + desc->params[i].size);
    }
    std::vector<uint8_t> block(std::max<size_t>(size, 8), 0);
    for (uint32_t i = 0; i < desc->num_params; ++i) {
        REQUIRE(args[i] != nullptr, "args[%u] is NULL", i);
        memcpy(block.data() + desc->params[i].offset, args[i], desc->params[i].size);
    }
    return launch(*function, num_blocks, stream, cfg, {block.data(), block.size(), nullptr, 0});
}

aclError aclrtGetHardwareSyncAddr(void **addr)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(addr);
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    /* Blocks of one launch synchronize by other means here; the address only has to be valid. */
    static uint64_t sync_area[64];
    *addr = sync_area;
    return ACL_SUCCESS;
}
