// SPDX-License-Identifier: Apache-2.0
//
// What the machine itself can do, as measuring sticks for the benchmarks: streaming copies on the threads of the table,
// and calls of a C function without Python. Everything is timed in here, so that no caller's overhead is in the figures.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start)
{
    return std::chrono::duration<double>(Clock::now() - start).count();
}

void relax()
{
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// ---- copies and sums ----

enum Kind { Memcpy = 0, Stream256, Stream512, Fetch512, Plain256, Movsb, Kinds };

// Each works on n bytes, a multiple of 512; the destination is aligned to 64. `other` is the second summand, or null.
using Function = void (*)(char *to, const char *from, const char *other, size_t n);

void copy_memcpy(char *to, const char *from, const char *, size_t n) { std::memcpy(to, from, n); }

#if defined(__x86_64__)
// Streaming stores go past the cache. Fetching far ahead helps on some machines and does harm on others, fetching
// for a single use (NTA) did harm on all that were tried.
constexpr size_t ahead = 4 << 10;

__attribute__((target("avx2"))) void copy_stream256(char *to, const char *from, const char *, size_t n)
{
    for (size_t i = 0; i < n; i += 128) {
        _mm_prefetch(from + i + ahead, _MM_HINT_T0);
        _mm_prefetch(from + i + ahead + 64, _MM_HINT_T0);
        __m256i v[4];
        for (int k = 0; k < 4; ++k) v[k] = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from + i) + k);
        for (int k = 0; k < 4; ++k) _mm256_stream_si256(reinterpret_cast<__m256i *>(to + i) + k, v[k]);
    }
    _mm_sfence();
}

template <bool fetch> __attribute__((target("avx512f"))) void copy_stream512(char *to, const char *from, const char *, size_t n)
{
    for (size_t i = 0; i < n; i += 256) {
        if (fetch)
            for (int k = 0; k < 4; ++k) _mm_prefetch(from + i + ahead + 64 * k, _MM_HINT_T0);
        __m512i v[4];
        for (int k = 0; k < 4; ++k) v[k] = _mm512_loadu_si512(from + i + 64 * k);
        for (int k = 0; k < 4; ++k) _mm512_stream_si512(reinterpret_cast<__m512i *>(to + i + 64 * k), v[k]);
    }
    _mm_sfence();
}

__attribute__((target("avx2"))) void copy_plain256(char *to, const char *from, const char *, size_t n)
{
    for (size_t i = 0; i < n; i += 128) {
        __m256i v[4];
        for (int k = 0; k < 4; ++k) v[k] = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from + i) + k);
        for (int k = 0; k < 4; ++k) _mm256_storeu_si256(reinterpret_cast<__m256i *>(to + i) + k, v[k]);
    }
}

void copy_movsb(char *to, const char *from, const char *, size_t n)
{
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n)::"memory");
}

template <bool stream> __attribute__((target("avx2"))) void add256(char *to, const char *from, const char *other, size_t n)
{
    for (size_t i = 0; i < n; i += 32) {
        const __m256 sum = _mm256_add_ps(_mm256_loadu_ps(reinterpret_cast<const float *>(from + i)),
                                         _mm256_loadu_ps(reinterpret_cast<const float *>(other + i)));
        if (stream) _mm256_stream_ps(reinterpret_cast<float *>(to + i), sum);
        else _mm256_storeu_ps(reinterpret_cast<float *>(to + i), sum);
    }
    if (stream) _mm_sfence();
}

template <bool stream> __attribute__((target("avx512f"))) void add512(char *to, const char *from, const char *other, size_t n)
{
    for (size_t i = 0; i < n; i += 64) {
        const __m512 sum = _mm512_add_ps(_mm512_loadu_ps(from + i), _mm512_loadu_ps(other + i));
        if (stream) _mm512_stream_ps(reinterpret_cast<float *>(to + i), sum);
        else _mm512_storeu_ps(reinterpret_cast<float *>(to + i), sum);
    }
    if (stream) _mm_sfence();
}
#endif

