// SPDX-License-Identifier: Apache-2.0
//
// test_matmul LIBRARY.so: the `cpu` matmul kernels against double, called as a device calls them.
// Every array lies between two unreadable pages. Prints what fails; exit code 1 on failure.
#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "../kernels/layernorm_check.h"
#include "matmul/matmul_tiling.h"

namespace {

const int kTypes[] = {kF32, kF16, kBf16};
using Random = std::minstd_rand;

// From a pool, so that most conversions are found in the memo below.
double normal(Random &random) {
    static const std::vector<double> pool = [] {
        std::mt19937_64 source(7);
        std::vector<double> values(509);
        for (double &v : values) v = std::normal_distribution<double>()(source);
        return values;
    }();
    return pool[random() % pool.size()];
}

// put and value_of of layernorm_check.h, which are slow.
void put_fast(int type, void *memory, int64_t i, double v) {
    if (type == kF32) return put(type, memory, i, v);
    struct Known {
        double v = 0;
        uint32_t bits = 0;
    };
    static std::vector<Known> memo[2] = {std::vector<Known>(1 << 14), std::vector<Known>(1 << 14)};
    uint64_t key;
    std::memcpy(&key, &v, sizeof key);
    Known &known = memo[type == kF16][(key * 0x9e3779b97f4a7c15u) >> 50];
    if (std::memcmp(&known.v, &v, sizeof v) != 0) {
        known.v = v;
        put(type, &known.bits, 0, v);
    }
    static_cast<uint16_t *>(memory)[i] = static_cast<uint16_t>(known.bits);
}

double value_of_fast(int type, const void *memory, int64_t i) {
    if (type == kF32) return value_of(type, memory, i);
    static std::vector<double> tables[2];
    std::vector<double> &table = tables[type == kF16];
    if (table.empty())
        for (uint32_t bits = 0; bits < 65536; ++bits) table.push_back(value_of(type, &bits, 0));
    return table[static_cast<const uint16_t *>(memory)[i]];
}

const ascend_kernel_desc_t &kernel_of(const Library &library, int type) {
    const char *wanted = type == kF32 ? "matmul_fp32" : type == kF16 ? "matmul_fp16" : "matmul_bf16";
    for (uint32_t i = 0; i < library.table->num_kernels; ++i)
        if (std::strcmp(library.table->kernels[i].name, wanted) == 0) return library.table->kernels[i];
    std::printf("no kernel %s\n", wanted);
    std::exit(2);
}

void violation(const ascend_kernel_services_t *, uint32_t, int32_t code, const char *message) {
    CHECK(false, "violation %d: %s", code, message);
}

// Runs every block, last one first, on `threads` threads.
void launch_matmul(const Library &library, int type, const MatmulArgs &args, int64_t blocks,
                   int threads = 1) {
    uint32_t stop = 0;
    ascend_kernel_services_t services = {};
    services.struct_size = sizeof services;
    services.stop = &stop;
    services.violation = violation;
    const ascend_kernel_desc_t &kernel = kernel_of(library, type);
    std::atomic<int64_t> next{blocks};
    auto work = [&] {
        for (int64_t i; (i = --next) >= 0;)
            kernel.entry(static_cast<uint32_t>(i), static_cast<uint32_t>(blocks), &args, &services);
    };
    std::vector<std::thread> others;
    for (int i = 1; i < threads && i < blocks; ++i) others.emplace_back(work);
    work();
    for (std::thread &thread : others) thread.join();
}

// How a matrix lies in memory. `gap` is added to the longer stride, `step` multiplies the shorter one.
struct Layout {
    bool transposed = false;
    int64_t gap = 0, step = 1;
    bool shared = false; // one matrix for the whole batch
};

struct Operand {
    int64_t rows, cols, row_stride, col_stride, batch_stride, elements;
    std::vector<double> values; // by batch, row, column

