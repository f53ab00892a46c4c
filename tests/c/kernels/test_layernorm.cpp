// SPDX-License-Identifier: Apache-2.0
//
// test_layernorm LIBRARY.so [--short]: the `cpu` layernorm kernels against long double, called as a device calls them.
// Every array lies between two unreadable pages. Prints what fails and the largest errors; exit code 1 on failure.
#include <algorithm>
#include <functional>
#include <string>

#include "layernorm_check.h"

namespace {

using Random = std::mt19937_64;
bool is_short = false;
const int kTypes[] = {kF32, kF16, kBf16};

double normal(Random &random) { return std::normal_distribution<double>()(random); }

// One problem: fill x by fill(row, column), run it out of place and in place, whole and in blocks, with the arrays
// at the end and at the start of their pages; compare with the reference once and with each other bit for bit.
void run(const Library &library, const char *what, int type, int64_t rows, int64_t cols, int gamma_type, int beta_type,
         double eps, const std::function<double(int64_t, int64_t)> &fill,
         const std::function<double(int64_t)> &gamma_fill = nullptr,
         const std::function<double(int64_t)> &beta_fill = nullptr) {
    Random random(static_cast<uint64_t>(cols * 7919 + rows));
    const size_t count = static_cast<size_t>(rows * cols), bytes = count * size_of(type);
    std::vector<char> x(bytes), y(bytes);
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < cols; ++c) put(type, x.data(), r * cols + c, fill(r, c));
    std::vector<double> gamma(static_cast<size_t>(cols)), beta(gamma);
    for (int64_t c = 0; c < cols; ++c) {
        gamma[c] = gamma_fill ? gamma_fill(c) : 1.0 + 0.3 * normal(random);
        beta[c] = beta_fill ? beta_fill(c) : 0.5 * normal(random);
    }
    std::vector<float> mean, rstd;
    for (int variant = 0; variant < 4; ++variant) {
        const bool at_end = variant != 1, in_place = variant == 2;
        const int64_t rows_per_block = variant == 3 ? (rows + 2) / 3 : variant == 1 ? 1 : 0;
        Guarded xs(bytes, at_end), ys(bytes, at_end);
        Guarded gs(gamma_type == kAbsent ? 0 : gamma.size() * size_of(gamma_type), at_end);
        Guarded bs(beta_type == kAbsent ? 0 : beta.size() * size_of(beta_type), at_end);
        Guarded means(static_cast<size_t>(rows) * 4, at_end), rstds(static_cast<size_t>(rows) * 4, at_end);
        std::memcpy(xs.get(), x.data(), bytes);
        std::memset(ys.get(), 0xff, bytes);
        for (int64_t c = 0; c < cols; ++c) {
            if (gamma_type != kAbsent) put(gamma_type, gs.get(), c, gamma[c]);
            if (beta_type != kAbsent) put(beta_type, bs.get(), c, beta[c]);
        }
        Problem p;
        p.type = type;
        p.rows = rows;
        p.cols = cols;
        p.x = xs.get();
        p.y = in_place ? xs.get() : ys.get();
        p.gamma = gamma_type == kAbsent ? nullptr : gs.get();
        p.beta = beta_type == kAbsent ? nullptr : bs.get();
        p.gamma_type = gamma_type == kAbsent ? kF32 : gamma_type;
        p.beta_type = beta_type == kAbsent ? kF32 : beta_type;
        p.eps = eps;
        if (variant != 3) {
            p.mean = static_cast<float *>(means.get());
            p.rstd = static_cast<float *>(rstds.get());
        }
        launch(library, p, rows_per_block);
        if (variant == 0) {
            compare(p, x.data(), what);
            std::memcpy(y.data(), ys.get(), bytes);
            mean.assign(p.mean, p.mean + rows);
            rstd.assign(p.rstd, p.rstd + rows);
        } else {
            CHECK(std::memcmp(y.data(), p.y, bytes) == 0, "%s %s rows %lld cols %lld: variant %d differs", what,
                  name_of(type), (long long)rows, (long long)cols, variant);
            if (p.mean)
                CHECK(std::memcmp(mean.data(), p.mean, mean.size() * 4) == 0 &&
                          std::memcmp(rstd.data(), p.rstd, rstd.size() * 4) == 0,
                      "%s %s: statistics of variant %d differ", what, name_of(type), variant);
        }
        if (!in_place) CHECK(std::memcmp(x.data(), xs.get(), bytes) == 0, "%s: the input changed", what);
    }
}

