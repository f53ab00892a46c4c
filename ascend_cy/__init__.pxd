# cimport ascend_cy: arrays, streams, events, operators and kernels without the GIL. No include path and no link needed.

from ascend_cy._core cimport (ABI_VERSION, DeviceArray, Event, MemoryPool, PoolFigures, Stream, array_data, array_dtype_code,
                              array_ndim, array_order_stream, array_record_stream, array_shape, array_strides, check_abi,
                              pool_figures, pool_trim, pool_use, stream_handle, stream_synchronize)
from ascend_cy._module cimport kernel_acquire, kernel_launch, kernel_release
from ascend_cy._ops cimport (layernorm_backward_bf16, layernorm_backward_device, layernorm_backward_f16,
                             layernorm_backward_f32, layernorm_bf16, layernorm_device, layernorm_f16, layernorm_f32,
                             matmul_bf16, matmul_device, matmul_f16, matmul_f32, vector_add_bf16, vector_add_device, vector_add_f16,
                             vector_add_f32, vector_add_i32)
