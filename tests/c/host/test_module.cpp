// SPDX-License-Identifier: Apache-2.0
//
// Modules on the fake device (two of them): what is loaded, looked up, launched, waited for and unloaded, and every call
// below failing once.
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "ascend_cy/module.h"
#include "check.h"
#include "fake_acl.h"

using Module = ascend_cy_module_t;
using Kernel = ascend_cy_kernel_t;
using Stream = ascend_cy_stream_t;

static const char image[] = "\177ELF and so on";

static bool older() { return ascend_cy_has("aclrtLaunchKernelWithHostArgs") == 0; }
static const char *launch_name() { return older() ? "aclrtLaunchKernelWithConfig" : "aclrtLaunchKernelWithHostArgs"; }
static const char *load_name() { return older() ? "aclrtBinaryLoad" : "aclrtBinaryLoadFromData"; }
static long launches() { return fake_acl()->calls(launch_name()); }
static long loads() { return fake_acl()->calls(load_name()); }

static Module *load(const char *name = "mine")
{
    Module *module = nullptr;
    OK(ascend_cy_module_load(image, sizeof image, name, &module));
    return module;
}

static Kernel *find(Module *module, const char *name = "add")
{
    Kernel *kernel = nullptr;
    OK(ascend_cy_module_kernel(module, name, &kernel));
    return kernel;
}

static int launch(Kernel *kernel, Stream *stream, uint32_t blocks = 1)
{
    uint64_t args[] = {1, 2};
    return ascend_cy_kernel_launch(kernel, blocks, args, sizeof args, sizeof args, nullptr, 0, stream);
}

static Stream *default_stream() { return ascend_cy_default_stream(0); }

static void expect_no_modules()
{
    CHECK_EQ(ascend_cy_live_modules(), 0);
    CHECK_EQ(fake_acl()->binaries(), 0);
    expect_nothing_left();
}

