/* SPDX-License-Identifier: Apache-2.0 */
#include "log.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>

#include "in_use.h"

namespace acl_cpu {

std::atomic<uint32_t> g_log_topics{0};

namespace {

constexpr struct {
    const char *name;
    uint32_t bit;
} topic_names[] = {
    {"memory", ASCENDCL_CPU_LOG_MEMORY}, {"streams", ASCENDCL_CPU_LOG_STREAMS}, {"launches", ASCENDCL_CPU_LOG_LAUNCHES},
    {"errors", ASCENDCL_CPU_LOG_ERRORS}, {"leaks", ASCENDCL_CPU_LOG_LEAKS},     {"all", ASCENDCL_CPU_LOG_ALL},
};

const char *topic_name(uint32_t topic)
{
    for (const auto &entry : topic_names) {
        if (entry.bit == topic) return entry.name;
    }
    return "log";
}

/* Never destroyed: the device's threads may log while the process exits. */
std::mutex &sink_lock = *new std::mutex;
void (*sink)(uint32_t, const char *, void *) = nullptr;
void *sink_context = nullptr;

/* Another lock than the sink's, which is held where callbacks run: they may choose topics. */
std::mutex &topics_lock = *new std::mutex;
bool topics_chosen = false; /* by ascendcl_cpu_set_log_topics */
uint32_t topics_of_environment = 0;

} // namespace

void log_line(uint32_t topic, const char *format, ...)
{
    char line[1024];
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int used = snprintf(line, sizeof line, "ascendcl_cpu %ld.%06ld [%s] tid %ld: ", static_cast<long>(now.tv_sec),
                        now.tv_nsec / 1000, topic_name(topic), static_cast<long>(syscall(SYS_gettid)));
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + used, sizeof line - static_cast<size_t>(used) - 1, format, arguments);
    va_end(arguments);

    std::lock_guard<std::mutex> hold(sink_lock);
    /* Turned off meanwhile: whoever does that, and then takes the callback away, gets no line on stderr. */
    if (!logs(topic)) return;
    if (sink != nullptr) {
        UseScope scope;
        sink(topic, line, sink_context);
        return;
    }
    size_t length = strlen(line);
    line[length++] = '\n';
    /* One write, so that lines of several threads or processes do not mix. */
    ssize_t written = write(STDERR_FILENO, line, length);
    static_cast<void>(written);
}

bool parse_log_topics(const char *text, uint32_t *topics, const char **bad_word)
{
    uint32_t mask = 0;
    for (const char *word = text; *word != '\0';) {
        size_t length = strcspn(word, ",");
        bool known = length == 0;
        for (const auto &entry : topic_names) {
            if (strlen(entry.name) == length && strncmp(entry.name, word, length) == 0) {
                mask |= entry.bit;
                known = true;
            }
        }
        if (!known) {
            *bad_word = word;
            return false;
        }
        word += length + (word[length] == ',' ? 1 : 0);
    }
    *topics = mask;
    return true;
}

void adopt_log_topics(uint32_t topics)
{
    std::lock_guard<std::mutex> hold(topics_lock);
    topics_of_environment = topics;
    if (!topics_chosen) g_log_topics.store(topics);
}

void reset_log_locks_after_fork()
{
    new (&sink_lock) std::mutex;
    new (&topics_lock) std::mutex;
}

} // namespace acl_cpu

void ascendcl_cpu_set_log_topics(uint32_t topics)
{
    std::lock_guard<std::mutex> hold(acl_cpu::topics_lock);
    acl_cpu::topics_chosen = true;
    acl_cpu::g_log_topics.store(topics & ASCENDCL_CPU_LOG_ALL);
}

void ascendcl_cpu_reset_log_topics(void)
{
    std::lock_guard<std::mutex> hold(acl_cpu::topics_lock);
    acl_cpu::topics_chosen = false;
    acl_cpu::g_log_topics.store(acl_cpu::topics_of_environment);
}

uint32_t ascendcl_cpu_get_log_topics(void) { return acl_cpu::g_log_topics.load(); }

void ascendcl_cpu_set_log_callback(void (*callback)(uint32_t, const char *, void *), void *context)
{
    std::lock_guard<std::mutex> hold(acl_cpu::sink_lock);
    acl_cpu::sink = callback;
    acl_cpu::sink_context = context;
}
