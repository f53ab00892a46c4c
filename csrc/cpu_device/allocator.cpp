/* SPDX-License-Identifier: Apache-2.0 */
#include "allocator.h"

#include <map>
#include <mutex>
#include <set>

#include "leaks.h"
#include "stream.h"

namespace acl_cpu {
namespace {

struct Description {
    aclrtAllocator allocator = nullptr;
    aclrtAllocatorAllocFunc allocate = nullptr;
    aclrtAllocatorFreeFunc release = nullptr;
    aclrtAllocatorAllocAdviseFunc allocate_near = nullptr;
    aclrtAllocatorGetAddrFromBlockFunc address = nullptr;
};

struct Registered {
    void *description;
    Description copy; /* the description may be destroyed after the registration */
};

struct Registry {
    std::mutex lock;
    std::set<void *> descriptions;
    std::map<void *, Registered> by_stream; /* stream handles */
};
Registry &registry = *new Registry;

/* Under the registry's lock. */
aclError find_description(void *handle, Description **description)
{
    REQUIRE(handle != nullptr, "allocator_desc is NULL");
    REQUIRE(registry.descriptions.count(handle) != 0, "allocator_desc %p was not made by aclrtAllocatorCreateDesc", handle);
    *description = static_cast<Description *>(handle);
    return ACL_SUCCESS;
}

template <class Field> aclError set_field(void *handle, Field Description::*field, Field value, const char *name)
{
    std::lock_guard<std::mutex> hold(registry.lock);
    Description *description = nullptr;
    RETURN_IF_ERROR(find_description(handle, &description));
    REQUIRE(value != nullptr, "%s is NULL", name);
    description->*field = value;
    return ACL_SUCCESS;
}

} // namespace

void forget_allocator(Stream &stream)
{
    std::lock_guard<std::mutex> hold(registry.lock);
    registry.by_stream.erase(stream.handle());
}

} // namespace acl_cpu

using namespace acl_cpu;

aclrtAllocatorDesc aclrtAllocatorCreateDesc(void)
{
    t_state.api = __func__;
    if (forked_child()) return nullptr;
    std::lock_guard<std::mutex> hold(registry.lock);
    Description *description = new Description;
    registry.descriptions.insert(description);
    track(description, "allocator description", __builtin_return_address(0));
    return description;
}

aclError aclrtAllocatorDestroyDesc(aclrtAllocatorDesc allocator_desc)
{
    ACL_ENTRY_RELEASE();
    std::lock_guard<std::mutex> hold(registry.lock);
    Description *description = nullptr;
    RETURN_IF_ERROR(find_description(allocator_desc, &description));
    registry.descriptions.erase(allocator_desc);
    untrack(description);
    delete description;
    return ACL_SUCCESS;
}

aclError aclrtAllocatorSetObjToDesc(aclrtAllocatorDesc allocator_desc, aclrtAllocator allocator)
{
    ACL_ENTRY();
    return set_field(allocator_desc, &Description::allocator, allocator, "allocator");
}

aclError aclrtAllocatorSetAllocFuncToDesc(aclrtAllocatorDesc allocator_desc, aclrtAllocatorAllocFunc func)
{
    ACL_ENTRY();
    return set_field(allocator_desc, &Description::allocate, func, "func");
}

aclError aclrtAllocatorSetFreeFuncToDesc(aclrtAllocatorDesc allocator_desc, aclrtAllocatorFreeFunc func)
{
    ACL_ENTRY();
    return set_field(allocator_desc, &Description::release, func, "func");
}

aclError aclrtAllocatorSetAllocAdviseFuncToDesc(aclrtAllocatorDesc allocator_desc, aclrtAllocatorAllocAdviseFunc func)
{
    ACL_ENTRY();
    return set_field(allocator_desc, &Description::allocate_near, func, "func");
}

aclError aclrtAllocatorSetGetAddrFromBlockFuncToDesc(aclrtAllocatorDesc allocator_desc, aclrtAllocatorGetAddrFromBlockFunc func)
{
    ACL_ENTRY();
    return set_field(allocator_desc, &Description::address, func, "func");
}

aclError aclrtAllocatorRegister(aclrtStream stream, aclrtAllocatorDesc allocator_desc)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(stream);
    Stream *target = nullptr;
    RETURN_IF_ERROR(find_any_stream(stream, &target));
    std::lock_guard<std::mutex> hold(registry.lock);
    Description *description = nullptr;
    RETURN_IF_ERROR(find_description(allocator_desc, &description));
    REQUIRE(description->allocator != nullptr && description->allocate != nullptr && description->release != nullptr &&
                description->address != nullptr,
            "allocator_desc lacks its object or one of the functions alloc, free, get-address");
    RETURN_IF_ERROR(refuse_closed(*target));
    registry.by_stream[target->handle()] = Registered{allocator_desc, *description};
    return ACL_SUCCESS;
}

aclError aclrtAllocatorGetByStream(aclrtStream stream, aclrtAllocatorDesc *allocator_desc, aclrtAllocator *allocator,
                                   aclrtAllocatorAllocFunc *alloc_func, aclrtAllocatorFreeFunc *free_func,
                                   aclrtAllocatorAllocAdviseFunc *alloc_advise_func,
                                   aclrtAllocatorGetAddrFromBlockFunc *get_addr_from_block_func)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(stream);
    Stream *target = nullptr;
    RETURN_IF_ERROR(find_any_stream(stream, &target));
    std::lock_guard<std::mutex> hold(registry.lock);
    auto found = registry.by_stream.find(target->handle());
    REQUIRE(found != registry.by_stream.end(), "no allocator is registered for stream %d", target->id);
    const Registered &entry = found->second;
    if (allocator_desc != nullptr) *allocator_desc = entry.description;
    if (allocator != nullptr) *allocator = entry.copy.allocator;
    if (alloc_func != nullptr) *alloc_func = entry.copy.allocate;
    if (free_func != nullptr) *free_func = entry.copy.release;
    if (alloc_advise_func != nullptr) *alloc_advise_func = entry.copy.allocate_near;
    if (get_addr_from_block_func != nullptr) *get_addr_from_block_func = entry.copy.address;
    return ACL_SUCCESS;
}

aclError aclrtAllocatorUnregister(aclrtStream stream)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(stream);
    Stream *target = nullptr;
    RETURN_IF_ERROR(find_any_stream(stream, &target));
    std::lock_guard<std::mutex> hold(registry.lock);
    REQUIRE(registry.by_stream.erase(target->handle()) != 0, "no allocator is registered for stream %d", target->id);
    return ACL_SUCCESS;
}
