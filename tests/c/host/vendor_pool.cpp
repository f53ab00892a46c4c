// SPDX-License-Identifier: Apache-2.0
//
// Ours beside AscendCL's own stream-ordered pools (aclrtMemPool*), in one run: the cost of making and freeing a buffer, and what
// is reserved for nobody at the peak of a recorded trace. Prints a line each; docs/memory.md says what follows from it.
//
//     vendor_pool FILE
#include <chrono>
#include <fstream>

#include "check.h"

static const ascend_cy_acl_table *acl() { return ascend_cy_acl_get_table(); }

static aclrtMemPool make_vendor_pool()
{
    aclrtMemPoolProps props;
    std::memset(&props, 0, sizeof props);
    props.allocType = ACL_MEM_ALLOCATION_TYPE_PINNED;
    props.handleType = ACL_MEM_HANDLE_TYPE_NONE;
    props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    aclrtMemPool pool = nullptr;
    OK(acl()->aclrtMemPoolCreate(&pool, &props));
    uint64_t all = UINT64_MAX; // keep everything, as ours does
    OK(acl()->aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &all));
    return pool;
}

template <typename Work> static double nanoseconds(Work work)
{
    double best = 1e300;
    for (int repeat = 0; repeat < 15; ++repeat) {
        constexpr int count = 20000;
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < count; ++i)
            work();
        const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
        best = std::min(best, took.count() / count);
    }
    return best;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    OK(ascend_cy_ensure_context());
    if (ascend_cy_has("aclrtMemPoolMallocAsync") == 0) {
        std::puts("absent");
        return 0;
    }
    ascend_cy_stream_t *stream = make_stream();
    aclrtStream handle = ascend_cy_stream_handle(stream);
    aclrtMemPool pool = make_vendor_pool();
    for (size_t size : {KiB, MiB, 64 * MiB}) {
        const double ours = nanoseconds([&] { ascend_cy_buffer_release(make(size, stream)); });
        const double theirs = nanoseconds([&] {
            void *pointer = nullptr;
            OK(acl()->aclrtMemPoolMallocAsync(&pointer, size, pool, handle));
            OK(acl()->aclrtMemPoolFreeAsync(pointer, handle));
        });
        OK(ascend_cy_stream_synchronize(stream, -1));
        std::printf("%zu bytes; %.0f; %.0f\n", size, ours, theirs);
    }
    OK(acl()->aclrtMemPoolDestroy(pool));

    std::ifstream in(argv[1]);
    std::string line;
    CHECK(std::getline(in, line) && line[0] == '#');
    ascend_cy_pool_t *mine = nullptr;
    OK(ascend_cy_pool_create(0, "", UINT64_MAX, &mine));
    OK(ascend_cy_set_current_pool(0, mine));
    pool = make_vendor_pool();
    std::vector<std::pair<ascend_cy_buffer_t *, void *>> live;
    std::vector<size_t> sizes;
    uint64_t asked = 0;
    uint64_t peak = 0;
    double ours = 0;
    double theirs = 0;
    for (long long number = 0; in >> number;) {
        if (number < 0) {
            auto &gone = live[static_cast<size_t>(-number - 1)];
            asked -= sizes[static_cast<size_t>(-number - 1)];
            ascend_cy_buffer_release(gone.first);
            OK(acl()->aclrtMemPoolFreeAsync(gone.second, handle));
            gone = {nullptr, nullptr};
            continue;
        }
        const auto size = static_cast<size_t>(number);
        void *pointer = nullptr;
        OK(acl()->aclrtMemPoolMallocAsync(&pointer, size, pool, handle));
        live.emplace_back(make(size, stream), pointer);
        sizes.push_back(size);
        asked += size;
        if (asked > peak) {
            peak = asked;
            ascend_cy_pool_figures_t now;
            OK(ascend_cy_pool_figures(mine, &now, sizeof now));
            uint64_t reserved = 0;
            OK(acl()->aclrtMemPoolGetAttr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
            ours = 1.0 - static_cast<double>(peak) / static_cast<double>(now.reserved_bytes);
            theirs = 1.0 - static_cast<double>(peak) / static_cast<double>(reserved);
        }
    }
    std::printf("unused at the peak; %.4f; %.4f\n", ours, theirs);
    for (auto &left : live) {
        ascend_cy_buffer_release(left.first);
        if (left.second != nullptr)
            OK(acl()->aclrtMemPoolFreeAsync(left.second, handle));
    }
    OK(ascend_cy_stream_synchronize(stream, -1));
    OK(acl()->aclrtMemPoolDestroy(pool));
    OK(ascend_cy_set_current_pool(0, nullptr));
    ascend_cy_pool_release(mine);
    ascend_cy_stream_release(stream);
    return 0;
}