void test_table(const Library &library) {
    const ascend_kernel_table_t &table = *library.table;
    CHECK(table.abi_version == ASCEND_KERNEL_ABI_VERSION, "%u", table.abi_version);
    CHECK(table.table_size == sizeof table && table.desc_size == sizeof(ascend_kernel_desc_t), "sizes");
    CHECK(table.target == ASCEND_KERNEL_TARGET_CPU && table.num_kernels == 3, "target or number of kernels");
    for (int type : kTypes) {
        const ascend_kernel_desc_t &kernel = library.kernel(type);
        CHECK(kernel.args_size == sizeof(LayerNormArgs) && kernel.num_params == 15, "%s", kernel.name);
        CHECK(kernel.flags == 0 && kernel.instances_per_block == 1, "%s", kernel.name);
        for (uint32_t i = 0; i < kernel.num_params; ++i)
            CHECK(kernel.params[i].offset == 8 * i && kernel.params[i].size == 8, "%s %s", kernel.name,
                  kernel.params[i].name);
        LayerNormArgs args = {};
        CHECK(kernel.cost_ns(&args, 0) == 0, "cost of nothing");
        layernorm_cpu_tiling(1, 768, 4, 2, &args);
        const uint64_t small = kernel.cost_ns(&args, 1);
        layernorm_cpu_tiling(8192, 1024, 4, 2, &args);
        CHECK(small > 0 && small < 1000 && kernel.cost_ns(&args, 1) > 1000 * small, "cost %llu", (unsigned long long)small);
    }
}

void test_tiling() {
    const int64_t sizes[] = {1, 2, 3, 7, 8, 64, 1000, 65535, 65536, 65537, 1 << 20, (int64_t{1} << 33) + 1};
    for (int64_t rows : sizes)
        for (int64_t cols : sizes)
            for (int64_t cores : {0, 1, 2, 7, 64, 1 << 20}) {
                LayerNormArgs args = {};
                const int64_t blocks = layernorm_cpu_tiling(rows, cols, 2, cores, &args);
                CHECK(blocks >= 1 && blocks <= 65535, "%lld x %lld: %lld blocks", (long long)rows, (long long)cols,
                      (long long)blocks);
                CHECK(args.rows_per_block >= 1 && (blocks - 1) * args.rows_per_block < rows &&
                          blocks * args.rows_per_block >= rows,
                      "%lld x %lld: %lld blocks of %lld", (long long)rows, (long long)cols, (long long)blocks,
                      (long long)args.rows_per_block);
                CHECK(args.rows == rows && args.cols == cols && args.inv_cols == 1.0 / static_cast<double>(cols), "fields");
            }
    LayerNormArgs args = {};
    CHECK(layernorm_cpu_tiling(0, 5, 4, 2, &args) == 0 && layernorm_cpu_tiling(5, 0, 4, 2, &args) == 0, "empty");
}

// Every width up to a few vectors, every pair of weight types, a mean that is not zero.
void test_widths(const Library &library) {
    Random random(1);
    const int weights[] = {kAbsent, kF32, kF16, kBf16};
    for (int type : kTypes)
        for (int64_t cols = 1; cols <= 70; ++cols) {
            const double offset = cols % 3 == 0 ? 1.0 : cols % 3 == 1 ? -20.0 : 0.0;
            auto fill = [&](int64_t r, int64_t) { return offset * static_cast<double>(r + 1) + normal(random); };
            for (int gamma : weights)
                for (int beta : weights) {
                    if (cols % 5 != 0 && cols > 4 && gamma != beta) continue;
                    run(library, "widths", type, 3, cols, gamma, beta, 1e-5, fill);
                }
        }
    for (int64_t cols : {71, 96, 127, 128, 129, 255, 256, 257, 511, 512, 513, 768, 1000, 1024, 1025, 1536, 2047, 2048, 2049,
                         4095, 4096, 4097, 5581, 8192}) {
        if (is_short && cols > 1100) continue;
        for (int type : kTypes) {
            auto fill = [&](int64_t r, int64_t) { return 1.0 + static_cast<double>(r) + normal(random); };
            run(library, "widths", type, cols < 600 ? 37 : 5, cols, type, type, 1e-5, fill);
            run(library, "widths", type, 2, cols, cols % 2 ? kF32 : kBf16, cols % 2 ? kAbsent : kF16, 1e-5, fill);
        }
    }
    for (int64_t cols : {50000, 100003}) {
        if (is_short) continue;
        for (int type : kTypes) {
            auto fill = [&](int64_t r, int64_t) { return 3.0 * static_cast<double>(r) - 2.0 + normal(random); };
            run(library, "widths", type, 3, cols, type, kBf16, 1e-5, fill);
        }
    }
}

