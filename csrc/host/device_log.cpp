// SPDX-License-Identifier: Apache-2.0
//
// The device calls keep_line with a lock of its own held, from threads that may have the GIL: nothing here waits but
// for the few instructions of another line.
#include "device_log.h"

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <mutex>
#include <new>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "errors.h"
#include "lifecycle.h"

namespace ascend_cy {

namespace {

constexpr size_t most_lines = 10000; // 1 to 2 MB

struct Log {
    std::mutex switching; // held while it is turned on or off
    bool on = false;

    std::mutex mutex; // guards the rest; under it nothing is waited for
    std::condition_variable changed;
    ascend_cy_log_line_t *first = nullptr;
    ascend_cy_log_line_t **end = &first;
    size_t count = 0;
    uint64_t lost = 0;
    bool open = false;
};
Log &kept = *new Log; // never destroyed: the device's threads outlive main()

thread_local bool is_reader = false;

// The device's own interface beyond AscendCL (ascendcl_cpu.h), which a vendor's library does not have.
struct Device {
    void (*set_topics)(uint32_t topics);
    void (*reset_topics)();
    void (*set_callback)(void (*callback)(uint32_t topic, const char *line, void *context), void *context);

    explicit Device(void *library) noexcept
        : set_topics(find<decltype(set_topics)>(library, "ascendcl_cpu_set_log_topics")),
          reset_topics(find<decltype(reset_topics)>(library, "ascendcl_cpu_reset_log_topics")),
          set_callback(find<decltype(set_callback)>(library, "ascendcl_cpu_set_log_callback"))
    {
    }
    bool has_log() const noexcept
    {
        return set_topics != nullptr && reset_topics != nullptr && set_callback != nullptr;
    }

private:
    template <class Function> static Function find(void *library, const char *name) noexcept
    {
        return reinterpret_cast<Function>(dlsym(library, name));
    }
};

ascend_cy_log_line_t *new_line(uint32_t topic, const char *text) noexcept
{
    const size_t size = strlen(text) + 1;
    auto *const line = static_cast<ascend_cy_log_line_t *>(std::malloc(sizeof(ascend_cy_log_line_t) + size));
    if (line == nullptr)
        return nullptr;
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    new (line) ascend_cy_log_line_t{};
    line->text = static_cast<char *>(memcpy(line + 1, text, size));
    line->written_ns = int64_t{1000000000} * now.tv_sec + now.tv_nsec;
    line->thread = syscall(SYS_gettid);
    pthread_getname_np(pthread_self(), line->thread_name, sizeof line->thread_name);
    line->topic = topic;
    return line;
}

void keep_line(uint32_t topic, const char *line, void *) noexcept
{
    if (is_reader)
        return;
    const char *const mark = strstr(line, ": "); // "ascendcl_cpu 12.345678 [memory] tid 9: free ..."
    ascend_cy_log_line_t *const made = new_line(topic, mark != nullptr ? mark + 2 : line);
    {
        std::lock_guard<std::mutex> lock(kept.mutex);
        if (made != nullptr && kept.open && kept.count < most_lines) {
            *kept.end = made;
            kept.end = &made->next;
            ++kept.count;
            kept.changed.notify_one();
            return;
        }
        kept.lost += kept.open ? 1 : 0;
    }
    std::free(made);
}

void set_open(bool open) noexcept
{
    std::lock_guard<std::mutex> lock(kept.mutex);
    kept.open = open;
    kept.changed.notify_all();
}

} // namespace

void forget_device_log_of_parent() noexcept
{
    // Abandoned as they are, with the memory of the lines: another thread may have been in the middle of a change.
    const bool on = kept.on;
    const bool open = kept.open;
    new (&kept) Log;
    kept.on = on;
    kept.open = open;
    is_reader = false;
}

} // namespace ascend_cy

using namespace ascend_cy;

int ascend_cy_device_log_start(uint32_t topics)
{
    if (const int error = beyond_use())
        return error;
    const LoadedDevice *const loaded = loaded_device();
    if (loaded->info.error != 0)
        return fail(loaded->info.error, "", "%s", loaded->error.c_str());
    const Device device(loaded->handle);
    if (!device.has_log())
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "",
                    "%s has no log that can be read, which only the embedded device has; for CANN's own see its "
                    "variables ASCEND_SLOG_PRINT_TO_STDOUT and ASCEND_GLOBAL_LOG_LEVEL",
                    loaded->info.library);
    std::lock_guard<std::mutex> lock(kept.switching);
    kept.on = true;
    set_open(true);
    device.set_callback(keep_line, nullptr);
    device.set_topics(topics);
    return ACL_SUCCESS;
}

void ascend_cy_device_log_stop(void)
{
    if (ascend_cy_is_forked_child() != 0)
        return;
    std::lock_guard<std::mutex> lock(kept.switching);
    if (!kept.on)
        return;
    const Device device(loaded_device()->handle);
    device.reset_topics();
    device.set_callback(nullptr, nullptr);
    kept.on = false;
    set_open(false);
}

void ascend_cy_device_log_take(ascend_cy_log_line_t **lines, uint64_t *lost)
{
    is_reader = true;
    std::unique_lock<std::mutex> lock(kept.mutex);
    kept.changed.wait(lock, [] { return kept.count != 0 || kept.lost != 0 || !kept.open; });
    *lines = kept.first;
    *lost = kept.lost;
    kept.first = nullptr;
    kept.end = &kept.first;
    kept.count = 0;
    kept.lost = 0;
}

void ascend_cy_device_log_free(ascend_cy_log_line_t *lines)
{
    while (lines != nullptr) {
        ascend_cy_log_line_t *const next = lines->next;
        std::free(lines);
        lines = next;
    }
}
