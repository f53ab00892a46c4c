// SPDX-License-Identifier: Apache-2.0
//
// The structures of DLPack 1.x, up to 1.3, as its specification lays them out, and what a deleter needs of Python.
#ifndef ASCEND_CY_DLPACK_H
#define ASCEND_CY_DLPACK_H

#include <Python.h>

#include <cstdint>

extern "C" {

struct DlDevice {
    int32_t type;
    int32_t id;
};

struct DlDataType {
    uint8_t code; // DL_INT …
    uint8_t bits;
    uint16_t lanes;
};

struct DlTensor {
    void *data;
    DlDevice device;
    int32_t ndim;
    DlDataType dtype;
    int64_t *shape;
    int64_t *strides; // in elements; NULL: contiguous (before DLPack 1.2)
    uint64_t byte_offset;
};

struct DlVersion {
    uint32_t major;
    uint32_t minor;
};

// What capsules named "dltensor" hold.
struct DlManagedTensor {
    DlTensor tensor;
    void *context;
    void (*deleter)(DlManagedTensor *self);
};

// What capsules named "dltensor_versioned" hold.
struct DlManagedTensorVersioned {
    DlVersion version;
    void *context;
    void (*deleter)(DlManagedTensorVersioned *self);
    uint64_t flags;
    DlTensor tensor;
};

// DLPack 1.3: functions behind type(array).__dlpack_c_exchange_api__, so that C code needs no method call.
struct DlExchangeHeader {
    DlVersion version;
    DlExchangeHeader *previous;
};

struct DlExchangeApi {
    DlExchangeHeader header;
    int (*allocate)(DlTensor *prototype, DlManagedTensorVersioned **out, void *context,
                    void (*set_error)(void *context, const char *kind, const char *message));
    int (*from_object)(void *object, DlManagedTensorVersioned **out);
    int (*to_object)(DlManagedTensorVersioned *tensor, void **object);
    int (*view_object)(void *object, DlTensor *out);
    int (*current_stream)(int32_t device_type, int32_t device_id, void **stream);
};

} // extern "C"

static_assert(sizeof(DlTensor) == 48 && sizeof(DlManagedTensorVersioned) == 80, "DLPack's layout");

// Opens the GIL where the calling thread has it: a deleter may be called with it and without. Gives what take_gil_again takes.
// PyGILState_Check() does not serve: it always says yes once there was a sub-interpreter.
inline PyThreadState *open_gil_if_held() {
#if PY_VERSION_HEX >= 0x030D0000
    PyThreadState *const holder = PyThreadState_GetUnchecked();
#else
    PyThreadState *const holder = _PyThreadState_UncheckedGet();
#endif
    return holder != nullptr && holder == PyGILState_GetThisThreadState() ? PyEval_SaveThread() : nullptr;
}

inline void take_gil_again(PyThreadState *opened) {
    if (opened != nullptr) PyEval_RestoreThread(opened);
}

#endif // ASCEND_CY_DLPACK_H
