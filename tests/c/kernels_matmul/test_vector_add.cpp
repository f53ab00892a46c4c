// SPDX-License-Identifier: Apache-2.0
//
// test_vector_add LIBRARY.so: the `cpu` vector_add kernels, called as a device calls them, bit for bit
// against double. Every array ends at or begins after an unreadable page. Prints what fails; exit code 1 on
// failure.
#include <string>

#include "../kernels/layernorm_check.h"
#include "vector_add/vector_add_tiling.h"

namespace {

constexpr int kInt32 = 3; // ACL_INT32, beside the types of layernorm_check.h
const int kTypes[] = {kF32, kF16, kBf16, kInt32};

size_t item_size(int type) { return type == kInt32 ? 4 : size_of(type); }

const ascend_kernel_desc_t &kernel_of(const Library &library, int type) {
    const std::string name = std::string("vector_add_") + (type == kF32    ? "fp32"
                                                           : type == kF16  ? "fp16"
                                                           : type == kBf16 ? "bf16"
                                                                           : "int32");
    for (uint32_t i = 0; i < library.table->num_kernels; ++i)
        if (name == library.table->kernels[i].name) return library.table->kernels[i];
    std::printf("no kernel %s\n", name.c_str());
    std::exit(2);
}

// Same bits; but which of two NaNs gives the sum its payload is left to the compiler, which may swap the
// operands.
bool same_numbers(int type, const void *x, const void *y, int64_t n) {
    const size_t size = item_size(type);
    const char *p = static_cast<const char *>(x), *q = static_cast<const char *>(y);
    if (std::memcmp(p, q, static_cast<size_t>(n) * size) == 0) return true;
    for (int64_t i = 0; i < n; ++i)
        if (std::memcmp(p + i * size, q + i * size, size) != 0 &&
            (type == kInt32 || !std::isnan(value_of(type, x, i)) || !std::isnan(value_of(type, y, i))))
            return false;
    return true;
}

// Runs every block, last one first. per_block 0: as the tiling says.
void launch_add(const Library &library, int type, const void *a, const void *b, void *y, int64_t n,
                int64_t per_block) {
    VectorAddArgs args = {};
    uint32_t blocks = vector_add_cpu_tiling(n, static_cast<int64_t>(item_size(type)), 2, &args);
    if (per_block) {
        args.elements_per_block = per_block;
        blocks = static_cast<uint32_t>((n + per_block - 1) / per_block);
    }
    args.a = reinterpret_cast<uint64_t>(a);
    args.b = reinterpret_cast<uint64_t>(b);
    args.y = reinterpret_cast<uint64_t>(y);
    const ascend_kernel_desc_t &kernel = kernel_of(library, type);
    for (uint32_t i = blocks; i-- > 0;) kernel.entry(i, blocks, &args, nullptr);
}

// Random bits make every kind of number: subnormals, infinities, NaN.
void fill(std::vector<char> &bytes, std::mt19937_64 &random) {
    for (char &byte : bytes) byte = static_cast<char>(random() >> 56);
}

void check_sum(int type, const void *a, const void *b, const void *y, int64_t n, const char *what) {
    for (int64_t i = 0; i < n; ++i) {
        if (type == kInt32) {
            const uint32_t want = static_cast<const uint32_t *>(a)[i] + static_cast<const uint32_t *>(b)[i];
            const uint32_t got = static_cast<const uint32_t *>(y)[i];
            CHECK(got == want, "%s int32 [%lld]: got %u, want %u", what, (long long)i, got, want);
            continue;
        }
        // The sum of two floats in double, rounded once more, is the correctly rounded sum (53 >= 2 * 24 +
        // 2). For 16-bit types the contract is a float sum, rounded once: the float sum of two such numbers
        // is not always exact (2^100 + 2^-100), so the double sum goes through float first.
        const double exact = value_of(type, a, i) + value_of(type, b, i);
        const double want = rounded(type, static_cast<double>(rounded(kF32, exact)));
        const double got = value_of(type, y, i);
        const bool same =
            std::isnan(want) ? std::isnan(got) : got == want && std::signbit(got) == std::signbit(want);
        CHECK(same, "%s %s [%lld] of %lld: got %.9g, want %.9g", what, name_of(type), (long long)i,
              (long long)n, got, want);
    }
}

// One length: at both ends of a page, off every alignment, in place in all three ways, whole and in blocks.
void run(const Library &library, int type, int64_t n, int variants) {
    std::mt19937_64 random(static_cast<uint64_t>(n) * 31 + static_cast<uint64_t>(type));
    const size_t size = item_size(type), bytes = static_cast<size_t>(n) * size;
    std::vector<char> a(bytes), b(bytes), first;
    fill(a, random);
    fill(b, random);
    for (int variant = 0; variant < variants; ++variant) {
        const bool at_end = variant != 1;
        // Extra elements behind y move it off the alignment that the others have.
        const size_t shift = variant == 2 ? size : variant == 3 ? 3 * size : 0;
        Guarded as(bytes, at_end), bs(bytes, at_end), ys(bytes + shift, at_end);
        std::memcpy(as.get(), a.data(), bytes);
        std::memcpy(bs.get(), b.data(), bytes);
        std::memset(ys.get(), 0xff, bytes + shift);
        void *y = variant == 4 ? as.get() : variant == 5 ? bs.get() : ys.get();
        const int64_t per_block = variant == 1 ? 64 : variant == 3 ? (n + 2) / 3 : 0;
        launch_add(library, type, as.get(), bs.get(), y, n, per_block);
        if (variant == 0) {
            check_sum(type, a.data(), b.data(), y, n, "sum");
            first.assign(static_cast<char *>(y), static_cast<char *>(y) + bytes);
        } else {
            CHECK(same_numbers(type, first.data(), y, n), "%d n %lld: variant %d differs", type, (long long)n,
                  variant);
        }
        if (y != as.get()) CHECK(std::memcmp(a.data(), as.get(), bytes) == 0, "a changed");
        if (y != bs.get()) CHECK(std::memcmp(b.data(), bs.get(), bytes) == 0, "b changed");
        for (size_t i = 0; i < shift; ++i)
            CHECK(static_cast<unsigned char *>(ys.get())[bytes + i] == 0xff, "written behind the end, n %lld",
                  (long long)n);
    }
    Guarded twice(bytes); // a, b and y are one array
    std::memcpy(twice.get(), a.data(), bytes);
    launch_add(library, type, twice.get(), twice.get(), twice.get(), n, 0);
    check_sum(type, a.data(), a.data(), twice.get(), n, "all in one");
}

// NaN stays NaN, with any payload and sign, also where narrowing would carry it away.
void test_nan(const Library &library) {
    for (int type : {kF32, kF16, kBf16}) {
        const int64_t n = 67;
        std::vector<uint32_t> a(n), b(n), y(n);
        const uint32_t payloads[] = {0x7f800001u, 0x7fffffffu, 0xffbfffffu, 0x7fc00000u};
        for (int64_t i = 0; i < n; ++i) {
            const uint32_t bits = payloads[i % 4];
            if (type == kF32) a[i] = bits;
            else if (type == kBf16)
                reinterpret_cast<uint16_t *>(a.data())[i] = static_cast<uint16_t>(bits >> 16 | 1);
            else
                reinterpret_cast<uint16_t *>(a.data())[i] =
                    static_cast<uint16_t>(0x7c01 + (bits & 0x83ffu) % 0x3ff);
        }
        launch_add(library, type, a.data(), b.data(), y.data(), n, 0);
        for (int64_t i = 0; i < n; ++i)
            CHECK(std::isnan(value_of(type, y.data(), i)), "%s [%lld] lost its NaN", name_of(type),
                  (long long)i);
    }
}

void test_table(const Library &library) {
    const ascend_kernel_table_t &table = *library.table;
    CHECK(table.abi_version == ASCEND_KERNEL_ABI_VERSION && table.target == ASCEND_KERNEL_TARGET_CPU,
          "version or target");
    CHECK(table.num_kernels == 4, "%u kernels", table.num_kernels);
    for (int type : kTypes) {
        const ascend_kernel_desc_t &kernel = kernel_of(library, type);
        CHECK(kernel.args_size == sizeof(VectorAddArgs) && kernel.num_params == 6, "%s", kernel.name);
        CHECK(kernel.flags == 0 && kernel.instances_per_block == 1, "%s", kernel.name);
        VectorAddArgs args = {};
        CHECK(kernel.cost_ns(&args, 0) == 0, "cost of nothing");
        launch_add(library, type, nullptr, nullptr, nullptr, 0, 0);
        kernel.entry(0, 1, &args, nullptr); // touches nothing
        const uint32_t blocks = vector_add_cpu_tiling(1024, 4, 2, &args);
        const uint64_t small = kernel.cost_ns(&args, blocks);
        vector_add_cpu_tiling(1 << 26, 4, 2, &args);
        CHECK(small > 0 && small < 1000 && kernel.cost_ns(&args, 1) > 1000 * small, "cost %llu",
              (unsigned long long)small);
    }
}

void test_tiling() {
    for (int64_t n : {int64_t{1}, int64_t{63}, int64_t{64}, int64_t{16384}, int64_t{16385}, int64_t{1000003},
                      (int64_t{1} << 31) + 1, (int64_t{1} << 40) + 17, INT64_MAX / 4, INT64_MAX})
        for (int64_t size : {2, 4})
            for (int64_t cores : {-1, 1, 2, 7, 64, 1 << 20}) {
                VectorAddArgs args = {};
                const int64_t blocks = vector_add_cpu_tiling(n, size, cores, &args),
                              each = args.elements_per_block;
                CHECK(args.n == n && blocks >= 1 && blocks <= 65535, "n %lld: %lld blocks", (long long)n,
                      (long long)blocks);
                CHECK(each >= 1 && (blocks == 1 || each % VECTOR_ADD_CPU_GRAIN == 0), "n %lld: %lld each",
                      (long long)n, (long long)each);
                CHECK((blocks - 1) < n / each + (n % each != 0) && blocks >= n / each + (n % each != 0),
                      "n %lld: %lld blocks of %lld", (long long)n, (long long)blocks, (long long)each);
            }
    VectorAddArgs args = {};
    CHECK(vector_add_cpu_tiling(0, 4, 2, &args) == 0 && args.elements_per_block == 0, "empty");
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    const Library library(argv[1]);
    test_tiling();
    test_table(library);
    test_nan(library);
    for (int type : kTypes) {
        for (int64_t n = 1; n <= 200; ++n) run(library, type, n, 6);
        for (int64_t n : {1000, 1024, 16384, 65537}) run(library, type, n, 6);
        run(library, type, type == kF16 || type == kBf16 ? 1500001 : 750001, 6); // beyond the cache: streamed
    }
    std::printf("%s: %d failures\n", library.table->build, failures());
    return failures() ? 1 : 0;
}
