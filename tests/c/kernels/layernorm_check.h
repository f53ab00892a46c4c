// SPDX-License-Identifier: Apache-2.0
// Helpers of the layernorm kernel tests: element types, guarded memory, one launch, a long double reference.
#ifndef LAYERNORM_CHECK_H
#define LAYERNORM_CHECK_H

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ascend_cy/kernel_abi.h"
#include "layernorm_tiling.h"

// ---- reporting
inline int &failures() {
    static int count = 0;
    return count;
}
#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            if (++failures() <= 20) {                                                                                  \
                std::printf("FAIL %s:%d %s: ", __func__, __LINE__, #condition);                                        \
                std::printf(__VA_ARGS__);                                                                              \
                std::printf("\n");                                                                                     \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

// ---- element types, converted by way of frexp and rint: slow, and nothing in common with the code under test
enum Type { kF32 = LAYERNORM_FLOAT, kF16 = LAYERNORM_FLOAT16, kBf16 = LAYERNORM_BF16, kAbsent = -1 };
inline const char *name_of(int type) {
    return type == kF32 ? "f32" : type == kF16 ? "f16" : type == kBf16 ? "bf16" : "none";
}
inline size_t size_of(int type) { return type == kF32 ? 4 : 2; }

struct Format {
    int digits, least_exponent; // significand bits; exponent of a unit in the last place of the smallest numbers
    double largest;
    int fraction_bits;
};
inline Format format_of(int type) {
    if (type == kF16) return {11, -24, 65504.0, 10};
    if (type == kBf16) return {8, -133, std::ldexp(255.0, 120), 7};
    return {24, -149, std::numeric_limits<float>::max(), 23};
}

inline double value_of(int type, const void *p, int64_t i) {
    if (type == kF32) return static_cast<const float *>(p)[i];
    const uint16_t bits = static_cast<const uint16_t *>(p)[i];
    const Format f = format_of(type);
    const int exponent_bits = 15 - f.fraction_bits;
    const int exponent = (bits >> f.fraction_bits) & ((1 << exponent_bits) - 1);
    const int fraction = bits & ((1 << f.fraction_bits) - 1);
    double v;
    if (exponent == (1 << exponent_bits) - 1) v = fraction ? std::nan("") : INFINITY;
    else if (exponent == 0) v = std::ldexp(fraction, f.least_exponent);
    else v = std::ldexp(fraction + (1 << f.fraction_bits), f.least_exponent + exponent - 1);
    return bits & 0x8000 ? -v : v;
}

// The nearest number of the type (ties to even, infinity beyond the largest), still as a double.
inline double rounded(int type, long double v) {
    const Format f = format_of(type);
    if (std::isnan(v)) return std::nan("");
    if (v == 0 || std::isinf(v)) return static_cast<double>(v);
    int exponent;
    std::frexp(v, &exponent);
    int unit = exponent - f.digits;
    if (unit < f.least_exponent) unit = f.least_exponent;
    const double r = static_cast<double>(std::ldexp(std::rint(std::ldexp(v, -unit)), unit));
    return std::fabs(r) > f.largest ? std::copysign(INFINITY, r) : r;
}

inline void put(int type, void *p, int64_t i, double v) {
    if (type == kF32) {
        static_cast<float *>(p)[i] = static_cast<float>(v);
        return;
    }
    const Format f = format_of(type);
    const uint16_t sign = std::signbit(v) ? 0x8000 : 0;
    const uint16_t infinite = static_cast<uint16_t>(0x7fff & ~((1 << f.fraction_bits) - 1));
    uint16_t bits;
    v = std::fabs(rounded(type, v));
    if (std::isnan(v)) bits = infinite | static_cast<uint16_t>(1 << (f.fraction_bits - 1));
    else if (std::isinf(v)) bits = infinite;
    else if (v == 0) bits = 0;
    else {
        int exponent;
        std::frexp(v, &exponent);
        const int biased = exponent - f.digits - f.least_exponent + 1; // of a normal number: at least 1
        if (biased < 1) bits = static_cast<uint16_t>(std::ldexp(v, -f.least_exponent));
        else
            bits = static_cast<uint16_t>((biased << f.fraction_bits) +
                                         static_cast<int>(std::ldexp(v, -(biased - 1 + f.least_exponent))) -
                                         (1 << f.fraction_bits));
    }
    static_cast<uint16_t *>(p)[i] = sign | bits;
}

// The place of a number among all numbers of its 16-bit type, so that neighbours differ by one.
inline int place_of(int type, double v) {
    uint16_t bits;
    put(type, &bits, 0, v);
    return bits & 0x8000 ? -(bits & 0x7fff) : bits;
}

// ---- memory with an unreadable page right before and right after it
class Guarded {
  public:
    explicit Guarded(size_t bytes, bool at_end = true) {
        const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        const size_t inner = (bytes + page - 1) / page * page + (bytes == 0 ? page : 0);
        total_ = inner + 2 * page;
        base_ = static_cast<char *>(mmap(nullptr, total_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (base_ == MAP_FAILED || mprotect(base_ + page, inner, PROT_READ | PROT_WRITE) != 0) std::abort();
        data_ = at_end ? base_ + page + inner - bytes : base_ + page;
    }
    ~Guarded() { munmap(base_, total_); }
    Guarded(const Guarded &) = delete;
    Guarded &operator=(const Guarded &) = delete;
    void *get() const { return data_; }

  private:
    char *base_, *data_;
    size_t total_;
};

// ---- the library under test
class Library {
  public:
    explicit Library(const char *path) {
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!handle) {
            std::printf("cannot load %s: %s\n", path, dlerror());
            std::exit(2);
        }
        table = static_cast<const ascend_kernel_table_t *>(dlsym(handle, ASCEND_KERNEL_TABLE_SYMBOL));
        if (!table) {
            std::printf("%s exports no %s\n", path, ASCEND_KERNEL_TABLE_SYMBOL);
            std::exit(2);
        }
    }
    const ascend_kernel_desc_t &kernel(int type) const {
        const char *wanted = type == kF32 ? "layernorm_fp32" : type == kF16 ? "layernorm_fp16" : "layernorm_bf16";
        for (uint32_t i = 0; i < table->num_kernels; ++i)
            if (std::strcmp(table->kernels[i].name, wanted) == 0) return table->kernels[i];
        std::printf("no kernel %s\n", wanted);
        std::exit(2);
    }
    const ascend_kernel_table_t *table;
};

struct Problem {
    int type = kF32;
    int64_t rows = 1, cols = 1;
    void *x = nullptr, *y = nullptr;
    const void *gamma = nullptr, *beta = nullptr;
    int gamma_type = kF32, beta_type = kF32;
    float *mean = nullptr, *rstd = nullptr;
    double eps = 1e-5;
};

// Run every block, last one first. rows_per_block 0: as the tiling says.
inline void launch(const Library &library, const Problem &p, int64_t rows_per_block = 0) {
    LayerNormArgs args = {};
    uint32_t blocks = layernorm_cpu_tiling(p.rows, p.cols, static_cast<int64_t>(size_of(p.type)), 2, &args);
    if (rows_per_block) {
        args.rows_per_block = rows_per_block;
        blocks = static_cast<uint32_t>((p.rows + rows_per_block - 1) / rows_per_block);
    }
    args.x = reinterpret_cast<uint64_t>(p.x);
    args.y = reinterpret_cast<uint64_t>(p.y);
    args.gamma = reinterpret_cast<uint64_t>(p.gamma);
    args.beta = reinterpret_cast<uint64_t>(p.beta);
    args.gamma_dtype = p.gamma_type;
    args.beta_dtype = p.beta_type;
    args.mean = reinterpret_cast<uint64_t>(p.mean);
    args.rstd = reinterpret_cast<uint64_t>(p.rstd);
    args.eps = p.eps;
    uint32_t stop = 0;
    ascend_kernel_services_t services = {};
    services.struct_size = sizeof services;
    services.kernel_name = library.kernel(p.type).name;
    services.stop = &stop;
    for (uint32_t b = blocks; b-- > 0;) library.kernel(p.type).entry(b, blocks, &args, &services);
}

// ---- reference and comparison
struct Worst {
    double f32 = 0; // error over the row's largest |y|
    int narrow = 0; // units in the last place from the correctly rounded value
};
inline Worst &worst() {
    static Worst w;
    return w;
}

// Compare y with LayerNorm of x (a copy of the input, since y may have overwritten it).
inline void compare(const Problem &p, const void *x, const char *what) {
    std::vector<long double> want(static_cast<size_t>(p.cols));
    for (int64_t r = 0; r < p.rows; ++r) {
        long double sum = 0, squares = 0, largest = 0;
        const int64_t at = r * p.cols;
        bool constant = true;
        for (int64_t c = 0; c < p.cols; ++c) {
            sum += value_of(p.type, x, at + c);
            constant = constant && value_of(p.type, x, at + c) == value_of(p.type, x, at);
        }
        const long double mean = constant ? value_of(p.type, x, at) : sum / p.cols;
        for (int64_t c = 0; c < p.cols; ++c) {
            const long double d = value_of(p.type, x, at + c) - mean;
            squares += d * d;
        }
        const long double variance = squares / p.cols;
        const bool finite = std::isfinite(static_cast<double>(mean)) && !std::isnan(static_cast<double>(variance));
        const long double rstd = 1.0L / std::sqrt(variance + static_cast<long double>(p.eps));
        for (int64_t c = 0; c < p.cols; ++c) {
            const long double d = value_of(p.type, x, at + c) - mean;
            const long double g = p.gamma ? value_of(p.gamma_type, p.gamma, c) : 1.0;
            const long double b = p.beta ? value_of(p.beta_type, p.beta, c) : 0.0;
            want[c] = !finite ? std::nan("") : (constant ? 0.0L : d * rstd) * g + b;
            if (std::fabs(want[c]) > largest) largest = std::fabs(want[c]);
        }
        const double largest_double = static_cast<double>(largest);
        for (int64_t c = 0; c < p.cols; ++c) {
            const double got = value_of(p.type, p.y, at + c);
            const double best = rounded(p.type, want[c]);
            if (std::isnan(best) || std::isinf(best) || constant) {
                const bool same = std::isnan(best) ? std::isnan(got) : got == best;
                CHECK(same, "%s %s rows %lld cols %lld [%lld,%lld]: got %.9g, want %.9g", what, name_of(p.type),
                      (long long)p.rows, (long long)p.cols, (long long)r, (long long)c, got, best);
            } else if (p.type == kF32) {
                // what rounding to a subnormal number costs is no fault
                const double error = std::fabs(got - static_cast<double>(want[c])) - 0x1p-150;
                const double relative = error <= 0 ? 0 : error / largest_double;
                if (!(relative <= worst().f32)) worst().f32 = relative;
                CHECK(relative <= 1e-6, "%s f32 rows %lld cols %lld [%lld,%lld]: got %.9g, want %.9g, error %.3g", what,
                      (long long)p.rows, (long long)p.cols, (long long)r, (long long)c, got, (double)want[c], relative);
            } else {
                const int off = std::isnan(got) ? 1 << 20 : std::abs(place_of(p.type, got) - place_of(p.type, best));
                // The statistics of a row are good to some 1e-9, so a result that is a millionth of its row, by mere
                // luck of cancellation, may be off by more than its own tiny unit.
                const bool lucky = std::fabs(got - static_cast<double>(want[c])) <= 1e-9 * largest_double;
                if (!lucky && off > worst().narrow) worst().narrow = off;
                CHECK(off <= 1 || lucky, "%s %s rows %lld cols %lld [%lld,%lld]: got %.9g, want %.9g (%.9g), %d units off", what,
                      name_of(p.type), (long long)p.rows, (long long)p.cols, (long long)r, (long long)c, got, best,
                      (double)want[c], off);
            }
        }
        if (p.mean) {
            const double got = p.mean[r], best = static_cast<float>(mean);
            const double room = 1e-6 * (std::fabs(best) + std::sqrt(static_cast<double>(variance)));
            CHECK(finite ? std::fabs(got - best) <= room : !std::isfinite(got), "%s row %lld of %lld: mean %.9g, want %.9g",
                  what, (long long)r, (long long)p.cols, got, best);
        }
        if (p.rstd) {
            const double got = p.rstd[r], best = static_cast<float>(rstd);
            const bool right = std::isinf(best) ? std::isinf(got) : std::fabs(got - best) <= 1e-6 * best;
            CHECK(finite ? right : std::isnan(got), "%s row %lld of %lld: rstd %.9g, want %.9g", what, (long long)r,
                  (long long)p.cols, got, best);
        }
    }
}

#endif // LAYERNORM_CHECK_H
