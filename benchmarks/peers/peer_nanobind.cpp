// SPDX-License-Identifier: Apache-2.0
//
// The launcher bound with nanobind, as its documentation teaches: nb::ndarray with everything checked by its type.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>

#include "launcher.h"

namespace nb = nanobind;
using Input = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Weight = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

static void check(int error)
{
    if (error != 0) throw std::runtime_error("the launcher failed");
}

static void arrays(const Input &x, const Weight &gamma, const Weight &beta, const Output &y, double eps)
{
    const size_t rows = x.shape(0);
    const size_t cols = x.shape(1);
    if (y.shape(0) != rows || y.shape(1) != cols || gamma.shape(0) != cols || beta.shape(0) != cols)
        throw nb::value_error("shape");
    check(launch(x.data(), gamma.data(), beta.data(), y.data(), static_cast<int64_t>(rows), static_cast<int64_t>(cols), eps));
}

static void buffers(const Buffer &x, const Buffer &gamma, const Buffer &beta, Buffer &y, double eps)
{
    if (y.rows != x.rows || y.cols != x.cols || gamma.cols != x.cols || beta.cols != x.cols) throw nb::value_error("shape");
    check(launch(x.data, gamma.data, beta.data, y.data, x.rows, x.cols, eps));
}

static void pointers(uintptr_t x, uintptr_t gamma, uintptr_t beta, uintptr_t y, int64_t rows, int64_t cols, double eps)
{
    check(launch(reinterpret_cast<void *>(x), reinterpret_cast<void *>(gamma), reinterpret_cast<void *>(beta),
                 reinterpret_cast<void *>(y), rows, cols, eps));
}

NB_MODULE(peer_nanobind, m)
{
    nb::class_<Buffer>(m, "Buffer").def("__init__", [](Buffer *self, uintptr_t data, int64_t rows, int64_t cols) {
        new (self) Buffer{reinterpret_cast<void *>(data), rows, cols};
    });
    m.def("set_launcher", [](uintptr_t address) { launcher = reinterpret_cast<launcher_t>(address); });
    m.def("arrays", &arrays, nb::arg("x").noconvert(), nb::arg("gamma").noconvert(), nb::arg("beta").noconvert(),
          nb::arg("out").noconvert(), nb::arg("eps") = 1e-5);
    m.def("buffers", &buffers, nb::arg("x"), nb::arg("gamma"), nb::arg("beta"), nb::arg("out"), nb::arg("eps") = 1e-5);
    m.def("pointers", &pointers, nb::arg("x"), nb::arg("gamma"), nb::arg("beta"), nb::arg("out"), nb::arg("rows"),
          nb::arg("cols"), nb::arg("eps") = 1e-5);
}
