// SPDX-License-Identifier: Apache-2.0
//
// The launcher bound with pybind11, as its documentation teaches: array_t with checks of rank and shape.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "launcher.h"

namespace py = pybind11;
using Array = py::array_t<float, py::array::c_style>;

static void check(int error)
{
    if (error != 0) throw std::runtime_error("the launcher failed");
}

static void arrays(const Array &x, const Array &gamma, const Array &beta, Array &y, double eps)
{
    if (x.ndim() != 2 || y.ndim() != 2 || gamma.ndim() != 1 || beta.ndim() != 1) throw py::value_error("rank");
    const py::ssize_t rows = x.shape(0);
    const py::ssize_t cols = x.shape(1);
    if (y.shape(0) != rows || y.shape(1) != cols || gamma.shape(0) != cols || beta.shape(0) != cols)
        throw py::value_error("shape");
    check(launch(x.data(), gamma.data(), beta.data(), y.mutable_data(), rows, cols, eps));
}

static void buffers(const Buffer &x, const Buffer &gamma, const Buffer &beta, Buffer &y, double eps)
{
    if (y.rows != x.rows || y.cols != x.cols || gamma.cols != x.cols || beta.cols != x.cols) throw py::value_error("shape");
    check(launch(x.data, gamma.data, beta.data, y.data, x.rows, x.cols, eps));
}

static void pointers(uintptr_t x, uintptr_t gamma, uintptr_t beta, uintptr_t y, int64_t rows, int64_t cols, double eps)
{
    check(launch(reinterpret_cast<void *>(x), reinterpret_cast<void *>(gamma), reinterpret_cast<void *>(beta),
                 reinterpret_cast<void *>(y), rows, cols, eps));
}

PYBIND11_MODULE(peer_pybind11, m)
{
    py::class_<Buffer>(m, "Buffer").def(py::init([](uintptr_t data, int64_t rows, int64_t cols) {
        return Buffer{reinterpret_cast<void *>(data), rows, cols};
    }));
    m.def("set_launcher", [](uintptr_t address) { launcher = reinterpret_cast<launcher_t>(address); });
    m.def("arrays", &arrays, py::arg("x").noconvert(), py::arg("gamma").noconvert(), py::arg("beta").noconvert(),
          py::arg("out").noconvert(), py::arg("eps") = 1e-5);
    m.def("buffers", &buffers, py::arg("x"), py::arg("gamma"), py::arg("beta"), py::arg("out"), py::arg("eps") = 1e-5);
    m.def("pointers", &pointers, py::arg("x"), py::arg("gamma"), py::arg("beta"), py::arg("out"), py::arg("rows"),
          py::arg("cols"), py::arg("eps") = 1e-5);
}
