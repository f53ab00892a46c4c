/* SPDX-License-Identifier: Apache-2.0
 * Notifies, values in memory, reduction, random numbers, overflow, cache hints, allocators, buffers and types. */
#include <math.h>
#include <pthread.h>

#include "check.h"

static aclrtBinHandle binary;

static void notifies(void)
{
    aclrtFuncHandle add = kernel(binary, "add_value"), twice = kernel(binary, "double_word"), sleeper = kernel(binary, "sleep_us");
    aclrtNotify notify, other;
    aclrtStream first, second;
    uint32_t id, other_id;
    int64_t *word;
    OK(aclrtMalloc((void **)&word, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    *word = 0;
    OK(aclrtCreateStream(&first));
    OK(aclrtCreateStream(&second));
    FAILS(100000, aclrtCreateNotify(NULL, 0));
    FAILS(107000, aclrtCreateNotify(&notify, 5));
    OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
    OK(aclrtCreateNotify(&other, ACL_NOTIFY_DEVICE_USE_ONLY));
    OK(aclrtGetNotifyId(notify, &id));
    OK(aclrtGetNotifyId(other, &other_id));
    CHECK(id != other_id);
    FAILS(100000, aclrtGetNotifyId(notify, NULL));
    /* wait first, record later: unlike an event */
    OK(aclrtWaitAndResetNotify(notify, second, 0));
    OK(run(twice, 1, second, &word, 8));
    OK(run_with(sleeper, 1, first, NULL, 10000));
    OK(run_with(add, 1, first, word, 1));
    OK(aclrtRecordNotify(notify, first));
    OK(aclrtSynchronizeStream(second));
    CHECK(*word == 2);
    /* a record is consumed by one wait */
    OK(aclrtRecordNotify(notify, first));
    OK(aclrtWaitAndResetNotify(notify, second, 0));
    OK(aclrtSynchronizeStream(second));
    OK(aclrtWaitAndResetNotify(notify, second, 1));
    double start = seconds();
    FAILS(107020, aclrtSynchronizeStream(second));
    CHECK(seconds() - start > 0.9);
    OK(aclrtRecordNotify(notify, first));
    OK(aclrtSynchronizeStream(first));
    OK(aclrtNotifyBatchReset(&notify, 1));
    FAILS(100000, aclrtNotifyBatchReset(NULL, 1));
    FAILS(100000, aclrtNotifyBatchReset(&notify, 0));
    OK(aclrtWaitAndResetNotify(notify, second, 0));
    OK(aclrtDestroyNotify(notify)); /* waited for and destroyed: only dropping ends the wait */
    OK(aclrtDestroyStreamForce(second));
    FAILS(107017, aclrtDestroyNotify(notify));
    FAILS(107017, aclrtRecordNotify(notify, first));
    FAILS(107017, aclrtWaitAndResetNotify(notify, first, 0));
    FAILS(100000, aclrtDestroyNotify(NULL));
    FAILS(100000, aclrtRecordNotify(NULL, first));
    OK(aclrtDestroyNotify(other));

    aclrtCntNotify counter;
    aclrtCntNotifyRecordInfo record = {ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, 1};
    aclrtCntNotifyWaitInfo wait = {ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE, 3, 0, 1, {0}};
    OK(aclrtCntNotifyCreate(&counter, 0));
    FAILS(107017, aclrtDestroyNotify(counter)); /* the other kind */
    OK(aclrtCreateStream(&second));
    OK(aclrtCntNotifyWaitWithTimeout(counter, second, &wait));
    OK(run_with(add, 1, second, word, 5));
    for (int i = 0; i < 3; ++i) {
        CHECK(*word == 2);
        OK(aclrtCntNotifyRecord(counter, first, &record));
        OK(aclrtSynchronizeStream(first));
    }
    OK(aclrtSynchronizeStream(second));
    CHECK(*word == 7);
    record.mode = ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE;
    record.value = 6;
    OK(aclrtCntNotifyRecord(counter, first, &record));
    wait.mode = ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE;
    wait.value = 2;
    OK(aclrtCntNotifyWaitWithTimeout(counter, second, &wait));
    OK(aclrtSynchronizeStream(second));
    OK(aclrtCntNotifyReset(counter, first));
    OK(aclrtCntNotifyGetId(counter, &id));
    record.mode = (aclrtCntNotifyRecordMode)3;
    FAILS(107000, aclrtCntNotifyRecord(counter, first, &record));
    wait.mode = (aclrtCntNotifyWaitMode)9;
    FAILS(107000, aclrtCntNotifyWaitWithTimeout(counter, second, &wait));
    FAILS(100000, aclrtCntNotifyRecord(counter, first, NULL));
    FAILS(100000, aclrtCntNotifyWaitWithTimeout(counter, second, NULL));
    OK(aclrtCntNotifyDestroy(counter));
    FAILS(107017, aclrtCntNotifyReset(counter, first));
    OK(aclrtDestroyStream(first));
    OK(aclrtDestroyStream(second));
    OK(aclrtFree(word));
}

static void *write_later(void *word)
{
    usleep(20000);
    __atomic_store_n((uint64_t *)word, 100, __ATOMIC_SEQ_CST);
    return NULL;
}

static void values(void)
{
    aclrtStream waiter, writer;
    uint64_t *word;
    aclrtStreamStatus status;
    OK(aclrtMalloc((void **)&word, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtCreateStream(&waiter));
    OK(aclrtCreateStream(&writer));
    static const struct {
        uint32_t condition;
        uint64_t initial, compared, written;
    } cases[] = {{ACL_STREAM_WAIT_VALUE_GEQ, 4, 5, 5},
                 {ACL_STREAM_WAIT_VALUE_EQ, 4, 5, 5},
                 {ACL_STREAM_WAIT_VALUE_AND, 4, 3, 2},
                 {ACL_STREAM_WAIT_VALUE_NOR, UINT64_MAX, 0, 1}};
    for (int i = 0; i < 4; ++i) {
        *word = cases[i].initial;
        OK(aclrtValueWait(word, cases[i].compared, cases[i].condition, waiter));
        usleep(2000);
        OK(aclrtStreamQuery(waiter, &status));
        CHECK(status == ACL_STREAM_STATUS_NOT_READY);
        OK(aclrtValueWrite(word, cases[i].written, 0, writer));
        OK(aclrtSynchronizeStream(waiter));
        CHECK(*word == cases[i].written);
    }
    /* written by the host, or by a kernel */
    pthread_t thread;
    *word = 0;
    pthread_create(&thread, NULL, write_later, word);
    OK(aclrtValueWait(word, 100, ACL_STREAM_WAIT_VALUE_EQ, waiter));
    OK(aclrtSynchronizeStream(waiter));
    pthread_join(thread, NULL);
    OK(aclrtValueWait(word, 142, ACL_STREAM_WAIT_VALUE_GEQ, waiter));
    OK(run_with(kernel(binary, "add_value"), 1, writer, word, 42));
    OK(aclrtSynchronizeStream(waiter));
    FAILS(100000, aclrtValueWait(NULL, 0, 0, waiter));
    FAILS(107000, aclrtValueWait((char *)word + 4, 0, 0, waiter));
    FAILS(107000, aclrtValueWait(word, 0, 4, waiter));
    FAILS(107000, aclrtValueWait(&thread, 0, 0, waiter)); /* no device memory */
    FAILS(100000, aclrtValueWrite(NULL, 0, 0, writer));
    FAILS(107000, aclrtValueWrite(word, 0, 1, writer));
    FAILS(107000, aclrtValueWrite((char *)word + 1, 0, 0, writer));
    OK(aclrtDestroyStream(waiter));
    OK(aclrtDestroyStream(writer));
    OK(aclrtFree(word));
}

static void reduction(void)
{
    enum { n = 100 };
    float *a, *b;
    uint16_t *h;
    OK(aclrtMalloc((void **)&a, n * 4, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc((void **)&b, n * 4, ACL_MEM_MALLOC_HUGE_FIRST));
    for (int i = 0; i < n; ++i) {
        a[i] = (float)i;
        b[i] = 50.0f;
    }
    OK(aclrtReduceAsync(a, b, n * 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, NULL, NULL));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(a[0] == 50 && a[99] == 149);
    OK(aclrtReduceAsync(a, b, n * 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN, ACL_FLOAT, NULL, NULL));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(a[0] == 50 && a[99] == 50);
    int32_t *x = (int32_t *)a, *y = (int32_t *)b;
    for (int i = 0; i < n; ++i) {
        x[i] = -i;
        y[i] = -50;
    }
    OK(aclrtReduceAsync(x, y, n * 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX, ACL_INT32, NULL, NULL));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(x[10] == -10 && x[90] == -50);
    h = (uint16_t *)a;
    uint16_t *g = (uint16_t *)b;
    h[0] = 0x3C00; /* 1 + 2 in half precision, */
    g[0] = 0x4000;
    h[1] = 0x7BFF; /* and an overflow to infinity */
    g[1] = 0x7BFF;
    OK(aclrtReduceAsync(h, g, 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT16, NULL, NULL));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(h[0] == 0x4200 && h[1] == 0x7C00);
    h[0] = 0x3F80;
    g[0] = 0x4000;
    OK(aclrtReduceAsync(h, g, 2, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_BF16, NULL, NULL));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(h[0] == 0x4040);
    FAILS(100000, aclrtReduceAsync(NULL, b, 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, NULL, NULL));
    FAILS(100000, aclrtReduceAsync(a, NULL, 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, NULL, NULL));
    FAILS(100000, aclrtReduceAsync(a, b, 0, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, NULL, NULL));
    FAILS(100000, aclrtReduceAsync(a, b, 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, NULL, a));
    FAILS(107000, aclrtReduceAsync(a, b, 4, (aclrtReduceKind)9, ACL_FLOAT, NULL, NULL));
    FAILS(207000, aclrtReduceAsync(a, b, 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL, ACL_FLOAT, NULL, NULL));
    FAILS(207000, aclrtReduceAsync(a, b, 8, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_DOUBLE, NULL, NULL));
    FAILS(107000, aclrtReduceAsync(a, b, 5, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, NULL, NULL));
    FAILS(107000, aclrtReduceAsync(a, b, n * 8, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, NULL, NULL));
    OK(aclrtFree(a));
    OK(aclrtFree(b));
}

static void set_parameter(aclrtRandomParaInfo *parameter, const void *value, uint8_t size)
{
    memset(parameter, 0, sizeof *parameter);
    memcpy(parameter->valueOrAddr, value, size);
    parameter->size = size;
}

static void random_numbers(void)
{
    enum { n = 100000 };
    void *result, *counter;
    aclrtRandomNumTaskInfo info;
    uint64_t seed = 42, number = n;
    OK(aclrtMalloc(&result, n * 8, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc(&counter, 16, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(counter, 16, 0, 16));
    memset(&info, 0, sizeof info);
    info.randomResultAddr = result;
    info.randomCounterAddr = counter;
    set_parameter(&info.randomSeed, &seed, 8);
    set_parameter(&info.randomNum, &number, 8);

    float mean = 3, deviation = 2;
    info.dataType = ACL_FLOAT;
    for (int truncated = 0; truncated < 2; ++truncated) {
        info.randomNumFuncParaInfo.funcType =
            truncated ? ACL_RT_RANDOM_NUM_FUNC_TYPE_TRUNCATED_NORMAL_DIS : ACL_RT_RANDOM_NUM_FUNC_TYPE_NORMAL_DIS;
        set_parameter(&info.randomNumFuncParaInfo.paramInfo.normalDisInfo.mean, &mean, 4);
        set_parameter(&info.randomNumFuncParaInfo.paramInfo.normalDisInfo.stddev, &deviation, 4);
        OK(aclrtRandomNumAsync(&info, NULL, NULL));
        OK(aclrtSynchronizeStream(NULL));
        double sum = 0, squares = 0, most = 0;
        for (int i = 0; i < n; ++i) {
            double value = ((float *)result)[i] - 3;
            sum += value;
            squares += value * value;
            most = fmax(most, fabs(value));
        }
        CHECK(fabs(sum / n) < 0.05);
        double expected = truncated ? 2 * 0.8796 : 2; /* a normal distribution cut at two sigma */
        CHECK(fabs(sqrt(squares / n) - expected) < 0.03);
        CHECK(truncated ? most <= 4.00001 : most > 6);
    }
    /* integers; the counter moves on, the same counter gives the same numbers */
    int32_t low = -5, high = 5;
    info.dataType = ACL_INT32;
    info.randomNumFuncParaInfo.funcType = ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS;
    set_parameter(&info.randomNumFuncParaInfo.paramInfo.uniformDisInfo.min, &low, 4);
    set_parameter(&info.randomNumFuncParaInfo.paramInfo.uniformDisInfo.max, &high, 4);
    OK(aclrtMemset(counter, 16, 0, 16));
    OK(aclrtRandomNumAsync(&info, NULL, NULL));
    OK(aclrtSynchronizeStream(NULL));
    int32_t first[8];
    memcpy(first, result, sizeof first);
    int counts[10] = {0}, wrong = 0;
    for (int i = 0; i < n; ++i) {
        int32_t value = ((int32_t *)result)[i];
        if (value < low || value >= high) ++wrong;
        else ++counts[value - low];
    }
    CHECK(wrong == 0);
    for (int i = 0; i < 10; ++i) CHECK(abs(counts[i] - n / 10) < 500);
    CHECK(((uint32_t *)counter)[0] != 0);
    OK(aclrtRandomNumAsync(&info, NULL, NULL));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(memcmp(first, result, sizeof first) != 0);
    OK(aclrtMemset(counter, 16, 0, 16));
    OK(aclrtRandomNumAsync(&info, NULL, NULL));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(memcmp(first, result, sizeof first) == 0);
    /* dropout: 40 % zero bits */
    float ratio = 0.4f;
    info.dataType = ACL_FLOAT;
    info.randomNumFuncParaInfo.funcType = ACL_RT_RANDOM_NUM_FUNC_TYPE_DROPOUT_BITMASK;
    set_parameter(&info.randomNumFuncParaInfo.paramInfo.dropoutBitmaskInfo.dropoutRation, &ratio, 4);
    OK(aclrtRandomNumAsync(&info, NULL, NULL));
    OK(aclrtSynchronizeStream(NULL));
    int kept = 0;
    for (int i = 0; i < n; ++i) kept += ((unsigned char *)result)[i / 8] >> (i % 8) & 1;
    CHECK(abs(kept - 60000) < 1000);
    FAILS(100000, aclrtRandomNumAsync(NULL, NULL, NULL));
    FAILS(100000, aclrtRandomNumAsync(&info, NULL, &info));
    info.dataType = ACL_INT8;
    FAILS(107000, aclrtRandomNumAsync(&info, NULL, NULL));
    info.dataType = ACL_FLOAT;
    info.randomNumFuncParaInfo.funcType = (aclrtRandomNumFuncType)9;
    FAILS(107000, aclrtRandomNumAsync(&info, NULL, NULL));
    info.randomNumFuncParaInfo.funcType = ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS;
    number = 10 * n;
    set_parameter(&info.randomNum, &number, 8);
    FAILS(107000, aclrtRandomNumAsync(&info, NULL, NULL)); /* more than the memory holds */
    info.randomCounterAddr = NULL;
    FAILS(100000, aclrtRandomNumAsync(&info, NULL, NULL));
    OK(aclrtFree(result));
    OK(aclrtFree(counter));
}

static void overflow(void)
{
    aclrtFloatOverflowMode mode;
    aclrtStream stream;
    unsigned char *status;
    uint32_t flag = 9;
    OK(aclrtGetDeviceSatMode(&mode));
    CHECK(mode == ACL_RT_OVERFLOW_MODE_INFNAN);
    OK(aclrtCreateStream(&stream));
    OK(aclrtMalloc((void **)&status, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    FAILS(207000, aclrtSetStreamOverflowSwitch(stream, 1));
    FAILS(207000, aclrtGetOverflowStatus(status, 64, stream));
    FAILS(207000, aclrtResetOverflowStatus(stream));
    FAILS(100000, aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_UNDEF));
    FAILS(100000, aclrtGetDeviceSatMode(NULL));
    OK(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION));
    OK(aclrtSetStreamOverflowSwitch(stream, 1));
    OK(aclrtGetStreamOverflowSwitch(stream, &flag));
    CHECK(flag == 1);
    FAILS(107000, aclrtSetStreamOverflowSwitch(stream, 2));
    FAILS(100000, aclrtGetStreamOverflowSwitch(stream, NULL));
    memset(status, 1, 64);
    OK(aclrtGetOverflowStatus(status, 64, stream));
    OK(aclrtSynchronizeStream(stream));
    CHECK(status[0] == 0 && status[63] == 0);
    FAILS(107000, aclrtGetOverflowStatus(status, 63, stream));
    FAILS(100000, aclrtGetOverflowStatus(NULL, 64, stream));
    OK(aclrtResetOverflowStatus(stream));
    OK(aclrtGetFloatOverflowStatus(status, 64, stream));
    OK(aclrtResetFloatOverflowStatus(stream));
    OK(aclrtNpuGetFloatOverFlowStatus(status, 64, 0, stream));
    FAILS(107000, aclrtNpuGetFloatOverFlowStatus(status, 64, 5, stream));
    OK(aclrtNpuClearFloatOverFlowStatus(0, stream));
    void *address;
    OK(aclrtCtxGetFloatOverflowAddr(&address));
    OK(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN));
    OK(aclrtDestroyStream(stream));
    OK(aclrtFree(status));
}

static void cache_hints(void)
{
    void *p, *desc;
    size_t size;
    OK(aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtCmoAsync(p, 64, ACL_RT_CMO_TYPE_PREFETCH, NULL));
    FAILS(100000, aclrtCmoAsync(NULL, 64, ACL_RT_CMO_TYPE_PREFETCH, NULL));
    FAILS(100000, aclrtCmoAsync(p, 0, ACL_RT_CMO_TYPE_PREFETCH, NULL));
    FAILS(107000, aclrtCmoAsync(p, 64, (aclrtCmoType)9, NULL));
    FAILS(107017, aclrtCmoAsync(p, 64, ACL_RT_CMO_TYPE_FLUSH, p));
    OK(aclrtCmoGetDescSize(&size));
    OK(aclrtMalloc(&desc, size, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtCmoSetDesc(desc, p, 64));
    OK(aclrtCmoAsyncWithDesc(desc, ACL_RT_CMO_TYPE_PREFETCH, NULL, NULL));
    FAILS(100000, aclrtCmoAsyncWithDesc(desc, ACL_RT_CMO_TYPE_PREFETCH, NULL, p));
    FAILS(100000, aclrtCmoSetDesc(NULL, p, 64));
    FAILS(100000, aclrtCmoGetDescSize(NULL));
    OK(aclrtFree(p));
    OK(aclrtFree(desc));
}

static void *allocate(aclrtAllocator allocator, size_t size)
{
    ++*(int *)allocator;
    return malloc(size);
}
static void release(aclrtAllocator allocator, aclrtAllocatorBlock block)
{
    --*(int *)allocator;
    free(block);
}
static void *allocate_near(aclrtAllocator allocator, size_t size, aclrtAllocatorAddr address)
{
    (void)address;
    return allocate(allocator, size);
}
static void *address_of(aclrtAllocatorBlock block) { return block; }

static void allocators(void)
{
    int live = 0;
    aclrtStream stream;
    OK(aclrtCreateStream(&stream));
    aclrtAllocatorDesc desc = aclrtAllocatorCreateDesc(), found_desc;
    CHECK(desc != NULL);
    FAILS(100000, aclrtAllocatorRegister(stream, desc)); /* not complete */
    OK(aclrtAllocatorSetObjToDesc(desc, &live));
    OK(aclrtAllocatorSetAllocFuncToDesc(desc, allocate));
    OK(aclrtAllocatorSetFreeFuncToDesc(desc, release));
    OK(aclrtAllocatorSetAllocAdviseFuncToDesc(desc, allocate_near));
    OK(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc, address_of));
    FAILS(100000, aclrtAllocatorSetAllocFuncToDesc(desc, NULL));
    FAILS(100000, aclrtAllocatorSetFreeFuncToDesc(NULL, release));
    FAILS(100000, aclrtAllocatorSetObjToDesc(&live, &live));
    OK(aclrtAllocatorRegister(stream, desc));
    FAILS(100000, aclrtAllocatorRegister(NULL, desc));
    FAILS(100000, aclrtAllocatorRegister(stream, NULL));
    OK(aclrtAllocatorDestroyDesc(desc)); /* the registration keeps what it needs */
    FAILS(100000, aclrtAllocatorDestroyDesc(desc));
    aclrtAllocator object;
    aclrtAllocatorAllocFunc alloc;
    aclrtAllocatorFreeFunc drop;
    aclrtAllocatorAllocAdviseFunc advise;
    aclrtAllocatorGetAddrFromBlockFunc get;
    OK(aclrtAllocatorGetByStream(stream, &found_desc, &object, &alloc, &drop, &advise, &get));
    CHECK(found_desc == desc && object == &live && alloc == allocate && advise == allocate_near);
    aclrtAllocatorBlock block = alloc(object, 16);
    CHECK(get(block) == block && live == 1);
    drop(object, block);
    CHECK(live == 0);
    OK(aclrtAllocatorUnregister(stream));
    FAILS(100000, aclrtAllocatorUnregister(stream));
    FAILS(100000, aclrtAllocatorGetByStream(stream, &found_desc, &object, &alloc, &drop, &advise, &get));
    OK(aclrtDestroyStream(stream));
}

static void buffers_and_types(void)
{
    int data[2];
    aclDataBuffer *buffer = aclCreateDataBuffer(data, sizeof data);
    CHECK(aclGetDataBufferAddr(buffer) == data && aclGetDataBufferSizeV2(buffer) == 8 && aclGetDataBufferSize(buffer) == 8);
    OK(aclUpdateDataBuffer(buffer, data + 1, 4));
    CHECK(aclGetDataBufferAddr(buffer) == data + 1 && aclGetDataBufferSizeV2(buffer) == 4);
    FAILS(100000, aclUpdateDataBuffer(NULL, data, 4));
    OK(aclDestroyDataBuffer(buffer));
    FAILS(100000, aclDestroyDataBuffer(NULL));
    CHECK(aclGetDataBufferAddr(NULL) == NULL && aclGetDataBufferSizeV2(NULL) == 0);
    static const struct {
        aclDataType type;
        size_t size;
    } sizes[] = {{ACL_FLOAT, 4},    {ACL_FLOAT16, 2}, {ACL_BF16, 2},       {ACL_INT8, 1},        {ACL_BOOL, 1},
                 {ACL_DOUBLE, 8},   {ACL_INT64, 8},   {ACL_STRING, 0},     {ACL_DT_UNDEFINED, 0}, {ACL_UINT1, 1},
                 {ACL_INT4, 1},     {ACL_INT16, 2},   {ACL_COMPLEX64, 8},  {ACL_COMPLEX128, 16}, {ACL_COMPLEX32, 4},
                 {(aclDataType)99, 8}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) CHECK(aclDataTypeSize(sizes[i].type) == sizes[i].size);
    CHECK(aclFloat16ToFloat(0x3C00) == 1.0f && aclFloat16ToFloat(0xC000) == -2.0f && aclFloat16ToFloat(1) == 0x1p-24f);
    CHECK(aclFloat16ToFloat(0x7C00) == 65536.0f && aclFloat16ToFloat(0xFC00) == -65536.0f); /* the vendor's edges */
    CHECK(aclFloat16ToFloat(0x7E00) == 98304.0f);
    CHECK(aclFloatToFloat16(1.0f) == 0x3C00 && aclFloatToFloat16(-2.0f) == 0xC000 && aclFloatToFloat16(0x1p-24f) == 1);
    CHECK(aclFloatToFloat16(INFINITY) == 0x7BFF && aclFloatToFloat16(-INFINITY) == 0xFBFF && aclFloatToFloat16(NAN) == 0x7BFF);
    for (uint32_t h = 0; h < 0x7C00; ++h) {
        if (aclFloatToFloat16(aclFloat16ToFloat((aclFloat16)h)) != h) {
            CHECK(!"half precision round trip");
            break;
        }
    }
    CHECK(aclFloatToFloat16(1.00048828125f) == 0x3C00 && aclFloatToFloat16(1.00146484375f) == 0x3C02); /* ties to even */
}

int main(void)
{
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtBinaryLoadFromFile(kernel_path("cpu"), NULL, &binary));
    notifies();
    values();
    reduction();
    random_numbers();
    overflow();
    cache_hints();
    allocators();
    buffers_and_types();
    OK(aclrtBinaryUnLoad(binary));
    OK(aclrtResetDeviceForce(0));
    OK(aclFinalize());
    return check_result("tasks");
}
