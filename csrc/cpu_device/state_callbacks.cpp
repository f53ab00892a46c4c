/* SPDX-License-Identifier: Apache-2.0 */
#include "state_callbacks.h"

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "stream.h"

namespace acl_cpu {
namespace {

/* Named callbacks of one kind. Callbacks run without the lock, so they may call AscendCL. */
template <class Function> struct Registry {
    struct Entry {
        Function function;
        void *argument;
    };
    std::mutex lock;
    std::map<std::string, Entry> entries;

    aclError change(const char *name, Function function, void *argument)
    {
        REQUIRE(name != nullptr && name[0] != '\0', "reg_name is NULL or empty");
        std::lock_guard<std::mutex> hold(lock);
        auto found = entries.find(name);
        if (function == nullptr) {
            if (found == entries.end()) return fail(ACL_ERROR_RT_PARAM_INVALID, "no callback is registered as \"%s\"", name);
            entries.erase(found);
            return ACL_SUCCESS;
        }
        if (found != entries.end()) return fail(ACL_ERROR_RT_PARAM_INVALID, "\"%s\" is registered already", name);
        entries[name] = Entry{function, argument};
        return ACL_SUCCESS;
    }

    std::vector<Entry> all()
    {
        std::lock_guard<std::mutex> hold(lock);
        std::vector<Entry> result;
        for (const auto &entry : entries) result.push_back(entry.second);
        return result;
    }
};

auto &device_callbacks = *new Registry<aclrtDeviceStateCallback>;
auto &stream_callbacks = *new Registry<aclrtStreamStateCallback>;

} // namespace

void notify_device_state(int32_t device, aclrtDeviceState state)
{
    UseScope scope;
    for (const auto &entry : device_callbacks.all()) entry.function(device, state, entry.argument);
}

void notify_stream_state(Stream &stream, aclrtStreamState state)
{
    UseScope scope;
    for (const auto &entry : stream_callbacks.all()) entry.function(stream.handle(), state, entry.argument);
}

} // namespace acl_cpu

using namespace acl_cpu;

aclError aclrtRegDeviceStateCallback(const char *reg_name, aclrtDeviceStateCallback callback, void *args)
{
    ACL_ENTRY();
    return device_callbacks.change(reg_name, callback, args);
}

aclError aclrtRegStreamStateCallback(const char *reg_name, aclrtStreamStateCallback callback, void *args)
{
    ACL_ENTRY();
    return stream_callbacks.change(reg_name, callback, args);
}