// A common offset of up to a million sigma, another one in each row; also in the shape of field case LN-1.
void test_offsets(const Library &library) {
    Random random(2);
    for (int64_t cols : {2, 3, 16, 17, 64, 100, 768, 1000, 4097, 20000, 100003}) {
        if (is_short && cols > 1100) continue;
        for (double offset : {1.0, 4.0, 5.0, 300.0, 1e4, 1e6, -1e6}) {
            auto fill = [&](int64_t r, int64_t) { return offset * (1.0 - 0.01 * static_cast<double>(r)) + normal(random); };
            run(library, "offsets", kF32, cols < 5000 ? 7 : 2, cols, kF32, kF32, 1e-5, fill, nullptr,
                [](int64_t) { return 0.1; });
            run(library, "offsets, no weights", kF32, cols < 5000 ? 7 : 2, cols, kAbsent, kAbsent, 0.0, fill);
        }
        for (double offset : {3.0, 5.0, 100.0})
            for (int type : {kF16, kBf16})
                run(library, "offsets", type, cols < 5000 ? 7 : 2, cols, type, type, 1e-5,
                    [&](int64_t r, int64_t) { return offset * static_cast<double>(1 + r) + normal(random); });
    }
    const double m[] = {0, 100, 1000, 10000, 1e5, 1e6 / 1024};
    run(library, "LN-1", kF32, 6, 16, kAbsent, kAbsent, 1e-5,
        [&](int64_t r, int64_t c) { return m[r] + static_cast<double>(c) * 1e-3; });
    // One ulp of spread on a large offset: nothing but the residual of the mean tells the columns apart.
    for (int64_t cols : {2, 5, 33, 1000})
        run(library, "one ulp", kF32, 4, cols, kAbsent, kAbsent, 0.0, [&](int64_t r, int64_t c) {
            return 16777216.0 / 2 + static_cast<double>((c * (r + 3)) % 5 == 0) - 100.0 * static_cast<double>(r);
        });
}

// The pivot in the worst place: the row's first, middle and last elements far from all others.
void test_outliers(const Library &library) {
    Random random(3);
    for (int64_t cols : {5, 20, 300, 1000, 4096, 60000})
        for (double size : {10.0, 1e3, 1e6}) {
            if (is_short && cols > 5000) continue;
            for (int type : kTypes)
                run(library, "outliers", type, 4, cols, type, type, 1e-5, [&](int64_t r, int64_t c) {
                    const bool far = c == 0 || (r != 1 && c == cols - 1) || (r != 2 && c == cols / 2);
                    return 0.5 + normal(random) + (far ? (type == kF16 ? std::min(size, 1e4) : size) : 0.0);
                });
        }
    // A ramp and a step: sorted data puts the ends, not the middle, far away.
    for (int type : kTypes)
        for (int64_t cols : {7, 129, 2048})
            run(library, "ramp", type, 2, cols, kAbsent, kAbsent, 1e-5, [&](int64_t r, int64_t c) {
                return r == 0 ? static_cast<double>(c) : c < cols - 2 ? 1.0 : 1.125;
            });
}

