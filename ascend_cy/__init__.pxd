# cimport ascend_cy: arrays, streams, events and operators without the GIL. No include path and no link needed.

from ascend_cy._core cimport (ABI_VERSION, DeviceArray, Event, Stream, array_data, array_dtype_code, array_ndim,
                              array_record_stream, array_shape, array_strides, check_abi, stream_handle,
                              stream_synchronize)
from ascend_cy._ops cimport layernorm_bf16, layernorm_device, layernorm_f16, layernorm_f32