    Operand(int64_t batch, int64_t r, int64_t c, const Layout &layout) : rows(r), cols(c) {
        const int64_t inner = layout.step;
        const int64_t outer = (layout.transposed ? rows : cols) * layout.step + layout.gap;
        row_stride = layout.transposed ? inner : outer;
        col_stride = layout.transposed ? outer : inner;
        const int64_t span = rows && cols ? (rows - 1) * row_stride + (cols - 1) * col_stride + 1 : 0;
        batch_stride = layout.shared ? 0 : span + layout.gap;
        elements = span + (batch - 1) * batch_stride;
        values.resize(static_cast<size_t>(batch * rows * cols));
    }
    double &value(int64_t i, int64_t r, int64_t c) {
        return values[static_cast<size_t>((i * rows + r) * cols + c)];
    }
    int64_t place(int64_t i, int64_t r, int64_t c) const {
        return i * batch_stride + r * row_stride + c * col_stride;
    }

    // Writes values to memory, and takes back what the type made of them.
    void store(int type, void *memory, int64_t batch) {
        for (int64_t i = 0; i < batch; ++i)
            for (int64_t r = 0; r < rows; ++r)
                for (int64_t c = 0; c < cols; ++c) {
                    if (i == 0 || batch_stride != 0) put_fast(type, memory, place(i, r, c), value(i, r, c));
                    value(i, r, c) = value_of_fast(type, memory, place(i, r, c));
                }
    }
};

// Same bits, where a NaN may have any payload and sign.
bool same_numbers(int type, const char *x, const char *y, int64_t n) {
    const size_t size = size_of(type);
    if (std::memcmp(x, y, static_cast<size_t>(n) * size) == 0) return true;
    for (int64_t i = 0; i < n; ++i)
        if (std::memcmp(x + i * size, y + i * size, size) != 0 &&
            (!std::isnan(value_of(type, x, i)) || !std::isnan(value_of(type, y, i))))
            return false;
    return true;
}

struct Product {
    int64_t batch = 1, m = 1, n = 1, k = 1;
    Layout a, b;
    int64_t c_gap = 0;
};

std::string text(int type, const Product &p) {
    char line[200];
    std::snprintf(line, sizeof line,
                  "%s %lld x (%lld, %lld, %lld) a %c gap %lld step %lld b %c gap %lld step %lld",
                  name_of(type), (long long)p.batch, (long long)p.m, (long long)p.n, (long long)p.k,
                  p.a.transposed ? 'T' : 'N', (long long)p.a.gap, (long long)p.a.step,
                  p.b.transposed ? 'T' : 'N', (long long)p.b.gap, (long long)p.b.step);
    return line;
}

MatmulArgs arguments(const Product &p, const Operand &a, const Operand &b, const void *a_data,
                     const void *b_data, void *c_data) {
    MatmulArgs args = {};
    args.a = reinterpret_cast<uint64_t>(a_data);
    args.b = reinterpret_cast<uint64_t>(b_data);
    args.c = reinterpret_cast<uint64_t>(c_data);
    args.batch = p.batch;
    args.m = p.m;
    args.n = p.n;
    args.k = p.k;
    args.a_row_stride = a.row_stride;
    args.a_col_stride = a.col_stride;
    args.a_batch_stride = a.batch_stride;
    args.b_row_stride = b.row_stride;
    args.b_col_stride = b.col_stride;
    args.b_batch_stride = b.batch_stride;
    args.c_row_stride = p.n + p.c_gap;
    args.c_batch_stride = p.m * args.c_row_stride;
    return args;
}

// The result lies between the rounded ends of what float sums in any order may give.
void compare(int type, const Product &p, Operand &a, Operand &b, const void *c) {
    std::vector<double> sums(static_cast<size_t>(p.n)), sizes(sums);
    for (int64_t i = 0; i < p.batch; ++i)
        for (int64_t r = 0; r < p.m; ++r) {
            std::fill(sums.begin(), sums.end(), 0.0);
            std::fill(sizes.begin(), sizes.end(), 0.0);
            for (int64_t j = 0; j < p.k; ++j) {
                const double x = a.value(i, r, j);
                const double *w = p.n ? &b.value(i, j, 0) : nullptr;
                for (int64_t s = 0; s < p.n; ++s) {
                    sums[s] += x * w[s];
                    sizes[s] += std::fabs(x * w[s]);
                }
            }
            for (int64_t s = 0; s < p.n; ++s) {
                const double got = value_of_fast(type, c, (i * p.m + r) * (p.n + p.c_gap) + s);
                if (!std::isfinite(sums[s])) {
                    CHECK(std::isnan(sums[s]) ? std::isnan(got) : got == sums[s],
                          "%s [%lld,%lld]: got %g, want %g", text(type, p).c_str(), (long long)r,
                          (long long)s, got, sums[s]);
                    continue;
                }
                const double room =
                    sizes[s] * std::min<double>(static_cast<double>(p.k) + 1, 64) * 0x1p-24 + 1e-40;
                const double low = rounded(type, sums[s] - room), high = rounded(type, sums[s] + room);
                CHECK(low <= got && got <= high, "%s [%lld,%lld,%lld]: got %.9g, want %.9g..%.9g",
                      text(type, p).c_str(), (long long)i, (long long)r, (long long)s, got, low, high);
            }
        }
}

void run(const Library &library, int type, const Product &p,
         const std::function<void(Operand &, Operand &)> &change = {}) {
    Random random(static_cast<uint64_t>(p.m * 10007 + p.n * 101 + p.k));
    Operand a(p.batch, p.m, p.k, p.a), b(p.batch, p.k, p.n, p.b);
    for (double &v : a.values) v = normal(random);
    for (double &v : b.values) v = normal(random);
    if (change) change(a, b);
    const int64_t c_elements = p.batch * p.m * (p.n + p.c_gap);
    const size_t size = size_of(type), c_bytes = static_cast<size_t>(c_elements) * size;
    Guarded as(static_cast<size_t>(a.elements) * size), bs(static_cast<size_t>(b.elements) * size),
        cs(c_bytes);
    // What lies between the elements must not matter.
    std::memset(as.get(), 0xff, static_cast<size_t>(a.elements) * size);
    std::memset(bs.get(), 0xff, static_cast<size_t>(b.elements) * size);
    a.store(type, as.get(), p.batch);
    b.store(type, bs.get(), p.batch);
    MatmulArgs args = arguments(p, a, b, as.get(), bs.get(), cs.get());
    const int64_t blocks = matmul_cpu_tiling(2, &args);
    std::memset(cs.get(), 0xff, c_bytes); // NaN: c is written, never read
    launch_matmul(library, type, args, blocks);
    compare(type, p, a, b, cs.get());
    std::vector<char> first(static_cast<char *>(cs.get()), static_cast<char *>(cs.get()) + c_bytes);
    for (int64_t i = 0; i < p.batch * p.m; ++i)
        for (int64_t j = 0; j < p.c_gap; ++j) {
            uint16_t between;
            std::memcpy(&between, first.data() + static_cast<size_t>(i * (p.n + p.c_gap) + p.n + j) * size,
                        2);
            CHECK(between == 0xffff, "%s: written between rows", text(type, p).c_str());
        }
    // Other numbers of cores, other blocks, several threads: the same bits.
    const int64_t tiles = blocks ? matmul_tiles(&args) : 0;
    for (int64_t variant = 1; variant <= 3; ++variant) {
        MatmulArgs other = args;
        matmul_cpu_tiling(variant == 1 ? 1 : 96, &other);
        const bool thin = p.m <= MATMUL_CPU_THIN || p.n <= MATMUL_CPU_THIN;
        CHECK(other.tile_m == args.tile_m && other.tile_n == args.tile_n, "%s: tiles", text(type, p).c_str());
        const bool own =
            std::strstr(library.table->build, " own ") != nullptr; // else a BLAS for what is not thin
        if (variant == 3 && thin && (own || (p.a.step == 1 && p.b.step == 1))) { // narrower tiles
            other.tile_m = p.m <= MATMUL_CPU_THIN ? p.m : 7;
            other.tile_n = p.m <= MATMUL_CPU_THIN ? 5 : p.n;
        } else if (variant == 3 && own) {
            other.tile_m = 37;
            other.tile_n = 45;
        }
        other.tiles_per_block = variant;
        const int64_t now = tiles ? matmul_ceil_div(matmul_tiles(&other), variant) : 0;
        std::memset(cs.get(), 0xff, c_bytes);
        launch_matmul(library, type, other, now, variant == 2 ? 3 : 1);
        CHECK(same_numbers(type, first.data(), static_cast<char *>(cs.get()), c_elements),
              "%s: variant %lld differs", text(type, p).c_str(), (long long)variant);
    }
}

Product shape(int64_t m, int64_t n, int64_t k) {
    Product p;
    p.m = m;
    p.n = n;
    p.k = k;
    return p;
}

void test_small_shapes(const Library &library) {
    const int64_t sizes[] = {1, 2, 3, 4, 5, 17, 33};
    for (int type : kTypes)
        for (int64_t m : sizes)
            for (int64_t n : sizes)
                for (int64_t k : {0, 1, 7, 31}) {
                    Product p = shape(m, n, k);
                    for (int i = 0; i < 4; ++i) {
                        p.a.transposed = i & 1;
                        p.b.transposed = i & 2;
                        p.a.gap = (m + n + k) % 3;
                        p.b.gap = (m + k) % 2;
                        p.c_gap = n % 2;
                        run(library, type, p);
                    }
                }
}

void test_shapes(const Library &library) {
    const int64_t shapes[][3] = {{64, 64, 64},    {100, 100, 100}, {128, 128, 128}, {129, 65, 511},
                                 {130, 513, 513}, {1, 3000, 2050}, {4, 1100, 1025}, {3, 700, 40},
                                 {2, 70, 3000},   {2500, 1, 300},  {900, 3, 1030},  {40, 30, 3000},
                                 {600, 520, 33},  {5, 1500, 100},  {1500, 5, 100}};
    for (int type : kTypes)
        for (const auto &s : shapes)
            for (int i = 0; i < 4; ++i) {
                Product p = shape(s[0], s[1], s[2]);
                p.a.transposed = i & 1;
                p.b.transposed = i & 2;
                if (i == 3) p.a.gap = p.b.gap = 5;
                run(library, type, p);
            }
}

// Strides that no BLAS takes are copied.
void test_odd_strides(const Library &library) {
    for (int type : kTypes)
        for (const auto &s :
             {shape(1, 50, 20), shape(50, 1, 20), shape(3, 70, 33), shape(40, 41, 42), shape(1, 1, 9)})
            for (int i = 0; i < 8; ++i) {
                Product p = s;
                p.a.transposed = i & 1;
                p.b.transposed = i & 2;
                p.a.step = i & 4 ? 3 : 1;
                p.b.step = i & 4 ? 1 : 2;
                run(library, type, p);
            }
}

void test_batches(const Library &library) {
    for (int type : kTypes)
        for (int i = 0; i < 8; ++i)
            for (const auto &s : {shape(17, 19, 23), shape(1, 33, 70), shape(65, 2, 64), shape(70, 90, 5)}) {
                Product p = s;
                p.batch = i == 0 ? 300 : 7;
                p.a.transposed = i & 1;
                p.b.transposed = i & 2;
                p.a.shared = i == 5;
                p.b.shared = i == 3 || i == 5 || i == 6;
                p.a.gap = i & 4 ? 3 : 0;
                p.c_gap = i & 1;
                run(library, type, p);
            }
}

void test_special_values(const Library &library) {
    for (int type : kTypes)
        for (const auto &s : {shape(1, 40, 30), shape(30, 3, 40), shape(20, 21, 22), shape(130, 70, 600)})
            for (int i = 0; i < 4; ++i) {
                Product p = s;
                p.a.transposed = i & 1;
                p.b.transposed = i & 2;
                run(library, type, p, [&](Operand &a, Operand &b) { // NaN and infinity against zeros
                    for (int64_t j = 0; j < p.n; ++j) b.value(0, p.k / 2, j) = j % 3 == 0 ? 0.0 : 1.0;
                    a.value(0, p.m / 2, p.k / 2) = INFINITY;
                    b.value(0, p.k - 1, p.n - 1) = std::nan("");
                    for (int64_t r = 0; r < p.m; ++r) a.value(0, r, p.k - 1) = r % 2 ? 0.0 : 1.0;
                });
                run(library, type, p, [&](Operand &a, Operand &b) { // sums beyond the range of float16
                    for (double &v : a.values) v = 200.0 + v;
                    for (double &v : b.values) v = type == kF16 ? 300.0 + v : v;
                });
                run(library, type, p, [&](Operand &a, Operand &b) { // subnormal numbers count
                    const double tiny = std::ldexp(1.0, type == kF16 ? -24 : type == kBf16 ? -133 : -149);
                    for (double &v : a.values) v = std::rint(v * 3) * tiny;
                    for (double &v : b.values)
                        v = type == kF16 ? std::rint(v) * 8 : std::ldexp(std::rint(v), 100);
                });
            }
}

// Rows so far apart that no BLAS with 32-bit integers can be told.
void test_far_rows(const Library &library) {
    const int64_t m = 6, k = 9, n = 7, stride = (int64_t{1} << 31) + 5;
    const size_t bytes = static_cast<size_t>(m * stride) * 4;
    void *const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        std::printf("no address space for far rows: skipped\n");
        return;
    }
    float *const far = static_cast<float *>(memory);
    for (int64_t r = 0; r < m; ++r)
        for (int64_t j = 0; j < k; ++j) far[r * stride + j] = static_cast<float>(r * 10 + j);
    float b[k * n], c[m * n];
    for (int64_t i = 0; i < k * n; ++i) b[i] = static_cast<float>(i % 5);
    MatmulArgs args = {reinterpret_cast<uint64_t>(far),
                       reinterpret_cast<uint64_t>(b),
                       reinterpret_cast<uint64_t>(c),
                       1,
                       m,
                       n,
                       k,
                       stride,
                       1,
                       0,
                       n,
                       1,
                       0,
                       n,
                       m * n,
                       0,
                       0,
                       0,
                       0};
    launch_matmul(library, kF32, args, matmul_cpu_tiling(2, &args));
    std::vector<float> near(c, c + m * n);
    for (int64_t r = 0; r < m; ++r)
        for (int64_t j = 0; j < n; ++j) {
            float want = 0;
            for (int64_t i = 0; i < k; ++i) want += static_cast<float>((r * 10 + i) * ((i * n + j) % 5));
            CHECK(near[r * n + j] == want, "far a [%lld,%lld]: %g, want %g", (long long)r, (long long)j,
                  near[r * n + j], want);
        }
    // The same with far rows of c: behind column k of far.
    args.a = reinterpret_cast<uint64_t>(b);
    args.m = args.k = 0;
    args = {reinterpret_cast<uint64_t>(far),
            reinterpret_cast<uint64_t>(b),
            reinterpret_cast<uint64_t>(far + 64),
            1,
            m,
            n,
            k,
            stride,
            1,
            0,
            n,
            1,
            0,
            stride,
            m * stride,
            0,
            0,
            0,
            0};
    launch_matmul(library, kF32, args, matmul_cpu_tiling(2, &args));
    for (int64_t r = 0; r < m; ++r)
        for (int64_t j = 0; j < n; ++j)
            CHECK(far[64 + r * stride + j] == near[r * n + j], "far c [%lld]", (long long)r);
    munmap(memory, bytes);
}

