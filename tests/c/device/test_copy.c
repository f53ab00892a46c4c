/* SPDX-License-Identifier: Apache-2.0
 * Copies and fills in all forms. */
#include "check.h"

#define MIB ((size_t)1 << 20)

static aclrtBinHandle binary;

static void fill_pattern(unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; ++i) p[i] = (unsigned char)(i * 2654435761u >> 13);
}

static void synchronous(void)
{
    unsigned char host[256], back[256];
    unsigned char *device;
    OK(aclrtMalloc((void **)&device, 256, ACL_MEM_MALLOC_HUGE_FIRST));
    fill_pattern(host, 256);
    OK(aclrtMemcpy(device, 256, host, 256, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtMemcpy(back, 256, device, 256, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(memcmp(host, back, 256) == 0);
    /* a wrong direction is tolerated, any mixture works */
    memset(back, 0, 256);
    OK(aclrtMemcpy(back, 256, device, 256, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK(memcmp(host, back, 256) == 0);
    OK(aclrtMemcpy(back, 256, host, 256, ACL_MEMCPY_HOST_TO_HOST));
    OK(aclrtMemcpy(device + 128, 128, device, 128, ACL_MEMCPY_DEVICE_TO_DEVICE));
    OK(aclrtMemcpy(device, 256, device + 1, 255, ACL_MEMCPY_DEFAULT)); /* overlap */
    OK(aclrtMemcpy(device, 256, device, 256, ACL_MEMCPY_DEFAULT));
    OK(aclrtMemcpy(NULL, 0, NULL, 0, ACL_MEMCPY_HOST_TO_DEVICE));
    FAILS(100000, aclrtMemcpy(NULL, 256, host, 256, ACL_MEMCPY_HOST_TO_DEVICE));
    FAILS(100000, aclrtMemcpy(device, 256, NULL, 256, ACL_MEMCPY_HOST_TO_DEVICE));
    FAILS(107000, aclrtMemcpy(device, 255, host, 256, ACL_MEMCPY_HOST_TO_DEVICE));
    FAILS(100000, aclrtMemcpy(device, 256, host, 256, (aclrtMemcpyKind)6));
    FAILS(100000, aclrtMemcpy(device, 256, host, 256, (aclrtMemcpyKind)-1));
    /* past the end of known memory: 256 + 32 bytes may be touched */
    FAILS(107000, aclrtMemcpy(device + 200, 256, host, 100, ACL_MEMCPY_HOST_TO_DEVICE));
    FAILS(107000, aclrtMemset(device, 1000, 0, 1000));
    OK(aclrtMemset(device, 256, 0x1FF, 256)); /* the low byte */
    CHECK(device[0] == 0xFF && device[255] == 0xFF);
    OK(aclrtMemset(NULL, 0, 0, 0));
    FAILS(100000, aclrtMemset(NULL, 8, 0, 8));
    FAILS(107000, aclrtMemset(device, 8, 0, 9));
    OK(aclrtMemsetD32(device, 256, 0x01020304, 64));
    CHECK(((uint32_t *)device)[63] == 0x01020304);
    FAILS(100000, aclrtMemsetD32(device + 1, 128, 0, 1));
    FAILS(100000, aclrtMemsetD32(device, 7, 0, 2));
    FAILS(100000, aclrtMemsetD32(NULL, 8, 0, 2));
    OK(aclrtMemsetD32Async(device, 256, 7, 64, NULL));
    FAILS(100000, aclrtMemsetD32Async(device + 2, 128, 0, 1, NULL));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(((uint32_t *)device)[0] == 7);
    OK(aclrtFree(device));
}

static void asynchronous(void)
{
    aclrtFuncHandle sleeper = kernel(binary, "sleep_us");
    aclrtStream stream;
    unsigned char *pinned, *device, *second, pageable[4096];
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost((void **)&pinned, 4096));
    OK(aclrtMalloc((void **)&device, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc((void **)&second, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(device, 0, 4096);
    fill_pattern(pinned, 4096);
    /* pinned: enqueued only */
    OK(run_with(sleeper, 1, stream, NULL, 30000));
    double start = seconds();
    OK(aclrtMemcpyAsync(device, 4096, pinned, 4096, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    OK(aclrtMemcpyAsync(second, 4096, device, 4096, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    IN_TIME(seconds() - start < 0.02 && device[1] == 0);
    OK(aclrtSynchronizeStream(stream));
    CHECK(memcmp(second, pinned, 4096) == 0);
    /* pageable: done on return, in order behind the rest */
    OK(run_with(sleeper, 1, stream, NULL, 30000));
    OK(aclrtMemsetAsync(second, 4096, 9, 4096, stream));
    memset(pageable, 0, sizeof pageable);
    start = seconds();
    OK(aclrtMemcpyAsync(pageable, 4096, second, 4096, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    CHECK(seconds() - start > 0.02 && pageable[4095] == 9);
    /* staged: the source may be reused at once */
    OK(run_with(sleeper, 1, stream, NULL, 30000));
    memset(pageable, 5, sizeof pageable);
    start = seconds();
    OK(aclrtMemcpyAsync(device, 4096, pageable, 4096, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream));
    IN_TIME(seconds() - start < 0.02);
    memset(pageable, 6, sizeof pageable);
    OK(aclrtSynchronizeStream(stream));
    CHECK(device[0] == 5 && device[4095] == 5);

    OK(aclrtMemcpyAsync(NULL, 0, NULL, 0, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    FAILS(207000, aclrtMemcpyAsync(pinned, 10, pageable, 10, ACL_MEMCPY_HOST_TO_HOST, stream));
    FAILS(107000, aclrtMemcpyAsync(pinned, 10, pinned + 100, 10, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    FAILS(107000, aclrtMemcpyAsync(device, 10, pinned, 10, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    FAILS(100000, aclrtMemcpyAsync(device, 10, pinned, 10, (aclrtMemcpyKind)6, stream));
    FAILS(100000, aclrtMemcpyAsync(device, 10, pinned, 10, (aclrtMemcpyKind)7, stream));
    FAILS(100000, aclrtMemcpyAsync(NULL, 10, pinned, 10, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    FAILS(107000, aclrtMemcpyAsync(device, 9, pinned, 10, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    FAILS(107000, aclrtMemcpyAsync(device + 4090, 100, pinned, 100, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    FAILS(107000, aclrtMemcpyAsync(device, 10, pinned, 10, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    FAILS(107000, aclrtMemcpyAsync(pinned, 10, device, 10, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    OK(aclrtMemcpyAsync(device, 10, pinned, 10, ACL_MEMCPY_DEFAULT, stream));
    OK(aclrtMemsetAsync(NULL, 0, 0, 0, stream));
    FAILS(100000, aclrtMemsetAsync(NULL, 8, 0, 8, stream));
    FAILS(107000, aclrtMemsetAsync(device, 8, 0, 9, stream));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtDestroyStream(stream));
    FAILS(107017, aclrtMemcpyAsync(device, 10, pinned, 10, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    FAILS(107017, aclrtMemsetAsync(device, 10, 0, 10, stream));
    OK(aclrtFree(device));
    OK(aclrtFree(second));
    OK(aclrtFreeHost(pinned));
}

static void large(void)
{
    size_t size = 37 * MIB + 13;
    unsigned char *a, *b;
    OK(aclrtMallocHost((void **)&a, size));
    OK(aclrtMalloc((void **)&b, size, ACL_MEM_MALLOC_HUGE_FIRST));
    fill_pattern(a, size);
    OK(aclrtMemcpy(b, size, a, size, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK(memcmp(a, b, size) == 0);
    OK(aclrtMemsetAsync(b, size, 3, size, NULL));
    OK(aclrtMemcpyAsync(a, size, b, size, ACL_MEMCPY_DEVICE_TO_HOST, NULL));
    OK(aclrtSynchronizeStream(NULL));
    int wrong = 0;
    for (size_t i = 0; i < size; ++i) wrong += a[i] != 3;
    CHECK(wrong == 0);
    OK(aclrtMemsetD32(b, size, 0xA5A5A5A5, size / 4));
    CHECK(b[size - 6] == 0xA5);
    OK(aclrtFreeHost(a));
    OK(aclrtFree(b));
}

static void by_rows(void)
{
    enum { rows = 5, width = 7, dpitch = 10, spitch = 16 };
    unsigned char host[rows * spitch], back[rows * dpitch], *device;
    OK(aclrtMalloc((void **)&device, rows * dpitch, ACL_MEM_MALLOC_HUGE_FIRST));
    fill_pattern(host, sizeof host);
    for (int async = 0; async < 2; ++async) {
        OK(aclrtMemset(device, rows * dpitch, 0xEE, rows * dpitch));
        if (async) OK(aclrtMemcpy2dAsync(device, dpitch, host, spitch, width, rows, ACL_MEMCPY_HOST_TO_DEVICE, NULL));
        else OK(aclrtMemcpy2d(device, dpitch, host, spitch, width, rows, ACL_MEMCPY_HOST_TO_DEVICE));
        memset(back, 0, sizeof back);
        if (async) OK(aclrtMemcpy2dAsync(back, dpitch, device, dpitch, dpitch, rows, ACL_MEMCPY_DEVICE_TO_HOST, NULL));
        else OK(aclrtMemcpy2d(back, dpitch, device, dpitch, dpitch, rows, ACL_MEMCPY_DEVICE_TO_HOST));
        for (int r = 0; r < rows; ++r) {
            for (int c = 0; c < dpitch; ++c) CHECK(back[r * dpitch + c] == (c < width ? host[r * spitch + c] : 0xEE));
        }
    }
    OK(aclrtMemcpy2d(NULL, 0, NULL, 0, 0, 5, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtMemcpy2dAsync(NULL, 0, NULL, 0, 5, 0, ACL_MEMCPY_HOST_TO_DEVICE, NULL));
    FAILS(100000, aclrtMemcpy2d(NULL, dpitch, host, spitch, width, rows, ACL_MEMCPY_HOST_TO_DEVICE));
    FAILS(100000, aclrtMemcpy2d(device, 6, host, spitch, width, rows, ACL_MEMCPY_HOST_TO_DEVICE));
    FAILS(100000, aclrtMemcpy2dAsync(device, dpitch, host, 6, width, rows, ACL_MEMCPY_HOST_TO_DEVICE, NULL));
    FAILS(207000, aclrtMemcpy2d(device, dpitch, host, spitch, width, rows, ACL_MEMCPY_DEVICE_TO_DEVICE));
    FAILS(207000, aclrtMemcpy2dAsync(device, dpitch, host, spitch, width, rows, ACL_MEMCPY_DEFAULT, NULL));
    FAILS(107000, aclrtMemcpy2dAsync(device, 6000000, host, 6000000, 5000001, 1, ACL_MEMCPY_HOST_TO_DEVICE, NULL));
    FAILS(107000, aclrtMemcpy2dAsync(device, 8, host, 8, 8, ((size_t)5 << 20) + 1, ACL_MEMCPY_HOST_TO_DEVICE, NULL));
    FAILS(107000, aclrtMemcpy2d(device, dpitch, host, spitch, width, 50, ACL_MEMCPY_HOST_TO_DEVICE)); /* past the end */
    FAILS(100000, aclrtMemcpy2d(device, SIZE_MAX, host, spitch, width, rows, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtFree(device));
}

static void batches(void)
{
    enum { count = 4, bytes = 100 };
    unsigned char *host, *device;
    OK(aclrtMallocHost((void **)&host, count * bytes));
    OK(aclrtMalloc((void **)&device, count * bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    void *dsts[count], *srcs[count];
    size_t sizes[count], maxs[count], indexes[2] = {0, 2}, failed = 0;
    aclrtMemcpyBatchAttr attrs[2];
    memset(attrs, 0, sizeof attrs);
    for (int i = 0; i < 2; ++i) {
        attrs[i].dstLoc.type = ACL_MEM_LOCATION_TYPE_DEVICE;
        attrs[i].srcLoc.type = ACL_MEM_LOCATION_TYPE_HOST;
    }
    for (int i = 0; i < count; ++i) {
        dsts[i] = device + i * bytes;
        srcs[i] = host + (count - 1 - i) * bytes;
        sizes[i] = maxs[i] = bytes;
    }
    fill_pattern(host, count * bytes);
    OK(aclrtMemcpyBatch(dsts, maxs, srcs, sizes, count, attrs, indexes, 2, &failed));
    CHECK(failed == SIZE_MAX && memcmp(device, host + 300, bytes) == 0 && memcmp(device + 300, host, bytes) == 0);
    OK(aclrtMemset(device, count * bytes, 0, count * bytes));
    OK(aclrtMemcpyBatchAsync(dsts, maxs, srcs, sizes, count, attrs, indexes, 2, &failed, NULL));
    OK(aclrtMemcpyBatchAsyncV2(dsts, maxs, srcs, sizes, count, attrs, indexes, 2, NULL));
    OK(aclrtMemcpyBatchV2(dsts, maxs, srcs, sizes, count, attrs, indexes, 2));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(memcmp(device + 100, host + 200, bytes) == 0);
    srcs[3] = device;
    FAILS(107000, aclrtMemcpyBatch(dsts, maxs, srcs, sizes, count, attrs, indexes, 2, &failed));
    CHECK(failed == 3);
    srcs[3] = host;
    attrs[1].dstLoc.id = 9;
    FAILS(107001, aclrtMemcpyBatch(dsts, maxs, srcs, sizes, count, attrs, indexes, 2, &failed));
    CHECK(failed == 2);
    attrs[1].dstLoc.id = 0;
    attrs[1].srcLoc.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    FAILS(107000, aclrtMemcpyBatch(dsts, maxs, srcs, sizes, count, attrs, indexes, 2, &failed));
    attrs[1].srcLoc.type = ACL_MEM_LOCATION_TYPE_HOST;
    indexes[1] = 0;
    FAILS(107000, aclrtMemcpyBatchV2(dsts, maxs, srcs, sizes, count, attrs, indexes, 2));
    indexes[1] = 4;
    FAILS(107000, aclrtMemcpyBatchAsyncV2(dsts, maxs, srcs, sizes, count, attrs, indexes, 2, NULL));
    indexes[1] = 2;
    sizes[1] = bytes + 1;
    FAILS(107000, aclrtMemcpyBatch(dsts, maxs, srcs, sizes, count, attrs, indexes, 2, &failed));
    sizes[1] = bytes;
    FAILS(100000, aclrtMemcpyBatch(NULL, maxs, srcs, sizes, count, attrs, indexes, 2, &failed));
    FAILS(100000, aclrtMemcpyBatch(dsts, maxs, srcs, sizes, 0, attrs, indexes, 2, &failed));
    FAILS(100000, aclrtMemcpyBatch(dsts, maxs, srcs, sizes, count, attrs, indexes, 5, &failed));
    FAILS(100000, aclrtMemcpyBatch(dsts, maxs, srcs, sizes, count, attrs, indexes, 2, NULL));
    OK(aclrtFreeHost(host));
    OK(aclrtFree(device));
}

static void indirect(void)
{
    struct block {
        unsigned char *dst;
        const unsigned char *src;
        unsigned char bytes[64];
    } *block;
    void *desc;
    size_t size;
    OK(aclrtMalloc((void **)&block, sizeof *block, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(block, 0, sizeof *block);
    block->dst = block->bytes;
    block->src = block->bytes + 32;
    memset(block->bytes + 32, 4, 32);
    OK(aclrtMemcpyAsyncWithOffset((void **)&block->dst, 64, 2, (const void **)&block->src, 8, 1,
                                  ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, NULL));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(block->bytes[1] == 0 && block->bytes[2] == 4 && block->bytes[9] == 4 && block->bytes[10] == 0);
    FAILS(207000, aclrtMemcpyAsyncWithOffset((void **)&block->dst, 64, 0, (const void **)&block->src, 8, 0,
                                             ACL_MEMCPY_HOST_TO_DEVICE, NULL));
    FAILS(107000, aclrtMemcpyAsyncWithOffset((void **)&block->dst, 7, 0, (const void **)&block->src, 8, 0,
                                             ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, NULL));
    FAILS(100000, aclrtMemcpyAsyncWithOffset(NULL, 64, 0, (const void **)&block->src, 8, 0,
                                             ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, NULL));
    OK(aclrtGetMemcpyDescSize(ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, &size));
    FAILS(207000, aclrtGetMemcpyDescSize(ACL_MEMCPY_HOST_TO_DEVICE, &size));
    FAILS(100000, aclrtGetMemcpyDescSize(ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, NULL));
    OK(aclrtMalloc(&desc, size, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(desc, 0, size);
    FAILS(107000, aclrtMemcpyAsyncWithDesc(desc, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, NULL));
    OK(aclrtSetMemcpyDesc(desc, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, block->bytes + 32, block->bytes, 32, NULL));
    FAILS(100000, aclrtSetMemcpyDesc(NULL, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, block, block, 8, NULL));
    FAILS(100000, aclrtSetMemcpyDesc(desc, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, block, block, 0, NULL));
    FAILS(100000, aclrtSetMemcpyDesc(desc, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, block, block, 8, desc));
    OK(aclrtMemcpyAsyncWithDesc(desc, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, NULL));
    FAILS(100000, aclrtMemcpyAsyncWithDesc(NULL, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, NULL));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(block->bytes[0] == 4 && block->bytes[31] == 4);
    OK(aclrtFree(desc));
    OK(aclrtFree(block));
}

int main(void)
{
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtBinaryLoadFromFile(kernel_path("cpu"), NULL, &binary));
    synchronous();
    asynchronous();
    large();
    by_rows();
    batches();
    indirect();
    OK(aclrtBinaryUnLoad(binary));
    OK(aclrtResetDeviceForce(0));
    OK(aclFinalize());
    return check_result("copy");
}
