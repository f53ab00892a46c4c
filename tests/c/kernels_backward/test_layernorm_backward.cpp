// SPDX-License-Identifier: Apache-2.0
//
// test_layernorm_backward LIBRARY.so [--short]: the `cpu` layernorm_backward kernels against long double, called as a
// device calls them. Every array lies between two unreadable pages. Prints what fails and the largest errors; exit code 1
// on failure.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "../kernels/layernorm_check.h"
#include "layernorm_backward_tiling.h"

namespace {

using Random = std::mt19937_64;
using Fill = std::function<double(int64_t, int64_t)>;
bool is_short = false;
const int kTypes[] = {kF32, kF16, kBf16};

double normal(Random &random) { return std::normal_distribution<double>()(random); }

const ascend_kernel_desc_t &kernel_named(const Library &library, bool sum, int type) {
    const std::string name = std::string(sum ? "layernorm_backward_sum_" : "layernorm_backward_") +
                             (type == kF32 ? "fp32" : type == kF16 ? "fp16" : "bf16");
    for (uint32_t i = 0; i < library.table->num_kernels; ++i)
        if (name == library.table->kernels[i].name) return library.table->kernels[i];
    std::printf("no kernel %s\n", name.c_str());
    std::exit(2);
}

void run_blocks(const ascend_kernel_desc_t &kernel, uint32_t blocks, const void *args) {
    for (uint32_t b = blocks; b-- > 0;) kernel.entry(b, blocks, args, nullptr);
}

double worst_dx = 0, worst_sum = 0;

struct Problem2 {
    int type, gamma_type; // kAbsent: no gamma, and no sums
    int64_t rows, cols;
    std::vector<char> dy, x, gamma; // as bytes of the types
    std::vector<float> mean, rstd;
};

Problem2 make(int type, int gamma_type, int64_t rows, int64_t cols, double eps, const Fill &fill_x, const Fill &fill_dy,
              const std::function<double(int64_t)> &fill_gamma) {
    Problem2 p{type, gamma_type, rows, cols, {}, {}, {}, {}, {}};
    const size_t count = static_cast<size_t>(rows * cols);
    p.dy.resize(count * size_of(type));
    p.x.resize(count * size_of(type));
    p.gamma.resize(static_cast<size_t>(cols) * 4);
    for (int64_t r = 0; r < rows; ++r) {
        long double sum = 0, squares = 0;
        for (int64_t c = 0; c < cols; ++c) {
            put(type, p.x.data(), r * cols + c, fill_x(r, c));
            put(type, p.dy.data(), r * cols + c, fill_dy(r, c));
            sum += value_of(type, p.x.data(), r * cols + c);
        }
        const long double mean = sum / cols;
        for (int64_t c = 0; c < cols; ++c) {
            const long double d = value_of(type, p.x.data(), r * cols + c) - mean;
            squares += d * d;
        }
        p.mean.push_back(static_cast<float>(mean));
        p.rstd.push_back(static_cast<float>(1 / std::sqrt(squares / cols + static_cast<long double>(eps))));
    }
    for (int64_t c = 0; c < cols && gamma_type != kAbsent; ++c) put(gamma_type, p.gamma.data(), c, fill_gamma(c));
    return p;
}

struct Results {
    std::vector<char> dx, dgamma, dbeta;
    bool operator==(const Results &other) const {
        return dx == other.dx && dgamma == other.dgamma && dbeta == other.dbeta;
    }
};

enum Place { kApart, kOverDy, kOverX };

// All arrays between unreadable pages, at their end or at their start.
Results launch(const Library &library, const Problem2 &p, int64_t cores, bool at_end, Place place, bool want_dx, bool want_sums) {
    auto guarded = [&](const void *from, size_t bytes) {
        auto made = std::make_unique<Guarded>(bytes, at_end);
        if (from && bytes) std::memcpy(made->get(), from, bytes);
        return made;
    };
    auto address = [](const std::unique_ptr<Guarded> &g) { return g ? reinterpret_cast<uint64_t>(g->get()) : 0; };
    const bool weights = p.gamma_type != kAbsent;
    const int grad_type = weights ? p.gamma_type : static_cast<int>(kF32);
    const size_t grad_bytes = static_cast<size_t>(p.cols) * size_of(grad_type);
    const auto dy = guarded(p.dy.data(), p.dy.size()), x = guarded(p.x.data(), p.x.size());
    const auto mean = guarded(p.mean.data(), p.mean.size() * 4), rstd = guarded(p.rstd.data(), p.rstd.size() * 4);
    const auto gamma = weights ? guarded(p.gamma.data(), grad_bytes) : nullptr;
    const auto dx = want_dx && place == kApart ? guarded(nullptr, p.x.size()) : nullptr;
    LayerNormBackwardArgs args = {};
    const uint32_t blocks = layernorm_backward_cpu_tiling(p.rows, p.cols, static_cast<int64_t>(size_of(p.type)), cores, &args);
    args.dy = address(dy);
    args.x = address(x);
    args.mean = address(mean);
    args.rstd = address(rstd);
    args.gamma = address(gamma);
    args.gamma_dtype = grad_type;
    const std::unique_ptr<Guarded> &out = place == kOverDy ? dy : place == kOverX ? x : dx;
    args.dx = want_dx ? address(out) : 0;
    const size_t bytes = layernorm_backward_workspace_bytes(&args);
    const auto workspace = want_sums ? guarded(nullptr, bytes) : nullptr;
    if (want_sums) std::memset(workspace->get(), 0xff, bytes); // NaN: nothing may be taken for granted
    args.workspace = address(workspace);
    run_blocks(kernel_named(library, false, p.type), blocks, &args);
    Results results;
    if (want_dx) results.dx.assign(static_cast<char *>(out->get()), static_cast<char *>(out->get()) + p.x.size());
    if (!want_sums) return results;
    const auto dgamma = guarded(nullptr, grad_bytes), dbeta = guarded(nullptr, grad_bytes);
    LayerNormBackwardSumArgs sums = {};
    const uint32_t sum_blocks = layernorm_backward_cpu_sum_tiling(p.cols, args.parts, cores, &sums);
    sums.workspace = args.workspace;
    sums.dgamma = address(dgamma);
    sums.dbeta = address(dbeta);
    run_blocks(kernel_named(library, true, grad_type), sum_blocks, &sums);
    results.dgamma.assign(static_cast<char *>(dgamma->get()), static_cast<char *>(dgamma->get()) + grad_bytes);
    results.dbeta.assign(static_cast<char *>(dbeta->get()), static_cast<char *>(dbeta->get()) + grad_bytes);
    return results;
}

// One result against its value; `size` are the terms that it is made of.
void check_value(const char *what, const char *name, const Problem2 &p, int type, double got, long double want,
                 long double size, double *worst, int64_t r, int64_t c) {
    const double best = rounded(type, want);
    if (!std::isfinite(best)) {
        CHECK(!std::isfinite(got) || std::fabs(got - static_cast<double>(want)) <= 1e-6 * static_cast<double>(size),
              "%s %s %s rows %lld cols %lld [%lld,%lld]: got %.9g, want %.9g", what, name, name_of(p.type), (long long)p.rows,
              (long long)p.cols, (long long)r, (long long)c, got, best);
        return;
    }
    const double error = static_cast<double>(std::fabs(got - want) / (size + 1e-300L));
    const bool tiny = std::fabs(got - static_cast<double>(want)) <= 0x1p-148;
    const bool near = type != kF32 && std::isfinite(got) && std::abs(place_of(type, got) - place_of(type, best)) <= 1;
    if (type == kF32 && !tiny && !(error <= *worst)) *worst = error;
    CHECK(error <= 1e-6 || tiny || near, "%s %s %s rows %lld cols %lld [%lld,%lld]: got %.9g, want %.9g, error %.3g", what, name,
          name_of(p.type), (long long)p.rows, (long long)p.cols, (long long)r, (long long)c, got, (double)want, error);
}

void compare(const char *what, const Problem2 &p, const Results &results) {
    const bool weights = p.gamma_type != kAbsent;
    const size_t cols = static_cast<size_t>(p.cols);
    std::vector<long double> dgamma(cols), dbeta(cols), gamma_size(cols), beta_size(cols), xhat(cols), g(cols);
    for (int64_t r = 0; r < p.rows; ++r) {
        const int64_t at = r * p.cols;
        long double mean = 0, a = 0, b = 0, size = 0;
        bool constant = true;
        for (int64_t c = 0; c < p.cols; ++c) {
            mean += value_of(p.type, p.x.data(), at + c);
            constant = constant && value_of(p.type, p.x.data(), at + c) == value_of(p.type, p.x.data(), at);
        }
        mean = constant ? value_of(p.type, p.x.data(), at) : mean / p.cols;
        const long double rstd = p.rstd[static_cast<size_t>(r)];
        for (size_t c = 0; c < cols; ++c) {
            const int64_t i = at + static_cast<int64_t>(c);
            const long double y = value_of(p.type, p.dy.data(), i);
            xhat[c] = (value_of(p.type, p.x.data(), i) - mean) * rstd;
            g[c] = y * (weights ? value_of(p.gamma_type, p.gamma.data(), static_cast<int64_t>(c)) : 1.0);
            a += g[c] / p.cols;
            b += g[c] * xhat[c] / p.cols;
            dgamma[c] += y * xhat[c];
            dbeta[c] += y;
            gamma_size[c] += std::fabs(y) * (std::fabs(xhat[c]) + 1);
            beta_size[c] += std::fabs(y);
        }
        for (size_t c = 0; c < cols; ++c) size = std::max(size, rstd * (std::fabs(g[c]) + std::fabs(a) + std::fabs(xhat[c] * b)));
        for (size_t c = 0; c < cols; ++c)
            check_value(what, "dx", p, p.type, value_of(p.type, results.dx.data(), at + static_cast<int64_t>(c)),
                        rstd * (g[c] - a - xhat[c] * b), size, &worst_dx, r, static_cast<int64_t>(c));
    }
    for (size_t c = 0; c < cols && weights; ++c) {
        const int64_t i = static_cast<int64_t>(c);
        check_value(what, "dgamma", p, p.gamma_type, value_of(p.gamma_type, results.dgamma.data(), i), dgamma[c], gamma_size[c],
                    &worst_sum, 0, i);
        check_value(what, "dbeta", p, p.gamma_type, value_of(p.gamma_type, results.dbeta.data(), i), dbeta[c], beta_size[c],
                    &worst_sum, 0, i);
    }
}

// The first run against the reference; the others, on other numbers of cores, in place and in parts, bit for bit.
void run(const Library &library, const char *what, int type, int gamma_type, int64_t rows, int64_t cols, const Fill &x,
         const Fill &dy, double eps = 1e-5, std::function<double(int64_t)> gamma = nullptr) {
    Random random(static_cast<uint64_t>(cols * 7919 + rows));
    if (!gamma) gamma = [&](int64_t) { return 1.0 + 0.5 * normal(random); };
    const Problem2 p = make(type, gamma_type, rows, cols, eps, x, dy, gamma);
    const bool sums = gamma_type != kAbsent;
    const Results first = launch(library, p, 2, true, kApart, true, sums);
    compare(what, p, first);
    auto same = [&](const Results &other, const char *how) {
        CHECK(first == other, "%s %s rows %lld cols %lld: other bits %s", what, name_of(type), (long long)rows, (long long)cols, how);
    };
    same(launch(library, p, 1, false, kApart, true, sums), "on one core");
    same(launch(library, p, 7, true, kOverDy, true, sums), "over dy");
    same(launch(library, p, 64, false, kOverX, true, sums), "over x");
    if (!sums) return;
    Results part = launch(library, p, 3, true, kApart, true, false);
    CHECK(part.dx == first.dx, "%s %s cols %lld: dx alone", what, name_of(type), (long long)cols);
    part = launch(library, p, 3, true, kApart, false, true);
    CHECK(part.dgamma == first.dgamma && part.dbeta == first.dbeta, "%s %s cols %lld: sums alone", what, name_of(type),
          (long long)cols);
}

void test_table(const Library &library) {
    CHECK(library.table->abi_version == ASCEND_KERNEL_ABI_VERSION && library.table->target == ASCEND_KERNEL_TARGET_CPU, "table");
    CHECK(library.table->num_kernels == 6, "%u kernels", library.table->num_kernels);
    for (int type : kTypes) {
        const ascend_kernel_desc_t &rows = kernel_named(library, false, type), &sum = kernel_named(library, true, type);
        CHECK(rows.args_size == sizeof(LayerNormBackwardArgs) && rows.num_params == rows.args_size / 8, "%s", rows.name);
        CHECK(sum.args_size == sizeof(LayerNormBackwardSumArgs) && sum.num_params == sum.args_size / 8, "%s", sum.name);
        LayerNormBackwardArgs args = {};
        LayerNormBackwardSumArgs sums = {};
        CHECK(rows.cost_ns(&args, 0) == 0 && sum.cost_ns(&sums, 0) == 0, "cost of nothing");
        layernorm_backward_cpu_tiling(1, 768, 4, 2, &args);
        const uint64_t small = rows.cost_ns(&args, 1);
        layernorm_backward_cpu_tiling(8192, 1024, 4, 2, &args);
        CHECK(small > 0 && small < 2000 && rows.cost_ns(&args, 1) > 1000 * small, "cost %llu", (unsigned long long)small);
    }
}

void test_tiling() {
    const int64_t sizes[] = {1, 2, 3, 7, 8, 9, 63, 64, 512, 513, 1000, 8191, 65536, 65537, 1 << 20, (int64_t{1} << 33) + 1};
    for (int64_t rows : sizes)
        for (int64_t cols : sizes)
            for (int64_t itemsize : {2, 4})
                for (int64_t cores : {0, 1, 2, 7, 64, 1 << 20}) {
                    LayerNormBackwardArgs args = {}, other = {};
                    const int64_t blocks = layernorm_backward_cpu_tiling(rows, cols, itemsize, cores, &args);
                    layernorm_backward_cpu_tiling(rows, cols, 4, 1, &other);
                    CHECK(blocks >= 1 && blocks <= 65535 && blocks <= args.parts, "%lld x %lld: %lld blocks of %lld parts",
                          (long long)rows, (long long)cols, (long long)blocks, (long long)args.parts);
                    CHECK(args.parts == other.parts && args.rows_per_part == other.rows_per_part, "parts depend on the shape alone");
                    CHECK((args.parts - 1) * args.rows_per_part < rows && args.parts * args.rows_per_part >= rows &&
                              args.rows_per_part <= 64,
                          "%lld rows: %lld parts of %lld", (long long)rows, (long long)args.parts, (long long)args.rows_per_part);
                    LayerNormBackwardSumArgs sums = {};
                    const int64_t sum_blocks = layernorm_backward_cpu_sum_tiling(cols, args.parts, cores, &sums);
                    CHECK(sum_blocks >= 1 && sum_blocks <= 65535 && (sum_blocks - 1) * sums.cols_per_block < cols &&
                              sum_blocks * sums.cols_per_block >= cols,
                          "%lld columns: %lld blocks of %lld", (long long)cols, (long long)sum_blocks, (long long)sums.cols_per_block);
                }
    LayerNormBackwardArgs args = {};
    LayerNormBackwardSumArgs sums = {};
    CHECK(layernorm_backward_cpu_tiling(0, 5, 4, 2, &args) == 0 && layernorm_backward_cpu_tiling(5, 0, 4, 2, &args) == 0 &&
              layernorm_backward_cpu_sum_tiling(0, 5, 2, &sums) == 0 && layernorm_backward_cpu_sum_tiling(5, 0, 2, &sums) == 0,
          "empty");
}

void test_widths(const Library &library) {
    Random random(1);
    const int weights[] = {kAbsent, kF32, kF16, kBf16};
    const Fill dy = [&](int64_t, int64_t) { return normal(random); };
    for (int type : kTypes)
        for (int64_t cols = 1; cols <= 70; ++cols) {
            const double offset = cols % 3 == 0 ? 1.0 : cols % 3 == 1 ? -20.0 : 0.0;
            const Fill x = [&](int64_t r, int64_t) { return offset * static_cast<double>(r + 1) + normal(random); };
            for (int gamma : weights)
                if (cols % 5 == 0 || cols <= 4 || gamma == type) run(library, "widths", type, gamma, 1 + cols % 11, cols, x, dy);
        }
    for (int64_t cols : {71, 96, 127, 128, 129, 255, 256, 257, 511, 513, 768, 1000, 1023, 1024, 1025, 2047, 2049, 4097, 8192, 50000})
        for (int type : kTypes) {
            if (is_short && cols > 2100) continue;
            const Fill x = [&](int64_t r, int64_t) { return 1.0 + static_cast<double>(r) + normal(random); };
            run(library, "widths", type, cols % 2 ? static_cast<int>(kF32) : type, cols < 600 ? 37 : 9, cols, x, dy);
        }
}

void test_offsets(const Library &library) {
    Random random(2);
    const Fill dy = [&](int64_t, int64_t) { return normal(random); };
    for (int64_t cols : {2, 3, 16, 17, 100, 768, 1000, 4097, 20000})
        for (double offset : {4.0, 300.0, 1e4, 1e6, -1e6}) {
            if (is_short && cols > 1100) continue;
            run(library, "offsets", kF32, kF32, cols < 5000 ? 7 : 2, cols,
                [&](int64_t r, int64_t) { return offset * (1.0 - 0.01 * static_cast<double>(r)) + normal(random); }, dy);
        }
}

void test_extremes(const Library &library) {
    Random random(4);
    for (double scale : {1e-36, 1e-30, 1e-20, 1e-3, 1e15, 1e19, 1e30, 1e37})
        for (double gradient : {1e-20, 1.0, 1e20})
            for (int64_t cols : {2, 4, 33, 300, 1030})
                for (int type : {kF32, kBf16}) {
                    const double rstd = 1.0 / scale;
                    if (gradient * rstd > 1e36 || gradient * rstd < 1e-30) continue; // dx itself out of range
                    run(library, "extremes", type, kF32, 5, cols, [&](int64_t, int64_t) { return scale * normal(random); },
                        [&](int64_t, int64_t) { return gradient * normal(random); }, 0.0);
                }
    // x - mean and dy * gamma beyond the range of float, and a row that is not.
    run(library, "beyond float", kF32, kF32, 6, 40,
        [&](int64_t r, int64_t c) { return r % 2 ? normal(random) : (c % 2 ? 3e38 : -3e38) * (1 - 0.001 * static_cast<double>(c)); },
        [&](int64_t r, int64_t) { return (r % 3 ? 1e30 : 1.0) * normal(random); }, 0.0,
        [](int64_t c) { return c % 2 ? 1e8 : 1.0; });
}

void test_constants(const Library &library) {
    Random random(5);
    for (int type : kTypes)
        for (int64_t cols : {1, 2, 8, 15, 67, 200, 1025, 5000}) {
            const double top = type == kF16 ? 65504.0 : 3e38;
            const double values[] = {0.0, 1e4, 0.1, -7.3, top, -top, 3e-5};
            run(library, "constants", type, type, 7, cols, [&](int64_t r, int64_t) { return values[r]; },
                [&](int64_t, int64_t) { return normal(random); });
        }
}

// NaN and infinity in one row: no other row's dx has other bits, and only the columns that they reach are no numbers.
void test_not_numbers(const Library &library) {
    Random random(6);
    for (int type : kTypes)
        for (double bad : {(double)NAN, (double)INFINITY, -(double)INFINITY})
            for (int64_t cols : {3, 16, 31, 257, 1027})
                for (int64_t row : {0, 2, 6})
                    for (bool in_dy : {true, false}) {
                        auto number = [&](int64_t, int64_t) { return normal(random); };
                        Problem2 p = make(type, kF32, 7, cols, 1e-5, number, number, [](int64_t) { return 1.5; });
                        const Results clean = launch(library, p, 2, true, kApart, true, true);
                        put(type, (in_dy ? p.dy : p.x).data(), row * cols + cols / 2, bad);
                        const Results found = launch(library, p, 2, true, kApart, true, true);
                        const size_t bytes = static_cast<size_t>(cols) * size_of(type);
                        for (int64_t r = 0; r < 7; ++r) {
                            const size_t at = static_cast<size_t>(r) * bytes;
                            if (r != row)
                                CHECK(std::memcmp(&clean.dx[at], &found.dx[at], bytes) == 0, "row %lld next to a bad one", (long long)r);
                            else
                                for (int64_t c = 0; c < cols; ++c)
                                    CHECK(!std::isfinite(value_of(type, found.dx.data(), r * cols + c)), "a number in a bad row");
                        }
                        for (int64_t c = 0; c < cols; ++c) {
                            const bool reached = c == cols / 2;
                            CHECK(std::isfinite(value_of(kF32, found.dgamma.data(), c)) == (in_dy && !reached), "dgamma %lld", (long long)c);
                            CHECK(std::isfinite(value_of(kF32, found.dbeta.data(), c)) == !(in_dy && reached), "dbeta %lld", (long long)c);
                        }
                    }
}

void test_many_rows(const Library &library) {
    Random random(7);
    const Fill dy = [&](int64_t, int64_t) { return normal(random); };
    for (int type : kTypes)
        run(library, "many rows", type, type, is_short ? 3001 : 65537, 8,
            [&](int64_t r, int64_t) { return static_cast<double>(r % 9) + normal(random); }, dy);
    // A running sum in 16 bits would stop growing.
    for (int type : kTypes)
        run(library, "one by one", type, kF32, 5000, 3, [](int64_t, int64_t c) { return static_cast<double>(c) - 1; },
            [](int64_t, int64_t) { return 1.0; });
    for (int type : kTypes) // past the size from which results are streamed, at an alignment that suits no vector
        for (int64_t cols : {3, 40, 129, 1001, 3011}) {
            if (is_short && (type != kF32 || cols > 200)) continue;
            const int64_t rows = (9 << 20) / (3 * cols * static_cast<int64_t>(size_of(type))) + 1;
            run(library, "streamed", type, type, rows, cols,
                [&](int64_t r, int64_t) { return static_cast<double>(r % 7) + normal(random); }, dy);
        }
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 2) {
        std::printf("usage: test_layernorm_backward LIBRARY.so [--short]\n");
        return 2;
    }
    is_short = argc > 2 && std::string(argv[2]) == "--short";
    const Library library(argv[1]);
    std::printf("%s\n", library.table->build);
    test_table(library);
    test_tiling();
    test_widths(library);
    test_offsets(library);
    test_extremes(library);
    test_constants(library);
    test_not_numbers(library);
    test_many_rows(library);
    std::printf("largest errors in float32: dx %.3g, dgamma and dbeta %.3g of their terms\n", worst_dx, worst_sum);
    std::printf("%d failures\n", failures());
    return failures() ? 1 : 0;
}
