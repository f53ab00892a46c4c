# SPDX-License-Identifier: Apache-2.0
# Made from csrc/include/ascend_cy/acl*.h by tools/gen_acl_pxd.py: change those, not this.
#
# AscendCL for Cython. Types and constants are those of ascend_cy/acl.h, whose folder ascend_cy.get_include()
# names. A function is an entry of the table of the device in use, so nothing has to be linked, but ascend_cy
# must have been imported in the process before the first call. No call here raises: look at the aclError.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t


cdef extern from "ascend_cy/acl.h":
    # handles
    ctypedef int aclError
    ctypedef uint16_t aclFloat16
    ctypedef void *aclrtStream
    ctypedef void *aclrtEvent
    ctypedef void *aclrtContext
    ctypedef void *aclrtNotify
    ctypedef void *aclrtCntNotify
    ctypedef void *aclrtLabel
    ctypedef void *aclrtLabelList
    ctypedef void *aclrtBinary
    ctypedef void *aclrtBinHandle
    ctypedef void *aclrtFuncHandle
    ctypedef void *aclrtArgsHandle
    ctypedef void *aclrtParamHandle
    ctypedef void *aclrtDrvMemHandle
    ctypedef void *aclrtMemPool
    ctypedef void *aclrtAllocatorDesc
    ctypedef void *aclrtAllocator
    ctypedef void *aclrtAllocatorBlock
    ctypedef void *aclrtAllocatorAddr
    ctypedef void *aclrtTaskGrp
    ctypedef void *aclmdlRI
    ctypedef void *aclmdlRITask
    ctypedef void *aclmdlRICondHandle

    ctypedef struct aclDataBuffer:
        pass

    ctypedef struct aclrtExceptionInfo:
        pass

    ctypedef struct aclrtUtilizationExtendInfo:
        pass

    # error codes
    enum:
        ACL_SUCCESS
        ACL_ERROR_NONE
        ACL_RT_SUCCESS
        ACL_ERROR_INVALID_PARAM
        ACL_ERROR_UNINITIALIZE
        ACL_ERROR_REPEAT_INITIALIZE
        ACL_ERROR_INVALID_FILE
        ACL_ERROR_WRITE_FILE
        ACL_ERROR_INVALID_FILE_SIZE
        ACL_ERROR_PARSE_FILE
        ACL_ERROR_FILE_MISSING_ATTR
        ACL_ERROR_FILE_ATTR_INVALID
        ACL_ERROR_INVALID_DUMP_CONFIG
        ACL_ERROR_INVALID_PROFILING_CONFIG
        ACL_ERROR_INVALID_MODEL_ID
        ACL_ERROR_DESERIALIZE_MODEL
        ACL_ERROR_PARSE_MODEL
        ACL_ERROR_READ_MODEL_FAILURE
        ACL_ERROR_MODEL_SIZE_INVALID
        ACL_ERROR_MODEL_MISSING_ATTR
        ACL_ERROR_MODEL_INPUT_NOT_MATCH
        ACL_ERROR_MODEL_OUTPUT_NOT_MATCH
        ACL_ERROR_MODEL_NOT_DYNAMIC
        ACL_ERROR_OP_TYPE_NOT_MATCH
        ACL_ERROR_OP_INPUT_NOT_MATCH
        ACL_ERROR_OP_OUTPUT_NOT_MATCH
        ACL_ERROR_OP_ATTR_NOT_MATCH
        ACL_ERROR_OP_NOT_FOUND
        ACL_ERROR_OP_LOAD_FAILED
        ACL_ERROR_UNSUPPORTED_DATA_TYPE
        ACL_ERROR_FORMAT_NOT_MATCH
        ACL_ERROR_BIN_SELECTOR_NOT_REGISTERED
        ACL_ERROR_KERNEL_NOT_FOUND
        ACL_ERROR_BIN_SELECTOR_ALREADY_REGISTERED
        ACL_ERROR_KERNEL_ALREADY_REGISTERED
        ACL_ERROR_INVALID_QUEUE_ID
        ACL_ERROR_REPEAT_SUBSCRIBE
        ACL_ERROR_STREAM_NOT_SUBSCRIBE
        ACL_ERROR_THREAD_NOT_SUBSCRIBE
        ACL_ERROR_WAIT_CALLBACK_TIMEOUT
        ACL_ERROR_REPEAT_FINALIZE
        ACL_ERROR_NOT_STATIC_AIPP
        ACL_ERROR_COMPILING_STUB_MODE
        ACL_ERROR_GROUP_NOT_SET
        ACL_ERROR_GROUP_NOT_CREATE
        ACL_ERROR_PROF_ALREADY_RUN
        ACL_ERROR_PROF_NOT_RUN
        ACL_ERROR_DUMP_ALREADY_RUN
        ACL_ERROR_DUMP_NOT_RUN
        ACL_ERROR_PROF_REPEAT_SUBSCRIBE
        ACL_ERROR_PROF_API_CONFLICT
        ACL_ERROR_INVALID_MAX_OPQUEUE_NUM_CONFIG
        ACL_ERROR_INVALID_OPP_PATH
        ACL_ERROR_OP_UNSUPPORTED_DYNAMIC
        ACL_ERROR_RELATIVE_RESOURCE_NOT_CLEARED
        ACL_ERROR_UNSUPPORTED_JPEG
        ACL_ERROR_INVALID_BUNDLE_MODEL_ID
        ACL_ERROR_BAD_ALLOC
        ACL_ERROR_API_NOT_SUPPORT
        ACL_ERROR_INVALID_DEVICE
        ACL_ERROR_MEMORY_ADDRESS_UNALIGNED
        ACL_ERROR_RESOURCE_NOT_MATCH
        ACL_ERROR_INVALID_RESOURCE_HANDLE
        ACL_ERROR_FEATURE_UNSUPPORTED
        ACL_ERROR_PROF_MODULES_UNSUPPORTED
        ACL_ERROR_STORAGE_OVER_LIMIT
        ACL_ERROR_INTERNAL_ERROR
        ACL_ERROR_FAILURE
        ACL_ERROR_GE_FAILURE
        ACL_ERROR_RT_FAILURE
        ACL_ERROR_DRV_FAILURE
        ACL_ERROR_PROFILING_FAILURE
        ACL_ERROR_RT_PARAM_INVALID
        ACL_ERROR_RT_INVALID_DEVICEID
        ACL_ERROR_RT_CONTEXT_NULL
        ACL_ERROR_RT_STREAM_CONTEXT
        ACL_ERROR_RT_MODEL_CONTEXT
        ACL_ERROR_RT_STREAM_MODEL
        ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID
        ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL
        ACL_ERROR_RT_ADDR_UNALIGNED
        ACL_ERROR_RT_FILE_OPEN
        ACL_ERROR_RT_FILE_WRITE
        ACL_ERROR_RT_STREAM_SUBSCRIBE
        ACL_ERROR_RT_THREAD_SUBSCRIBE
        ACL_ERROR_RT_GROUP_NOT_SET
        ACL_ERROR_RT_GROUP_NOT_CREATE
        ACL_ERROR_RT_STREAM_NO_CB_REG
        ACL_ERROR_RT_INVALID_MEMORY_TYPE
        ACL_ERROR_RT_INVALID_HANDLE
        ACL_ERROR_RT_INVALID_MALLOC_TYPE
        ACL_ERROR_RT_WAIT_TIMEOUT
        ACL_ERROR_RT_TASK_TIMEOUT
        ACL_ERROR_RT_SYSPARAMOPT_NOT_SET
        ACL_ERROR_RT_DEVICE_TASK_ABORT
        ACL_ERROR_RT_STREAM_ABORT
        ACL_ERROR_RT_CAPTURE_DEPENDENCY
        ACL_ERROR_RT_STREAM_UNJOINED
        ACL_ERROR_RT_MODEL_CAPTURED
        ACL_ERROR_RT_STREAM_CAPTURED
        ACL_ERROR_RT_EVENT_CAPTURED
        ACL_ERROR_RT_STREAM_NOT_CAPTURED
        ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT
        ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT
        ACL_ERROR_STREAM_CAPTURE_CONFLICT
        ACL_ERROR_STREAM_TASK_GROUP_STATUS
        ACL_ERROR_STREAM_TASK_GROUP_INTR
        ACL_ERROR_RT_TASK_ABORT_STOP
        ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED
        ACL_ERROR_RT_MODEL_RUNNING
        ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD
        ACL_ERROR_RT_INSUFFICIENT_INPUT_ARRAY
        ACL_ERROR_RT_MODEL_UPDATE_FAILED
        ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC
        ACL_ERROR_RT_SYMBOL_NOT_FOUND
        ACL_ERROR_RT_INVALID_SYMBOL
        ACL_ERROR_RT_INVALID_DEVICE_FUNCTION
        ACL_ERROR_RT_SUB_ACLGRAPH_IS_CAPTURING
        ACL_ERROR_RT_FEATURE_NOT_SUPPORT
        ACL_ERROR_RT_MEMORY_ALLOCATION
        ACL_ERROR_RT_MEMORY_FREE
        ACL_ERROR_RT_AICORE_OVER_FLOW
        ACL_ERROR_RT_NO_DEVICE
        ACL_ERROR_RT_RESOURCE_ALLOC_FAIL
        ACL_ERROR_RT_NO_PERMISSION
        ACL_ERROR_RT_NO_EVENT_RESOURCE
        ACL_ERROR_RT_NO_STREAM_RESOURCE
        ACL_ERROR_RT_NO_NOTIFY_RESOURCE
        ACL_ERROR_RT_NO_MODEL_RESOURCE
        ACL_ERROR_RT_NO_CDQ_RESOURCE
        ACL_ERROR_RT_OVER_LIMIT
        ACL_ERROR_RT_QUEUE_EMPTY
        ACL_ERROR_RT_QUEUE_FULL
        ACL_ERROR_RT_REPEATED_INIT
        ACL_ERROR_RT_AIVEC_OVER_FLOW
        ACL_ERROR_RT_OVER_FLOW
        ACL_ERROR_RT_DEVICE_OOM
        ACL_ERROR_RT_FEATURE_NOT_SUPPORT_UPDATE_OP
        ACL_ERROR_RT_TIMEOUT
        ACL_ERROR_RT_LINK_TYPE_NOT_SUPPORTED
        ACL_ERROR_RT_INTERNAL_ERROR
        ACL_ERROR_RT_TS_ERROR
        ACL_ERROR_RT_STREAM_TASK_FULL
        ACL_ERROR_RT_STREAM_TASK_EMPTY
        ACL_ERROR_RT_STREAM_NOT_COMPLETE
        ACL_ERROR_RT_END_OF_SEQUENCE
        ACL_ERROR_RT_EVENT_NOT_COMPLETE
        ACL_ERROR_RT_CONTEXT_RELEASE_ERROR
        ACL_ERROR_RT_SOC_VERSION
        ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT
        ACL_ERROR_RT_LOST_HEARTBEAT
        ACL_ERROR_RT_MODEL_EXECUTE
        ACL_ERROR_RT_REPORT_TIMEOUT
        ACL_ERROR_RT_SYS_DMA
        ACL_ERROR_RT_AICORE_TIMEOUT
        ACL_ERROR_RT_AICORE_EXCEPTION
        ACL_ERROR_RT_AICORE_TRAP_EXCEPTION
        ACL_ERROR_RT_AICPU_TIMEOUT
        ACL_ERROR_RT_AICPU_EXCEPTION
        ACL_ERROR_RT_AICPU_DATADUMP_RSP_ERR
        ACL_ERROR_RT_AICPU_MODEL_RSP_ERR
        ACL_ERROR_RT_PROFILING_ERROR
        ACL_ERROR_RT_IPC_ERROR
        ACL_ERROR_RT_MODEL_ABORT_NORMAL
        ACL_ERROR_RT_KERNEL_UNREGISTERING
        ACL_ERROR_RT_RINGBUFFER_NOT_INIT
        ACL_ERROR_RT_RINGBUFFER_NO_DATA
        ACL_ERROR_RT_KERNEL_LOOKUP
        ACL_ERROR_RT_KERNEL_DUPLICATE
        ACL_ERROR_RT_DEBUG_REGISTER_FAIL
        ACL_ERROR_RT_DEBUG_UNREGISTER_FAIL
        ACL_ERROR_RT_LABEL_CONTEXT
        ACL_ERROR_RT_PROGRAM_USE_OUT
        ACL_ERROR_RT_DEV_SETUP_ERROR
        ACL_ERROR_RT_VECTOR_CORE_TIMEOUT
        ACL_ERROR_RT_VECTOR_CORE_EXCEPTION
        ACL_ERROR_RT_VECTOR_CORE_TRAP_EXCEPTION
        ACL_ERROR_RT_CDQ_BATCH_ABNORMAL
        ACL_ERROR_RT_DIE_MODE_CHANGE_ERROR
        ACL_ERROR_RT_DIE_SET_ERROR
        ACL_ERROR_RT_INVALID_DIEID
        ACL_ERROR_RT_DIE_MODE_NOT_SET
        ACL_ERROR_RT_AICORE_TRAP_READ_OVERFLOW
        ACL_ERROR_RT_AICORE_TRAP_WRITE_OVERFLOW
        ACL_ERROR_RT_VECTOR_CORE_TRAP_READ_OVERFLOW
        ACL_ERROR_RT_VECTOR_CORE_TRAP_WRITE_OVERFLOW
        ACL_ERROR_RT_STREAM_SYNC_TIMEOUT
        ACL_ERROR_RT_EVENT_SYNC_TIMEOUT
        ACL_ERROR_RT_FFTS_PLUS_TIMEOUT
        ACL_ERROR_RT_FFTS_PLUS_EXCEPTION
        ACL_ERROR_RT_FFTS_PLUS_TRAP_EXCEPTION
        ACL_ERROR_RT_SEND_MSG
        ACL_ERROR_RT_COPY_DATA
        ACL_ERROR_RT_DEVICE_MEM_ERROR
        ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR
        ACL_ERROR_RT_SUSPECT_DEVICE_MEM_ERROR
        ACL_ERROR_RT_LINK_ERROR
        ACL_ERROR_RT_SUSPECT_REMOTE_ERROR
        ACL_ERROR_RT_DRV_INTERNAL_ERROR
        ACL_ERROR_RT_AICPU_INTERNAL_ERROR
        ACL_ERROR_RT_SOCKET_CLOSE
        ACL_ERROR_RT_AICPU_INFO_LOAD_RSP_ERR
        ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED
        ACL_ERROR_RT_COMM_OP_RETRY_FAIL
        ACL_ERROR_SNAPSHOT_LOCK_TIMEOUT
        ACL_ERROR_SNAPSHOT_LOCK_FAILED
        ACL_ERROR_SNAPSHOT_UNLOCK_FAILED
        ACL_ERROR_SNAPSHOT_BACKUP_FAILED
        ACL_ERROR_SNAPSHOT_RESTORE_FAILED
        ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED
        ACL_ERROR_HOST_MEMORY_NOT_REGISTERED
        ACL_ERROR_SNAPSHOT_CALLBACK_FAILED
        ACL_ERROR_SNAPSHOT_REGISTER_CALLBACK_FAILED
        ACL_ERROR_RT_L3_PORT_ERROR
        ACL_ERROR_RT_CCU_TIMEOUT
        ACL_ERROR_RT_CCU_EXCEPTION

    ctypedef enum aclrtLastErrLevel:
        ACL_RT_THREAD_LEVEL

    ctypedef enum aclLogLevel:
        ACL_DEBUG
        ACL_INFO
        ACL_WARNING
        ACL_ERROR

    # data types and formats
    ctypedef enum aclDataType:
        ACL_DT_UNDEFINED
        ACL_FLOAT
        ACL_FLOAT16
        ACL_INT8
        ACL_INT32
        ACL_UINT8
        ACL_INT16
        ACL_UINT16
        ACL_UINT32
        ACL_INT64
        ACL_UINT64
        ACL_DOUBLE
        ACL_BOOL
        ACL_STRING
        ACL_COMPLEX64
        ACL_COMPLEX128
        ACL_BF16
        ACL_INT4
        ACL_UINT1
        ACL_COMPLEX32
        ACL_HIFLOAT8
        ACL_FLOAT8_E5M2
        ACL_FLOAT8_E4M3FN
        ACL_FLOAT8_E8M0
        ACL_FLOAT6_E3M2
        ACL_FLOAT6_E2M3
        ACL_FLOAT4_E2M1
        ACL_FLOAT4_E1M2

    ctypedef enum aclFormat:
        ACL_FORMAT_UNDEFINED
        ACL_FORMAT_NCHW
        ACL_FORMAT_NHWC
        ACL_FORMAT_ND
        ACL_FORMAT_NC1HWC0
        ACL_FORMAT_FRACTAL_Z
        ACL_FORMAT_NC1HWC0_C04
        ACL_FORMAT_HWCN
        ACL_FORMAT_NDHWC
        ACL_FORMAT_FRACTAL_NZ
        ACL_FORMAT_NCDHW
        ACL_FORMAT_NDC1HWC0
        ACL_FRACTAL_Z_3D
        ACL_FORMAT_NC
        ACL_FORMAT_NCL
        ACL_FORMAT_FRACTAL_NZ_C0_16
        ACL_FORMAT_FRACTAL_NZ_C0_32
        ACL_FORMAT_FRACTAL_NZ_C0_2
        ACL_FORMAT_FRACTAL_NZ_C0_4
        ACL_FORMAT_FRACTAL_NZ_C0_8

    ctypedef enum aclMemType:
        ACL_MEMTYPE_DEVICE
        ACL_MEMTYPE_HOST
        ACL_MEMTYPE_HOST_COMPILE_INDEPENDENT

    # initialisation and versions
    enum:
        ACL_MAJOR_VERSION
        ACL_MINOR_VERSION
        ACL_PATCH_VERSION

    ctypedef enum aclRegisterCallbackType:
        ACL_REG_TYPE_ACL_MODEL
        ACL_REG_TYPE_ACL_OP_EXECUTOR
        ACL_REG_TYPE_ACL_OP_CBLAS
        ACL_REG_TYPE_ACL_OP_COMPILER
        ACL_REG_TYPE_ACL_TDT_CHANNEL
        ACL_REG_TYPE_ACL_TDT_QUEUE
        ACL_REG_TYPE_ACL_DVPP
        ACL_REG_TYPE_ACL_RETR
        ACL_REG_TYPE_OTHER

    ctypedef aclError (*aclInitCallbackFunc)(const char *config, size_t length,
            void *user_data) noexcept nogil
    ctypedef aclError (*aclFinalizeCallbackFunc)(void *user_data) noexcept nogil

    ctypedef enum aclCANNPackageName:
        ACL_PKG_NAME_CANN
        ACL_PKG_NAME_RUNTIME
        ACL_PKG_NAME_COMPILER
        ACL_PKG_NAME_HCCL
        ACL_PKG_NAME_TOOLKIT
        ACL_PKG_NAME_OPP
        ACL_PKG_NAME_OPP_KERNEL
        ACL_PKG_NAME_DRIVER

    enum:
        ACL_PKG_VERSION_MAX_SIZE
        ACL_PKG_VERSION_PARTS_MAX_SIZE

    ctypedef struct aclCANNPackageVersion:
        char version[128]
        char majorVersion[64]
        char minorVersion[64]
        char releaseVersion[64]
        char patchVersion[64]
        char reserved[128]

    # devices
    ctypedef enum aclrtRunMode:
        ACL_DEVICE
        ACL_HOST

    ctypedef enum aclrtTsId:
        ACL_TS_ID_AICORE
        ACL_TS_ID_AIVECTOR
        ACL_TS_ID_RESERVED

    ctypedef enum aclrtDeviceStatus:
        ACL_RT_DEVICE_STATUS_NORMAL
        ACL_RT_DEVICE_STATUS_ABNORMAL
        ACL_RT_DEVICE_STATUS_END

    ctypedef enum aclSysParamOpt:
        ACL_OPT_DETERMINISTIC
        ACL_OPT_ENABLE_DEBUG_KERNEL
        ACL_OPT_STRONG_CONSISTENCY
        ACL_OPT_ENABLE_KERNEL_EARLY_START

    ctypedef enum aclCannAttr:
        ACL_CANN_ATTR_UNDEFINED
        ACL_CANN_ATTR_INF_NAN
        ACL_CANN_ATTR_BF16
        ACL_CANN_ATTR_JIT_COMPILE

    ctypedef enum aclDeviceInfo:
        ACL_DEVICE_INFO_UNDEFINED
        ACL_DEVICE_INFO_AI_CORE_NUM
        ACL_DEVICE_INFO_VECTOR_CORE_NUM
        ACL_DEVICE_INFO_L2_SIZE

    ctypedef enum aclrtDevAttr:
        ACL_DEV_ATTR_AICPU_CORE_NUM
        ACL_DEV_ATTR_AICORE_CORE_NUM
        ACL_DEV_ATTR_CUBE_CORE_NUM
        ACL_DEV_ATTR_VECTOR_CORE_NUM
        ACL_DEV_ATTR_WARP_SIZE
        ACL_DEV_ATTR_MAX_THREAD_PER_VECTOR_CORE
        ACL_DEV_ATTR_LOCAL_MEM_PER_VECTOR_CORE
        ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE
        ACL_DEV_ATTR_MAX_GRID_DIM_X
        ACL_DEV_ATTR_MAX_GRID_DIM_Y
        ACL_DEV_ATTR_MAX_GRID_DIM_Z
        ACL_DEV_ATTR_MAX_BLOCK_PER_GRID
        ACL_DEV_ATTR_MAX_THREADS_PER_BLOCK
        ACL_DEV_ATTR_MAX_BLOCK_DIM_X
        ACL_DEV_ATTR_MAX_BLOCK_DIM_Y
        ACL_DEV_ATTR_MAX_BLOCK_DIM_Z
        ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE
        ACL_DEV_ATTR_L2_CACHE_SIZE
        ACL_DEV_ATTR_SMP_ID
        ACL_DEV_ATTR_PHY_CHIP_ID
        ACL_DEV_ATTR_SUPER_POD_DEVIDE_ID
        ACL_DEV_ATTR_SUPER_POD_DEVICE_ID
        ACL_DEV_ATTR_SUPER_POD_SERVER_ID
        ACL_DEV_ATTR_SUPER_POD_ID
        ACL_DEV_ATTR_CUST_OP_PRIVILEGE
        ACL_DEV_ATTR_MAINBOARD_ID
        ACL_DEV_ATTR_HD_CONNECT_TYPE
        ACL_DEV_ATTR_DEVICE_FORM_FACTOR
        ACL_DEV_ATTR_IS_VIRTUAL
        ACL_DEV_ATTR_NPU_ARCH

    enum:
        ACL_HOST_DEVICE_CONNECT_TYPE_PCIE
        ACL_HOST_DEVICE_CONNECT_TYPE_HCCS
        ACL_HOST_DEVICE_CONNECT_TYPE_UB
        ACL_DEVICE_FORM_FACTOR_POD
        ACL_DEVICE_FORM_FACTOR_A_K
        ACL_DEVICE_FORM_FACTOR_A_X
        ACL_DEVICE_FORM_FACTOR_PCIE_CARD

    ctypedef enum aclrtDevFeatureType:
        ACL_FEATURE_TSCPU_TASK_UPDATE_SUPPORT_AIC_AIV
        ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV

    enum:
        ACL_DEV_FEATURE_NOT_SUPPORT
        ACL_DEV_FEATURE_SUPPORT

    ctypedef enum aclrtDevResLimitType:
        ACL_RT_DEV_RES_CUBE_CORE
        ACL_RT_DEV_RES_VECTOR_CORE

    ctypedef enum aclrtDeviceLimit:
        ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE
        ACL_RT_DEV_LIMIT_SIMT_DVG_WARP_STACK_SIZE
        ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE
        ACL_RT_DEV_LIMIT_SIMD_PRINTF_FIFO_SIZE_PER_CORE
        ACL_RT_DEV_LIMIT_SIMT_PRINTF_FIFO_SIZE

    enum:
        ACL_RT_DEVS_TOPOLOGY_HCCS
        ACL_RT_DEVS_TOPOLOGY_PIX
        ACL_RT_DEVS_TOPOLOGY_PIB
        ACL_RT_DEVS_TOPOLOGY_PHB
        ACL_RT_DEVS_TOPOLOGY_SYS
        ACL_RT_DEVS_TOPOLOGY_SIO
        ACL_RT_DEVS_TOPOLOGY_HCCS_SW

    ctypedef struct aclrtUtilizationInfo:
        int32_t cubeUtilization
        int32_t vectorUtilization
        int32_t aicpuUtilization
        int32_t memoryUtilization
        aclrtUtilizationExtendInfo *utilizationExtend

    ctypedef struct aclrtUuid:
        char bytes[16]

    ctypedef enum aclrtDeviceState:
        ACL_RT_DEVICE_STATE_SET_PRE
        ACL_RT_DEVICE_STATE_SET_POST
        ACL_RT_DEVICE_STATE_RESET_PRE
        ACL_RT_DEVICE_STATE_RESET_POST

    ctypedef void (*aclrtDeviceStateCallback)(int32_t device_id, aclrtDeviceState state,
            void *args) noexcept nogil

    ctypedef enum aclrtDeviceTaskAbortStage:
        ACL_RT_DEVICE_TASK_ABORT_PRE
        ACL_RT_DEVICE_TASK_ABORT_POST

    ctypedef int32_t (*aclrtDeviceTaskAbortCallback)(int32_t device_id, aclrtDeviceTaskAbortStage stage,
            uint32_t timeout, void *args) noexcept nogil

    ctypedef enum aclrtAtomicOperationCapability:
        ACL_RT_ATOMIC_CAPABILITY_SIGNED
        ACL_RT_ATOMIC_CAPABILITY_UNSIGNED
        ACL_RT_ATOMIC_CAPABILITY_REDUCATION
        ACL_RT_ATOMIC_CAPABILITY_REDUCTION
        ACL_RT_ATOMIC_CAPABILITY_SCALAR8
        ACL_RT_ATOMIC_CAPABILITY_SCALAR16
        ACL_RT_ATOMIC_CAPABILITY_SCALAR32
        ACL_RT_ATOMIC_CAPABILITY_SCALAR64
        ACL_RT_ATOMIC_CAPABILITY_SCALAR128
        ACL_RT_ATOMIC_CAPABILITY_VECTOR32X4

    ctypedef enum aclrtAtomicOperation:
        ACL_RT_ATOMIC_OPERATION_INTEGER_ADD
        ACL_RT_ATOMIC_OPERATION_INTEGER_MIN
        ACL_RT_ATOMIC_OPERATION_INTEGER_MAX
        ACL_RT_ATOMIC_OPERATION_INTEGER_INCREMENT
        ACL_RT_ATOMIC_OPERATION_INTEGER_DECREMENT
        ACL_RT_ATOMIC_OPERATION_AND
        ACL_RT_ATOMIC_OPERATION_OR
        ACL_RT_ATOMIC_OPERATION_XOR
        ACL_RT_ATOMIC_OPERATION_EXCHANGE
        ACL_RT_ATOMIC_OPERATION_CAS
        ACL_RT_ATOMIC_OPERATION_FLOAT_ADD
        ACL_RT_ATOMIC_OPERATION_FLOAT_MIN
        ACL_RT_ATOMIC_OPERATION_FLOAT_MAX
        ACL_RT_ATOMIC_OPERATION_DMA_ADD
        ACL_RT_ATOMIC_OPERATION_DMA_MIN
        ACL_RT_ATOMIC_OPERATION_DMA_MAX
        ACL_RT_ATOMIC_OPERATION_SIMD_SCALAR_ADD
        ACL_RT_ATOMIC_OPERATION_SIMD_SCALAR_MIN
        ACL_RT_ATOMIC_OPERATION_SIMD_SCALAR_MAX
        ACL_RT_ATOMIC_OPERATION_SIMD_SCALAR_CAS
        ACL_RT_ATOMIC_OPERATION_SIMD_SCALAR_EXCH

    # device errors
    ctypedef void (*aclrtExceptionInfoCallback)(aclrtExceptionInfo *info) noexcept nogil
    ctypedef void (*aclrtOpExceptionCallback)(aclrtExceptionInfo *info, void *user_data) noexcept nogil

    ctypedef enum aclrtErrorType:
        ACL_RT_NO_ERROR
        ACL_RT_ERROR_MEMORY
        ACL_RT_ERROR_L2
        ACL_RT_ERROR_AICORE
        ACL_RT_ERROR_LINK
        ACL_RT_ERROR_L3_PORT
        ACL_RT_ERROR_OTHERS

    ctypedef enum aclrtAicoreErrorType:
        ACL_RT_AICORE_ERROR_UNKNOWN
        ACL_RT_AICORE_ERROR_SW
        ACL_RT_AICORE_ERROR_HW_LOCAL

    enum:
        MAX_MEM_UCE_INFO_ARRAY_SIZE
        UCE_INFO_RESERVED_SIZE
        ACL_RT_MEM_UCE_INFO_MAX_NUM
        ACL_RT_MAX_RECORD_PA_NUM_PER_DEV

    ctypedef struct aclrtMemUceInfo:
        void *addr
        size_t len
        size_t reserved[14]

    ctypedef struct aclrtMemUceInfoArray:
        size_t arraySize
        aclrtMemUceInfo memUceInfoArray[20]

    ctypedef union aclrtErrorInfoDetail:
        aclrtMemUceInfoArray uceInfo
        aclrtAicoreErrorType aicoreErrType

    ctypedef struct aclrtErrorInfo:
        uint8_t tryRepair
        uint8_t hasDetail
        uint8_t reserved[2]
        aclrtErrorType errorType
        aclrtErrorInfoDetail detail

    # streams
    enum:
        ACL_STREAM_FAST_LAUNCH
        ACL_STREAM_FAST_SYNC
        ACL_STREAM_PERSISTENT
        ACL_STREAM_HUGE
        ACL_STREAM_CPU_SCHEDULE
        ACL_STREAM_DEVICE_USE_ONLY
        ACL_CONTINUE_ON_FAILURE
        ACL_STOP_ON_FAILURE

    ctypedef enum aclrtStreamStatus:
        ACL_STREAM_STATUS_COMPLETE
        ACL_STREAM_STATUS_NOT_READY
        ACL_STREAM_STATUS_RESERVED

    ctypedef enum aclrtStreamAttr:
        ACL_STREAM_ATTR_FAILURE_MODE
        ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK
        ACL_STREAM_ATTR_USER_CUSTOM_TAG
        ACL_STREAM_ATTR_CACHE_OP_INFO
        ACL_STREAM_ATTR_PRIORITY

    ctypedef union aclrtStreamAttrValue:
        uint64_t failureMode
        uint32_t overflowSwitch
        uint32_t userCustomTag
        uint32_t cacheOpInfoSwitch
        uint32_t streamPriority
        uint32_t reserve[4]

    ctypedef enum aclrtStreamConfigAttr:
        ACL_RT_STREAM_WORK_ADDR_PTR
        ACL_RT_STREAM_WORK_SIZE
        ACL_RT_STREAM_FLAG
        ACL_RT_STREAM_PRIORITY

    ctypedef struct aclrtStreamConfigHandle:
        void *workptr
        size_t workSize
        size_t flag
        uint32_t priority

    ctypedef enum aclrtStreamState:
        ACL_RT_STREAM_STATE_CREATE_POST
        ACL_RT_STREAM_STATE_DESTROY_PRE

    ctypedef void (*aclrtStreamStateCallback)(aclrtStream stream, aclrtStreamState state,
            void *args) noexcept nogil

    ctypedef enum aclrtFloatOverflowMode:
        ACL_RT_OVERFLOW_MODE_SATURATION
        ACL_RT_OVERFLOW_MODE_INFNAN
        ACL_RT_OVERFLOW_MODE_UNDEF

    ctypedef enum aclrtCondition:
        ACL_RT_EQUAL
        ACL_RT_NOT_EQUAL
        ACL_RT_GREATER
        ACL_RT_GREATER_OR_EQUAL
        ACL_RT_LESS
        ACL_RT_LESS_OR_EQUAL

    ctypedef enum aclrtCompareDataType:
        ACL_RT_SWITCH_INT32
        ACL_RT_SWITCH_INT64

    # events
    enum:
        ACL_EVENT_SYNC
        ACL_EVENT_CAPTURE_STREAM_PROGRESS
        ACL_EVENT_TIME_LINE
        ACL_EVENT_DEVICE_USE_ONLY
        ACL_EVENT_EXTERNAL
        ACL_EVENT_IPC
        ACL_EVENT_RECORD_DEFAULT
        ACL_EVENT_RECORD_EXTERNAL
        ACL_EVENT_WAIT_DEFAULT
        ACL_EVENT_WAIT_EXTERNAL

    ctypedef enum aclrtEventStatus:
        ACL_EVENT_STATUS_COMPLETE
        ACL_EVENT_STATUS_NOT_READY
        ACL_EVENT_STATUS_RESERVED

    ctypedef enum aclrtEventRecordedStatus:
        ACL_EVENT_RECORDED_STATUS_NOT_READY
        ACL_EVENT_RECORDED_STATUS_COMPLETE

    ctypedef enum aclrtEventWaitStatus:
        ACL_EVENT_WAIT_STATUS_COMPLETE
        ACL_EVENT_WAIT_STATUS_NOT_READY
        ACL_EVENT_WAIT_STATUS_RESERVED

    enum:
        ACL_IPC_EVENT_HANDLE_SIZE

    ctypedef struct aclrtIpcEventHandle:
        char reserved[64]

    # memory
    ctypedef enum aclrtMemMallocPolicy:
        ACL_MEM_MALLOC_HUGE_FIRST
        ACL_MEM_MALLOC_HUGE_ONLY
        ACL_MEM_MALLOC_NORMAL_ONLY
        ACL_MEM_MALLOC_HUGE_FIRST_P2P
        ACL_MEM_MALLOC_HUGE_ONLY_P2P
        ACL_MEM_MALLOC_NORMAL_ONLY_P2P
        ACL_MEM_MALLOC_HUGE1G_ONLY
        ACL_MEM_MALLOC_HUGE1G_ONLY_P2P
        ACL_MEM_TYPE_LOW_BAND_WIDTH
        ACL_MEM_TYPE_HIGH_BAND_WIDTH
        ACL_MEM_ACCESS_USER_SPACE_READONLY

    ctypedef enum aclrtMallocAttrType:
        ACL_RT_MEM_ATTR_RSV
        ACL_RT_MEM_ATTR_MODULE_ID
        ACL_RT_MEM_ATTR_DEVICE_ID
        ACL_RT_MEM_ATTR_VA_FLAG

    ctypedef union aclrtMallocAttrValue:
        uint16_t moduleId
        uint32_t deviceId
        uint32_t vaFlag
        uint8_t rsv[8]

    ctypedef struct aclrtMallocAttribute:
        aclrtMallocAttrType attr
        aclrtMallocAttrValue value

    ctypedef struct aclrtMallocConfig:
        aclrtMallocAttribute *attrs
        size_t numAttrs

    ctypedef enum aclrtMemAttr:
        ACL_DDR_MEM
        ACL_HBM_MEM
        ACL_DDR_MEM_HUGE
        ACL_DDR_MEM_NORMAL
        ACL_HBM_MEM_HUGE
        ACL_HBM_MEM_NORMAL
        ACL_DDR_MEM_P2P_HUGE
        ACL_DDR_MEM_P2P_NORMAL
        ACL_HBM_MEM_P2P_HUGE
        ACL_HBM_MEM_P2P_NORMAL
        ACL_HBM_MEM_HUGE1G
        ACL_HBM_MEM_P2P_HUGE1G
        ACL_MEM_NORMAL
        ACL_MEM_HUGE
        ACL_MEM_HUGE1G
        ACL_MEM_P2P_NORMAL
        ACL_MEM_P2P_HUGE
        ACL_MEM_P2P_HUGE1G

    ctypedef enum aclrtMemLocationType:
        ACL_MEM_LOCATION_TYPE_HOST
        ACL_MEM_LOCATION_TYPE_DEVICE
        ACL_MEM_LOCATION_TYPE_UNREGISTERED
        ACL_MEM_LOCATION_TYPE_MANAGED
        ACL_MEM_LOCATION_TYPE_HOST_NUMA

    ctypedef struct aclrtMemLocation:
        uint32_t id
        aclrtMemLocationType type

    ctypedef struct aclrtPtrAttributes:
        aclrtMemLocation location
        uint32_t pageSize
        uint32_t rsv[4]

    ctypedef struct aclrtMemUsageInfo:
        char name[32]
        uint64_t curMemSize
        uint64_t memPeakSize
        size_t reserved[8]

    enum:
        ACL_RT_MEM_TYPE_DEV
        ACL_RT_MEM_TYPE_DVPP
        ACL_RT_MEM_TYPE_RSVD

    ctypedef enum aclrtHostRegisterType:
        ACL_HOST_REGISTER_MAPPED
        ACL_HOST_REGISTER_IOMEMORY
        ACL_HOST_REGISTER_READONLY

    enum:
        ACL_HOST_REG_MAPPED
        ACL_HOST_REG_IOMEMORY
        ACL_HOST_REG_READONLY
        ACL_HOST_REG_PINNED

    ctypedef enum aclrtHacType:
        ACL_RT_HAC_TYPE_STARS
        ACL_RT_HAC_TYPE_AICPU
        ACL_RT_HAC_TYPE_AIC
        ACL_RT_HAC_TYPE_AIV
        ACL_RT_HAC_TYPE_PCIEDMA
        ACL_RT_HAC_TYPE_RDMA
        ACL_RT_HAC_TYPE_SDMA
        ACL_RT_HAC_TYPE_DVPP
        ACL_RT_HAC_TYPE_UDMA
        ACL_RT_HAC_TYPE_CCU

    ctypedef enum aclrtHostMemMapCapability:
        ACL_RT_HOST_MEM_MAP_NOT_SUPPORTED
        ACL_RT_HOST_MEM_MAP_SUPPORTED

    enum:
        ACL_RT_MEM_ATTACH_GLOBAL

    ctypedef enum aclrtMemManagedAdviseType:
        ACL_MEM_ADVISE_SET_READ_MOSTLY
        ACL_MEM_ADVISE_UNSET_READ_MOSTLY
        ACL_MEM_ADVISE_SET_PREFERRED_LOCATION
        ACL_MEM_ADVISE_UNSET_PREFERRED_LOCATION
        ACL_MEM_ADVISE_SET_ACCESSED_BY
        ACL_MEM_ADVISE_UNSET_ACCESSED_BY

    ctypedef enum aclrtMemManagedLocationType:
        ACL_MEM_LOCATIONTYPE_INVALID
        ACL_MEM_LOCATIONTYPE_DEVICE
        ACL_MEM_LOCATIONTYPE_HOST
        ACL_MEM_LOCATIONTYPE_HOST_NUMA
        ACL_MEM_LOCATIONTYPE_HOST_NUMA_CURRENT

    ctypedef struct aclrtMemManagedLocation:
        aclrtMemManagedLocationType type
        int32_t id

    ctypedef enum aclrtMemManagedRangeAttribute:
        ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY
        ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION
        ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY
        ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE
        ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID
        ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION
        ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE
        ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID

    ctypedef enum aclrtMemHandleType:
        ACL_MEM_HANDLE_TYPE_NONE
        ACL_MEM_HANDLE_TYPE_POSIX

    ctypedef enum aclrtMemAllocationType:
        ACL_MEM_ALLOCATION_TYPE_PINNED

    ctypedef enum aclrtMemGranularityOptions:
        ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM
        ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED
        ACL_RT_MEM_ALLOC_GRANULARITY_UNDEF

    ctypedef enum aclrtMemAccessFlags:
        ACL_RT_MEM_ACCESS_FLAGS_NONE
        ACL_RT_MEM_ACCESS_FLAGS_READ
        ACL_RT_MEM_ACCESS_FLAGS_READWRITE

    ctypedef struct aclrtPhysicalMemProp:
        aclrtMemHandleType handleType
        aclrtMemAllocationType allocationType
        aclrtMemAttr memAttr
        aclrtMemLocation location
        uint64_t reserve

    ctypedef struct aclrtMemAccessDesc:
        aclrtMemAccessFlags flags
        aclrtMemLocation location
        uint8_t rsv[12]

    ctypedef enum aclrtMemLinkType:
        ACL_RT_MEM_ACCESS_LINK_SIO
        ACL_RT_MEM_ACCESS_LINK_HCCS
        ACL_RT_MEM_ACCESS_UB_ONE_PORT_PATH
        ACL_RT_MEM_ACCESS_UB_MULTI_PORT_PATH

    enum:
        ACL_RT_MEM_LINK_IDX_0
        ACL_RT_MEM_LINK_IDX_1
        ACL_RT_VMM_EXPORT_FLAG_DEFAULT
        ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION
        ACL_RT_IPC_MEM_EXPORT_FLAG_DEFAULT
        ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION
        ACL_RT_IPC_MEM_IMPORT_FLAG_DEFAULT
        ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS

    ctypedef enum aclrtMemSharedHandleType:
        ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT
        ACL_MEM_SHARE_HANDLE_TYPE_FABRIC

    ctypedef struct aclrtMemFabricHandle:
        uint8_t data[128]

    ctypedef enum aclrtIpcMemAttrType:
        ACL_RT_IPC_MEM_ATTR_ACCESS_LINK

    enum:
        ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_SIO
        ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_HCCS
        ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_UB_ONE_PORT_PATH
        ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_UB_MULTI_PORT_PATH

    ctypedef struct aclrtServerPid:
        uint32_t sdid
        int32_t *pid
        size_t num

    ctypedef enum aclrtMemPoolAttr:
        ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES
        ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC
        ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES
        ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD
        ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT
        ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH
        ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT
        ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH

    ctypedef struct aclrtMemPoolProps:
        aclrtMemAllocationType allocType
        aclrtMemHandleType handleType
        aclrtMemLocation location
        size_t maxSize
        unsigned char reserved[32]

    ctypedef void * (*aclrtAllocatorAllocFunc)(aclrtAllocator allocator, size_t size) noexcept nogil
    ctypedef void (*aclrtAllocatorFreeFunc)(aclrtAllocator allocator,
            aclrtAllocatorBlock block) noexcept nogil
    ctypedef void * (*aclrtAllocatorAllocAdviseFunc)(aclrtAllocator allocator, size_t size,
            aclrtAllocatorAddr addr) noexcept nogil
    ctypedef void * (*aclrtAllocatorGetAddrFromBlockFunc)(aclrtAllocatorBlock block) noexcept nogil

    # copies and built-in tasks
    ctypedef enum aclrtMemcpyKind:
        ACL_MEMCPY_HOST_TO_HOST
        ACL_MEMCPY_HOST_TO_DEVICE
        ACL_MEMCPY_DEVICE_TO_HOST
        ACL_MEMCPY_DEVICE_TO_DEVICE
        ACL_MEMCPY_DEFAULT
        ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE
        ACL_MEMCPY_INNER_DEVICE_TO_DEVICE
        ACL_MEMCPY_INTER_DEVICE_TO_DEVICE

    ctypedef struct aclrtMemcpyBatchAttr:
        aclrtMemLocation dstLoc
        aclrtMemLocation srcLoc
        uint8_t rsv[16]

    ctypedef enum aclrtReduceKind:
        ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM
        ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX
        ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN
        ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL

    enum:
        ACL_STREAM_WAIT_VALUE_GEQ
        ACL_STREAM_WAIT_VALUE_EQ
        ACL_STREAM_WAIT_VALUE_AND
        ACL_STREAM_WAIT_VALUE_NOR

    ctypedef enum aclrtCmoType:
        ACL_RT_CMO_TYPE_PREFETCH
        ACL_RT_CMO_TYPE_WRITEBACK
        ACL_RT_CMO_TYPE_INVALID
        ACL_RT_CMO_TYPE_FLUSH

    enum:
        ACL_RT_CMO_MAX_BARRIER_NUM

    ctypedef struct aclrtBarrierCmoInfo:
        aclrtCmoType cmoType
        uint32_t barrierId

    ctypedef struct aclrtBarrierTaskInfo:
        size_t barrierNum
        aclrtBarrierCmoInfo cmoInfo[6]

    ctypedef struct aclrtRandomParaInfo:
        uint8_t isAddr
        uint8_t valueOrAddr[8]
        uint8_t size
        uint8_t rsv[6]

    ctypedef struct aclrtDropoutBitmaskInfo:
        aclrtRandomParaInfo dropoutRation

    ctypedef struct aclrtUniformDisInfo:
        aclrtRandomParaInfo min
        aclrtRandomParaInfo max

    ctypedef struct aclrtNormalDisInfo:
        aclrtRandomParaInfo mean
        aclrtRandomParaInfo stddev

    ctypedef enum aclrtRandomNumFuncType:
        ACL_RT_RANDOM_NUM_FUNC_TYPE_DROPOUT_BITMASK
        ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS
        ACL_RT_RANDOM_NUM_FUNC_TYPE_NORMAL_DIS
        ACL_RT_RANDOM_NUM_FUNC_TYPE_TRUNCATED_NORMAL_DIS

    ctypedef union aclrtRandomNumFuncParaInfo_paramInfo:
        aclrtDropoutBitmaskInfo dropoutBitmaskInfo
        aclrtUniformDisInfo uniformDisInfo
        aclrtNormalDisInfo normalDisInfo

    ctypedef struct aclrtRandomNumFuncParaInfo:
        aclrtRandomNumFuncType funcType
        aclrtRandomNumFuncParaInfo_paramInfo paramInfo

    ctypedef struct aclrtRandomNumTaskInfo:
        aclDataType dataType
        aclrtRandomNumFuncParaInfo randomNumFuncParaInfo
        void *randomParaAddr
        void *randomResultAddr
        void *randomCounterAddr
        aclrtRandomParaInfo randomSeed
        aclrtRandomParaInfo randomNum
        uint8_t rsv[8]

    ctypedef enum aclrtUpdateTaskAttrId:
        ACL_RT_UPDATE_RANDOM_TASK
        ACL_RT_UPDATE_AIC_AIV_TASK

    ctypedef struct aclrtRandomTaskUpdateAttr:
        void *srcAddr
        size_t size
        uint32_t rsv[4]

    ctypedef struct aclrtAicAivTaskUpdateAttr:
        void *binHandle
        void *funcEntryAddr
        void *blockDimAddr
        uint32_t rsv[4]

    ctypedef union aclrtUpdateTaskAttrVal:
        aclrtRandomTaskUpdateAttr randomTaskAttr
        aclrtAicAivTaskUpdateAttr aicAivTaskAttr

    ctypedef struct aclrtTaskUpdateInfo:
        aclrtUpdateTaskAttrId id
        aclrtUpdateTaskAttrVal val

    # host callbacks
    ctypedef enum aclrtCallbackBlockType:
        ACL_CALLBACK_NO_BLOCK
        ACL_CALLBACK_BLOCK

    ctypedef void (*aclrtCallback)(void *user_data) noexcept nogil
    ctypedef void (*aclrtHostFunc)(void *args) noexcept nogil

    # kernels
    enum:
        ACL_RT_BINARY_MAGIC_ELF_AICORE
        ACL_RT_BINARY_MAGIC_ELF_VECTOR_CORE
        ACL_RT_BINARY_MAGIC_ELF_CUBE_CORE

    ctypedef enum aclrtBinaryLoadOptionType:
        ACL_RT_BINARY_LOAD_OPT_LAZY_LOAD
        ACL_RT_BINARY_LOAD_OPT_LAZY_MAGIC
        ACL_RT_BINARY_LOAD_OPT_MAGIC
        ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE

    ctypedef union aclrtBinaryLoadOptionValue:
        uint32_t isLazyLoad
        uint32_t magic
        int32_t cpuKernelMode
        uint32_t rsv[4]

    ctypedef struct aclrtBinaryLoadOption:
        aclrtBinaryLoadOptionType type
        aclrtBinaryLoadOptionValue value

    ctypedef struct aclrtBinaryLoadOptions:
        aclrtBinaryLoadOption *options
        size_t numOpt

    ctypedef enum aclrtFuncAttribute:
        ACL_FUNC_ATTR_KERNEL_TYPE
        ACL_FUNC_ATTR_KERNEL_RATIO
        ACL_FUNC_ATTR_KERNEL_SCHED_MODE

    ctypedef enum aclrtKernelType:
        ACL_KERNEL_TYPE_AICORE
        ACL_KERNEL_TYPE_CUBE
        ACL_KERNEL_TYPE_VECTOR
        ACL_KERNEL_TYPE_MIX
        ACL_KERNEL_TYPE_AICPU

    ctypedef enum aclrtEngineType:
        ACL_RT_ENGINE_TYPE_AIC
        ACL_RT_ENGINE_TYPE_AIV

    ctypedef enum aclrtLaunchKernelAttrId:
        ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE
        ACL_RT_LAUNCH_KERNEL_ATTR_LOCAL_MEMORY_SIZE
        ACL_RT_LAUNCH_KERNEL_ATTR_DYN_UBUF_SIZE
        ACL_RT_LAUNCH_KERNEL_ATTR_ENGINE_TYPE
        ACL_RT_LAUNCH_KERNEL_ATTR_BLOCKDIM_OFFSET
        ACL_RT_LAUNCH_KERNEL_ATTR_BLOCK_TASK_PREFETCH
        ACL_RT_LAUNCH_KERNEL_ATTR_DATA_DUMP
        ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT
        ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US
        ACL_RT_LAUNCH_KERNEL_ATTR_ENABLE_PROFILING

    ctypedef struct aclrtTimeoutUs:
        uint32_t timeoutLow
        uint32_t timeoutHigh

    ctypedef union aclrtLaunchKernelAttrValue:
        uint8_t schemMode
        uint32_t localMemorySize
        uint32_t dynUBufSize
        aclrtEngineType engineType
        uint32_t blockDimOffset
        uint8_t isBlockTaskPrefetch
        uint8_t isDataDump
        uint16_t timeout
        aclrtTimeoutUs timeoutUs
        uint8_t enableProfiling
        uint32_t rsv[4]

    ctypedef struct aclrtLaunchKernelAttr:
        aclrtLaunchKernelAttrId id
        aclrtLaunchKernelAttrValue value

    ctypedef struct aclrtLaunchKernelCfg:
        aclrtLaunchKernelAttr *attrs
        size_t numAttrs

    ctypedef struct aclrtPlaceHolderInfo:
        uint32_t addrOffset
        uint32_t dataOffset

    # notifies
    enum:
        ACL_NOTIFY_DEFAULT
        ACL_NOTIFY_DEVICE_USE_ONLY
        ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT
        ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION
        ACL_RT_NOTIFY_IMPORT_FLAG_DEFAULT
        ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS

    ctypedef enum aclrtCntNotifyRecordMode:
        ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE
        ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE
        ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE
        ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE

    ctypedef struct aclrtCntNotifyRecordInfo:
        aclrtCntNotifyRecordMode mode
        uint32_t value

    ctypedef enum aclrtCntNotifyWaitMode:
        ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE
        ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE
        ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE
        ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE
        ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE

    ctypedef struct aclrtCntNotifyWaitInfo:
        aclrtCntNotifyWaitMode mode
        uint32_t value
        uint32_t timeout
        uint8_t isClear
        uint8_t rsv[3]

    # runtime instances
    ctypedef enum aclmdlRICaptureMode:
        ACL_MODEL_RI_CAPTURE_MODE_GLOBAL
        ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL
        ACL_MODEL_RI_CAPTURE_MODE_RELAXED

    ctypedef enum aclmdlRICaptureStatus:
        ACL_MODEL_RI_CAPTURE_STATUS_NONE
        ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE
        ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED

    enum:
        ACL_MDLRI_DEBUG_JSON_PRINT_SUMMARY
        ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE

    ctypedef enum aclmdlRITaskType:
        ACL_MODEL_RI_TASK_DEFAULT
        ACL_MODEL_RI_TASK_KERNEL
        ACL_MODEL_RI_TASK_EVENT_RECORD
        ACL_MODEL_RI_TASK_EVENT_WAIT
        ACL_MODEL_RI_TASK_EVENT_RESET
        ACL_MODEL_RI_TASK_VALUE_WRITE
        ACL_MODEL_RI_TASK_VALUE_WAIT

    ctypedef struct aclmdlRIKernelTaskParams:
        aclrtFuncHandle funcHandle
        aclrtLaunchKernelCfg *cfg
        void *args
        uint32_t isHostArgs
        size_t argsSize
        uint32_t numBlocks
        uint32_t rsv[10]

    ctypedef struct aclmdlRIEventRecordTaskParams:
        aclrtEvent event
        uint32_t eventFlag
        uint32_t recordFlag

    ctypedef struct aclmdlRIEventWaitTaskParams:
        aclrtEvent event
        uint32_t eventFlag
        uint32_t waitFlag

    ctypedef struct aclmdlRIEventResetTaskParams:
        aclrtEvent event
        uint32_t eventFlag
        uint32_t resetFlag

    ctypedef struct aclmdlRIValueWriteTaskParams:
        void *devAddr
        uint64_t value

    ctypedef struct aclmdlRIValueWaitTaskParams:
        void *devAddr
        uint64_t value
        uint32_t flag

    ctypedef struct aclmdlRITaskParams:
        aclmdlRITaskType type
        uint32_t rsv0[3]
        aclrtTaskGrp taskGrp
        void *opInfoPtr
        size_t opInfoSize
        uint8_t rsv1[32]
        uint8_t rsv2[128]
        aclmdlRIKernelTaskParams kernelTaskParams
        aclmdlRIEventRecordTaskParams eventRecordTaskParams
        aclmdlRIEventWaitTaskParams eventWaitTaskParams
        aclmdlRIEventResetTaskParams eventResetTaskParams
        aclmdlRIValueWriteTaskParams valueWriteTaskParams
        aclmdlRIValueWaitTaskParams valueWaitTaskParams

    ctypedef enum aclmdlRICondHandleFlag:
        ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT

    ctypedef enum aclmdlRICondTaskType:
        ACL_MODEL_RI_COND_TYPE_IF
        ACL_MODEL_RI_COND_TYPE_WHILE
        ACL_MODEL_RI_COND_TYPE_SWITCH

    ctypedef struct aclmdlRICondTaskParams:
        aclmdlRICondHandle handle
        aclmdlRICondTaskType type
        uint32_t size
        aclmdlRI *modelRIArray

    ctypedef struct ascend_cy_dim3:
        uint32_t x
        uint32_t y
        uint32_t z

    # functions, in the order of the table
    aclError aclInit "ascend_cy_acl()->aclInit"(const char *config_path) noexcept nogil
    aclError aclFinalize "ascend_cy_acl()->aclFinalize"() noexcept nogil
    aclError aclFinalizeReference "ascend_cy_acl()->aclFinalizeReference"(uint64_t *ref_count) noexcept nogil
    aclError aclInitCallbackRegister "ascend_cy_acl()->aclInitCallbackRegister"(aclRegisterCallbackType type,
            aclInitCallbackFunc cb_func, void *user_data) noexcept nogil
    aclError aclInitCallbackUnRegister "ascend_cy_acl()->aclInitCallbackUnRegister"(
            aclRegisterCallbackType type, aclInitCallbackFunc cb_func) noexcept nogil
    aclError aclFinalizeCallbackRegister "ascend_cy_acl()->aclFinalizeCallbackRegister"(
            aclRegisterCallbackType type, aclFinalizeCallbackFunc cb_func, void *user_data) noexcept nogil
    aclError aclFinalizeCallbackUnRegister "ascend_cy_acl()->aclFinalizeCallbackUnRegister"(
            aclRegisterCallbackType type, aclFinalizeCallbackFunc cb_func) noexcept nogil
    const char *aclGetRecentErrMsg "ascend_cy_acl()->aclGetRecentErrMsg"() noexcept nogil
    aclError aclrtPeekAtLastError "ascend_cy_acl()->aclrtPeekAtLastError"(
            aclrtLastErrLevel level) noexcept nogil
    aclError aclrtGetLastError "ascend_cy_acl()->aclrtGetLastError"(aclrtLastErrLevel level) noexcept nogil
    aclError aclrtGetErrorVerbose "ascend_cy_acl()->aclrtGetErrorVerbose"(int32_t device_id,
            aclrtErrorInfo *error_info) noexcept nogil
    aclError aclrtRepairError "ascend_cy_acl()->aclrtRepairError"(int32_t device_id,
            const aclrtErrorInfo *error_info) noexcept nogil
    aclError aclrtSetExceptionInfoCallback "ascend_cy_acl()->aclrtSetExceptionInfoCallback"(
            aclrtExceptionInfoCallback callback) noexcept nogil
    aclError aclrtExceptionInfoCallbackRegister "ascend_cy_acl()->aclrtExceptionInfoCallbackRegister"(
            aclrtExceptionInfoCallback callback) noexcept nogil
    aclError aclrtExceptionInfoCallbackUnregister "ascend_cy_acl()->aclrtExceptionInfoCallbackUnregister"(
            aclrtExceptionInfoCallback callback) noexcept nogil
    uint32_t aclrtGetTaskIdFromExceptionInfo "ascend_cy_acl()->aclrtGetTaskIdFromExceptionInfo"(
            const aclrtExceptionInfo *info) noexcept nogil
    uint32_t aclrtGetStreamIdFromExceptionInfo "ascend_cy_acl()->aclrtGetStreamIdFromExceptionInfo"(
            const aclrtExceptionInfo *info) noexcept nogil
    uint32_t aclrtGetThreadIdFromExceptionInfo "ascend_cy_acl()->aclrtGetThreadIdFromExceptionInfo"(
            const aclrtExceptionInfo *info) noexcept nogil
    uint32_t aclrtGetDeviceIdFromExceptionInfo "ascend_cy_acl()->aclrtGetDeviceIdFromExceptionInfo"(
            const aclrtExceptionInfo *info) noexcept nogil
    uint32_t aclrtGetErrorCodeFromExceptionInfo "ascend_cy_acl()->aclrtGetErrorCodeFromExceptionInfo"(
            const aclrtExceptionInfo *info) noexcept nogil
    aclError aclrtGetArgsFromExceptionInfo "ascend_cy_acl()->aclrtGetArgsFromExceptionInfo"(
            const aclrtExceptionInfo *info, void **dev_args_ptr, uint32_t *dev_args_len) noexcept nogil
    aclError aclrtGetFuncHandleFromExceptionInfo "ascend_cy_acl()->aclrtGetFuncHandleFromExceptionInfo"(
            const aclrtExceptionInfo *info, aclrtFuncHandle *func) noexcept nogil
    aclError aclrtBinarySetExceptionCallback "ascend_cy_acl()->aclrtBinarySetExceptionCallback"(
            aclrtBinHandle bin_handle, aclrtOpExceptionCallback callback, void *user_data) noexcept nogil
    aclError aclrtGetThreadLastTaskId "ascend_cy_acl()->aclrtGetThreadLastTaskId"(
            uint32_t *task_id) noexcept nogil
    aclError aclrtCacheLastTaskOpInfo "ascend_cy_acl()->aclrtCacheLastTaskOpInfo"(const void *info_ptr,
            size_t info_size) noexcept nogil
    aclError aclrtCacheLastTaskExtendInfo "ascend_cy_acl()->aclrtCacheLastTaskExtendInfo"(
            const char *extend_info_ptr, size_t info_size) noexcept nogil
    aclError aclrtGetVersion "ascend_cy_acl()->aclrtGetVersion"(int32_t *major_version,
            int32_t *minor_version, int32_t *patch_version) noexcept nogil
    aclError aclsysGetCANNVersion "ascend_cy_acl()->aclsysGetCANNVersion"(aclCANNPackageName name,
            aclCANNPackageVersion *version) noexcept nogil
    aclError aclsysGetVersionStr "ascend_cy_acl()->aclsysGetVersionStr"(char *pkg_name,
            char *version_str) noexcept nogil
    aclError aclsysGetVersionNum "ascend_cy_acl()->aclsysGetVersionNum"(char *pkg_name,
            int32_t *version_num) noexcept nogil
    aclError aclrtSetDevice "ascend_cy_acl()->aclrtSetDevice"(int32_t device_id) noexcept nogil
    aclError aclrtResetDevice "ascend_cy_acl()->aclrtResetDevice"(int32_t device_id) noexcept nogil
    aclError aclrtResetDeviceForce "ascend_cy_acl()->aclrtResetDeviceForce"(int32_t device_id) noexcept nogil
    aclError aclrtGetDevice "ascend_cy_acl()->aclrtGetDevice"(int32_t *device_id) noexcept nogil
    aclError aclrtGetDeviceCount "ascend_cy_acl()->aclrtGetDeviceCount"(uint32_t *count) noexcept nogil
    aclError aclrtGetRunMode "ascend_cy_acl()->aclrtGetRunMode"(aclrtRunMode *run_mode) noexcept nogil
    aclError aclrtSynchronizeDevice "ascend_cy_acl()->aclrtSynchronizeDevice"() noexcept nogil
    aclError aclrtSynchronizeDeviceWithTimeout "ascend_cy_acl()->aclrtSynchronizeDeviceWithTimeout"(
            int32_t timeout) noexcept nogil
    aclError aclrtSetTsDevice "ascend_cy_acl()->aclrtSetTsDevice"(aclrtTsId ts_id) noexcept nogil
    const char *aclrtGetSocName "ascend_cy_acl()->aclrtGetSocName"() noexcept nogil
    aclError aclrtGetDeviceInfo "ascend_cy_acl()->aclrtGetDeviceInfo"(uint32_t device_id, aclrtDevAttr attr,
            int64_t *value) noexcept nogil
    aclError aclGetDeviceCapability "ascend_cy_acl()->aclGetDeviceCapability"(uint32_t device_id,
            aclDeviceInfo device_info, int64_t *value) noexcept nogil
    aclError aclrtGetDeviceCapability "ascend_cy_acl()->aclrtGetDeviceCapability"(int32_t device_id,
            aclrtDevFeatureType dev_feature_type, int32_t *value) noexcept nogil
    aclError aclGetCannAttributeList "ascend_cy_acl()->aclGetCannAttributeList"(
            const aclCannAttr **cann_attr_list, size_t *num) noexcept nogil
    aclError aclGetCannAttribute "ascend_cy_acl()->aclGetCannAttribute"(aclCannAttr cann_attr,
            int32_t *value) noexcept nogil
    aclError aclrtCheckArchCompatibility "ascend_cy_acl()->aclrtCheckArchCompatibility"(
            const char *soc_version, int32_t *can_compatible) noexcept nogil
    aclError aclrtQueryDeviceStatus "ascend_cy_acl()->aclrtQueryDeviceStatus"(int32_t device_id,
            aclrtDeviceStatus *device_status) noexcept nogil
    aclError aclrtGetDeviceUtilizationRate "ascend_cy_acl()->aclrtGetDeviceUtilizationRate"(int32_t device_id,
            aclrtUtilizationInfo *utilization_info) noexcept nogil
    aclError aclrtDeviceGetStreamPriorityRange "ascend_cy_acl()->aclrtDeviceGetStreamPriorityRange"(
            int32_t *least_priority, int32_t *greatest_priority) noexcept nogil
    aclError aclrtDeviceGetUuid "ascend_cy_acl()->aclrtDeviceGetUuid"(int32_t device_id,
            aclrtUuid *uuid) noexcept nogil
    aclError aclrtDeviceGetPCIBusId "ascend_cy_acl()->aclrtDeviceGetPCIBusId"(int32_t device_id,
            char *pci_bus_id, int32_t len) noexcept nogil
    aclError aclrtDeviceGetByPCIBusId "ascend_cy_acl()->aclrtDeviceGetByPCIBusId"(const char *pci_bus_id,
            int32_t *device_id) noexcept nogil
    aclError aclrtDeviceGetBareTgid "ascend_cy_acl()->aclrtDeviceGetBareTgid"(int32_t *pid) noexcept nogil
    aclError aclrtDeviceCanAccessPeer "ascend_cy_acl()->aclrtDeviceCanAccessPeer"(int32_t *can_access_peer,
            int32_t device_id, int32_t peer_device_id) noexcept nogil
    aclError aclrtDeviceEnablePeerAccess "ascend_cy_acl()->aclrtDeviceEnablePeerAccess"(
            int32_t peer_device_id, uint32_t flags) noexcept nogil
    aclError aclrtDeviceDisablePeerAccess "ascend_cy_acl()->aclrtDeviceDisablePeerAccess"(
            int32_t peer_device_id) noexcept nogil
    aclError aclrtDevicePeerAccessStatus "ascend_cy_acl()->aclrtDevicePeerAccessStatus"(int32_t device_id,
            int32_t peer_device_id, int32_t *status) noexcept nogil
    aclError aclrtGetDevicesTopo "ascend_cy_acl()->aclrtGetDevicesTopo"(uint32_t device_id,
            uint32_t other_device_id, uint64_t *value) noexcept nogil
    aclError aclrtGetLogicDevIdByUserDevId "ascend_cy_acl()->aclrtGetLogicDevIdByUserDevId"(
            int32_t user_devid, int32_t *logic_dev_id) noexcept nogil
    aclError aclrtGetUserDevIdByLogicDevId "ascend_cy_acl()->aclrtGetUserDevIdByLogicDevId"(
            int32_t logic_dev_id, int32_t *user_devid) noexcept nogil
    aclError aclrtGetLogicDevIdByPhyDevId "ascend_cy_acl()->aclrtGetLogicDevIdByPhyDevId"(int32_t phy_dev_id,
            int32_t *logic_dev_id) noexcept nogil
    aclError aclrtGetPhyDevIdByLogicDevId "ascend_cy_acl()->aclrtGetPhyDevIdByLogicDevId"(
            int32_t logic_dev_id, int32_t *phy_dev_id) noexcept nogil
    aclError aclrtGetUserDevIdByPhyDevId "ascend_cy_acl()->aclrtGetUserDevIdByPhyDevId"(int32_t phy_dev_id,
            int32_t *user_dev_id) noexcept nogil
    aclError aclrtGetPhyDevIdByUserDevId "ascend_cy_acl()->aclrtGetPhyDevIdByUserDevId"(int32_t user_dev_id,
            int32_t *phy_dev_id) noexcept nogil
    aclError aclrtDeviceGetHostAtomicCapabilities "ascend_cy_acl()->aclrtDeviceGetHostAtomicCapabilities"(
            uint32_t *capabilities, const aclrtAtomicOperation *operations, uint32_t count,
            int32_t device_id) noexcept nogil
    aclError aclrtDeviceGetP2PAtomicCapabilities "ascend_cy_acl()->aclrtDeviceGetP2PAtomicCapabilities"(
            uint32_t *capabilities, const aclrtAtomicOperation *operations, uint32_t count,
            int32_t src_device_id, int32_t dst_device_id) noexcept nogil
    aclError aclrtSetDeviceResLimit "ascend_cy_acl()->aclrtSetDeviceResLimit"(int32_t device_id,
            aclrtDevResLimitType type, uint32_t value) noexcept nogil
    aclError aclrtGetDeviceResLimit "ascend_cy_acl()->aclrtGetDeviceResLimit"(int32_t device_id,
            aclrtDevResLimitType type, uint32_t *value) noexcept nogil
    aclError aclrtResetDeviceResLimit "ascend_cy_acl()->aclrtResetDeviceResLimit"(
            int32_t device_id) noexcept nogil
    aclError aclrtSetStreamResLimit "ascend_cy_acl()->aclrtSetStreamResLimit"(aclrtStream stream,
            aclrtDevResLimitType type, uint32_t value) noexcept nogil
    aclError aclrtGetStreamResLimit "ascend_cy_acl()->aclrtGetStreamResLimit"(aclrtStream stream,
            aclrtDevResLimitType type, uint32_t *value) noexcept nogil
    aclError aclrtResetStreamResLimit "ascend_cy_acl()->aclrtResetStreamResLimit"(
            aclrtStream stream) noexcept nogil
    aclError aclrtUseStreamResInCurrentThread "ascend_cy_acl()->aclrtUseStreamResInCurrentThread"(
            aclrtStream stream) noexcept nogil
    aclError aclrtUnuseStreamResInCurrentThread "ascend_cy_acl()->aclrtUnuseStreamResInCurrentThread"(
            aclrtStream stream) noexcept nogil
    aclError aclrtGetResInCurrentThread "ascend_cy_acl()->aclrtGetResInCurrentThread"(
            aclrtDevResLimitType type, uint32_t *value) noexcept nogil
    aclError aclrtDeviceSetLimit "ascend_cy_acl()->aclrtDeviceSetLimit"(aclrtDeviceLimit limit,
            size_t value) noexcept nogil
    aclError aclrtDeviceGetLimit "ascend_cy_acl()->aclrtDeviceGetLimit"(aclrtDeviceLimit limit,
            size_t *value) noexcept nogil
    aclError aclrtDeviceL2CacheFlush "ascend_cy_acl()->aclrtDeviceL2CacheFlush"(void *rsv) noexcept nogil
    aclError aclrtSetSysParamOpt "ascend_cy_acl()->aclrtSetSysParamOpt"(aclSysParamOpt opt,
            int64_t value) noexcept nogil
    aclError aclrtGetSysParamOpt "ascend_cy_acl()->aclrtGetSysParamOpt"(aclSysParamOpt opt,
            int64_t *value) noexcept nogil
    aclError aclrtRegDeviceStateCallback "ascend_cy_acl()->aclrtRegDeviceStateCallback"(const char *reg_name,
            aclrtDeviceStateCallback callback, void *args) noexcept nogil
    aclError aclrtDeviceTaskAbort "ascend_cy_acl()->aclrtDeviceTaskAbort"(int32_t device_id,
            uint32_t timeout) noexcept nogil
    aclError aclrtSetDeviceTaskAbortCallback "ascend_cy_acl()->aclrtSetDeviceTaskAbortCallback"(
            const char *reg_name, aclrtDeviceTaskAbortCallback callback, void *args) noexcept nogil
    aclError aclrtGetMemUceInfo "ascend_cy_acl()->aclrtGetMemUceInfo"(int32_t device_id,
            aclrtMemUceInfo *mem_uce_info_array, size_t array_size, size_t *ret_size) noexcept nogil
    aclError aclrtMemUceRepair "ascend_cy_acl()->aclrtMemUceRepair"(int32_t device_id,
            aclrtMemUceInfo *mem_uce_info_array, size_t array_size) noexcept nogil
    aclError aclrtSetOpExecuteTimeOut "ascend_cy_acl()->aclrtSetOpExecuteTimeOut"(
            uint32_t timeout) noexcept nogil
    aclError aclrtSetOpExecuteTimeOutWithMs "ascend_cy_acl()->aclrtSetOpExecuteTimeOutWithMs"(
            uint32_t timeout) noexcept nogil
    aclError aclrtSetOpExecuteTimeOutV2 "ascend_cy_acl()->aclrtSetOpExecuteTimeOutV2"(uint64_t timeout,
            uint64_t *actual_timeout) noexcept nogil
    aclError aclrtSetOpWaitTimeout "ascend_cy_acl()->aclrtSetOpWaitTimeout"(uint32_t timeout) noexcept nogil
    aclError aclrtGetOpExecuteTimeout "ascend_cy_acl()->aclrtGetOpExecuteTimeout"(
            uint32_t *timeout_ms) noexcept nogil
    aclError aclrtGetOpTimeOutInterval "ascend_cy_acl()->aclrtGetOpTimeOutInterval"(
            uint64_t *interval) noexcept nogil
    aclError aclrtCreateContext "ascend_cy_acl()->aclrtCreateContext"(aclrtContext *context,
            int32_t device_id) noexcept nogil
    aclError aclrtDestroyContext "ascend_cy_acl()->aclrtDestroyContext"(aclrtContext context) noexcept nogil
    aclError aclrtSetCurrentContext "ascend_cy_acl()->aclrtSetCurrentContext"(
            aclrtContext context) noexcept nogil
    aclError aclrtGetCurrentContext "ascend_cy_acl()->aclrtGetCurrentContext"(
            aclrtContext *context) noexcept nogil
    aclError aclrtCtxSetSysParamOpt "ascend_cy_acl()->aclrtCtxSetSysParamOpt"(aclSysParamOpt opt,
            int64_t value) noexcept nogil
    aclError aclrtCtxGetSysParamOpt "ascend_cy_acl()->aclrtCtxGetSysParamOpt"(aclSysParamOpt opt,
            int64_t *value) noexcept nogil
    aclError aclrtCtxGetCurrentDefaultStream "ascend_cy_acl()->aclrtCtxGetCurrentDefaultStream"(
            aclrtStream *stream) noexcept nogil
    aclError aclrtGetPrimaryCtxState "ascend_cy_acl()->aclrtGetPrimaryCtxState"(int32_t device_id,
            uint32_t *flags, int32_t *active) noexcept nogil
    aclError aclrtCreateStream "ascend_cy_acl()->aclrtCreateStream"(aclrtStream *stream) noexcept nogil
    aclError aclrtCreateStreamWithConfig "ascend_cy_acl()->aclrtCreateStreamWithConfig"(aclrtStream *stream,
            uint32_t priority, uint32_t flag) noexcept nogil
    aclrtStreamConfigHandle *aclrtCreateStreamConfigHandle "ascend_cy_acl()->aclrtCreateStreamConfigHandle"(
            ) noexcept nogil
    aclError aclrtDestroyStreamConfigHandle "ascend_cy_acl()->aclrtDestroyStreamConfigHandle"(
            aclrtStreamConfigHandle *handle) noexcept nogil
    aclError aclrtSetStreamConfigOpt "ascend_cy_acl()->aclrtSetStreamConfigOpt"(
            aclrtStreamConfigHandle *handle, aclrtStreamConfigAttr attr, const void *attr_value,
            size_t value_size) noexcept nogil
    aclError aclrtCreateStreamV2 "ascend_cy_acl()->aclrtCreateStreamV2"(aclrtStream *stream,
            const aclrtStreamConfigHandle *handle) noexcept nogil
    aclError aclrtDestroyStream "ascend_cy_acl()->aclrtDestroyStream"(aclrtStream stream) noexcept nogil
    aclError aclrtDestroyStreamForce "ascend_cy_acl()->aclrtDestroyStreamForce"(
            aclrtStream stream) noexcept nogil
    aclError aclrtSynchronizeStream "ascend_cy_acl()->aclrtSynchronizeStream"(
            aclrtStream stream) noexcept nogil
    aclError aclrtSynchronizeStreamWithTimeout "ascend_cy_acl()->aclrtSynchronizeStreamWithTimeout"(
            aclrtStream stream, int32_t timeout) noexcept nogil
    aclError aclrtStreamQuery "ascend_cy_acl()->aclrtStreamQuery"(aclrtStream stream,
            aclrtStreamStatus *status) noexcept nogil
    aclError aclrtStreamGetId "ascend_cy_acl()->aclrtStreamGetId"(aclrtStream stream,
            int32_t *stream_id) noexcept nogil
    aclError aclrtStreamGetPriority "ascend_cy_acl()->aclrtStreamGetPriority"(aclrtStream stream,
            uint32_t *priority) noexcept nogil
    aclError aclrtStreamGetFlags "ascend_cy_acl()->aclrtStreamGetFlags"(aclrtStream stream,
            uint32_t *flags) noexcept nogil
    aclError aclrtStreamWaitEvent "ascend_cy_acl()->aclrtStreamWaitEvent"(aclrtStream stream,
            aclrtEvent event) noexcept nogil
    aclError aclrtStreamWaitEventWithTimeout "ascend_cy_acl()->aclrtStreamWaitEventWithTimeout"(
            aclrtStream stream, aclrtEvent event, int32_t timeout) noexcept nogil
    aclError aclrtStreamWaitEventWithFlag "ascend_cy_acl()->aclrtStreamWaitEventWithFlag"(aclrtStream stream,
            aclrtEvent event, uint32_t timeout, uint32_t flag) noexcept nogil
    aclError aclrtSetStreamFailureMode "ascend_cy_acl()->aclrtSetStreamFailureMode"(aclrtStream stream,
            uint64_t mode) noexcept nogil
    aclError aclrtStreamAbort "ascend_cy_acl()->aclrtStreamAbort"(aclrtStream stream) noexcept nogil
    aclError aclrtStreamStop "ascend_cy_acl()->aclrtStreamStop"(aclrtStream stream) noexcept nogil
    aclError aclrtSetStreamAttribute "ascend_cy_acl()->aclrtSetStreamAttribute"(aclrtStream stream,
            aclrtStreamAttr stm_attr_type, aclrtStreamAttrValue *value) noexcept nogil
    aclError aclrtGetStreamAttribute "ascend_cy_acl()->aclrtGetStreamAttribute"(aclrtStream stream,
            aclrtStreamAttr stm_attr_type, aclrtStreamAttrValue *value) noexcept nogil
    aclError aclrtGetStreamAvailableNum "ascend_cy_acl()->aclrtGetStreamAvailableNum"(
            uint32_t *stream_count) noexcept nogil
    aclError aclrtActiveStream "ascend_cy_acl()->aclrtActiveStream"(aclrtStream active_stream,
            aclrtStream stream) noexcept nogil
    aclError aclrtSwitchStream "ascend_cy_acl()->aclrtSwitchStream"(void *left_value, aclrtCondition cond,
            void *right_value, aclrtCompareDataType data_type, aclrtStream true_stream,
            aclrtStream false_stream, aclrtStream stream) noexcept nogil
    aclError aclrtRegStreamStateCallback "ascend_cy_acl()->aclrtRegStreamStateCallback"(const char *reg_name,
            aclrtStreamStateCallback callback, void *args) noexcept nogil
    aclError aclrtPersistentTaskClean "ascend_cy_acl()->aclrtPersistentTaskClean"(
            aclrtStream stream) noexcept nogil
    aclError aclrtSetStreamOverflowSwitch "ascend_cy_acl()->aclrtSetStreamOverflowSwitch"(aclrtStream stream,
            uint32_t flag) noexcept nogil
    aclError aclrtGetStreamOverflowSwitch "ascend_cy_acl()->aclrtGetStreamOverflowSwitch"(aclrtStream stream,
            uint32_t *flag) noexcept nogil
    aclError aclrtSetDeviceSatMode "ascend_cy_acl()->aclrtSetDeviceSatMode"(
            aclrtFloatOverflowMode mode) noexcept nogil
    aclError aclrtGetDeviceSatMode "ascend_cy_acl()->aclrtGetDeviceSatMode"(
            aclrtFloatOverflowMode *mode) noexcept nogil
    aclError aclrtGetOverflowStatus "ascend_cy_acl()->aclrtGetOverflowStatus"(void *output_addr,
            size_t output_size, aclrtStream stream) noexcept nogil
    aclError aclrtResetOverflowStatus "ascend_cy_acl()->aclrtResetOverflowStatus"(
            aclrtStream stream) noexcept nogil
    aclError aclrtCtxGetFloatOverflowAddr "ascend_cy_acl()->aclrtCtxGetFloatOverflowAddr"(
            void **overflow_addr) noexcept nogil
    aclError aclrtGetFloatOverflowStatus "ascend_cy_acl()->aclrtGetFloatOverflowStatus"(void *output_addr,
            uint64_t output_size, aclrtStream stream) noexcept nogil
    aclError aclrtResetFloatOverflowStatus "ascend_cy_acl()->aclrtResetFloatOverflowStatus"(
            aclrtStream stream) noexcept nogil
    aclError aclrtNpuGetFloatOverFlowStatus "ascend_cy_acl()->aclrtNpuGetFloatOverFlowStatus"(
            void *output_addr, uint64_t output_size, uint32_t check_mode, aclrtStream stream) noexcept nogil
    aclError aclrtNpuClearFloatOverFlowStatus "ascend_cy_acl()->aclrtNpuClearFloatOverFlowStatus"(
            uint32_t check_mode, aclrtStream stream) noexcept nogil
    aclError aclrtCreateEvent "ascend_cy_acl()->aclrtCreateEvent"(aclrtEvent *event) noexcept nogil
    aclError aclrtCreateEventWithFlag "ascend_cy_acl()->aclrtCreateEventWithFlag"(aclrtEvent *event,
            uint32_t flag) noexcept nogil
    aclError aclrtCreateEventExWithFlag "ascend_cy_acl()->aclrtCreateEventExWithFlag"(aclrtEvent *event,
            uint32_t flag) noexcept nogil
    aclError aclrtDestroyEvent "ascend_cy_acl()->aclrtDestroyEvent"(aclrtEvent event) noexcept nogil
    aclError aclrtRecordEvent "ascend_cy_acl()->aclrtRecordEvent"(aclrtEvent event,
            aclrtStream stream) noexcept nogil
    aclError aclrtRecordEventWithFlag "ascend_cy_acl()->aclrtRecordEventWithFlag"(aclrtEvent event,
            aclrtStream stream, uint32_t flag) noexcept nogil
    aclError aclrtResetEvent "ascend_cy_acl()->aclrtResetEvent"(aclrtEvent event,
            aclrtStream stream) noexcept nogil
    aclError aclrtQueryEvent "ascend_cy_acl()->aclrtQueryEvent"(aclrtEvent event,
            aclrtEventStatus *status) noexcept nogil
    aclError aclrtQueryEventStatus "ascend_cy_acl()->aclrtQueryEventStatus"(aclrtEvent event,
            aclrtEventRecordedStatus *status) noexcept nogil
    aclError aclrtQueryEventWaitStatus "ascend_cy_acl()->aclrtQueryEventWaitStatus"(aclrtEvent event,
            aclrtEventWaitStatus *status) noexcept nogil
    aclError aclrtSynchronizeEvent "ascend_cy_acl()->aclrtSynchronizeEvent"(aclrtEvent event) noexcept nogil
    aclError aclrtSynchronizeEventWithTimeout "ascend_cy_acl()->aclrtSynchronizeEventWithTimeout"(
            aclrtEvent event, int32_t timeout) noexcept nogil
    aclError aclrtEventElapsedTime "ascend_cy_acl()->aclrtEventElapsedTime"(float *ms, aclrtEvent start_event,
            aclrtEvent end_event) noexcept nogil
    aclError aclrtEventGetTimestamp "ascend_cy_acl()->aclrtEventGetTimestamp"(aclrtEvent event,
            uint64_t *timestamp) noexcept nogil
    aclError aclrtGetEventId "ascend_cy_acl()->aclrtGetEventId"(aclrtEvent event,
            uint32_t *event_id) noexcept nogil
    aclError aclrtGetEventAvailNum "ascend_cy_acl()->aclrtGetEventAvailNum"(
            uint32_t *event_count) noexcept nogil
    aclError aclrtIpcGetEventHandle "ascend_cy_acl()->aclrtIpcGetEventHandle"(aclrtEvent event,
            aclrtIpcEventHandle *handle) noexcept nogil
    aclError aclrtIpcOpenEventHandle "ascend_cy_acl()->aclrtIpcOpenEventHandle"(aclrtIpcEventHandle handle,
            aclrtEvent *event) noexcept nogil
    aclError aclrtMalloc "ascend_cy_acl()->aclrtMalloc"(void **dev_ptr, size_t size,
            aclrtMemMallocPolicy policy) noexcept nogil
    aclError aclrtMallocAlign32 "ascend_cy_acl()->aclrtMallocAlign32"(void **dev_ptr, size_t size,
            aclrtMemMallocPolicy policy) noexcept nogil
    aclError aclrtMallocCached "ascend_cy_acl()->aclrtMallocCached"(void **dev_ptr, size_t size,
            aclrtMemMallocPolicy policy) noexcept nogil
    aclError aclrtMallocWithCfg "ascend_cy_acl()->aclrtMallocWithCfg"(void **dev_ptr, size_t size,
            aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg) noexcept nogil
    aclError aclrtMallocForTaskScheduler "ascend_cy_acl()->aclrtMallocForTaskScheduler"(void **dev_ptr,
            size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg) noexcept nogil
    aclError aclrtFree "ascend_cy_acl()->aclrtFree"(void *dev_ptr) noexcept nogil
    aclError aclrtFreeWithDevSync "ascend_cy_acl()->aclrtFreeWithDevSync"(void *dev_ptr) noexcept nogil
    aclError aclrtMallocHost "ascend_cy_acl()->aclrtMallocHost"(void **host_ptr, size_t size) noexcept nogil
    aclError aclrtMallocHostWithCfg "ascend_cy_acl()->aclrtMallocHostWithCfg"(void **ptr, uint64_t size,
            aclrtMallocConfig *cfg) noexcept nogil
    aclError aclrtFreeHost "ascend_cy_acl()->aclrtFreeHost"(void *host_ptr) noexcept nogil
    aclError aclrtFreeHostWithDevSync "ascend_cy_acl()->aclrtFreeHostWithDevSync"(
            void *host_ptr) noexcept nogil
    aclError aclrtMemFlush "ascend_cy_acl()->aclrtMemFlush"(void *dev_ptr, size_t size) noexcept nogil
    aclError aclrtMemInvalidate "ascend_cy_acl()->aclrtMemInvalidate"(void *dev_ptr,
            size_t size) noexcept nogil
    aclError aclrtHostRegister "ascend_cy_acl()->aclrtHostRegister"(void *ptr, uint64_t size,
            aclrtHostRegisterType type, void **dev_ptr) noexcept nogil
    aclError aclrtHostRegisterV2 "ascend_cy_acl()->aclrtHostRegisterV2"(void *ptr, uint64_t size,
            uint32_t flag) noexcept nogil
    aclError aclrtHostUnregister "ascend_cy_acl()->aclrtHostUnregister"(void *ptr) noexcept nogil
    aclError aclrtHostGetDevicePointer "ascend_cy_acl()->aclrtHostGetDevicePointer"(void *p_host,
            void **p_device, uint32_t flag) noexcept nogil
    aclError aclrtHostMemMapCapabilities "ascend_cy_acl()->aclrtHostMemMapCapabilities"(uint32_t device_id,
            aclrtHacType hac_type, aclrtHostMemMapCapability *capabilities) noexcept nogil
    aclError aclrtPointerGetAttributes "ascend_cy_acl()->aclrtPointerGetAttributes"(const void *ptr,
            aclrtPtrAttributes *attributes) noexcept nogil
    aclError aclrtGetMemInfo "ascend_cy_acl()->aclrtGetMemInfo"(aclrtMemAttr attr, size_t *free_bytes,
            size_t *total_bytes) noexcept nogil
    aclError aclrtGetMemUsageInfo "ascend_cy_acl()->aclrtGetMemUsageInfo"(int32_t device_id,
            aclrtMemUsageInfo *mem_usage_info, size_t input_num, size_t *output_num) noexcept nogil
    aclError aclrtCheckMemType "ascend_cy_acl()->aclrtCheckMemType"(void **addr_list, uint32_t size,
            uint32_t mem_type, uint32_t *check_result, uint32_t reserve) noexcept nogil
    aclError aclrtMemGetAddressRange "ascend_cy_acl()->aclrtMemGetAddressRange"(void *ptr, void **pbase,
            size_t *psize) noexcept nogil
    aclError aclrtMemAllocManaged "ascend_cy_acl()->aclrtMemAllocManaged"(void **ptr, uint64_t size,
            uint32_t flag) noexcept nogil
    aclError aclrtMemManagedAdvise "ascend_cy_acl()->aclrtMemManagedAdvise"(const void *ptr, uint64_t size,
            aclrtMemManagedAdviseType advise, aclrtMemManagedLocation location) noexcept nogil
    aclError aclrtMemManagedGetAttr "ascend_cy_acl()->aclrtMemManagedGetAttr"(
            aclrtMemManagedRangeAttribute attribute, const void *ptr, size_t size, void *data,
            size_t data_size) noexcept nogil
    aclError aclrtMemManagedGetAttrs "ascend_cy_acl()->aclrtMemManagedGetAttrs"(
            aclrtMemManagedRangeAttribute *attributes, size_t num_attributes, const void *ptr, size_t size,
            void **data, size_t *data_sizes) noexcept nogil
    aclError aclrtMemManagedPrefetchAsync "ascend_cy_acl()->aclrtMemManagedPrefetchAsync"(const void *ptr,
            size_t size, aclrtMemManagedLocation location, uint32_t flags, aclrtStream stream) noexcept nogil
    aclError aclrtMemManagedPrefetchBatchAsync "ascend_cy_acl()->aclrtMemManagedPrefetchBatchAsync"(
            const void **ptrs, size_t *sizes, size_t count, aclrtMemManagedLocation *prefetch_locs,
            size_t *prefetch_loc_idxs, size_t num_prefetch_locs, uint64_t flags,
            aclrtStream stream) noexcept nogil
    aclError aclrtMemPoolCreate "ascend_cy_acl()->aclrtMemPoolCreate"(aclrtMemPool *mem_pool,
            const aclrtMemPoolProps *pool_props) noexcept nogil
    aclError aclrtMemPoolDestroy "ascend_cy_acl()->aclrtMemPoolDestroy"(aclrtMemPool mem_pool) noexcept nogil
    aclError aclrtMemPoolSetAttr "ascend_cy_acl()->aclrtMemPoolSetAttr"(aclrtMemPool mem_pool,
            aclrtMemPoolAttr attr, void *value) noexcept nogil
    aclError aclrtMemPoolGetAttr "ascend_cy_acl()->aclrtMemPoolGetAttr"(aclrtMemPool mem_pool,
            aclrtMemPoolAttr attr, void *value) noexcept nogil
    aclError aclrtMemPoolMallocAsync "ascend_cy_acl()->aclrtMemPoolMallocAsync"(void **ptr, size_t size,
            aclrtMemPool mem_pool, aclrtStream stream) noexcept nogil
    aclError aclrtMemPoolFreeAsync "ascend_cy_acl()->aclrtMemPoolFreeAsync"(void *ptr,
            aclrtStream stream) noexcept nogil
    aclError aclrtMemPoolTrimTo "ascend_cy_acl()->aclrtMemPoolTrimTo"(aclrtMemPool mem_pool,
            size_t min_bytes_to_keep) noexcept nogil
    aclError aclrtReserveMemAddress "ascend_cy_acl()->aclrtReserveMemAddress"(void **vir_ptr, size_t size,
            size_t alignment, void *expect_ptr, uint64_t flags) noexcept nogil
    aclError aclrtReserveMemAddressNoUCMemory "ascend_cy_acl()->aclrtReserveMemAddressNoUCMemory"(
            void **vir_ptr, size_t size, size_t alignment, void *expect_ptr, uint64_t flags) noexcept nogil
    aclError aclrtReleaseMemAddress "ascend_cy_acl()->aclrtReleaseMemAddress"(void *vir_ptr) noexcept nogil
    aclError aclrtMallocPhysical "ascend_cy_acl()->aclrtMallocPhysical"(aclrtDrvMemHandle *handle,
            size_t size, const aclrtPhysicalMemProp *prop, uint64_t flags) noexcept nogil
    aclError aclrtFreePhysical "ascend_cy_acl()->aclrtFreePhysical"(aclrtDrvMemHandle handle) noexcept nogil
    aclError aclrtMapMem "ascend_cy_acl()->aclrtMapMem"(void *vir_ptr, size_t size, size_t offset,
            aclrtDrvMemHandle handle, uint64_t flags) noexcept nogil
    aclError aclrtUnmapMem "ascend_cy_acl()->aclrtUnmapMem"(void *vir_ptr) noexcept nogil
    aclError aclrtMemMapNoAccess "ascend_cy_acl()->aclrtMemMapNoAccess"(void *vir_ptr, size_t size,
            size_t offset, aclrtDrvMemHandle handle, uint64_t flags) noexcept nogil
    aclError aclrtMemMapSelectedLink "ascend_cy_acl()->aclrtMemMapSelectedLink"(void *vir_ptr_dst,
            size_t size, void *vir_ptr_src, uint32_t link_idx) noexcept nogil
    aclError aclrtMemMapSetLink "ascend_cy_acl()->aclrtMemMapSetLink"(aclrtDrvMemHandle handle,
            aclrtMemLinkType advice_link) noexcept nogil
    aclError aclrtMemGetAllocationGranularity "ascend_cy_acl()->aclrtMemGetAllocationGranularity"(
            aclrtPhysicalMemProp *prop, aclrtMemGranularityOptions option, size_t *granularity) noexcept nogil
    aclError aclrtMemSetAccess "ascend_cy_acl()->aclrtMemSetAccess"(void *vir_ptr, size_t size,
            aclrtMemAccessDesc *desc, size_t count) noexcept nogil
    aclError aclrtMemGetAccess "ascend_cy_acl()->aclrtMemGetAccess"(void *vir_ptr, aclrtMemLocation *location,
            uint64_t *flag) noexcept nogil
    aclError aclrtMemRetainAllocationHandle "ascend_cy_acl()->aclrtMemRetainAllocationHandle"(void *vir_ptr,
            aclrtDrvMemHandle *handle) noexcept nogil
    aclError aclrtMemGetAllocationPropertiesFromHandle "ascend_cy_acl()->aclrtMemGetAllocationPropertiesFromHandle"(
            aclrtDrvMemHandle handle, aclrtPhysicalMemProp *prop) noexcept nogil
    aclError aclrtMemP2PMap "ascend_cy_acl()->aclrtMemP2PMap"(void *dev_ptr, size_t size, int32_t dst_dev_id,
            uint64_t flags) noexcept nogil
    aclError aclrtIpcMemGetExportKey "ascend_cy_acl()->aclrtIpcMemGetExportKey"(void *dev_ptr, size_t size,
            char *key, size_t len, uint64_t flags) noexcept nogil
    aclError aclrtIpcMemImportByKey "ascend_cy_acl()->aclrtIpcMemImportByKey"(void **dev_ptr, const char *key,
            uint64_t flags) noexcept nogil
    aclError aclrtIpcMemClose "ascend_cy_acl()->aclrtIpcMemClose"(const char *key) noexcept nogil
    aclError aclrtIpcMemSetImportPid "ascend_cy_acl()->aclrtIpcMemSetImportPid"(const char *key, int32_t *pid,
            size_t num) noexcept nogil
    aclError aclrtIpcMemSetAttr "ascend_cy_acl()->aclrtIpcMemSetAttr"(const char *key,
            aclrtIpcMemAttrType type, uint64_t attr) noexcept nogil
    aclError aclrtIpcMemImportPidInterServer "ascend_cy_acl()->aclrtIpcMemImportPidInterServer"(
            const char *key, aclrtServerPid *server_pids, size_t num) noexcept nogil
    aclError aclrtMemExportToShareableHandle "ascend_cy_acl()->aclrtMemExportToShareableHandle"(
            aclrtDrvMemHandle handle, aclrtMemHandleType handle_type, uint64_t flags,
            uint64_t *shareable_handle) noexcept nogil
    aclError aclrtMemExportToShareableHandleV2 "ascend_cy_acl()->aclrtMemExportToShareableHandleV2"(
            aclrtDrvMemHandle handle, uint64_t flags, aclrtMemSharedHandleType share_type,
            void *shareable_handle) noexcept nogil
    aclError aclrtMemImportFromShareableHandle "ascend_cy_acl()->aclrtMemImportFromShareableHandle"(
            uint64_t shareable_handle, int32_t device_id, aclrtDrvMemHandle *handle) noexcept nogil
    aclError aclrtMemImportFromShareableHandleV2 "ascend_cy_acl()->aclrtMemImportFromShareableHandleV2"(
            void *shareable_handle, aclrtMemSharedHandleType share_type, uint64_t flags,
            aclrtDrvMemHandle *handle) noexcept nogil
    aclError aclrtMemSetPidToShareableHandle "ascend_cy_acl()->aclrtMemSetPidToShareableHandle"(
            uint64_t shareable_handle, int32_t *pid, size_t pid_num) noexcept nogil
    aclError aclrtMemSetPidToShareableHandleV2 "ascend_cy_acl()->aclrtMemSetPidToShareableHandleV2"(
            void *shareable_handle, aclrtMemSharedHandleType share_type, int32_t *pid,
            size_t pid_num) noexcept nogil
    aclrtAllocatorDesc aclrtAllocatorCreateDesc "ascend_cy_acl()->aclrtAllocatorCreateDesc"() noexcept nogil
    aclError aclrtAllocatorDestroyDesc "ascend_cy_acl()->aclrtAllocatorDestroyDesc"(
            aclrtAllocatorDesc allocator_desc) noexcept nogil
    aclError aclrtAllocatorSetObjToDesc "ascend_cy_acl()->aclrtAllocatorSetObjToDesc"(
            aclrtAllocatorDesc allocator_desc, aclrtAllocator allocator) noexcept nogil
    aclError aclrtAllocatorSetAllocFuncToDesc "ascend_cy_acl()->aclrtAllocatorSetAllocFuncToDesc"(
            aclrtAllocatorDesc allocator_desc, aclrtAllocatorAllocFunc func) noexcept nogil
    aclError aclrtAllocatorSetFreeFuncToDesc "ascend_cy_acl()->aclrtAllocatorSetFreeFuncToDesc"(
            aclrtAllocatorDesc allocator_desc, aclrtAllocatorFreeFunc func) noexcept nogil
    aclError aclrtAllocatorSetAllocAdviseFuncToDesc "ascend_cy_acl()->aclrtAllocatorSetAllocAdviseFuncToDesc"(
            aclrtAllocatorDesc allocator_desc, aclrtAllocatorAllocAdviseFunc func) noexcept nogil
    aclError aclrtAllocatorSetGetAddrFromBlockFuncToDesc "ascend_cy_acl()->aclrtAllocatorSetGetAddrFromBlockFuncToDesc"(
            aclrtAllocatorDesc allocator_desc, aclrtAllocatorGetAddrFromBlockFunc func) noexcept nogil
    aclError aclrtAllocatorRegister "ascend_cy_acl()->aclrtAllocatorRegister"(aclrtStream stream,
            aclrtAllocatorDesc allocator_desc) noexcept nogil
    aclError aclrtAllocatorGetByStream "ascend_cy_acl()->aclrtAllocatorGetByStream"(aclrtStream stream,
            aclrtAllocatorDesc *allocator_desc, aclrtAllocator *allocator,
            aclrtAllocatorAllocFunc *alloc_func, aclrtAllocatorFreeFunc *free_func,
            aclrtAllocatorAllocAdviseFunc *alloc_advise_func,
            aclrtAllocatorGetAddrFromBlockFunc *get_addr_from_block_func) noexcept nogil
    aclError aclrtAllocatorUnregister "ascend_cy_acl()->aclrtAllocatorUnregister"(
            aclrtStream stream) noexcept nogil
    aclError aclrtMemcpy "ascend_cy_acl()->aclrtMemcpy"(void *dst, size_t dest_max, const void *src,
            size_t count, aclrtMemcpyKind kind) noexcept nogil
    aclError aclrtMemcpyAsync "ascend_cy_acl()->aclrtMemcpyAsync"(void *dst, size_t dest_max, const void *src,
            size_t count, aclrtMemcpyKind kind, aclrtStream stream) noexcept nogil
    aclError aclrtMemcpyAsyncWithCondition "ascend_cy_acl()->aclrtMemcpyAsyncWithCondition"(void *dst,
            size_t dest_max, const void *src, size_t count, aclrtMemcpyKind kind,
            aclrtStream stream) noexcept nogil
    aclError aclrtMemcpy2d "ascend_cy_acl()->aclrtMemcpy2d"(void *dst, size_t dpitch, const void *src,
            size_t spitch, size_t width, size_t height, aclrtMemcpyKind kind) noexcept nogil
    aclError aclrtMemcpy2dAsync "ascend_cy_acl()->aclrtMemcpy2dAsync"(void *dst, size_t dpitch,
            const void *src, size_t spitch, size_t width, size_t height, aclrtMemcpyKind kind,
            aclrtStream stream) noexcept nogil
    aclError aclrtMemcpyBatch "ascend_cy_acl()->aclrtMemcpyBatch"(void **dsts, size_t *dest_maxs, void **srcs,
            size_t *sizes, size_t num_batches, aclrtMemcpyBatchAttr *attrs, size_t *attrs_indexes,
            size_t num_attrs, size_t *fail_index) noexcept nogil
    aclError aclrtMemcpyBatchAsync "ascend_cy_acl()->aclrtMemcpyBatchAsync"(void **dsts, size_t *dest_maxs,
            void **srcs, size_t *sizes, size_t num_batches, aclrtMemcpyBatchAttr *attrs,
            size_t *attrs_indexes, size_t num_attrs, size_t *fail_index, aclrtStream stream) noexcept nogil
    aclError aclrtMemcpyBatchV2 "ascend_cy_acl()->aclrtMemcpyBatchV2"(void **dsts, size_t *dest_maxs,
            void **srcs, size_t *sizes, size_t num_batches, aclrtMemcpyBatchAttr *attrs,
            size_t *attrs_indexes, size_t num_attrs) noexcept nogil
    aclError aclrtMemcpyBatchAsyncV2 "ascend_cy_acl()->aclrtMemcpyBatchAsyncV2"(void **dsts,
            size_t *dest_maxs, void **srcs, size_t *sizes, size_t num_batches, aclrtMemcpyBatchAttr *attrs,
            size_t *attrs_indexes, size_t num_attrs, aclrtStream stream) noexcept nogil
    aclError aclrtMemcpyAsyncWithOffset "ascend_cy_acl()->aclrtMemcpyAsyncWithOffset"(void **dst,
            size_t dest_max, size_t dst_data_offset, const void **src, size_t count, size_t src_data_offset,
            aclrtMemcpyKind kind, aclrtStream stream) noexcept nogil
    aclError aclrtGetMemcpyDescSize "ascend_cy_acl()->aclrtGetMemcpyDescSize"(aclrtMemcpyKind kind,
            size_t *desc_size) noexcept nogil
    aclError aclrtSetMemcpyDesc "ascend_cy_acl()->aclrtSetMemcpyDesc"(void *desc, aclrtMemcpyKind kind,
            void *src_addr, void *dst_addr, size_t count, void *config) noexcept nogil
    aclError aclrtMemcpyAsyncWithDesc "ascend_cy_acl()->aclrtMemcpyAsyncWithDesc"(void *desc,
            aclrtMemcpyKind kind, aclrtStream stream) noexcept nogil
    aclError aclrtMemset "ascend_cy_acl()->aclrtMemset"(void *dev_ptr, size_t max_count, int32_t value,
            size_t count) noexcept nogil
    aclError aclrtMemsetAsync "ascend_cy_acl()->aclrtMemsetAsync"(void *dev_ptr, size_t max_count,
            int32_t value, size_t count, aclrtStream stream) noexcept nogil
    aclError aclrtMemsetD32 "ascend_cy_acl()->aclrtMemsetD32"(void *ptr, size_t mem_size, uint32_t value,
            size_t count) noexcept nogil
    aclError aclrtMemsetD32Async "ascend_cy_acl()->aclrtMemsetD32Async"(void *ptr, size_t mem_size,
            uint32_t value, size_t count, aclrtStream stream) noexcept nogil
    aclError aclrtMemcpyToSymbol "ascend_cy_acl()->aclrtMemcpyToSymbol"(const void *symbol, const void *src,
            size_t count, size_t offset, aclrtMemcpyKind kind) noexcept nogil
    aclError aclrtMemcpyToSymbolAsync "ascend_cy_acl()->aclrtMemcpyToSymbolAsync"(const void *symbol,
            const void *src, size_t count, size_t offset, aclrtMemcpyKind kind,
            aclrtStream stream) noexcept nogil
    aclError aclrtMemcpyFromSymbol "ascend_cy_acl()->aclrtMemcpyFromSymbol"(void *dst, size_t dst_max,
            const void *symbol, size_t count, size_t offset, aclrtMemcpyKind kind) noexcept nogil
    aclError aclrtMemcpyFromSymbolAsync "ascend_cy_acl()->aclrtMemcpyFromSymbolAsync"(void *dst,
            size_t dst_max, const void *symbol, size_t count, size_t offset, aclrtMemcpyKind kind,
            aclrtStream stream) noexcept nogil
    aclError aclrtGetSymbolAddress "ascend_cy_acl()->aclrtGetSymbolAddress"(const void *symbol,
            void **dev_ptr) noexcept nogil
    aclError aclrtGetSymbolSize "ascend_cy_acl()->aclrtGetSymbolSize"(const void *symbol,
            size_t *size) noexcept nogil
    aclError aclrtReduceAsync "ascend_cy_acl()->aclrtReduceAsync"(void *dst, const void *src, uint64_t count,
            aclrtReduceKind kind, aclDataType type, aclrtStream stream, void *reserve) noexcept nogil
    aclError aclrtValueWrite "ascend_cy_acl()->aclrtValueWrite"(void *dev_addr, uint64_t value, uint32_t flag,
            aclrtStream stream) noexcept nogil
    aclError aclrtValueWait "ascend_cy_acl()->aclrtValueWait"(void *dev_addr, uint64_t value, uint32_t flag,
            aclrtStream stream) noexcept nogil
    aclError aclrtRandomNumAsync "ascend_cy_acl()->aclrtRandomNumAsync"(
            const aclrtRandomNumTaskInfo *task_info, aclrtStream stream, void *reserve) noexcept nogil
    aclError aclrtCmoAsync "ascend_cy_acl()->aclrtCmoAsync"(void *src, size_t size, aclrtCmoType cmo_type,
            aclrtStream stream) noexcept nogil
    aclError aclrtCmoAsyncWithBarrier "ascend_cy_acl()->aclrtCmoAsyncWithBarrier"(void *src, size_t size,
            aclrtCmoType cmo_type, uint32_t barrier_id, aclrtStream stream) noexcept nogil
    aclError aclrtCmoWaitBarrier "ascend_cy_acl()->aclrtCmoWaitBarrier"(aclrtBarrierTaskInfo *task_info,
            aclrtStream stream, uint32_t flag) noexcept nogil
    aclError aclrtCmoGetDescSize "ascend_cy_acl()->aclrtCmoGetDescSize"(size_t *size) noexcept nogil
    aclError aclrtCmoSetDesc "ascend_cy_acl()->aclrtCmoSetDesc"(void *cmo_desc, void *src,
            size_t size) noexcept nogil
    aclError aclrtCmoAsyncWithDesc "ascend_cy_acl()->aclrtCmoAsyncWithDesc"(void *cmo_desc,
            aclrtCmoType cmo_type, aclrtStream stream, const void *reserve) noexcept nogil
    aclError aclrtProfTrace "ascend_cy_acl()->aclrtProfTrace"(void *userdata, int32_t length,
            aclrtStream stream) noexcept nogil
    aclError aclrtTaskUpdateAsync "ascend_cy_acl()->aclrtTaskUpdateAsync"(aclrtStream task_stream,
            uint32_t task_id, aclrtTaskUpdateInfo *info, aclrtStream exec_stream) noexcept nogil
    aclError aclrtSubscribeReport "ascend_cy_acl()->aclrtSubscribeReport"(uint64_t thread_id,
            aclrtStream stream) noexcept nogil
    aclError aclrtLaunchCallback "ascend_cy_acl()->aclrtLaunchCallback"(aclrtCallback fn, void *user_data,
            aclrtCallbackBlockType block_type, aclrtStream stream) noexcept nogil
    aclError aclrtProcessReport "ascend_cy_acl()->aclrtProcessReport"(int32_t timeout) noexcept nogil
    aclError aclrtUnSubscribeReport "ascend_cy_acl()->aclrtUnSubscribeReport"(uint64_t thread_id,
            aclrtStream stream) noexcept nogil
    aclError aclrtLaunchHostFunc "ascend_cy_acl()->aclrtLaunchHostFunc"(aclrtStream stream, aclrtHostFunc fn,
            void *args) noexcept nogil
    aclError aclrtSubscribeHostFunc "ascend_cy_acl()->aclrtSubscribeHostFunc"(uint64_t host_func_thread_id,
            aclrtStream exe_stream) noexcept nogil
    aclError aclrtProcessHostFunc "ascend_cy_acl()->aclrtProcessHostFunc"(int32_t timeout) noexcept nogil
    aclError aclrtUnSubscribeHostFunc "ascend_cy_acl()->aclrtUnSubscribeHostFunc"(
            uint64_t host_func_thread_id, aclrtStream exe_stream) noexcept nogil
    aclError aclrtBinaryLoadFromFile "ascend_cy_acl()->aclrtBinaryLoadFromFile"(const char *bin_path,
            aclrtBinaryLoadOptions *options, aclrtBinHandle *bin_handle) noexcept nogil
    aclError aclrtBinaryLoadFromData "ascend_cy_acl()->aclrtBinaryLoadFromData"(const void *data,
            size_t length, const aclrtBinaryLoadOptions *options, aclrtBinHandle *bin_handle) noexcept nogil
    aclrtBinary aclrtCreateBinary "ascend_cy_acl()->aclrtCreateBinary"(const void *data,
            size_t data_len) noexcept nogil
    aclError aclrtDestroyBinary "ascend_cy_acl()->aclrtDestroyBinary"(aclrtBinary binary) noexcept nogil
    aclError aclrtBinaryLoad "ascend_cy_acl()->aclrtBinaryLoad"(aclrtBinary binary,
            aclrtBinHandle *bin_handle) noexcept nogil
    aclError aclrtBinaryUnLoad "ascend_cy_acl()->aclrtBinaryUnLoad"(aclrtBinHandle bin_handle) noexcept nogil
    aclError aclrtBinaryGetFunction "ascend_cy_acl()->aclrtBinaryGetFunction"(aclrtBinHandle bin_handle,
            const char *kernel_name, aclrtFuncHandle *func_handle) noexcept nogil
    aclError aclrtBinaryGetFunctionByEntry "ascend_cy_acl()->aclrtBinaryGetFunctionByEntry"(
            aclrtBinHandle bin_handle, uint64_t func_entry, aclrtFuncHandle *func_handle) noexcept nogil
    aclError aclrtBinaryGetDevAddress "ascend_cy_acl()->aclrtBinaryGetDevAddress"(aclrtBinHandle bin_handle,
            void **bin_addr, size_t *bin_size) noexcept nogil
    aclError aclrtBinaryGetGlobal "ascend_cy_acl()->aclrtBinaryGetGlobal"(aclrtBinHandle bin_handle,
            const char *name, void **dptr, size_t *size) noexcept nogil
    aclError aclrtRegisterCpuFunc "ascend_cy_acl()->aclrtRegisterCpuFunc"(aclrtBinHandle handle,
            const char *func_name, const char *kernel_name, aclrtFuncHandle *func_handle) noexcept nogil
    aclError aclrtGetFuncBySymbol "ascend_cy_acl()->aclrtGetFuncBySymbol"(const void *symbol,
            aclrtFuncHandle *func_handle) noexcept nogil
    aclError aclrtGetFunctionAddr "ascend_cy_acl()->aclrtGetFunctionAddr"(aclrtFuncHandle func_handle,
            void **aic_addr, void **aiv_addr) noexcept nogil
    aclError aclrtGetFunctionSize "ascend_cy_acl()->aclrtGetFunctionSize"(aclrtFuncHandle func_handle,
            size_t *aic_size, size_t *aiv_size) noexcept nogil
    aclError aclrtGetFunctionName "ascend_cy_acl()->aclrtGetFunctionName"(aclrtFuncHandle func_handle,
            uint32_t max_len, char *name) noexcept nogil
    aclError aclrtGetFunctionAttribute "ascend_cy_acl()->aclrtGetFunctionAttribute"(
            aclrtFuncHandle func_handle, aclrtFuncAttribute attr_type, int64_t *attr_value) noexcept nogil
    aclError aclrtFunctionGetBinary "ascend_cy_acl()->aclrtFunctionGetBinary"(aclrtFuncHandle func_handle,
            aclrtBinHandle *bin_handle) noexcept nogil
    aclError aclrtFunctionGetParamCount "ascend_cy_acl()->aclrtFunctionGetParamCount"(const void *func,
            size_t *param_count) noexcept nogil
    aclError aclrtFunctionGetParamInfo "ascend_cy_acl()->aclrtFunctionGetParamInfo"(const void *func,
            size_t param_index, size_t *param_offset, size_t *param_size) noexcept nogil
    aclError aclrtFunctionGetAvailDynUbufPerBlock "ascend_cy_acl()->aclrtFunctionGetAvailDynUbufPerBlock"(
            void *func, uint32_t flags, size_t *dynamic_ubuf_size) noexcept nogil
    aclError aclrtKernelArgsInit "ascend_cy_acl()->aclrtKernelArgsInit"(aclrtFuncHandle func_handle,
            aclrtArgsHandle *args_handle) noexcept nogil
    aclError aclrtKernelArgsGetHandleMemSize "ascend_cy_acl()->aclrtKernelArgsGetHandleMemSize"(
            aclrtFuncHandle func_handle, size_t *mem_size) noexcept nogil
    aclError aclrtKernelArgsGetMemSize "ascend_cy_acl()->aclrtKernelArgsGetMemSize"(
            aclrtFuncHandle func_handle, size_t user_args_size, size_t *actual_args_size) noexcept nogil
    aclError aclrtKernelArgsInitByUserMem "ascend_cy_acl()->aclrtKernelArgsInitByUserMem"(
            aclrtFuncHandle func_handle, aclrtArgsHandle args_handle, void *user_host_mem,
            size_t actual_args_size) noexcept nogil
    aclError aclrtKernelArgsAppend "ascend_cy_acl()->aclrtKernelArgsAppend"(aclrtArgsHandle args_handle,
            void *param, size_t param_size, aclrtParamHandle *param_handle) noexcept nogil
    aclError aclrtKernelArgsAppendPlaceHolder "ascend_cy_acl()->aclrtKernelArgsAppendPlaceHolder"(
            aclrtArgsHandle args_handle, aclrtParamHandle *param_handle) noexcept nogil
    aclError aclrtKernelArgsGetPlaceHolderBuffer "ascend_cy_acl()->aclrtKernelArgsGetPlaceHolderBuffer"(
            aclrtArgsHandle args_handle, aclrtParamHandle param_handle, size_t data_size,
            void **buffer_addr) noexcept nogil
    aclError aclrtKernelArgsParaUpdate "ascend_cy_acl()->aclrtKernelArgsParaUpdate"(
            aclrtArgsHandle args_handle, aclrtParamHandle param_handle, void *param,
            size_t param_size) noexcept nogil
    aclError aclrtKernelArgsFinalize "ascend_cy_acl()->aclrtKernelArgsFinalize"(
            aclrtArgsHandle args_handle) noexcept nogil
    aclError aclrtLaunchKernel "ascend_cy_acl()->aclrtLaunchKernel"(aclrtFuncHandle func_handle,
            uint32_t num_blocks, const void *args_data, size_t args_size, aclrtStream stream) noexcept nogil
    aclError aclrtLaunchKernelV2 "ascend_cy_acl()->aclrtLaunchKernelV2"(aclrtFuncHandle func_handle,
            uint32_t num_blocks, const void *args_data, size_t args_size, aclrtLaunchKernelCfg *cfg,
            aclrtStream stream) noexcept nogil
    aclError aclrtLaunchKernelWithConfig "ascend_cy_acl()->aclrtLaunchKernelWithConfig"(
            aclrtFuncHandle func_handle, uint32_t num_blocks, aclrtStream stream, aclrtLaunchKernelCfg *cfg,
            aclrtArgsHandle args_handle, void *reserve) noexcept nogil
    aclError aclrtLaunchKernelWithHostArgs "ascend_cy_acl()->aclrtLaunchKernelWithHostArgs"(
            aclrtFuncHandle func_handle, uint32_t num_blocks, aclrtStream stream, aclrtLaunchKernelCfg *cfg,
            void *host_args, size_t args_size, aclrtPlaceHolderInfo *place_holder_array,
            size_t place_holder_num) noexcept nogil
    aclError aclrtLaunchKernelWithArgsArray "ascend_cy_acl()->aclrtLaunchKernelWithArgsArray"(void *func,
            uint32_t num_blocks, aclrtStream stream, aclrtLaunchKernelCfg *cfg, void **args) noexcept nogil
    aclError aclrtLaunchSIMTKernelWithArgsArray "ascend_cy_acl()->aclrtLaunchSIMTKernelWithArgsArray"(
            void *func, ascend_cy_dim3 grid_dim, ascend_cy_dim3 block_dim, size_t dyn_ubuf_size,
            aclrtStream stream, aclrtLaunchKernelCfg *cfg, void **args) noexcept nogil
    aclError aclrtLaunchSIMTKernelWithHostArgs "ascend_cy_acl()->aclrtLaunchSIMTKernelWithHostArgs"(
            void *func, ascend_cy_dim3 grid_dim, ascend_cy_dim3 block_dim, size_t dyn_ubuf_size,
            aclrtStream stream, aclrtLaunchKernelCfg *cfg, void *host_args, size_t args_size,
            aclrtPlaceHolderInfo *place_holder_array, size_t place_holder_num) noexcept nogil
    aclError aclrtGetHardwareSyncAddr "ascend_cy_acl()->aclrtGetHardwareSyncAddr"(void **addr) noexcept nogil
    aclError aclrtCreateNotify "ascend_cy_acl()->aclrtCreateNotify"(aclrtNotify *notify,
            uint64_t flag) noexcept nogil
    aclError aclrtDestroyNotify "ascend_cy_acl()->aclrtDestroyNotify"(aclrtNotify notify) noexcept nogil
    aclError aclrtRecordNotify "ascend_cy_acl()->aclrtRecordNotify"(aclrtNotify notify,
            aclrtStream stream) noexcept nogil
    aclError aclrtWaitAndResetNotify "ascend_cy_acl()->aclrtWaitAndResetNotify"(aclrtNotify notify,
            aclrtStream stream, uint32_t timeout) noexcept nogil
    aclError aclrtGetNotifyId "ascend_cy_acl()->aclrtGetNotifyId"(aclrtNotify notify,
            uint32_t *notify_id) noexcept nogil
    aclError aclrtNotifyBatchReset "ascend_cy_acl()->aclrtNotifyBatchReset"(aclrtNotify *notifies,
            size_t num) noexcept nogil
    aclError aclrtNotifyGetExportKey "ascend_cy_acl()->aclrtNotifyGetExportKey"(aclrtNotify notify, char *key,
            size_t len, uint64_t flags) noexcept nogil
    aclError aclrtNotifyImportByKey "ascend_cy_acl()->aclrtNotifyImportByKey"(aclrtNotify *notify,
            const char *key, uint64_t flags) noexcept nogil
    aclError aclrtNotifySetImportPid "ascend_cy_acl()->aclrtNotifySetImportPid"(aclrtNotify notify,
            int32_t *pid, size_t num) noexcept nogil
    aclError aclrtNotifySetImportPidInterServer "ascend_cy_acl()->aclrtNotifySetImportPidInterServer"(
            aclrtNotify notify, aclrtServerPid *server_pids, size_t num) noexcept nogil
    aclError aclrtCntNotifyCreate "ascend_cy_acl()->aclrtCntNotifyCreate"(aclrtCntNotify *cnt_notify,
            uint64_t flag) noexcept nogil
    aclError aclrtCntNotifyDestroy "ascend_cy_acl()->aclrtCntNotifyDestroy"(
            aclrtCntNotify cnt_notify) noexcept nogil
    aclError aclrtCntNotifyRecord "ascend_cy_acl()->aclrtCntNotifyRecord"(aclrtCntNotify cnt_notify,
            aclrtStream stream, aclrtCntNotifyRecordInfo *info) noexcept nogil
    aclError aclrtCntNotifyWaitWithTimeout "ascend_cy_acl()->aclrtCntNotifyWaitWithTimeout"(
            aclrtCntNotify cnt_notify, aclrtStream stream, aclrtCntNotifyWaitInfo *info) noexcept nogil
    aclError aclrtCntNotifyReset "ascend_cy_acl()->aclrtCntNotifyReset"(aclrtCntNotify cnt_notify,
            aclrtStream stream) noexcept nogil
    aclError aclrtCntNotifyGetId "ascend_cy_acl()->aclrtCntNotifyGetId"(aclrtCntNotify cnt_notify,
            uint32_t *notify_id) noexcept nogil
    aclError aclrtCreateLabel "ascend_cy_acl()->aclrtCreateLabel"(aclrtLabel *label) noexcept nogil
    aclError aclrtDestroyLabel "ascend_cy_acl()->aclrtDestroyLabel"(aclrtLabel label) noexcept nogil
    aclError aclrtSetLabel "ascend_cy_acl()->aclrtSetLabel"(aclrtLabel label,
            aclrtStream stream) noexcept nogil
    aclError aclrtCreateLabelList "ascend_cy_acl()->aclrtCreateLabelList"(aclrtLabel *labels, size_t num,
            aclrtLabelList *label_list) noexcept nogil
    aclError aclrtDestroyLabelList "ascend_cy_acl()->aclrtDestroyLabelList"(
            aclrtLabelList label_list) noexcept nogil
    aclError aclrtSwitchLabelByIndex "ascend_cy_acl()->aclrtSwitchLabelByIndex"(void *ptr, uint32_t max_value,
            aclrtLabelList label_list, aclrtStream stream) noexcept nogil
    aclError aclmdlRICaptureBegin "ascend_cy_acl()->aclmdlRICaptureBegin"(aclrtStream stream,
            aclmdlRICaptureMode mode) noexcept nogil
    aclError aclmdlRICaptureEnd "ascend_cy_acl()->aclmdlRICaptureEnd"(aclrtStream stream,
            aclmdlRI *model_ri) noexcept nogil
    aclError aclmdlRICaptureGetInfo "ascend_cy_acl()->aclmdlRICaptureGetInfo"(aclrtStream stream,
            aclmdlRICaptureStatus *status, aclmdlRI *model_ri) noexcept nogil
    aclError aclmdlRICaptureThreadExchangeMode "ascend_cy_acl()->aclmdlRICaptureThreadExchangeMode"(
            aclmdlRICaptureMode *mode) noexcept nogil
    aclError aclmdlRICaptureTaskGrpBegin "ascend_cy_acl()->aclmdlRICaptureTaskGrpBegin"(
            aclrtStream stream) noexcept nogil
    aclError aclmdlRICaptureTaskGrpEnd "ascend_cy_acl()->aclmdlRICaptureTaskGrpEnd"(aclrtStream stream,
            aclrtTaskGrp *handle) noexcept nogil
    aclError aclmdlRICaptureTaskUpdateBegin "ascend_cy_acl()->aclmdlRICaptureTaskUpdateBegin"(
            aclrtStream stream, aclrtTaskGrp handle) noexcept nogil
    aclError aclmdlRICaptureTaskUpdateEnd "ascend_cy_acl()->aclmdlRICaptureTaskUpdateEnd"(
            aclrtStream stream) noexcept nogil
    aclError aclmdlRICaptureToModelRIBegin "ascend_cy_acl()->aclmdlRICaptureToModelRIBegin"(
            aclrtStream stream, aclmdlRI model_ri, aclmdlRICaptureMode mode) noexcept nogil
    aclError aclmdlRIBuildBegin "ascend_cy_acl()->aclmdlRIBuildBegin"(aclmdlRI *model_ri,
            uint32_t flag) noexcept nogil
    aclError aclmdlRIBindStream "ascend_cy_acl()->aclmdlRIBindStream"(aclmdlRI model_ri, aclrtStream stream,
            uint32_t flag) noexcept nogil
    aclError aclmdlRIEndTask "ascend_cy_acl()->aclmdlRIEndTask"(aclmdlRI model_ri,
            aclrtStream stream) noexcept nogil
    aclError aclmdlRIBuildEnd "ascend_cy_acl()->aclmdlRIBuildEnd"(aclmdlRI model_ri,
            void *reserve) noexcept nogil
    aclError aclmdlRIUnbindStream "ascend_cy_acl()->aclmdlRIUnbindStream"(aclmdlRI model_ri,
            aclrtStream stream) noexcept nogil
    aclError aclmdlRIExecute "ascend_cy_acl()->aclmdlRIExecute"(aclmdlRI model_ri,
            int32_t timeout) noexcept nogil
    aclError aclmdlRIExecuteAsync "ascend_cy_acl()->aclmdlRIExecuteAsync"(aclmdlRI model_ri,
            aclrtStream stream) noexcept nogil
    aclError aclmdlRIAbort "ascend_cy_acl()->aclmdlRIAbort"(aclmdlRI model_ri) noexcept nogil
    aclError aclmdlRIDestroy "ascend_cy_acl()->aclmdlRIDestroy"(aclmdlRI model_ri) noexcept nogil
    aclError aclmdlRIDestroyRegisterCallback "ascend_cy_acl()->aclmdlRIDestroyRegisterCallback"(
            aclmdlRI model_ri, aclrtCallback func, void *user_data) noexcept nogil
    aclError aclmdlRIDestroyUnregisterCallback "ascend_cy_acl()->aclmdlRIDestroyUnregisterCallback"(
            aclmdlRI model_ri, aclrtCallback func) noexcept nogil
    aclError aclmdlRISetName "ascend_cy_acl()->aclmdlRISetName"(aclmdlRI model_ri,
            const char *name) noexcept nogil
    aclError aclmdlRIGetName "ascend_cy_acl()->aclmdlRIGetName"(aclmdlRI model_ri, uint32_t max_len,
            char *name) noexcept nogil
    aclError aclmdlRIGetId "ascend_cy_acl()->aclmdlRIGetId"(aclmdlRI model_ri,
            uint32_t *model_riid) noexcept nogil
    aclError aclmdlRIDebugPrint "ascend_cy_acl()->aclmdlRIDebugPrint"(aclmdlRI model_ri) noexcept nogil
    aclError aclmdlRIDebugJsonPrint "ascend_cy_acl()->aclmdlRIDebugJsonPrint"(aclmdlRI model_ri,
            const char *path, uint32_t flags) noexcept nogil
    aclError aclmdlRIGetStreams "ascend_cy_acl()->aclmdlRIGetStreams"(aclmdlRI model_ri, aclrtStream *streams,
            uint32_t *num_streams) noexcept nogil
    aclError aclmdlRIGetTasksByStream "ascend_cy_acl()->aclmdlRIGetTasksByStream"(aclrtStream stream,
            aclmdlRITask *tasks, uint32_t *num_tasks) noexcept nogil
    aclError aclmdlRITaskGetType "ascend_cy_acl()->aclmdlRITaskGetType"(aclmdlRITask task,
            aclmdlRITaskType *type) noexcept nogil
    aclError aclmdlRITaskGetSeqId "ascend_cy_acl()->aclmdlRITaskGetSeqId"(aclmdlRITask task,
            uint32_t *id) noexcept nogil
    aclError aclmdlRITaskGetParams "ascend_cy_acl()->aclmdlRITaskGetParams"(aclmdlRITask task,
            aclmdlRITaskParams *params) noexcept nogil
    aclError aclmdlRITaskSetParams "ascend_cy_acl()->aclmdlRITaskSetParams"(aclmdlRITask task,
            aclmdlRITaskParams *params) noexcept nogil
    aclError aclmdlRIKernelTaskGetAttribute "ascend_cy_acl()->aclmdlRIKernelTaskGetAttribute"(
            aclmdlRITask task, aclrtLaunchKernelAttrId attr_id,
            aclrtLaunchKernelAttrValue *attr_value) noexcept nogil
    aclError aclmdlRITaskDisable "ascend_cy_acl()->aclmdlRITaskDisable"(aclmdlRITask task) noexcept nogil
    aclError aclmdlRIUpdate "ascend_cy_acl()->aclmdlRIUpdate"(aclmdlRI model_ri) noexcept nogil
    aclError aclmdlRICondHandleCreate "ascend_cy_acl()->aclmdlRICondHandleCreate"(aclmdlRI model_ri,
            uint32_t default_launch_value, aclmdlRICondHandleFlag flag,
            aclmdlRICondHandle *handle) noexcept nogil
    aclError aclmdlRICondHandleGetCondPtr "ascend_cy_acl()->aclmdlRICondHandleGetCondPtr"(
            aclmdlRICondHandle handle, uint64_t **ptr) noexcept nogil
    aclError aclmdlRIAddCondTask "ascend_cy_acl()->aclmdlRIAddCondTask"(aclmdlRICondTaskParams params,
            aclrtStream stream, uint32_t flags) noexcept nogil
    aclDataBuffer *aclCreateDataBuffer "ascend_cy_acl()->aclCreateDataBuffer"(void *data,
            size_t size) noexcept nogil
    aclError aclDestroyDataBuffer "ascend_cy_acl()->aclDestroyDataBuffer"(
            const aclDataBuffer *data_buffer) noexcept nogil
    aclError aclUpdateDataBuffer "ascend_cy_acl()->aclUpdateDataBuffer"(aclDataBuffer *data_buffer,
            void *data, size_t size) noexcept nogil
    void *aclGetDataBufferAddr "ascend_cy_acl()->aclGetDataBufferAddr"(
            const aclDataBuffer *data_buffer) noexcept nogil
    uint32_t aclGetDataBufferSize "ascend_cy_acl()->aclGetDataBufferSize"(
            const aclDataBuffer *data_buffer) noexcept nogil
    size_t aclGetDataBufferSizeV2 "ascend_cy_acl()->aclGetDataBufferSizeV2"(
            const aclDataBuffer *data_buffer) noexcept nogil
    size_t aclDataTypeSize "ascend_cy_acl()->aclDataTypeSize"(aclDataType data_type) noexcept nogil
    float aclFloat16ToFloat "ascend_cy_acl()->aclFloat16ToFloat"(aclFloat16 value) noexcept nogil
    aclFloat16 aclFloatToFloat16 "ascend_cy_acl()->aclFloatToFloat16"(float value) noexcept nogil