void test_table(const Library &library) {
    const ascend_kernel_table_t &table = *library.table;
    CHECK(table.abi_version == ASCEND_KERNEL_ABI_VERSION && table.target == ASCEND_KERNEL_TARGET_CPU,
          "version or target");
    CHECK(table.num_kernels == 3, "%u kernels", table.num_kernels);
    for (int type : kTypes) {
        const ascend_kernel_desc_t &kernel = kernel_of(library, type);
        CHECK(kernel.args_size == sizeof(MatmulArgs) && kernel.num_params == sizeof(MatmulArgs) / 8, "%s",
              kernel.name);
        CHECK(kernel.flags == 0 && kernel.instances_per_block == 1, "%s", kernel.name);
        for (uint32_t i = 0; i < kernel.num_params; ++i)
            CHECK(kernel.params[i].offset == 8 * i && kernel.params[i].size == 8, "%s",
                  kernel.params[i].name);
        MatmulArgs args = {};
        CHECK(kernel.cost_ns(&args, 0) == 0, "cost of nothing");
        args.batch = 1;
        args.m = args.n = args.k = 8;
        const uint64_t small = kernel.cost_ns(&args, 1);
        args.m = args.n = args.k = 1024;
        CHECK(small > 0 && small < 1000 && kernel.cost_ns(&args, 1) > 1000 * small, "cost %llu",
              (unsigned long long)small);
        args.m = args.n = args.k = args.batch = int64_t{1} << 62;
        CHECK(kernel.cost_ns(&args, 1) == UINT64_MAX, "cost of everything");
    }
}