void test_constants(const Library &library) {
    auto beta = [](int64_t c) { return c % 4 == 3 ? -0.0 : 0.37 * static_cast<double>(c) - 1.0; };
    for (double eps : {0.0, 1e-300, 1e-12, 1e-5})
        for (int type : kTypes)
            for (int64_t cols : {1, 2, 3, 8, 15, 31, 67, 200, 1025, 5000})
                for (int weights : {static_cast<int>(kAbsent), static_cast<int>(kF32), type}) {
                    const double top = type == kF16 ? 65504.0 : type == kBf16 ? 3e38 : 3.4e38;
                    const double values[] = {0.0, 1e6, 0.1, -7.3, top, -top, 1e-40, 3e-5, -0.0};
                    run(library, "constants", type, 9, cols, weights, weights, eps,
                        [&](int64_t r, int64_t) { return values[r]; }, nullptr, beta);
                }
    // Bits of beta, negative zero included, whatever the sign of gamma.
    for (int type : kTypes)
        for (int64_t cols : {1, 21, 64}) {
            std::vector<float> x(static_cast<size_t>(cols), 0.0f), gamma(x), y(x), wanted(x);
            Problem p;
            p.type = type;
            p.cols = cols;
            p.eps = 0.0;
            for (int64_t c = 0; c < cols; ++c) {
                put(type, x.data(), c, 123.0);
                put(kF32, gamma.data(), c, c % 2 ? -2.0 : 2.0);
                put(type, wanted.data(), c, c % 3 ? -0.0 : 3.0);
            }
            p.x = x.data();
            p.y = y.data();
            p.gamma = gamma.data();
            p.beta = wanted.data();
            p.beta_type = type;
            launch(library, p);
            CHECK(std::memcmp(y.data(), wanted.data(), static_cast<size_t>(cols) * size_of(type)) == 0, "bits of beta, %s",
                  name_of(type));
        }
    // Nearly constant: the last float apart.
    for (int64_t cols : {2, 9, 100, 3000})
        run(library, "nearly constant", kF32, 3, cols, kAbsent, kAbsent, 0.0, [&](int64_t r, int64_t c) {
            return r == 0 ? 1.0 + (c == cols - 1) * 0x1p-23 : r == 1 ? (c == 0) * 1e-45 : 1e38 + (c == cols / 2) * 0x1p103;
        });
}

// Squares beyond the range of float, upwards and downwards.
void test_extremes(const Library &library) {
    Random random(4);
    for (double eps : {0.0, 1e-300, 1e-12, 1e-5})
        for (double scale : {1e-44, 1e-40, 1e-38, 1e-30, 1e-23, 1e-20, 1e-19, 1e-15, 1e-3, 1e15, 1e18, 1e19, 1e20, 1e30, 1e37})
            for (int64_t cols : {2, 4, 33, 100, 1000})
                for (int type : {kF32, kBf16}) {
                    std::uniform_real_distribution<double> flat(-9.0, 9.0);
                    run(library, "extremes", type, 3, cols, kAbsent, kAbsent, eps, [&](int64_t r, int64_t c) {
                        return scale * (c == 0 ? 9.0 : flat(random) + static_cast<double>(r));
                    });
                }
    run(library, "range of float16", kF16, 3, 100, kF16, kF16, 1e-12, [&](int64_t r, int64_t) {
        return r == 0 ? (random() % 2 ? 65504.0 : -65504.0) : r == 1 ? (random() % 8) * 0x1p-24 : 512.0 * normal(random);
    });
    const double big[] = {1e30, -1e30, 2e30, -2e30};
    run(library, "LN-4", kF32, 1, 4, kAbsent, kAbsent, 1e-5, [&](int64_t, int64_t c) { return big[c]; });
    const double half[] = {512, -512, 512, -512};
    run(library, "LN-4", kF16, 1, 4, kAbsent, kAbsent, 1e-5, [&](int64_t, int64_t c) { return half[c]; });
    // The result itself out of range: infinity of the right sign, as rounding says.
    for (int type : kTypes)
        run(library, "overflow of y", type, 2, 40, kBf16, kAbsent, 1e-5, [&](int64_t, int64_t) { return normal(random); },
            [](int64_t c) { return c % 2 ? 3e38 : 1.0; });
}

void test_not_numbers(const Library &library) {
    Random random(5);
    for (int type : kTypes)
        for (double bad : {(double)NAN, (double)INFINITY, -(double)INFINITY})
            for (int64_t cols : {1, 4, 9, 16, 31, 64, 67, 1027})
                for (int64_t step = 0; step < 40; ++step) {
                    const int64_t position = step < 20 ? cols - 1 - step : step - 20;
                    if (position < 0 || position >= cols) continue;
                    run(library, "not a number", type, 3, cols, kF32, kF32, 1e-5, [&](int64_t r, int64_t c) {
                        return r == 1 && c == position ? bad : 2.0 + normal(random);
                    });
                }
    // In gamma and beta, with every payload that a carry could turn into a number: only that column.
    for (int type : kTypes)
        for (uint32_t bits : {0x7fc00000u, 0x7fffffffu, 0xffffffffu, 0x7f800001u, 0x7fff8000u, 0x7f800000u, 0xff800000u})
            for (int64_t cols : {3, 20, 70, 2051})
                for (int64_t bad : {int64_t{0}, int64_t{2}, cols - 1})
                    for (bool in_gamma : {true, false}) {
                        std::vector<float> x(static_cast<size_t>(2 * cols)), y(x), gamma(static_cast<size_t>(cols), 1.0f), beta(gamma);
                        for (int64_t i = 0; i < 2 * cols; ++i) put(type, x.data(), i, i < cols ? normal(random) : 7.0);
                        std::memcpy(&(in_gamma ? gamma : beta)[static_cast<size_t>(bad)], &bits, 4);
                        Problem p;
                        p.type = type;
                        p.rows = 2;
                        p.cols = cols;
                        p.x = x.data();
                        p.y = y.data();
                        p.gamma = gamma.data();
                        p.beta = beta.data();
                        launch(library, p);
                        compare(p, x.data(), "weight that is no number");
                    }
}