TEST(images_that_cannot_be)
{
    Module *module = reinterpret_cast<Module *>(1);
    CHECK_EQ(ascend_cy_module_load(nullptr, 4, "mine", &module), ACL_ERROR_INVALID_PARAM);
    CHECK(module == nullptr);
    expect_message("empty");
    CHECK_EQ(ascend_cy_module_load(image, 0, "mine", &module), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(ascend_cy_module_load("no image", 8, "mine", &module), ACL_ERROR_RT_PARAM_INVALID);
    CHECK(module == nullptr);
    expect_message("no ELF image");
    expect_message("(module mine)");
    CHECK_EQ(ascend_cy_module_load("no image", 8, nullptr, &module), ACL_ERROR_RT_PARAM_INVALID);
    expect_message("(module from memory)");
    CHECK_EQ(fake_acl()->calls("aclrtCreateBinary"), fake_acl()->calls("aclrtDestroyBinary"));
    expect_no_modules();
    ascend_cy_module_release(nullptr);
}

TEST(kernels_by_name)
{
    Module *module = load();
    CHECK_EQ(ascend_cy_live_modules(), 1);
    Kernel *kernel = find(module);
    const long lookups = fake_acl()->calls("aclrtBinaryGetFunction");
    CHECK(find(module) == kernel && find(module, "sub") != kernel);
    CHECK_EQ(fake_acl()->calls("aclrtBinaryGetFunction"), lookups + 1);
    Kernel *none = kernel;
    CHECK_EQ(ascend_cy_module_kernel(module, "no_such", &none), ACL_ERROR_RT_PARAM_INVALID);
    CHECK(none == nullptr);
    expect_message("no such kernel");
    CHECK_EQ(ascend_cy_module_kernel(nullptr, "add", &none), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(ascend_cy_module_kernel(module, nullptr, &none), ACL_ERROR_INVALID_PARAM);
    ascend_cy_module_retain(module);
    ascend_cy_module_release(module);
    CHECK_EQ(fake_acl()->binaries(), 1);
    ascend_cy_module_release(module);
    CHECK_EQ(fake_acl()->binaries(), 0); // nothing ran: at once
    expect_no_modules();
}

TEST(parameters_as_the_binary_tells_them)
{
    Module *module = load();
    Kernel *kernel = find(module);
    size_t count = 9;
    size_t offset = 9;
    size_t size = 9;
    CHECK_EQ(ascend_cy_kernel_param_count(nullptr, &count), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(count, 0u);
    CHECK_EQ(ascend_cy_kernel_param(nullptr, 0, &offset, &size), ACL_ERROR_INVALID_PARAM);
    if (older()) {
        CHECK_EQ(ascend_cy_kernel_param_count(kernel, &count), 207000);
        expect_message("aclrtFunctionGetParamCount");
        CHECK_EQ(ascend_cy_kernel_param(kernel, 0, &offset, &size), 207000);
        CHECK(count == 0 && offset == 0 && size == 0);
    } else {
        OK(ascend_cy_kernel_param_count(kernel, &count));
        CHECK_EQ(count, 2u);
        OK(ascend_cy_kernel_param(kernel, 1, &offset, &size));
        CHECK(offset == 8 && size == 4);
        CHECK_EQ(ascend_cy_kernel_param(kernel, 2, &offset, &size), ACL_ERROR_RT_PARAM_INVALID);
    }
    ascend_cy_module_release(module);
    expect_no_modules();
}

TEST(what_is_launched)
{
    Module *module = load();
    Kernel *kernel = find(module, "scale");
    struct {
        uint64_t pointer = 0x1234;
        uint32_t count = 7;
        float factor = 0.5F;
    } args;
    OK(ascend_cy_kernel_launch(kernel, 65535, &args, sizeof args, sizeof args, nullptr, 0, default_stream()));
    size_t size = 0;
    const void *seen = fake_acl()->last_args(&size);
    CHECK_EQ(size, sizeof args);
    CHECK_EQ(std::memcmp(seen, &args, sizeof args), 0);
    CHECK_EQ(std::strcmp(fake_acl()->last_kernel(), "scale"), 0);
    CHECK_EQ(fake_acl()->last_blocks(), 65535u);
    // No parameters: AscendCL refuses a block of no bytes, so there are some.
    OK(ascend_cy_kernel_launch(kernel, 1, nullptr, 0, 0, nullptr, 0, default_stream()));
    fake_acl()->last_args(&size);
    CHECK_EQ(size, 8u);
    ascend_cy_module_release(module);
    expect_no_modules();
}

TEST(inline_data)
{
    Module *module = load();
    Kernel *kernel = find(module);
    struct Block {
        uint64_t first = 77; // becomes the place of "tiling"
        uint32_t a = 1;
        uint32_t b = 2;
        uint64_t second = 88; // of 5 numbers
        uint64_t c = 3;
        char tiling[8] = "tiling";
        uint64_t numbers[5] = {5, 6, 7, 8, 9};
    } block;
    constexpr size_t params = 32;
    const ascend_cy_inline_data_t data[] = {{0, 32, 7}, {16, 40, 40}};
    OK(ascend_cy_kernel_launch(kernel, 3, &block, params, sizeof block, data, 2, default_stream()));
    size_t size = 0;
    Block seen;
    const void *bytes = fake_acl()->last_args(&size);
    CHECK_EQ(size, sizeof block);
    std::memcpy(&seen, bytes, sizeof seen);
    CHECK(seen.first == 32 && seen.second == 40 && seen.a == 1 && seen.b == 2 && seen.c == 3);
    CHECK_EQ(std::strcmp(seen.tiling, "tiling"), 0);
    CHECK_EQ(std::memcmp(seen.numbers, block.numbers, sizeof seen.numbers), 0);

    const long before = launches();
    const struct {
        ascend_cy_inline_data_t pieces[2];
        const char *message;
    } wrong[] = {
        {{{4, 32, 7}, {16, 40, 40}}, "inline data 0: slot 4"},   {{{16, 32, 7}, {0, 40, 40}}, "inline data 1: slot 0"},
        {{{16, 32, 7}, {16, 40, 40}}, "inline data 1: slot 16"}, {{{0, 32, 7}, {32, 40, 40}}, "inline data 1: slot 32"},
        {{{0, 24, 7}, {16, 40, 40}}, "inline data 0: 7 bytes"},  {{{0, 33, 7}, {16, 40, 40}}, "7 bytes at 33"},
        {{{0, 32, 0}, {16, 40, 40}}, "0 bytes at 32"},           {{{0, 32, 7}, {16, 40, 41}}, "within 80 bytes"},
        {{{0, 32, 7}, {16, 40, 0xFFFFFFFF}}, "within 80 bytes"}, {{{0xFFFFFFF8, 32, 7}, {16, 40, 40}}, "within 32 bytes"},
    };
    for (const auto &entry : wrong) {
        CHECK_EQ(ascend_cy_kernel_launch(kernel, 3, &block, params, sizeof block, entry.pieces, 2, default_stream()),
                 ACL_ERROR_INVALID_PARAM);
        expect_message(entry.message);
    }
    const ascend_cy_inline_data_t many[17] = {};
    CHECK_EQ(ascend_cy_kernel_launch(kernel, 3, &block, params, sizeof block, many, 17, default_stream()),
             ACL_ERROR_INVALID_PARAM);
    expect_message("at most 16 pieces of inline data, got 17");
    CHECK_EQ(launches(), before);
    ascend_cy_module_release(module);
    expect_no_modules();
}

TEST(launches_that_cannot_be)
{
    Module *module = load();
    Kernel *kernel = find(module);
    const long before = launches();
    CHECK_EQ(launch(nullptr, default_stream()), ACL_ERROR_INVALID_PARAM);
    expect_message("the kernel is NULL");
    CHECK_EQ(launch(kernel, nullptr), ACL_ERROR_INVALID_PARAM);
    expect_message("the stream is NULL");
    for (const uint32_t blocks : {0U, 65536U, 0xFFFFFFFFU}) {
        CHECK_EQ(launch(kernel, default_stream(), blocks), ACL_ERROR_INVALID_PARAM);
        expect_message("a launch has 1 to 65535");
    }
    uint64_t args[1] = {};
    CHECK_EQ(ascend_cy_kernel_launch(kernel, 1, args, 16, 8, nullptr, 0, default_stream()), ACL_ERROR_INVALID_PARAM);
    expect_message("16 bytes of parameters in a block of 8 bytes");
    CHECK_EQ(ascend_cy_kernel_launch(kernel, 1, nullptr, 8, 8, nullptr, 0, default_stream()), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(launches(), before);
    ascend_cy_module_release(module);
    expect_no_modules();
}

TEST(several_devices)
{
    OK(ascend_cy_set_device(0));
    Module *module = load();
    Kernel *kernel = find(module);
    Stream *other = make_stream(1);
    OK(launch(kernel, other));
    OK(launch(kernel, other));
    CHECK_EQ(fake_acl()->binaries(), 2);
    int32_t device = -1;
    OK(ascend_cy_current_device(&device));
    CHECK_EQ(device, 0); // the thread stays where it was
    OK(ascend_cy_set_device(1));
    CHECK(find(module) == kernel);
    CHECK_EQ(fake_acl()->binaries(), 2);
    OK(ascend_cy_set_device(0));
    ascend_cy_stream_release(other);
    ascend_cy_module_release(module);
    expect_no_modules();
    CHECK_EQ(fake_acl()->streams(), 0);
}

TEST(a_module_outlives_its_launches)
{
    Stream *stream = make_stream();
    Module *module = load();
    void *const handle = ascend_cy_stream_handle(stream);
    fake_acl()->hold(handle, 1);
    OK(launch(find(module), stream));
    ascend_cy_module_release(module);
    CHECK_EQ(ascend_cy_live_modules(), 1);
    CHECK_EQ(fake_acl()->binaries(), 1);
    fake_acl()->hold(handle, 0);
    ascend_cy_module_release(load()); // any later call unloads it
    CHECK_EQ(fake_acl()->binaries(), 0);
    ascend_cy_stream_release(stream);
    expect_no_modules();
}

TEST(a_module_does_not_keep_streams)
{
    Module *module = load();
    Kernel *kernel = find(module);
    for (int i = 0; i < 100; ++i) {
        Stream *stream = make_stream();
        OK(launch(kernel, stream));
        ascend_cy_stream_release(stream);
        CHECK(fake_acl()->streams() <= 10);
    }
    CHECK_EQ(ascend_cy_live_modules(), 1);
    CHECK_EQ(fake_acl()->streams(), 0);
    ascend_cy_module_release(module);
    expect_no_modules();
}

TEST(waiting)
{
    Stream *stream = make_stream();
    Module *module = load("slow");
    Kernel *kernel = find(module);
    void *const handle = ascend_cy_stream_handle(stream);
    OK(ascend_cy_module_wait(module, 0)); // nothing was launched
    CHECK_EQ(ascend_cy_module_wait(nullptr, 0), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(ascend_cy_module_wait(module, -2), ACL_ERROR_RT_PARAM_INVALID);
    expect_message("timeout_ms is -2");
    fake_acl()->hold(handle, 1);
    OK(launch(kernel, stream));
    for (const int timeout : {0, 20}) {
        CHECK_EQ(ascend_cy_module_wait(module, timeout), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
        expect_message("kernels of module slow have not finished");
    }
    ascend_cy_launches_t *some = nullptr;
    OK(ascend_cy_module_launches(module, &some));
    CHECK_EQ(ascend_cy_launches_wait(some, 1), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    std::thread later([handle] {
        usleep(20000);
        fake_acl()->hold(handle, 0);
    });
    OK(ascend_cy_module_wait(module, -1));
    later.join();
    // What comes later on the same stream is not waited for.
    fake_acl()->hold(handle, 1);
    OK(launch(kernel, stream));
    OK(ascend_cy_launches_wait(some, 0));
    OK(ascend_cy_launches_wait(some, -1));
    CHECK_EQ(ascend_cy_module_wait(module, 1), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    fake_acl()->hold(handle, 0);
    CHECK_EQ(ascend_cy_launches_wait(some, -2), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(ascend_cy_launches_wait(nullptr, 0), ACL_ERROR_INVALID_PARAM);
    ascend_cy_launches_t *none = some;
    CHECK_EQ(ascend_cy_module_launches(nullptr, &none), ACL_ERROR_INVALID_PARAM);
    CHECK(none == nullptr);
    ascend_cy_launches_release(none);
    ascend_cy_launches_release(some);
    ascend_cy_module_release(module);
    ascend_cy_stream_release(stream);
    expect_no_modules();
}

TEST(waiting_leaves_failures_to_the_stream)
{
    Stream *stream = make_stream();
    Module *module = load();
    Kernel *kernel = find(module);
    OK(launch(kernel, stream));
    fake_acl()->break_stream(ascend_cy_stream_handle(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
    fake_acl()->fail("aclrtRecordEvent", ACL_ERROR_RT_INTERNAL_ERROR, 0, 1); // then the stream itself is asked
    OK(ascend_cy_module_wait(module, -1));
    fake_acl()->fail("aclrtRecordEvent", ACL_ERROR_RT_INTERNAL_ERROR, 0, 1);
    ascend_cy_module_release(module);
    CHECK_EQ(ascend_cy_stream_synchronize(stream, -1), ACL_ERROR_RT_AICORE_EXCEPTION);
    ascend_cy_stream_release(stream);
    expect_no_modules();
}

TEST(a_device_that_was_reset)
{
    Module *module = load();
    Kernel *kernel = find(module);
    Kernel *second = find(module, "sub");
    const long before = loads();
    fake_acl()->fail(launch_name(), ACL_ERROR_RT_INVALID_HANDLE, 0, 1);
    OK(launch(kernel, default_stream()));
    CHECK_EQ(loads(), before + 1);
    OK(launch(second, default_stream())); // found anew in the same binary
    CHECK_EQ(loads(), before + 1);
    // But only once a launch.
    fake_acl()->fail(launch_name(), ACL_ERROR_RT_INVALID_HANDLE, 0, 2);
    CHECK_EQ(launch(kernel, default_stream()), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_EQ(loads(), before + 2);
    // A stream that is gone says the same; the binary is not to blame.
    fake_acl()->fail(launch_name(), ACL_ERROR_RT_INVALID_HANDLE, 0, 1);
    fake_acl()->fail("aclrtStreamQuery", ACL_ERROR_RT_INVALID_HANDLE, 0, 1);
    CHECK_EQ(launch(kernel, default_stream()), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_EQ(std::strcmp(ascend_cy_last_function(), launch_name()), 0);
    CHECK_EQ(loads(), before + 2);
    OK(launch(kernel, default_stream()));
    CHECK_EQ(loads(), before + 2);
    ascend_cy_module_release(module);
    CHECK_EQ(ascend_cy_live_modules(), 0);
}

// ---- everything below fails once ----

static int all_at_once()
{
    Module *module = nullptr;
    if (const int error = ascend_cy_module_load(image, sizeof image, "mine", &module))
        return error;
    Kernel *kernel = nullptr;
    Module *next = nullptr;
    int error = ascend_cy_module_kernel(module, "add", &kernel);
    if (error == 0) {
        uint64_t block[] = {0, 1, 2};
        const ascend_cy_inline_data_t data = {0, 16, 8};
        error = ascend_cy_kernel_launch(kernel, 2, block, 16, 24, &data, 1, default_stream());
    }
    if (error == 0) // the second version, as a reload does
        error = ascend_cy_module_load(image, sizeof image, "mine", &next);
    if (error == 0)
        error = ascend_cy_module_kernel(next, "add", &kernel);
    if (error == 0)
        error = launch(kernel, default_stream());
    ascend_cy_launches_t *some = nullptr;
    if (error == 0)
        error = ascend_cy_module_launches(module, &some);
    if (error == 0)
        error = ascend_cy_launches_wait(some, 1000);
    ascend_cy_launches_release(some);
    ascend_cy_module_release(module);
    if (error == 0)
        error = ascend_cy_module_wait(next, -1);
    ascend_cy_module_release(next);
    return error;
}

TEST(every_call_fails_once)
{
    OK(all_at_once());
    const char *const functions[] = {
        "aclrtGetDevice", "aclrtSetDevice", "aclrtGetCurrentContext", "aclrtSetCurrentContext", "aclrtBinaryLoadFromData",
        "aclrtCreateBinary", "aclrtDestroyBinary", "aclrtBinaryLoad", "aclrtBinaryGetFunction", "aclrtKernelArgsInit",
        "aclrtKernelArgsAppend", "aclrtKernelArgsAppendPlaceHolder", "aclrtKernelArgsGetPlaceHolderBuffer",
        "aclrtKernelArgsFinalize", "aclrtLaunchKernelWithConfig", "aclrtLaunchKernelWithHostArgs", "aclrtStreamQuery",
        "aclrtCreateEventExWithFlag", "aclrtRecordEvent", "aclrtQueryEventStatus", "aclrtSynchronizeEvent",
        "aclrtSynchronizeEventWithTimeout", "aclrtDestroyEvent",
    };
    // What these do is not lost, or is not worth an exception: marks are replaced by asking the stream.
    const auto may_be_swallowed = [](const char *name) {
        return std::strstr(name, "Event") != nullptr || std::strcmp(name, "aclrtGetDevice") == 0 ||
               std::strcmp(name, "aclrtDestroyBinary") == 0 || std::strcmp(name, "aclrtStreamQuery") == 0;
    };
    int failures = 0;
    for (const char *const name : functions)
        for (int skip = 0;; ++skip) {
            const long before = fake_acl()->calls(name);
            fake_acl()->fail(name, ACL_ERROR_RT_INTERNAL_ERROR, skip, 1);
            const int code = all_at_once();
            const bool happened = fake_acl()->calls(name) - before > skip;
            fake_acl()->fail(name, 0, 0, 0);
            if (!happened)
                break;
            ++failures;
            if (code == 0) {
                if (!may_be_swallowed(name))
                    std::fprintf(stderr, "%s failed (after %d calls) and nobody was told\n", name, skip);
                CHECK(may_be_swallowed(name));
            } else {
                CHECK_EQ(code, std::strcmp(name, "aclrtCreateBinary") == 0 ? ACL_ERROR_INVALID_PARAM
                                                                          : ACL_ERROR_RT_INTERNAL_ERROR);
                CHECK_EQ(std::strcmp(ascend_cy_last_function(), name), 0);
                expect_message("was told to fail");
            }
            CHECK_EQ(ascend_cy_live_modules(), 0);
            if (fake_acl()->binaries() != 0)
                std::fprintf(stderr, "%s failed (after %d calls): %ld binaries left\n", name, skip, fake_acl()->binaries());
            expect_no_modules();
            OK(all_at_once());
        }
    CHECK(failures > 12);
}

TEST(an_unload_that_fails)
{
    Module *module = load();
    fake_acl()->fail("aclrtBinaryUnLoad", ACL_ERROR_RT_INTERNAL_ERROR, 0, 1);
    ascend_cy_module_release(module);
    CHECK_EQ(ascend_cy_live_modules(), 0); // there is nobody to tell
    CHECK_EQ(std::strcmp(ascend_cy_last_message(), ""), 0);
}

// ---- threads, forks, the end ----

TEST(many_threads)
{
    Module *shared = load("shared");
    Kernel *kernel = find(shared);
    std::vector<std::thread> threads;
    for (int id = 0; id < 4; ++id)
        threads.emplace_back([=] {
            OK(ascend_cy_set_device(id % 2));
            Stream *stream = make_stream(id % 2);
            for (int i = 0; i < 200; ++i) {
                Module *own = load();
                OK(launch(find(own), stream));
                OK(launch(find(shared, i % 2 == 0 ? "sub" : "mul"), stream));
                OK(launch(kernel, stream));
                if (i % 16 == 0)
                    OK(ascend_cy_module_wait(shared, -1));
                if (i % 32 == 0)
                    CHECK(ascend_cy_live_modules() >= 1);
                ascend_cy_module_release(own);
            }
            ascend_cy_stream_release(stream);
        });
    for (std::thread &thread : threads)
        thread.join();
    ascend_cy_module_release(shared);
    expect_no_modules();
    CHECK_EQ(fake_acl()->streams(), 0);
}

TEST(a_forked_child)
{
    Module *module = load();
    Kernel *kernel = find(module);
    OK(launch(kernel, default_stream()));
    ascend_cy_launches_t *some = nullptr;
    OK(ascend_cy_module_launches(module, &some));
    const pid_t child = fork();
    if (child == 0) {
        Module *mine = nullptr;
        Kernel *found = nullptr;
        const bool refused = ascend_cy_module_load(image, sizeof image, "mine", &mine) == ACL_ERROR_UNINITIALIZE &&
                             ascend_cy_module_kernel(module, "add", &found) == ACL_ERROR_UNINITIALIZE &&
                             launch(kernel, default_stream()) == ACL_ERROR_UNINITIALIZE &&
                             ascend_cy_module_wait(module, -1) == ACL_ERROR_UNINITIALIZE &&
                             ascend_cy_launches_wait(some, -1) == ACL_ERROR_UNINITIALIZE && ascend_cy_live_modules() == 0;
        ascend_cy_launches_release(some);
        ascend_cy_module_release(module);
        _exit(refused ? 0 : 1);
    }
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    ascend_cy_launches_release(some);
    ascend_cy_module_release(module);
    expect_no_modules();
}

TEST(after_the_end)
{
    Module *module = load();
    Kernel *kernel = find(module);
    OK(launch(kernel, default_stream()));
    Stream *const stream = default_stream();
    ascend_cy_launches_t *some = nullptr;
    OK(ascend_cy_module_launches(module, &some));
    ascend_cy_shutdown();
    Module *other = nullptr;
    CHECK_EQ(ascend_cy_module_load(image, sizeof image, "mine", &other), ACL_ERROR_UNINITIALIZE);
    CHECK_EQ(launch(kernel, stream), ACL_ERROR_UNINITIALIZE);
    CHECK_EQ(ascend_cy_module_wait(module, -1), ACL_ERROR_UNINITIALIZE);
    CHECK_EQ(ascend_cy_launches_wait(some, -1), ACL_ERROR_UNINITIALIZE);
    const long calls = fake_acl()->calls(nullptr);
    ascend_cy_launches_release(some);
    ascend_cy_module_release(module);
    CHECK_EQ(ascend_cy_live_modules(), 0);
    CHECK_EQ(fake_acl()->calls(nullptr), calls); // nothing is called any more
}

int main(int argc, char **argv)
{
    OK(ascend_cy_ensure_context());
    return run_tests(argc, argv);
}