void add_plain(char *to, const char *from, const char *other, size_t n)
{
    for (size_t i = 0; i < n; i += sizeof(float)) {
        float a;
        float b;
        std::memcpy(&a, from + i, sizeof a);
        std::memcpy(&b, other + i, sizeof b);
        a += b;
        std::memcpy(to + i, &a, sizeof a);
    }
}

Function copy_function(int kind)
{
    switch (kind) {
    case Memcpy: return copy_memcpy;
#if defined(__x86_64__)
    case Stream256: return __builtin_cpu_supports("avx2") ? copy_stream256 : nullptr;
    case Stream512: return __builtin_cpu_supports("avx512f") ? copy_stream512<false> : nullptr;
    case Fetch512: return __builtin_cpu_supports("avx512f") ? copy_stream512<true> : nullptr;
    case Plain256: return __builtin_cpu_supports("avx2") ? copy_plain256 : nullptr;
    case Movsb: return copy_movsb;
#endif
    default: return nullptr;
    }
}

Function add_function(int kind)
{
    switch (kind) {
    case Memcpy: return add_plain;
#if defined(__x86_64__)
    case Stream256: return __builtin_cpu_supports("avx2") ? add256<true> : nullptr;
    case Stream512: return __builtin_cpu_supports("avx512f") ? add512<true> : nullptr;
    case Fetch512: return __builtin_cpu_supports("avx512f") ? add512<false> : nullptr;
    case Plain256: return __builtin_cpu_supports("avx2") ? add256<false> : nullptr;
#endif
    default: return nullptr;
    }
}

// ---- threads that share the work ----

// Helpers spin for a while after a job, so that within a series of copies none pays for waking a thread.
class Team {
public:
    explicit Team(int helpers)
    {
        for (int i = 0; i < helpers; ++i) threads_.emplace_back([this] { help(); });
    }

    ~Team()
    {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            stop_ = true;
            ++generation_;
        }
        wake_.notify_all();
        for (std::thread &thread : threads_) thread.join();
    }

    void run(Function function, char *to, const char *from, const char *other, size_t n)
    {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            function_ = function;
            to_ = to;
            from_ = from;
            other_ = other;
            size_ = n;
            next_.store(0, std::memory_order_relaxed);
            inside_.store(static_cast<int>(threads_.size()), std::memory_order_relaxed);
            generation_.fetch_add(1, std::memory_order_release);
        }
        wake_.notify_all();
        work();
        while (inside_.load(std::memory_order_acquire) != 0) relax();
    }

private:
    static constexpr size_t chunk = 256 << 10;

    void work()
    {
        for (;;) {
            const size_t begin = next_.fetch_add(chunk, std::memory_order_relaxed);
            if (begin >= size_) return;
            const char *const other = other_ != nullptr ? other_ + begin : nullptr;
            function_(to_ + begin, from_ + begin, other, size_ - begin < chunk ? size_ - begin : chunk);
        }
    }

    void help()
    {
        uint64_t seen = 0;
        for (;;) {
            const Clock::time_point until = Clock::now() + std::chrono::microseconds(200);
            while (generation_.load(std::memory_order_acquire) == seen && Clock::now() < until)
                for (int i = 0; i < 16; ++i) relax();
            if (generation_.load(std::memory_order_acquire) == seen) {
                std::unique_lock<std::mutex> lock(mutex_);
                wake_.wait(lock, [&] { return generation_.load(std::memory_order_relaxed) != seen; });
            }
            {
                std::lock_guard<std::mutex> lock(mutex_);
                seen = generation_.load(std::memory_order_relaxed);
                if (stop_) return;
            }
            work();
            inside_.fetch_sub(1, std::memory_order_acq_rel);
        }
    }

    std::vector<std::thread> threads_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::atomic<uint64_t> generation_{0};
    std::atomic<size_t> next_{0};
    std::atomic<int> inside_{0};
    bool stop_ = false;
    Function function_ = nullptr;
    char *to_ = nullptr;
    const char *from_ = nullptr;
    const char *other_ = nullptr;
    size_t size_ = 0;
};

Team *team_of(int threads)
{
    static std::unique_ptr<Team> team;
    static int size = 1;
    if (size != threads) {
        team.reset(threads > 1 ? new Team(threads - 1) : nullptr);
        size = threads;
    }
    return team.get();
}

