// SPDX-License-Identifier: Apache-2.0
//
// The floor: the launcher behind hand-written CPython functions that take their arguments by position and check what a
// binding has to. Nothing made by a tool can do with less.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>

#include "launcher.h"

static bool good(PyObject *object, int rank)
{
    if (!PyArray_CheckExact(object)) return false;
    PyArrayObject *const array = reinterpret_cast<PyArrayObject *>(object);
    return PyArray_TYPE(array) == NPY_FLOAT && PyArray_NDIM(array) == rank && PyArray_ISCARRAY_RO(array);
}

static PyObject *arrays(PyObject *, PyObject *const *args, Py_ssize_t n)
{
    if (n != 4 || !good(args[0], 2) || !good(args[1], 1) || !good(args[2], 1) || !good(args[3], 2)) {
        PyErr_SetString(PyExc_TypeError, "four float32 arrays");
        return nullptr;
    }
    PyArrayObject *a[4];
    for (int i = 0; i < 4; ++i) a[i] = reinterpret_cast<PyArrayObject *>(args[i]);
    const npy_intp rows = PyArray_DIM(a[0], 0);
    const npy_intp cols = PyArray_DIM(a[0], 1);
    if (PyArray_DIM(a[3], 0) != rows || PyArray_DIM(a[3], 1) != cols || PyArray_DIM(a[1], 0) != cols ||
        PyArray_DIM(a[2], 0) != cols || !PyArray_ISWRITEABLE(a[3])) {
        PyErr_SetString(PyExc_ValueError, "shape");
        return nullptr;
    }
    if (launch(PyArray_DATA(a[0]), PyArray_DATA(a[1]), PyArray_DATA(a[2]), PyArray_DATA(a[3]), rows, cols, 1e-5) != 0) {
        PyErr_SetString(PyExc_RuntimeError, "the launcher failed");
        return nullptr;
    }
    return Py_NewRef(args[3]);
}

// By position and nothing looked at: what a call from Python costs at least.
static PyObject *nothing(PyObject *, PyObject *const *, Py_ssize_t) { Py_RETURN_NONE; }

static PyObject *set_launcher(PyObject *, PyObject *address)
{
    launcher = reinterpret_cast<launcher_t>(PyLong_AsVoidPtr(address));
    if (PyErr_Occurred()) return nullptr;
    Py_RETURN_NONE;
}

// Calls a Python callable n times: a place to count instructions inside of.
extern "C" __attribute__((noinline, visibility("default"))) PyObject *bench_region(PyObject *callable, long n)
{
    for (long i = 0; i < n; ++i) {
        PyObject *const result = PyObject_CallNoArgs(callable);
        if (result == nullptr) return nullptr;
        Py_DECREF(result);
    }
    Py_RETURN_NONE;
}

static PyObject *region(PyObject *, PyObject *const *args, Py_ssize_t n)
{
    if (n != 2) {
        PyErr_SetString(PyExc_TypeError, "a callable and a number");
        return nullptr;
    }
    const long times = PyLong_AsLong(args[1]);
    return PyErr_Occurred() ? nullptr : bench_region(args[0], times);
}

static PyMethodDef methods[] = {
    {"arrays", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(arrays)), METH_FASTCALL, nullptr},
    {"nothing", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(nothing)), METH_FASTCALL, nullptr},
    {"region", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(region)), METH_FASTCALL, nullptr},
    {"set_launcher", set_launcher, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

static PyModuleDef module = {PyModuleDef_HEAD_INIT, "peer_cpython", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

PyMODINIT_FUNC PyInit_peer_cpython()
{
    import_array();
    return PyModule_Create(&module);
}
