// LayerNorm with its statistics from C++: launchers by symbol.h, AscendCL by acl.h, nothing of ascend_cy linked.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "ascend_cy/acl.h"
#include "ascend_cy/launch.h"
#include "ascend_cy/symbol.h"

namespace py = pybind11;

namespace {

using Rows = py::array_t<float, py::array::c_style>;

void check(int code, const char *function)
{
    if (code == ACL_SUCCESS)
        return;
    const char *message = ASCEND_CY_FUNCTION(ascend_cy_last_message)();
    throw std::runtime_error(std::string(function) + " returned " + std::to_string(code) + ": " + message);
}

// Device memory that is given back whatever happens.
class Block {
public:
    explicit Block(size_t size)
    {
        if (size != 0)
            check(ascend_cy_acl()->aclrtMalloc(&data_, size, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    }
    Block(const Block &) = delete;
    Block &operator=(const Block &) = delete;
    ~Block()
    {
        if (data_ != nullptr)
            ascend_cy_acl()->aclrtFree(data_);
    }
    void *get() const { return data_; }

private:
    void *data_ = nullptr;
};

// Host in, host out, on any device: y, and the mean and 1 / standard deviation of every row.
py::tuple normalize(const Rows &x, double eps)
{
    if (x.ndim() != 2)
        throw py::value_error("x must have 2 axes, got " + std::to_string(x.ndim()));
    const py::ssize_t rows = x.shape(0), cols = x.shape(1);
    Rows y({rows, cols}), mean(rows), rstd(rows);
    const size_t bytes = sizeof(float) * static_cast<size_t>(rows * cols), row_bytes = sizeof(float) * static_cast<size_t>(rows);
    const float *from = x.data();
    float *to = y.mutable_data(), *to_mean = mean.mutable_data(), *to_rstd = rstd.mutable_data();
    {
        py::gil_scoped_release without;
        check(ASCEND_CY_FUNCTION(ascend_cy_ensure_context)(), "ascend_cy_ensure_context");
        const ascend_cy_acl_table *acl = ascend_cy_acl();
        Block dx(bytes), dy(bytes), dmean(row_bytes), drstd(row_bytes);
        if (bytes != 0) {
            check(acl->aclrtMemcpy(dx.get(), bytes, from, bytes, ACL_MEMCPY_HOST_TO_DEVICE), "aclrtMemcpy");
            check(ASCEND_CY_FUNCTION(ascend_cy_layernorm)(dx.get(), nullptr, nullptr, dy.get(), static_cast<float *>(dmean.get()),
                                                          static_cast<float *>(drstd.get()), rows, cols, ACL_FLOAT, ACL_FLOAT,
                                                          ACL_FLOAT, eps, nullptr),
                  "ascend_cy_layernorm");
            check(acl->aclrtSynchronizeStream(nullptr), "aclrtSynchronizeStream");
            check(acl->aclrtMemcpy(to, bytes, dy.get(), bytes, ACL_MEMCPY_DEVICE_TO_HOST), "aclrtMemcpy");
            check(acl->aclrtMemcpy(to_mean, row_bytes, dmean.get(), row_bytes, ACL_MEMCPY_DEVICE_TO_HOST), "aclrtMemcpy");
            check(acl->aclrtMemcpy(to_rstd, row_bytes, drstd.get(), row_bytes, ACL_MEMCPY_DEVICE_TO_HOST), "aclrtMemcpy");
        }
    }
    return py::make_tuple(std::move(y), std::move(mean), std::move(rstd));
}

// y = a + b on DeviceArrays of float32 and a Stream of ascend_cy, `times` times; only enqueued.
void add(const py::object &a, const py::object &b, const py::object &y, const py::object &stream, int times)
{
    for (const py::object *array : {&a, &b, &y})
        if (py::str(array->attr("dtype")).cast<std::string>() != "float32" || !array->attr("size").equal(y.attr("size")) ||
            !array->attr("flags")["c_contiguous"].cast<bool>())
            throw py::value_error("a, b and y must be contiguous float32 arrays of one size");
    const auto pointer = [](const py::object &array) { return reinterpret_cast<void *>(array.attr("ptr").cast<uintptr_t>()); };
    void *const from_a = pointer(a), *const from_b = pointer(b), *const to = pointer(y);
    auto *const handle = reinterpret_cast<aclrtStream>(stream.attr("handle").cast<uintptr_t>());
    const auto size = y.attr("size").cast<int64_t>();
    {
        py::gil_scoped_release without;
        const auto launch = ASCEND_CY_FUNCTION(ascend_cy_vector_add);
        for (int i = 0; i < times; ++i)
            check(launch(from_a, from_b, to, size, ACL_FLOAT, handle), "ascend_cy_vector_add");
    }
    // Work that ascend_cy did not enqueue uses these arrays: their memory must not be reused before it has passed.
    for (const py::object *array : {&a, &b, &y})
        array->attr("record_stream")(stream);
}

} // namespace

PYBIND11_MODULE(row_stats, module)
{
    py::module_::import("ascend_cy");
    if (const char *misfit = ascend_cy_misfit())
        throw py::import_error(misfit);
    module.doc() = "LayerNorm with its statistics, and addition, from C++.";
    module.def("normalize", &normalize, py::arg("x").noconvert(), py::arg("eps") = 1e-5);
    module.def("add", &add, py::arg("a"), py::arg("b"), py::arg("y"), py::arg("stream"), py::arg("times") = 1);
}