// The bulk of the work, with its destination aligned; the rest is done by the C library.
double timed(Function function, char *to, const char *from, const char *other, size_t n, int threads, long repeats)
{
    const size_t head = std::min<size_t>(n, (0 - reinterpret_cast<uintptr_t>(to)) % 64);
    const size_t body = (n - head) / 512 * 512;
    const size_t tail = n - head - body;
    const Function rest = other != nullptr ? add_plain : copy_memcpy;
    const auto at = [&](size_t offset) { return other != nullptr ? other + offset : nullptr; };
    Team *const team = team_of(threads);
    const Clock::time_point start = Clock::now();
    for (long i = 0; i < repeats; ++i) {
        rest(to, from, other, head);
        if (team != nullptr) team->run(function, to + head, from + head, at(head), body);
        else function(to + head, from + head, at(head), body);
        rest(to + head + body, from + head + body, at(head + body), tail);
        asm volatile("" ::: "memory"); // it is done each time
    }
    return seconds_since(start);
}

} // namespace

EXPORT int bench_kinds() { return Kinds; }

// Seconds for `repeats` copies of n bytes on so many threads; -1 where this CPU cannot do that kind. One caller at a time.
EXPORT double bench_copy(void *to, const void *from, size_t n, int kind, int threads, long repeats)
{
    const Function function = copy_function(kind);
    if (function == nullptr) return -1.0;
    return timed(function, static_cast<char *>(to), static_cast<const char *>(from), nullptr, n, threads, repeats);
}

// The same for sums of n bytes of float32.
EXPORT double bench_add(void *to, const void *a, const void *b, size_t n, int kind, int threads, long repeats)
{
    const Function function = add_function(kind);
    if (function == nullptr) return -1.0;
    return timed(function, static_cast<char *>(to), static_cast<const char *>(a), static_cast<const char *>(b), n, threads, repeats);
}

// ---- calls without Python ----

using Launcher = int (*)(const void *, const void *, const void *, void *, float *, float *, int64_t, int64_t, int, int,
                         int, double, void *);

// A launcher that does nothing.
EXPORT int bench_empty_launcher(const void *, const void *, const void *, void *, float *, float *, int64_t, int64_t, int,
                                int, int, double, void *)
{
    return 0;
}

// Seconds for `repeats` calls of a launcher from C.
EXPORT double bench_calls(Launcher launcher, const void *x, const void *gamma, const void *beta, void *y, int64_t rows,
                          int64_t cols, int dtype, long repeats)
{
    int error = 0;
    const Clock::time_point start = Clock::now();
    for (long i = 0; i < repeats; ++i) error |= launcher(x, gamma, beta, y, nullptr, nullptr, rows, cols, dtype, 0, 0, 1e-5, nullptr);
    const double seconds = seconds_since(start);
    return error == 0 ? seconds : -1.0;
}

// ---- memory ----

// Seconds for `repeats` pairs of malloc and free; -1 where there is no memory.
EXPORT double bench_malloc(size_t n, long repeats)
{
    const Clock::time_point start = Clock::now();
    for (long i = 0; i < repeats; ++i) {
        void *volatile memory = std::malloc(n); // a pair that nobody looks at would be left out
        if (memory == nullptr) return -1.0;
        std::free(memory);
    }
    return seconds_since(start);
}

// The same for the pool's buffers: ascend_cy_buffer_create and ascend_cy_buffer_release, called from C.
EXPORT double bench_buffers(int (*create)(size_t, void *, void **), void (*release)(void *), void *stream, size_t n, long repeats)
{
    const Clock::time_point start = Clock::now();
    for (long i = 0; i < repeats; ++i) {
        void *buffer = nullptr;
        if (create(n, stream, &buffer) != 0) return -1.0;
        release(buffer);
    }
    return seconds_since(start);
}

// Writes one byte a page, or reads it back: what the first touch of fresh memory costs.
EXPORT void bench_touch(void *memory, size_t n)
{
    volatile char *const bytes = static_cast<volatile char *>(memory);
    for (size_t i = 0; i < n; i += 4096) bytes[i] = 1;
}
