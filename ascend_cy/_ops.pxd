# The door to the operators for `cimport`, without the GIL. Append-only.
#
# The memoryview forms work on host memory and are synchronous: the result is complete on return. Weights and the stream
# may be None (ones, zeros, the thread's current stream). Cython has no half type: the _f16 and _bf16 forms take the bits,
# which callers get with ndarray.view(np.uint16). The _device forms take DeviceArrays, enqueue, and return.

from ascend_cy._layernorm cimport layernorm_bf16, layernorm_device, layernorm_f16, layernorm_f32
from ascend_cy._layernorm_backward cimport (layernorm_backward_bf16, layernorm_backward_device,
                                            layernorm_backward_f16, layernorm_backward_f32)
from ascend_cy._matmul cimport matmul_bf16, matmul_device, matmul_f16, matmul_f32
from ascend_cy._vector_add cimport (vector_add_bf16, vector_add_device, vector_add_f16, vector_add_f32,
                                    vector_add_i32)