void test_eps(const Library &library) {
    // LN-3: eps is the caller's number, in double.
    Random random(6);
    for (double eps : {0.0, 1e-300, 1e-45, 1e-30, 1e-12, 1e-8, 1e-5, 0.1, 1e10, 1e300})
        for (int type : kTypes)
            for (int64_t cols : {2, 6, 50, 700})
                run(library, "eps", type, 3, cols, kAbsent, kAbsent, eps, [&](int64_t r, int64_t) {
                    return (r == 0 ? 1.0 : r == 1 ? 1e-3 : 1e-6) * normal(random);
                });
}

// Rows and offsets in numbers: many short rows, and a place beyond 2^32 elements.
void test_many_rows(const Library &library) {
    Random random(7);
    for (int type : kTypes)
        for (int64_t rows : {65535, 65537})
            run(library, "many rows", type, is_short ? 600 : rows, 8, type, type, 1e-5,
                [&](int64_t r, int64_t) { return static_cast<double>(r % 9) + normal(random); });
    for (int type : kTypes) // past the size from which results are streamed, at an alignment that suits no vector
        for (int64_t cols : {3, 40, 129, 1001, 30011}) {
            if (is_short) continue;
            const int64_t rows = (5 << 20) / (cols * static_cast<int64_t>(size_of(type))) + 1;
            run(library, "streamed", type, rows, cols, type, type, 1e-5,
                [&](int64_t r, int64_t) { return static_cast<double>(r % 7) + normal(random); });
        }
}

// 2^32 elements and more in x, of which all but the last pages are never touched: only the last block runs.
void test_far_rows(const Library &library) {
    const int64_t cols = 4096, rows = (int64_t{1} << 20) + 3;
    const size_t bytes = static_cast<size_t>(rows * cols) * 2;
    void *x = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    void *y = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (x == MAP_FAILED || y == MAP_FAILED) {
        std::printf("far rows: skipped, not enough address space\n");
        return;
    }
    uint16_t *last = static_cast<uint16_t *>(x) + (rows - 1) * cols;
    Random random(8);
    for (int64_t c = 0; c < cols; ++c) put(kF16, last, c, normal(random));
    LayerNormArgs args = {};
    const uint32_t blocks = layernorm_cpu_tiling(rows, cols, 2, 2, &args);
    args.x = reinterpret_cast<uint64_t>(x);
    args.y = reinterpret_cast<uint64_t>(y);
    args.eps = 1e-5;
    library.kernel(kF16).entry(blocks - 1, blocks, &args, nullptr);
    Problem p;
    p.type = kF16;
    p.cols = cols;
    p.y = static_cast<uint16_t *>(y) + (rows - 1) * cols;
    compare(p, last, "far rows");
    munmap(x, bytes);
    munmap(y, bytes);
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 2) {
        std::printf("usage: test_layernorm LIBRARY.so [--short]\n");
        return 2;
    }
    is_short = argc > 2 && std::string(argv[2]) == "--short";
    const Library library(argv[1]);
    std::printf("%s\n", library.table->build);
    test_table(library);
    test_tiling();
    test_widths(library);
    test_offsets(library);
    test_outliers(library);
    test_constants(library);
    test_extremes(library);
    test_not_numbers(library);
    test_eps(library);
    test_many_rows(library);
    test_far_rows(library);
    std::printf("largest error: float32 %.3g of the row's largest |y|, 16-bit %d units in the last place\n", worst().f32,
                worst().narrow);
    std::printf("%d failures\n", failures());
    return failures() ? 1 : 0;
}
