// SPDX-License-Identifier: Apache-2.0
//
// What `kernel<<<blocks, bytes, stream>>>(arguments)` becomes: asc_compiler.py writes
// `::asc_samples::Launch("kernel", synchronizes, {blocks, bytes, stream}, [](auto... a) { kernel(a...); }, arguments)`.
#ifndef ASC_SAMPLES_LAUNCH_H
#define ASC_SAMPLES_LAUNCH_H

#include <cstdint>
#include <tuple>
#include <utility>

namespace asc_samples {

struct Configuration {
    int64_t blocks;
    int64_t bytes = 0;
    void *stream = nullptr;
};

struct Call {
    void (*run)(const Call &call) = nullptr;
    const char *name = nullptr;
    virtual ~Call() = default;
};

// Queues `call`, which lives as long as the program: a captured graph may run it again.
void Enqueue(Call *call, bool synchronizes, const Configuration &configuration);

template <class Kernel, class... A>
void Launch(const char *name, bool synchronizes, Configuration configuration, Kernel kernel, A... arguments)
{
    struct Bound : Call {
        Bound(Kernel k, A... a) : kernel(k), arguments(a...) {}
        Kernel kernel;
        std::tuple<A...> arguments;
    };
    auto *bound = new Bound(kernel, arguments...);
    bound->name = name;
    bound->run = [](const Call &call) {
        const auto &self = static_cast<const Bound &>(call);
        std::apply(self.kernel, self.arguments);
    };
    Enqueue(bound, synchronizes, configuration);
}

} // namespace asc_samples

#endif // ASC_SAMPLES_LAUNCH_H