void test_tiling() {
    const int64_t sizes[] = {
        1, 4, 5, 31, 64, 65, 100, 512, 513, 1000, 4097, (int64_t{1} << 20) + 1, int64_t{1} << 31};
    for (int64_t m : sizes)
        for (int64_t n : sizes)
            for (int64_t k : {int64_t{0}, int64_t{1}, int64_t{64}, int64_t{1000}, int64_t{1} << 40})
                for (int64_t batch : {1, 3, 100000})
                    for (int64_t cores : {-1, 1, 2, 64, 1 << 20}) {
                        if (m > INT64_MAX / 8 / n || m * n > INT64_MAX / 8 / batch) continue;
                        MatmulArgs args = {};
                        args.batch = batch;
                        args.m = m;
                        args.n = n;
                        args.k = k;
                        const int64_t blocks = matmul_cpu_tiling(cores, &args);
                        CHECK(blocks >= 1 && blocks <= 65535, "%lld blocks", (long long)blocks);
                        const int64_t tiles = matmul_tiles(&args), each = args.tiles_per_block;
                        CHECK(each >= 1 && (blocks - 1) * each < tiles &&
                                  blocks >= matmul_ceil_div(tiles, each),
                              "%lld tiles in %lld blocks of %lld", (long long)tiles, (long long)blocks,
                              (long long)each);
                        if (m > MATMUL_CPU_THIN && n > MATMUL_CPU_THIN)
                            CHECK(args.tile_m <= MATMUL_CPU_MOST_SIDE && args.tile_n <= MATMUL_CPU_MOST_SIDE,
                                  "tile");
                    }
    MatmulArgs args = {};
    CHECK(matmul_cpu_tiling(2, &args) == 0 && args.tile_m > 0 && args.tile_n > 0, "empty");
    args.batch = 1;
    args.m = 5;
    CHECK(matmul_cpu_tiling(2, &args) == 0, "no columns");
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    const Library library(argv[1]);
    test_tiling();
    test_table(library);
    test_small_shapes(library);
    test_shapes(library);
    test_odd_strides(library);
    test_batches(library);
    test_special_values(library);
    test_far_rows(library);
    std::printf("%s: %d failures\n", library.table->build, failures());
    return failures() ? 1 : 0;
}
