/* SPDX-License-Identifier: Apache-2.0
 *
 * The AscendCL functions of the runtime library, once, as a list. Everything that has to treat them all
 * alike (the function table, its filling by dlsym, prototypes, the Cython mirror, the ABI check) is made
 * from it.
 *
 * X(kind, since, ret, name, (parameters), (argument names))
 *   kind   what the function returns, for code that has to invent a result (a stub, a wrapper):
 *          ERR an aclError, PTR a pointer or handle, U32 uint32_t, SIZE size_t, F32 float,
 *          U16 an aclFloat16, VOID nothing
 *   since  the CANN release that brought it, see ASCEND_CY_ACL_SINCE_* below
 *
 * THE ORDER IS APPEND-ONLY. It is the layout of ascend_cy_acl_table, which binaries of other projects
 * have compiled in: a line inserted, removed or moved makes them call the wrong function. New functions go
 * to the very end, whatever their group; a signature never changes.
 *
 * Not in the list: aclAppLog (varargs, see acl.h); profiling, dump, aclnn and data channels (other
 * libraries); buffer chains, core groups and process snapshots, which nothing here uses.
 */
#ifndef ASCEND_CY_ACL_FUNCTIONS_H
#define ASCEND_CY_ACL_FUNCTIONS_H

/* The release behind each letter; use as ASCEND_CY_ACL_SINCE_##since. */
#define ASCEND_CY_ACL_SINCE_A "8.1.RC1"
#define ASCEND_CY_ACL_SINCE_B "8.5.0"
#define ASCEND_CY_ACL_SINCE_C "9.0.0"
#define ASCEND_CY_ACL_SINCE_D "9.1.0"
#define ASCEND_CY_ACL_SINCE_E "9.2.0"
#define ASCEND_CY_ACL_SINCE_M "a release after 9.2.0"

/* clang-format off */
#define ASCEND_CY_ACL_FUNCTIONS(X) \
    /* initialisation, errors, versions */ \
    X(ERR, A, aclError, aclInit, (const char *config_path), (config_path)) \
    X(ERR, A, aclError, aclFinalize, (void), ()) \
    X(ERR, B, aclError, aclFinalizeReference, (uint64_t *ref_count), (ref_count)) \
    X(ERR, B, aclError, aclInitCallbackRegister, \
        (aclRegisterCallbackType type, aclInitCallbackFunc cb_func, void *user_data), \
        (type, cb_func, user_data)) \
    X(ERR, B, aclError, aclInitCallbackUnRegister, \
        (aclRegisterCallbackType type, aclInitCallbackFunc cb_func), \
        (type, cb_func)) \
    X(ERR, B, aclError, aclFinalizeCallbackRegister, \
        (aclRegisterCallbackType type, aclFinalizeCallbackFunc cb_func, void *user_data), \
        (type, cb_func, user_data)) \
    X(ERR, B, aclError, aclFinalizeCallbackUnRegister, \
        (aclRegisterCallbackType type, aclFinalizeCallbackFunc cb_func), \
        (type, cb_func)) \
    X(PTR, A, const char *, aclGetRecentErrMsg, (void), ()) \
    X(ERR, A, aclError, aclrtPeekAtLastError, (aclrtLastErrLevel level), (level)) \
    X(ERR, A, aclError, aclrtGetLastError, (aclrtLastErrLevel level), (level)) \
    X(ERR, B, aclError, aclrtGetErrorVerbose, \
        (int32_t device_id, aclrtErrorInfo *error_info), \
        (device_id, error_info)) \
    X(ERR, B, aclError, aclrtRepairError, \
        (int32_t device_id, const aclrtErrorInfo *error_info), \
        (device_id, error_info)) \
    X(ERR, A, aclError, aclrtSetExceptionInfoCallback, (aclrtExceptionInfoCallback callback), (callback)) \
    X(ERR, M, aclError, aclrtExceptionInfoCallbackRegister, \
        (aclrtExceptionInfoCallback callback), \
        (callback)) \
    X(ERR, M, aclError, aclrtExceptionInfoCallbackUnregister, \
        (aclrtExceptionInfoCallback callback), \
        (callback)) \
    X(U32, A, uint32_t, aclrtGetTaskIdFromExceptionInfo, (const aclrtExceptionInfo *info), (info)) \
    X(U32, A, uint32_t, aclrtGetStreamIdFromExceptionInfo, (const aclrtExceptionInfo *info), (info)) \
    X(U32, A, uint32_t, aclrtGetThreadIdFromExceptionInfo, (const aclrtExceptionInfo *info), (info)) \
    X(U32, A, uint32_t, aclrtGetDeviceIdFromExceptionInfo, (const aclrtExceptionInfo *info), (info)) \
    X(U32, A, uint32_t, aclrtGetErrorCodeFromExceptionInfo, (const aclrtExceptionInfo *info), (info)) \
    X(ERR, C, aclError, aclrtGetArgsFromExceptionInfo, \
        (const aclrtExceptionInfo *info, void **dev_args_ptr, uint32_t *dev_args_len), \
        (info, dev_args_ptr, dev_args_len)) \
    X(ERR, C, aclError, aclrtGetFuncHandleFromExceptionInfo, \
        (const aclrtExceptionInfo *info, aclrtFuncHandle *func), \
        (info, func)) \
    X(ERR, C, aclError, aclrtBinarySetExceptionCallback, \
        (aclrtBinHandle bin_handle, aclrtOpExceptionCallback callback, void *user_data), \
        (bin_handle, callback, user_data)) \
    X(ERR, A, aclError, aclrtGetThreadLastTaskId, (uint32_t *task_id), (task_id)) \
    X(ERR, B, aclError, aclrtCacheLastTaskOpInfo, \
        (const void *info_ptr, size_t info_size), \
        (info_ptr, info_size)) \
    X(ERR, D, aclError, aclrtCacheLastTaskExtendInfo, \
        (const char *extend_info_ptr, size_t info_size), \
        (extend_info_ptr, info_size)) \
    X(ERR, A, aclError, aclrtGetVersion, \
        (int32_t *major_version, int32_t *minor_version, int32_t *patch_version), \
        (major_version, minor_version, patch_version)) \
    X(ERR, A, aclError, aclsysGetCANNVersion, \
        (aclCANNPackageName name, aclCANNPackageVersion *version), \
        (name, version)) \
    X(ERR, B, aclError, aclsysGetVersionStr, (char *pkg_name, char *version_str), (pkg_name, version_str)) \
    X(ERR, B, aclError, aclsysGetVersionNum, \
        (char *pkg_name, int32_t *version_num), \
        (pkg_name, version_num)) \
    /* devices */ \
    X(ERR, A, aclError, aclrtSetDevice, (int32_t device_id), (device_id)) \
    X(ERR, A, aclError, aclrtResetDevice, (int32_t device_id), (device_id)) \
    X(ERR, A, aclError, aclrtResetDeviceForce, (int32_t device_id), (device_id)) \
    X(ERR, A, aclError, aclrtGetDevice, (int32_t *device_id), (device_id)) \
    X(ERR, A, aclError, aclrtGetDeviceCount, (uint32_t *count), (count)) \
    X(ERR, A, aclError, aclrtGetRunMode, (aclrtRunMode *run_mode), (run_mode)) \
    X(ERR, A, aclError, aclrtSynchronizeDevice, (void), ()) \
    X(ERR, A, aclError, aclrtSynchronizeDeviceWithTimeout, (int32_t timeout), (timeout)) \
    X(ERR, A, aclError, aclrtSetTsDevice, (aclrtTsId ts_id), (ts_id)) \
    X(PTR, A, const char *, aclrtGetSocName, (void), ()) \
    X(ERR, B, aclError, aclrtGetDeviceInfo, \
        (uint32_t device_id, aclrtDevAttr attr, int64_t *value), \
        (device_id, attr, value)) \
    X(ERR, A, aclError, aclGetDeviceCapability, \
        (uint32_t device_id, aclDeviceInfo device_info, int64_t *value), \
        (device_id, device_info, value)) \
    X(ERR, B, aclError, aclrtGetDeviceCapability, \
        (int32_t device_id, aclrtDevFeatureType dev_feature_type, int32_t *value), \
        (device_id, dev_feature_type, value)) \
    X(ERR, A, aclError, aclGetCannAttributeList, \
        (const aclCannAttr **cann_attr_list, size_t *num), \
        (cann_attr_list, num)) \
    X(ERR, A, aclError, aclGetCannAttribute, (aclCannAttr cann_attr, int32_t *value), (cann_attr, value)) \
    X(ERR, B, aclError, aclrtCheckArchCompatibility, \
        (const char *soc_version, int32_t *can_compatible), \
        (soc_version, can_compatible)) \
    X(ERR, A, aclError, aclrtQueryDeviceStatus, \
        (int32_t device_id, aclrtDeviceStatus *device_status), \
        (device_id, device_status)) \
    X(ERR, A, aclError, aclrtGetDeviceUtilizationRate, \
        (int32_t device_id, aclrtUtilizationInfo *utilization_info), \
        (device_id, utilization_info)) \
    X(ERR, B, aclError, aclrtDeviceGetStreamPriorityRange, \
        (int32_t *least_priority, int32_t *greatest_priority), \
        (least_priority, greatest_priority)) \
    X(ERR, B, aclError, aclrtDeviceGetUuid, (int32_t device_id, aclrtUuid *uuid), (device_id, uuid)) \
    X(ERR, M, aclError, aclrtDeviceGetPCIBusId, \
        (int32_t device_id, char *pci_bus_id, int32_t len), \
        (device_id, pci_bus_id, len)) \
    X(ERR, M, aclError, aclrtDeviceGetByPCIBusId, \
        (const char *pci_bus_id, int32_t *device_id), \
        (pci_bus_id, device_id)) \
    X(ERR, A, aclError, aclrtDeviceGetBareTgid, (int32_t *pid), (pid)) \
    X(ERR, A, aclError, aclrtDeviceCanAccessPeer, \
        (int32_t *can_access_peer, int32_t device_id, int32_t peer_device_id), \
        (can_access_peer, device_id, peer_device_id)) \
    X(ERR, A, aclError, aclrtDeviceEnablePeerAccess, \
        (int32_t peer_device_id, uint32_t flags), \
        (peer_device_id, flags)) \
    X(ERR, A, aclError, aclrtDeviceDisablePeerAccess, (int32_t peer_device_id), (peer_device_id)) \
    X(ERR, B, aclError, aclrtDevicePeerAccessStatus, \
        (int32_t device_id, int32_t peer_device_id, int32_t *status), \
        (device_id, peer_device_id, status)) \
    X(ERR, B, aclError, aclrtGetDevicesTopo, \
        (uint32_t device_id, uint32_t other_device_id, uint64_t *value), \
        (device_id, other_device_id, value)) \
    X(ERR, B, aclError, aclrtGetLogicDevIdByUserDevId, \
        (int32_t user_devid, int32_t *logic_dev_id), \
        (user_devid, logic_dev_id)) \
    X(ERR, B, aclError, aclrtGetUserDevIdByLogicDevId, \
        (int32_t logic_dev_id, int32_t *user_devid), \
        (logic_dev_id, user_devid)) \
    X(ERR, B, aclError, aclrtGetLogicDevIdByPhyDevId, \
        (int32_t phy_dev_id, int32_t *logic_dev_id), \
        (phy_dev_id, logic_dev_id)) \
    X(ERR, B, aclError, aclrtGetPhyDevIdByLogicDevId, \
        (int32_t logic_dev_id, int32_t *phy_dev_id), \
        (logic_dev_id, phy_dev_id)) \
    X(ERR, D, aclError, aclrtGetUserDevIdByPhyDevId, \
        (int32_t phy_dev_id, int32_t *user_dev_id), \
        (phy_dev_id, user_dev_id)) \
    X(ERR, D, aclError, aclrtGetPhyDevIdByUserDevId, \
        (int32_t user_dev_id, int32_t *phy_dev_id), \
        (user_dev_id, phy_dev_id)) \
    X(ERR, D, aclError, aclrtDeviceGetHostAtomicCapabilities, \
        (uint32_t *capabilities, const aclrtAtomicOperation *operations, uint32_t count, \
        int32_t device_id), \
        (capabilities, operations, count, device_id)) \
    X(ERR, D, aclError, aclrtDeviceGetP2PAtomicCapabilities, \
        (uint32_t *capabilities, const aclrtAtomicOperation *operations, uint32_t count, \
        int32_t src_device_id, int32_t dst_device_id), \
        (capabilities, operations, count, src_device_id, dst_device_id)) \
    X(ERR, B, aclError, aclrtSetDeviceResLimit, \
        (int32_t device_id, aclrtDevResLimitType type, uint32_t value), \
        (device_id, type, value)) \
    X(ERR, B, aclError, aclrtGetDeviceResLimit, \
        (int32_t device_id, aclrtDevResLimitType type, uint32_t *value), \
        (device_id, type, value)) \
    X(ERR, B, aclError, aclrtResetDeviceResLimit, (int32_t device_id), (device_id)) \
    X(ERR, B, aclError, aclrtSetStreamResLimit, \
        (aclrtStream stream, aclrtDevResLimitType type, uint32_t value), \
        (stream, type, value)) \
    X(ERR, B, aclError, aclrtGetStreamResLimit, \
        (aclrtStream stream, aclrtDevResLimitType type, uint32_t *value), \
        (stream, type, value)) \
    X(ERR, B, aclError, aclrtResetStreamResLimit, (aclrtStream stream), (stream)) \
    X(ERR, B, aclError, aclrtUseStreamResInCurrentThread, (aclrtStream stream), (stream)) \
    X(ERR, B, aclError, aclrtUnuseStreamResInCurrentThread, (aclrtStream stream), (stream)) \
    X(ERR, B, aclError, aclrtGetResInCurrentThread, \
        (aclrtDevResLimitType type, uint32_t *value), \
        (type, value)) \
    X(ERR, E, aclError, aclrtDeviceSetLimit, (aclrtDeviceLimit limit, size_t value), (limit, value)) \
    X(ERR, E, aclError, aclrtDeviceGetLimit, (aclrtDeviceLimit limit, size_t *value), (limit, value)) \
    X(ERR, M, aclError, aclrtDeviceL2CacheFlush, (void *rsv), (rsv)) \
    X(ERR, A, aclError, aclrtSetSysParamOpt, (aclSysParamOpt opt, int64_t value), (opt, value)) \
    X(ERR, A, aclError, aclrtGetSysParamOpt, (aclSysParamOpt opt, int64_t *value), (opt, value)) \
    X(ERR, B, aclError, aclrtRegDeviceStateCallback, \
        (const char *reg_name, aclrtDeviceStateCallback callback, void *args), \
        (reg_name, callback, args)) \
    X(ERR, A, aclError, aclrtDeviceTaskAbort, (int32_t device_id, uint32_t timeout), (device_id, timeout)) \
    X(ERR, B, aclError, aclrtSetDeviceTaskAbortCallback, \
        (const char *reg_name, aclrtDeviceTaskAbortCallback callback, void *args), \
        (reg_name, callback, args)) \
    X(ERR, A, aclError, aclrtGetMemUceInfo, \
        (int32_t device_id, aclrtMemUceInfo *mem_uce_info_array, size_t array_size, size_t *ret_size), \
        (device_id, mem_uce_info_array, array_size, ret_size)) \
    X(ERR, A, aclError, aclrtMemUceRepair, \
        (int32_t device_id, aclrtMemUceInfo *mem_uce_info_array, size_t array_size), \
        (device_id, mem_uce_info_array, array_size)) \
    X(ERR, A, aclError, aclrtSetOpExecuteTimeOut, (uint32_t timeout), (timeout)) \
    X(ERR, A, aclError, aclrtSetOpExecuteTimeOutWithMs, (uint32_t timeout), (timeout)) \
    X(ERR, B, aclError, aclrtSetOpExecuteTimeOutV2, \
        (uint64_t timeout, uint64_t *actual_timeout), \
        (timeout, actual_timeout)) \
    X(ERR, A, aclError, aclrtSetOpWaitTimeout, (uint32_t timeout), (timeout)) \
    X(ERR, B, aclError, aclrtGetOpExecuteTimeout, (uint32_t *timeout_ms), (timeout_ms)) \
    X(ERR, B, aclError, aclrtGetOpTimeOutInterval, (uint64_t *interval), (interval)) \
    /* contexts */ \
    X(ERR, A, aclError, aclrtCreateContext, \
        (aclrtContext *context, int32_t device_id), \
        (context, device_id)) \
    X(ERR, A, aclError, aclrtDestroyContext, (aclrtContext context), (context)) \
    X(ERR, A, aclError, aclrtSetCurrentContext, (aclrtContext context), (context)) \
    X(ERR, A, aclError, aclrtGetCurrentContext, (aclrtContext *context), (context)) \
    X(ERR, A, aclError, aclrtCtxSetSysParamOpt, (aclSysParamOpt opt, int64_t value), (opt, value)) \
    X(ERR, A, aclError, aclrtCtxGetSysParamOpt, (aclSysParamOpt opt, int64_t *value), (opt, value)) \
    X(ERR, B, aclError, aclrtCtxGetCurrentDefaultStream, (aclrtStream *stream), (stream)) \
    X(ERR, B, aclError, aclrtGetPrimaryCtxState, \
        (int32_t device_id, uint32_t *flags, int32_t *active), \
        (device_id, flags, active)) \
    /* streams */ \
    X(ERR, A, aclError, aclrtCreateStream, (aclrtStream *stream), (stream)) \
    X(ERR, A, aclError, aclrtCreateStreamWithConfig, \
        (aclrtStream *stream, uint32_t priority, uint32_t flag), \
        (stream, priority, flag)) \
    X(PTR, A, aclrtStreamConfigHandle *, aclrtCreateStreamConfigHandle, (void), ()) \
    X(ERR, A, aclError, aclrtDestroyStreamConfigHandle, (aclrtStreamConfigHandle *handle), (handle)) \
    X(ERR, A, aclError, aclrtSetStreamConfigOpt, \
        (aclrtStreamConfigHandle *handle, aclrtStreamConfigAttr attr, const void *attr_value, \
        size_t value_size), \
        (handle, attr, attr_value, value_size)) \
    X(ERR, A, aclError, aclrtCreateStreamV2, \
        (aclrtStream *stream, const aclrtStreamConfigHandle *handle), \
        (stream, handle)) \
    X(ERR, A, aclError, aclrtDestroyStream, (aclrtStream stream), (stream)) \
    X(ERR, A, aclError, aclrtDestroyStreamForce, (aclrtStream stream), (stream)) \
    X(ERR, A, aclError, aclrtSynchronizeStream, (aclrtStream stream), (stream)) \
    X(ERR, A, aclError, aclrtSynchronizeStreamWithTimeout, \
        (aclrtStream stream, int32_t timeout), \
        (stream, timeout)) \
    X(ERR, A, aclError, aclrtStreamQuery, \
        (aclrtStream stream, aclrtStreamStatus *status), \
        (stream, status)) \
    X(ERR, A, aclError, aclrtStreamGetId, (aclrtStream stream, int32_t *stream_id), (stream, stream_id)) \
    X(ERR, B, aclError, aclrtStreamGetPriority, \
        (aclrtStream stream, uint32_t *priority), \
        (stream, priority)) \
    X(ERR, B, aclError, aclrtStreamGetFlags, (aclrtStream stream, uint32_t *flags), (stream, flags)) \
    X(ERR, A, aclError, aclrtStreamWaitEvent, (aclrtStream stream, aclrtEvent event), (stream, event)) \
    X(ERR, B, aclError, aclrtStreamWaitEventWithTimeout, \
        (aclrtStream stream, aclrtEvent event, int32_t timeout), \
        (stream, event, timeout)) \
    X(ERR, E, aclError, aclrtStreamWaitEventWithFlag, \
        (aclrtStream stream, aclrtEvent event, uint32_t timeout, uint32_t flag), \
        (stream, event, timeout, flag)) \
    X(ERR, A, aclError, aclrtSetStreamFailureMode, (aclrtStream stream, uint64_t mode), (stream, mode)) \
    X(ERR, A, aclError, aclrtStreamAbort, (aclrtStream stream), (stream)) \
    X(ERR, B, aclError, aclrtStreamStop, (aclrtStream stream), (stream)) \
    X(ERR, B, aclError, aclrtSetStreamAttribute, \
        (aclrtStream stream, aclrtStreamAttr stm_attr_type, aclrtStreamAttrValue *value), \
        (stream, stm_attr_type, value)) \
    X(ERR, B, aclError, aclrtGetStreamAttribute, \
        (aclrtStream stream, aclrtStreamAttr stm_attr_type, aclrtStreamAttrValue *value), \
        (stream, stm_attr_type, value)) \
    X(ERR, B, aclError, aclrtGetStreamAvailableNum, (uint32_t *stream_count), (stream_count)) \
    X(ERR, B, aclError, aclrtActiveStream, \
        (aclrtStream active_stream, aclrtStream stream), \
        (active_stream, stream)) \
    X(ERR, B, aclError, aclrtSwitchStream, \
        (void *left_value, aclrtCondition cond, void *right_value, aclrtCompareDataType data_type, \
        aclrtStream true_stream, aclrtStream false_stream, aclrtStream stream), \
        (left_value, cond, right_value, data_type, true_stream, false_stream, stream)) \
    X(ERR, B, aclError, aclrtRegStreamStateCallback, \
        (const char *reg_name, aclrtStreamStateCallback callback, void *args), \
        (reg_name, callback, args)) \
    X(ERR, B, aclError, aclrtPersistentTaskClean, (aclrtStream stream), (stream)) \
    X(ERR, A, aclError, aclrtSetStreamOverflowSwitch, (aclrtStream stream, uint32_t flag), (stream, flag)) \
    X(ERR, A, aclError, aclrtGetStreamOverflowSwitch, (aclrtStream stream, uint32_t *flag), (stream, flag)) \
    X(ERR, A, aclError, aclrtSetDeviceSatMode, (aclrtFloatOverflowMode mode), (mode)) \
    X(ERR, A, aclError, aclrtGetDeviceSatMode, (aclrtFloatOverflowMode *mode), (mode)) \
    X(ERR, A, aclError, aclrtGetOverflowStatus, \
        (void *output_addr, size_t output_size, aclrtStream stream), \
        (output_addr, output_size, stream)) \
    X(ERR, A, aclError, aclrtResetOverflowStatus, (aclrtStream stream), (stream)) \
    X(ERR, B, aclError, aclrtCtxGetFloatOverflowAddr, (void **overflow_addr), (overflow_addr)) \
    X(ERR, B, aclError, aclrtGetFloatOverflowStatus, \
        (void *output_addr, uint64_t output_size, aclrtStream stream), \
        (output_addr, output_size, stream)) \
    X(ERR, B, aclError, aclrtResetFloatOverflowStatus, (aclrtStream stream), (stream)) \
    X(ERR, B, aclError, aclrtNpuGetFloatOverFlowStatus, \
        (void *output_addr, uint64_t output_size, uint32_t check_mode, aclrtStream stream), \
        (output_addr, output_size, check_mode, stream)) \
    X(ERR, B, aclError, aclrtNpuClearFloatOverFlowStatus, \
        (uint32_t check_mode, aclrtStream stream), \
        (check_mode, stream)) \
    /* events */ \
    X(ERR, A, aclError, aclrtCreateEvent, (aclrtEvent *event), (event)) \
    X(ERR, A, aclError, aclrtCreateEventWithFlag, (aclrtEvent *event, uint32_t flag), (event, flag)) \
    X(ERR, A, aclError, aclrtCreateEventExWithFlag, (aclrtEvent *event, uint32_t flag), (event, flag)) \
    X(ERR, A, aclError, aclrtDestroyEvent, (aclrtEvent event), (event)) \
    X(ERR, A, aclError, aclrtRecordEvent, (aclrtEvent event, aclrtStream stream), (event, stream)) \
    X(ERR, E, aclError, aclrtRecordEventWithFlag, \
        (aclrtEvent event, aclrtStream stream, uint32_t flag), \
        (event, stream, flag)) \
    X(ERR, A, aclError, aclrtResetEvent, (aclrtEvent event, aclrtStream stream), (event, stream)) \
    X(ERR, A, aclError, aclrtQueryEvent, (aclrtEvent event, aclrtEventStatus *status), (event, status)) \
    X(ERR, A, aclError, aclrtQueryEventStatus, \
        (aclrtEvent event, aclrtEventRecordedStatus *status), \
        (event, status)) \
    X(ERR, A, aclError, aclrtQueryEventWaitStatus, \
        (aclrtEvent event, aclrtEventWaitStatus *status), \
        (event, status)) \
    X(ERR, A, aclError, aclrtSynchronizeEvent, (aclrtEvent event), (event)) \
    X(ERR, A, aclError, aclrtSynchronizeEventWithTimeout, \
        (aclrtEvent event, int32_t timeout), \
        (event, timeout)) \
    X(ERR, A, aclError, aclrtEventElapsedTime, \
        (float *ms, aclrtEvent start_event, aclrtEvent end_event), \
        (ms, start_event, end_event)) \
    X(ERR, A, aclError, aclrtEventGetTimestamp, \
        (aclrtEvent event, uint64_t *timestamp), \
        (event, timestamp)) \
    X(ERR, B, aclError, aclrtGetEventId, (aclrtEvent event, uint32_t *event_id), (event, event_id)) \
    X(ERR, B, aclError, aclrtGetEventAvailNum, (uint32_t *event_count), (event_count)) \
    X(ERR, B, aclError, aclrtIpcGetEventHandle, \
        (aclrtEvent event, aclrtIpcEventHandle *handle), \
        (event, handle)) \
    X(ERR, B, aclError, aclrtIpcOpenEventHandle, \
        (aclrtIpcEventHandle handle, aclrtEvent *event), \
        (handle, event)) \
    /* memory */ \
    X(ERR, A, aclError, aclrtMalloc, \
        (void **dev_ptr, size_t size, aclrtMemMallocPolicy policy), \
        (dev_ptr, size, policy)) \
    X(ERR, A, aclError, aclrtMallocAlign32, \
        (void **dev_ptr, size_t size, aclrtMemMallocPolicy policy), \
        (dev_ptr, size, policy)) \
    X(ERR, A, aclError, aclrtMallocCached, \
        (void **dev_ptr, size_t size, aclrtMemMallocPolicy policy), \
        (dev_ptr, size, policy)) \
    X(ERR, A, aclError, aclrtMallocWithCfg, \
        (void **dev_ptr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg), \
        (dev_ptr, size, policy, cfg)) \
    X(ERR, A, aclError, aclrtMallocForTaskScheduler, \
        (void **dev_ptr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg), \
        (dev_ptr, size, policy, cfg)) \
    X(ERR, A, aclError, aclrtFree, (void *dev_ptr), (dev_ptr)) \
    X(ERR, B, aclError, aclrtFreeWithDevSync, (void *dev_ptr), (dev_ptr)) \
    X(ERR, A, aclError, aclrtMallocHost, (void **host_ptr, size_t size), (host_ptr, size)) \
    X(ERR, A, aclError, aclrtMallocHostWithCfg, \
        (void **ptr, uint64_t size, aclrtMallocConfig *cfg), \
        (ptr, size, cfg)) \
    X(ERR, A, aclError, aclrtFreeHost, (void *host_ptr), (host_ptr)) \
    X(ERR, B, aclError, aclrtFreeHostWithDevSync, (void *host_ptr), (host_ptr)) \
    X(ERR, A, aclError, aclrtMemFlush, (void *dev_ptr, size_t size), (dev_ptr, size)) \
    X(ERR, A, aclError, aclrtMemInvalidate, (void *dev_ptr, size_t size), (dev_ptr, size)) \
    X(ERR, A, aclError, aclrtHostRegister, \
        (void *ptr, uint64_t size, aclrtHostRegisterType type, void **dev_ptr), \
        (ptr, size, type, dev_ptr)) \
    X(ERR, B, aclError, aclrtHostRegisterV2, (void *ptr, uint64_t size, uint32_t flag), (ptr, size, flag)) \
    X(ERR, A, aclError, aclrtHostUnregister, (void *ptr), (ptr)) \
    X(ERR, B, aclError, aclrtHostGetDevicePointer, \
        (void *p_host, void **p_device, uint32_t flag), \
        (p_host, p_device, flag)) \
    X(ERR, C, aclError, aclrtHostMemMapCapabilities, \
        (uint32_t device_id, aclrtHacType hac_type, aclrtHostMemMapCapability *capabilities), \
        (device_id, hac_type, capabilities)) \
    X(ERR, A, aclError, aclrtPointerGetAttributes, \
        (const void *ptr, aclrtPtrAttributes *attributes), \
        (ptr, attributes)) \
    X(ERR, A, aclError, aclrtGetMemInfo, \
        (aclrtMemAttr attr, size_t *free_bytes, size_t *total_bytes), \
        (attr, free_bytes, total_bytes)) \
    X(ERR, B, aclError, aclrtGetMemUsageInfo, \
        (int32_t device_id, aclrtMemUsageInfo *mem_usage_info, size_t input_num, size_t *output_num), \
        (device_id, mem_usage_info, input_num, output_num)) \
    X(ERR, B, aclError, aclrtCheckMemType, \
        (void **addr_list, uint32_t size, uint32_t mem_type, uint32_t *check_result, uint32_t reserve), \
        (addr_list, size, mem_type, check_result, reserve)) \
    X(ERR, C, aclError, aclrtMemGetAddressRange, \
        (void *ptr, void **pbase, size_t *psize), \
        (ptr, pbase, psize)) \
    /* managed memory, memory pools */ \
    X(ERR, C, aclError, aclrtMemAllocManaged, \
        (void **ptr, uint64_t size, uint32_t flag), \
        (ptr, size, flag)) \
    X(ERR, D, aclError, aclrtMemManagedAdvise, \
        (const void *ptr, uint64_t size, aclrtMemManagedAdviseType advise, \
        aclrtMemManagedLocation location), \
        (ptr, size, advise, location)) \
    X(ERR, D, aclError, aclrtMemManagedGetAttr, \
        (aclrtMemManagedRangeAttribute attribute, const void *ptr, size_t size, void *data, \
        size_t data_size), \
        (attribute, ptr, size, data, data_size)) \
    X(ERR, D, aclError, aclrtMemManagedGetAttrs, \
        (aclrtMemManagedRangeAttribute *attributes, size_t num_attributes, const void *ptr, size_t size, \
        void **data, size_t *data_sizes), \
        (attributes, num_attributes, ptr, size, data, data_sizes)) \
    X(ERR, D, aclError, aclrtMemManagedPrefetchAsync, \
        (const void *ptr, size_t size, aclrtMemManagedLocation location, uint32_t flags, \
        aclrtStream stream), \
        (ptr, size, location, flags, stream)) \
    X(ERR, D, aclError, aclrtMemManagedPrefetchBatchAsync, \
        (const void **ptrs, size_t *sizes, size_t count, aclrtMemManagedLocation *prefetch_locs, \
        size_t *prefetch_loc_idxs, size_t num_prefetch_locs, uint64_t flags, aclrtStream stream), \
        (ptrs, sizes, count, prefetch_locs, prefetch_loc_idxs, num_prefetch_locs, flags, stream)) \
    X(ERR, C, aclError, aclrtMemPoolCreate, \
        (aclrtMemPool *mem_pool, const aclrtMemPoolProps *pool_props), \
        (mem_pool, pool_props)) \
    X(ERR, C, aclError, aclrtMemPoolDestroy, (aclrtMemPool mem_pool), (mem_pool)) \
    X(ERR, C, aclError, aclrtMemPoolSetAttr, \
        (aclrtMemPool mem_pool, aclrtMemPoolAttr attr, void *value), \
        (mem_pool, attr, value)) \
    X(ERR, C, aclError, aclrtMemPoolGetAttr, \
        (aclrtMemPool mem_pool, aclrtMemPoolAttr attr, void *value), \
        (mem_pool, attr, value)) \
    X(ERR, D, aclError, aclrtMemPoolMallocAsync, \
        (void **ptr, size_t size, aclrtMemPool mem_pool, aclrtStream stream), \
        (ptr, size, mem_pool, stream)) \
    X(ERR, D, aclError, aclrtMemPoolFreeAsync, (void *ptr, aclrtStream stream), (ptr, stream)) \
    X(ERR, D, aclError, aclrtMemPoolTrimTo, \
        (aclrtMemPool mem_pool, size_t min_bytes_to_keep), \
        (mem_pool, min_bytes_to_keep)) \
    /* virtual memory and sharing between processes */ \
    X(ERR, A, aclError, aclrtReserveMemAddress, \
        (void **vir_ptr, size_t size, size_t alignment, void *expect_ptr, uint64_t flags), \
        (vir_ptr, size, alignment, expect_ptr, flags)) \
    X(ERR, C, aclError, aclrtReserveMemAddressNoUCMemory, \
        (void **vir_ptr, size_t size, size_t alignment, void *expect_ptr, uint64_t flags), \
        (vir_ptr, size, alignment, expect_ptr, flags)) \
    X(ERR, A, aclError, aclrtReleaseMemAddress, (void *vir_ptr), (vir_ptr)) \
    X(ERR, A, aclError, aclrtMallocPhysical, \
        (aclrtDrvMemHandle *handle, size_t size, const aclrtPhysicalMemProp *prop, uint64_t flags), \
        (handle, size, prop, flags)) \
    X(ERR, A, aclError, aclrtFreePhysical, (aclrtDrvMemHandle handle), (handle)) \
    X(ERR, A, aclError, aclrtMapMem, \
        (void *vir_ptr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags), \
        (vir_ptr, size, offset, handle, flags)) \
    X(ERR, A, aclError, aclrtUnmapMem, (void *vir_ptr), (vir_ptr)) \
    X(ERR, E, aclError, aclrtMemMapNoAccess, \
        (void *vir_ptr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags), \
        (vir_ptr, size, offset, handle, flags)) \
    X(ERR, D, aclError, aclrtMemMapSelectedLink, \
        (void *vir_ptr_dst, size_t size, void *vir_ptr_src, uint32_t link_idx), \
        (vir_ptr_dst, size, vir_ptr_src, link_idx)) \
    X(ERR, M, aclError, aclrtMemMapSetLink, \
        (aclrtDrvMemHandle handle, aclrtMemLinkType advice_link), \
        (handle, advice_link)) \
    X(ERR, A, aclError, aclrtMemGetAllocationGranularity, \
        (aclrtPhysicalMemProp *prop, aclrtMemGranularityOptions option, size_t *granularity), \
        (prop, option, granularity)) \
    X(ERR, B, aclError, aclrtMemSetAccess, \
        (void *vir_ptr, size_t size, aclrtMemAccessDesc *desc, size_t count), \
        (vir_ptr, size, desc, count)) \
    X(ERR, B, aclError, aclrtMemGetAccess, \
        (void *vir_ptr, aclrtMemLocation *location, uint64_t *flag), \
        (vir_ptr, location, flag)) \
    X(ERR, B, aclError, aclrtMemRetainAllocationHandle, \
        (void *vir_ptr, aclrtDrvMemHandle *handle), \
        (vir_ptr, handle)) \
    X(ERR, B, aclError, aclrtMemGetAllocationPropertiesFromHandle, \
        (aclrtDrvMemHandle handle, aclrtPhysicalMemProp *prop), \
        (handle, prop)) \
    X(ERR, C, aclError, aclrtMemP2PMap, \
        (void *dev_ptr, size_t size, int32_t dst_dev_id, uint64_t flags), \
        (dev_ptr, size, dst_dev_id, flags)) \
    X(ERR, B, aclError, aclrtIpcMemGetExportKey, \
        (void *dev_ptr, size_t size, char *key, size_t len, uint64_t flags), \
        (dev_ptr, size, key, len, flags)) \
    X(ERR, B, aclError, aclrtIpcMemImportByKey, \
        (void **dev_ptr, const char *key, uint64_t flags), \
        (dev_ptr, key, flags)) \
    X(ERR, B, aclError, aclrtIpcMemClose, (const char *key), (key)) \
    X(ERR, B, aclError, aclrtIpcMemSetImportPid, \
        (const char *key, int32_t *pid, size_t num), \
        (key, pid, num)) \
    X(ERR, B, aclError, aclrtIpcMemSetAttr, \
        (const char *key, aclrtIpcMemAttrType type, uint64_t attr), \
        (key, type, attr)) \
    X(ERR, B, aclError, aclrtIpcMemImportPidInterServer, \
        (const char *key, aclrtServerPid *server_pids, size_t num), \
        (key, server_pids, num)) \
    X(ERR, A, aclError, aclrtMemExportToShareableHandle, \
        (aclrtDrvMemHandle handle, aclrtMemHandleType handle_type, uint64_t flags, \
        uint64_t *shareable_handle), \
        (handle, handle_type, flags, shareable_handle)) \
    X(ERR, B, aclError, aclrtMemExportToShareableHandleV2, \
        (aclrtDrvMemHandle handle, uint64_t flags, aclrtMemSharedHandleType share_type, \
        void *shareable_handle), \
        (handle, flags, share_type, shareable_handle)) \
    X(ERR, A, aclError, aclrtMemImportFromShareableHandle, \
        (uint64_t shareable_handle, int32_t device_id, aclrtDrvMemHandle *handle), \
        (shareable_handle, device_id, handle)) \
    X(ERR, B, aclError, aclrtMemImportFromShareableHandleV2, \
        (void *shareable_handle, aclrtMemSharedHandleType share_type, uint64_t flags, \
        aclrtDrvMemHandle *handle), \
        (shareable_handle, share_type, flags, handle)) \
    X(ERR, A, aclError, aclrtMemSetPidToShareableHandle, \
        (uint64_t shareable_handle, int32_t *pid, size_t pid_num), \
        (shareable_handle, pid, pid_num)) \
    X(ERR, B, aclError, aclrtMemSetPidToShareableHandleV2, \
        (void *shareable_handle, aclrtMemSharedHandleType share_type, int32_t *pid, size_t pid_num), \
        (shareable_handle, share_type, pid, pid_num)) \
    /* allocator registry */ \
    X(PTR, A, aclrtAllocatorDesc, aclrtAllocatorCreateDesc, (void), ()) \
    X(ERR, A, aclError, aclrtAllocatorDestroyDesc, (aclrtAllocatorDesc allocator_desc), (allocator_desc)) \
    X(ERR, A, aclError, aclrtAllocatorSetObjToDesc, \
        (aclrtAllocatorDesc allocator_desc, aclrtAllocator allocator), \
        (allocator_desc, allocator)) \
    X(ERR, A, aclError, aclrtAllocatorSetAllocFuncToDesc, \
        (aclrtAllocatorDesc allocator_desc, aclrtAllocatorAllocFunc func), \
        (allocator_desc, func)) \
    X(ERR, A, aclError, aclrtAllocatorSetFreeFuncToDesc, \
        (aclrtAllocatorDesc allocator_desc, aclrtAllocatorFreeFunc func), \
        (allocator_desc, func)) \
    X(ERR, A, aclError, aclrtAllocatorSetAllocAdviseFuncToDesc, \
        (aclrtAllocatorDesc allocator_desc, aclrtAllocatorAllocAdviseFunc func), \
        (allocator_desc, func)) \
    X(ERR, A, aclError, aclrtAllocatorSetGetAddrFromBlockFuncToDesc, \
        (aclrtAllocatorDesc allocator_desc, aclrtAllocatorGetAddrFromBlockFunc func), \
        (allocator_desc, func)) \
    X(ERR, A, aclError, aclrtAllocatorRegister, \
        (aclrtStream stream, aclrtAllocatorDesc allocator_desc), \
        (stream, allocator_desc)) \
    X(ERR, A, aclError, aclrtAllocatorGetByStream, \
        (aclrtStream stream, aclrtAllocatorDesc *allocator_desc, aclrtAllocator *allocator, \
        aclrtAllocatorAllocFunc *alloc_func, aclrtAllocatorFreeFunc *free_func, \
        aclrtAllocatorAllocAdviseFunc *alloc_advise_func, \
        aclrtAllocatorGetAddrFromBlockFunc *get_addr_from_block_func), \
        (stream, allocator_desc, allocator, alloc_func, free_func, alloc_advise_func, \
        get_addr_from_block_func)) \
    X(ERR, A, aclError, aclrtAllocatorUnregister, (aclrtStream stream), (stream)) \
    /* copies, fills, built-in tasks */ \
    X(ERR, A, aclError, aclrtMemcpy, \
        (void *dst, size_t dest_max, const void *src, size_t count, aclrtMemcpyKind kind), \
        (dst, dest_max, src, count, kind)) \
    X(ERR, A, aclError, aclrtMemcpyAsync, \
        (void *dst, size_t dest_max, const void *src, size_t count, aclrtMemcpyKind kind, \
        aclrtStream stream), \
        (dst, dest_max, src, count, kind, stream)) \
    X(ERR, B, aclError, aclrtMemcpyAsyncWithCondition, \
        (void *dst, size_t dest_max, const void *src, size_t count, aclrtMemcpyKind kind, \
        aclrtStream stream), \
        (dst, dest_max, src, count, kind, stream)) \
    X(ERR, A, aclError, aclrtMemcpy2d, \
        (void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height, \
        aclrtMemcpyKind kind), \
        (dst, dpitch, src, spitch, width, height, kind)) \
    X(ERR, A, aclError, aclrtMemcpy2dAsync, \
        (void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height, \
        aclrtMemcpyKind kind, aclrtStream stream), \
        (dst, dpitch, src, spitch, width, height, kind, stream)) \
    X(ERR, B, aclError, aclrtMemcpyBatch, \
        (void **dsts, size_t *dest_maxs, void **srcs, size_t *sizes, size_t num_batches, \
        aclrtMemcpyBatchAttr *attrs, size_t *attrs_indexes, size_t num_attrs, size_t *fail_index), \
        (dsts, dest_maxs, srcs, sizes, num_batches, attrs, attrs_indexes, num_attrs, fail_index)) \
    X(ERR, B, aclError, aclrtMemcpyBatchAsync, \
        (void **dsts, size_t *dest_maxs, void **srcs, size_t *sizes, size_t num_batches, \
        aclrtMemcpyBatchAttr *attrs, size_t *attrs_indexes, size_t num_attrs, size_t *fail_index, \
        aclrtStream stream), \
        (dsts, dest_maxs, srcs, sizes, num_batches, attrs, attrs_indexes, num_attrs, fail_index, stream)) \
    X(ERR, D, aclError, aclrtMemcpyBatchV2, \
        (void **dsts, size_t *dest_maxs, void **srcs, size_t *sizes, size_t num_batches, \
        aclrtMemcpyBatchAttr *attrs, size_t *attrs_indexes, size_t num_attrs), \
        (dsts, dest_maxs, srcs, sizes, num_batches, attrs, attrs_indexes, num_attrs)) \
    X(ERR, D, aclError, aclrtMemcpyBatchAsyncV2, \
        (void **dsts, size_t *dest_maxs, void **srcs, size_t *sizes, size_t num_batches, \
        aclrtMemcpyBatchAttr *attrs, size_t *attrs_indexes, size_t num_attrs, aclrtStream stream), \
        (dsts, dest_maxs, srcs, sizes, num_batches, attrs, attrs_indexes, num_attrs, stream)) \
    X(ERR, B, aclError, aclrtMemcpyAsyncWithOffset, \
        (void **dst, size_t dest_max, size_t dst_data_offset, const void **src, size_t count, \
        size_t src_data_offset, aclrtMemcpyKind kind, aclrtStream stream), \
        (dst, dest_max, dst_data_offset, src, count, src_data_offset, kind, stream)) \
    X(ERR, A, aclError, aclrtGetMemcpyDescSize, \
        (aclrtMemcpyKind kind, size_t *desc_size), \
        (kind, desc_size)) \
    X(ERR, A, aclError, aclrtSetMemcpyDesc, \
        (void *desc, aclrtMemcpyKind kind, void *src_addr, void *dst_addr, size_t count, void *config), \
        (desc, kind, src_addr, dst_addr, count, config)) \
    X(ERR, A, aclError, aclrtMemcpyAsyncWithDesc, \
        (void *desc, aclrtMemcpyKind kind, aclrtStream stream), \
        (desc, kind, stream)) \
    X(ERR, A, aclError, aclrtMemset, \
        (void *dev_ptr, size_t max_count, int32_t value, size_t count), \
        (dev_ptr, max_count, value, count)) \
    X(ERR, A, aclError, aclrtMemsetAsync, \
        (void *dev_ptr, size_t max_count, int32_t value, size_t count, aclrtStream stream), \
        (dev_ptr, max_count, value, count, stream)) \
    X(ERR, D, aclError, aclrtMemsetD32, \
        (void *ptr, size_t mem_size, uint32_t value, size_t count), \
        (ptr, mem_size, value, count)) \
    X(ERR, D, aclError, aclrtMemsetD32Async, \
        (void *ptr, size_t mem_size, uint32_t value, size_t count, aclrtStream stream), \
        (ptr, mem_size, value, count, stream)) \
    X(ERR, D, aclError, aclrtMemcpyToSymbol, \
        (const void *symbol, const void *src, size_t count, size_t offset, aclrtMemcpyKind kind), \
        (symbol, src, count, offset, kind)) \
    X(ERR, D, aclError, aclrtMemcpyToSymbolAsync, \
        (const void *symbol, const void *src, size_t count, size_t offset, aclrtMemcpyKind kind, \
        aclrtStream stream), \
        (symbol, src, count, offset, kind, stream)) \
    X(ERR, D, aclError, aclrtMemcpyFromSymbol, \
        (void *dst, size_t dst_max, const void *symbol, size_t count, size_t offset, \
        aclrtMemcpyKind kind), \
        (dst, dst_max, symbol, count, offset, kind)) \
    X(ERR, D, aclError, aclrtMemcpyFromSymbolAsync, \
        (void *dst, size_t dst_max, const void *symbol, size_t count, size_t offset, aclrtMemcpyKind kind, \
        aclrtStream stream), \
        (dst, dst_max, symbol, count, offset, kind, stream)) \
    X(ERR, D, aclError, aclrtGetSymbolAddress, (const void *symbol, void **dev_ptr), (symbol, dev_ptr)) \
    X(ERR, D, aclError, aclrtGetSymbolSize, (const void *symbol, size_t *size), (symbol, size)) \
    X(ERR, B, aclError, aclrtReduceAsync, \
        (void *dst, const void *src, uint64_t count, aclrtReduceKind kind, aclDataType type, \
        aclrtStream stream, void *reserve), \
        (dst, src, count, kind, type, stream, reserve)) \
    X(ERR, B, aclError, aclrtValueWrite, \
        (void *dev_addr, uint64_t value, uint32_t flag, aclrtStream stream), \
        (dev_addr, value, flag, stream)) \
    X(ERR, B, aclError, aclrtValueWait, \
        (void *dev_addr, uint64_t value, uint32_t flag, aclrtStream stream), \
        (dev_addr, value, flag, stream)) \
    X(ERR, B, aclError, aclrtRandomNumAsync, \
        (const aclrtRandomNumTaskInfo *task_info, aclrtStream stream, void *reserve), \
        (task_info, stream, reserve)) \
    X(ERR, A, aclError, aclrtCmoAsync, \
        (void *src, size_t size, aclrtCmoType cmo_type, aclrtStream stream), \
        (src, size, cmo_type, stream)) \
    X(ERR, B, aclError, aclrtCmoAsyncWithBarrier, \
        (void *src, size_t size, aclrtCmoType cmo_type, uint32_t barrier_id, aclrtStream stream), \
        (src, size, cmo_type, barrier_id, stream)) \
    X(ERR, B, aclError, aclrtCmoWaitBarrier, \
        (aclrtBarrierTaskInfo *task_info, aclrtStream stream, uint32_t flag), \
        (task_info, stream, flag)) \
    X(ERR, B, aclError, aclrtCmoGetDescSize, (size_t *size), (size)) \
    X(ERR, B, aclError, aclrtCmoSetDesc, (void *cmo_desc, void *src, size_t size), (cmo_desc, src, size)) \
    X(ERR, B, aclError, aclrtCmoAsyncWithDesc, \
        (void *cmo_desc, aclrtCmoType cmo_type, aclrtStream stream, const void *reserve), \
        (cmo_desc, cmo_type, stream, reserve)) \
    X(ERR, B, aclError, aclrtProfTrace, \
        (void *userdata, int32_t length, aclrtStream stream), \
        (userdata, length, stream)) \
    X(ERR, B, aclError, aclrtTaskUpdateAsync, \
        (aclrtStream task_stream, uint32_t task_id, aclrtTaskUpdateInfo *info, aclrtStream exec_stream), \
        (task_stream, task_id, info, exec_stream)) \
    /* host callbacks */ \
    X(ERR, A, aclError, aclrtSubscribeReport, \
        (uint64_t thread_id, aclrtStream stream), \
        (thread_id, stream)) \
    X(ERR, A, aclError, aclrtLaunchCallback, \
        (aclrtCallback fn, void *user_data, aclrtCallbackBlockType block_type, aclrtStream stream), \
        (fn, user_data, block_type, stream)) \
    X(ERR, A, aclError, aclrtProcessReport, (int32_t timeout), (timeout)) \
    X(ERR, A, aclError, aclrtUnSubscribeReport, \
        (uint64_t thread_id, aclrtStream stream), \
        (thread_id, stream)) \
    X(ERR, B, aclError, aclrtLaunchHostFunc, \
        (aclrtStream stream, aclrtHostFunc fn, void *args), \
        (stream, fn, args)) \
    X(ERR, A, aclError, aclrtSubscribeHostFunc, \
        (uint64_t host_func_thread_id, aclrtStream exe_stream), \
        (host_func_thread_id, exe_stream)) \
    X(ERR, A, aclError, aclrtProcessHostFunc, (int32_t timeout), (timeout)) \
    X(ERR, A, aclError, aclrtUnSubscribeHostFunc, \
        (uint64_t host_func_thread_id, aclrtStream exe_stream), \
        (host_func_thread_id, exe_stream)) \
    /* kernels */ \
    X(ERR, A, aclError, aclrtBinaryLoadFromFile, \
        (const char *bin_path, aclrtBinaryLoadOptions *options, aclrtBinHandle *bin_handle), \
        (bin_path, options, bin_handle)) \
    X(ERR, B, aclError, aclrtBinaryLoadFromData, \
        (const void *data, size_t length, const aclrtBinaryLoadOptions *options, \
        aclrtBinHandle *bin_handle), \
        (data, length, options, bin_handle)) \
    X(PTR, A, aclrtBinary, aclrtCreateBinary, (const void *data, size_t data_len), (data, data_len)) \
    X(ERR, A, aclError, aclrtDestroyBinary, (aclrtBinary binary), (binary)) \
    X(ERR, A, aclError, aclrtBinaryLoad, \
        (aclrtBinary binary, aclrtBinHandle *bin_handle), \
        (binary, bin_handle)) \
    X(ERR, A, aclError, aclrtBinaryUnLoad, (aclrtBinHandle bin_handle), (bin_handle)) \
    X(ERR, A, aclError, aclrtBinaryGetFunction, \
        (aclrtBinHandle bin_handle, const char *kernel_name, aclrtFuncHandle *func_handle), \
        (bin_handle, kernel_name, func_handle)) \
    X(ERR, A, aclError, aclrtBinaryGetFunctionByEntry, \
        (aclrtBinHandle bin_handle, uint64_t func_entry, aclrtFuncHandle *func_handle), \
        (bin_handle, func_entry, func_handle)) \
    X(ERR, B, aclError, aclrtBinaryGetDevAddress, \
        (aclrtBinHandle bin_handle, void **bin_addr, size_t *bin_size), \
        (bin_handle, bin_addr, bin_size)) \
    X(ERR, D, aclError, aclrtBinaryGetGlobal, \
        (aclrtBinHandle bin_handle, const char *name, void **dptr, size_t *size), \
        (bin_handle, name, dptr, size)) \
    X(ERR, B, aclError, aclrtRegisterCpuFunc, \
        (aclrtBinHandle handle, const char *func_name, const char *kernel_name, \
        aclrtFuncHandle *func_handle), \
        (handle, func_name, kernel_name, func_handle)) \
    X(ERR, D, aclError, aclrtGetFuncBySymbol, \
        (const void *symbol, aclrtFuncHandle *func_handle), \
        (symbol, func_handle)) \
    X(ERR, A, aclError, aclrtGetFunctionAddr, \
        (aclrtFuncHandle func_handle, void **aic_addr, void **aiv_addr), \
        (func_handle, aic_addr, aiv_addr)) \
    X(ERR, D, aclError, aclrtGetFunctionSize, \
        (aclrtFuncHandle func_handle, size_t *aic_size, size_t *aiv_size), \
        (func_handle, aic_size, aiv_size)) \
    X(ERR, B, aclError, aclrtGetFunctionName, \
        (aclrtFuncHandle func_handle, uint32_t max_len, char *name), \
        (func_handle, max_len, name)) \
    X(ERR, B, aclError, aclrtGetFunctionAttribute, \
        (aclrtFuncHandle func_handle, aclrtFuncAttribute attr_type, int64_t *attr_value), \
        (func_handle, attr_type, attr_value)) \
    X(ERR, D, aclError, aclrtFunctionGetBinary, \
        (aclrtFuncHandle func_handle, aclrtBinHandle *bin_handle), \
        (func_handle, bin_handle)) \
    X(ERR, D, aclError, aclrtFunctionGetParamCount, \
        (const void *func, size_t *param_count), \
        (func, param_count)) \
    X(ERR, D, aclError, aclrtFunctionGetParamInfo, \
        (const void *func, size_t param_index, size_t *param_offset, size_t *param_size), \
        (func, param_index, param_offset, param_size)) \
    X(ERR, D, aclError, aclrtFunctionGetAvailDynUbufPerBlock, \
        (void *func, uint32_t flags, size_t *dynamic_ubuf_size), \
        (func, flags, dynamic_ubuf_size)) \
    X(ERR, A, aclError, aclrtKernelArgsInit, \
        (aclrtFuncHandle func_handle, aclrtArgsHandle *args_handle), \
        (func_handle, args_handle)) \
    X(ERR, A, aclError, aclrtKernelArgsGetHandleMemSize, \
        (aclrtFuncHandle func_handle, size_t *mem_size), \
        (func_handle, mem_size)) \
    X(ERR, A, aclError, aclrtKernelArgsGetMemSize, \
        (aclrtFuncHandle func_handle, size_t user_args_size, size_t *actual_args_size), \
        (func_handle, user_args_size, actual_args_size)) \
    X(ERR, A, aclError, aclrtKernelArgsInitByUserMem, \
        (aclrtFuncHandle func_handle, aclrtArgsHandle args_handle, void *user_host_mem, \
        size_t actual_args_size), \
        (func_handle, args_handle, user_host_mem, actual_args_size)) \
    X(ERR, A, aclError, aclrtKernelArgsAppend, \
        (aclrtArgsHandle args_handle, void *param, size_t param_size, aclrtParamHandle *param_handle), \
        (args_handle, param, param_size, param_handle)) \
    X(ERR, A, aclError, aclrtKernelArgsAppendPlaceHolder, \
        (aclrtArgsHandle args_handle, aclrtParamHandle *param_handle), \
        (args_handle, param_handle)) \
    X(ERR, A, aclError, aclrtKernelArgsGetPlaceHolderBuffer, \
        (aclrtArgsHandle args_handle, aclrtParamHandle param_handle, size_t data_size, \
        void **buffer_addr), \
        (args_handle, param_handle, data_size, buffer_addr)) \
    X(ERR, A, aclError, aclrtKernelArgsParaUpdate, \
        (aclrtArgsHandle args_handle, aclrtParamHandle param_handle, void *param, size_t param_size), \
        (args_handle, param_handle, param, param_size)) \
    X(ERR, A, aclError, aclrtKernelArgsFinalize, (aclrtArgsHandle args_handle), (args_handle)) \
    X(ERR, A, aclError, aclrtLaunchKernel, \
        (aclrtFuncHandle func_handle, uint32_t num_blocks, const void *args_data, size_t args_size, \
        aclrtStream stream), \
        (func_handle, num_blocks, args_data, args_size, stream)) \
    X(ERR, B, aclError, aclrtLaunchKernelV2, \
        (aclrtFuncHandle func_handle, uint32_t num_blocks, const void *args_data, size_t args_size, \
        aclrtLaunchKernelCfg *cfg, aclrtStream stream), \
        (func_handle, num_blocks, args_data, args_size, cfg, stream)) \
    X(ERR, A, aclError, aclrtLaunchKernelWithConfig, \
        (aclrtFuncHandle func_handle, uint32_t num_blocks, aclrtStream stream, aclrtLaunchKernelCfg *cfg, \
        aclrtArgsHandle args_handle, void *reserve), \
        (func_handle, num_blocks, stream, cfg, args_handle, reserve)) \
    X(ERR, B, aclError, aclrtLaunchKernelWithHostArgs, \
        (aclrtFuncHandle func_handle, uint32_t num_blocks, aclrtStream stream, aclrtLaunchKernelCfg *cfg, \
        void *host_args, size_t args_size, aclrtPlaceHolderInfo *place_holder_array, \
        size_t place_holder_num), \
        (func_handle, num_blocks, stream, cfg, host_args, args_size, place_holder_array, \
        place_holder_num)) \
    X(ERR, D, aclError, aclrtLaunchKernelWithArgsArray, \
        (void *func, uint32_t num_blocks, aclrtStream stream, aclrtLaunchKernelCfg *cfg, void **args), \
        (func, num_blocks, stream, cfg, args)) \
    X(ERR, E, aclError, aclrtLaunchSIMTKernelWithArgsArray, \
        (void *func, ascend_cy_dim3 grid_dim, ascend_cy_dim3 block_dim, size_t dyn_ubuf_size, \
        aclrtStream stream, aclrtLaunchKernelCfg *cfg, void **args), \
        (func, grid_dim, block_dim, dyn_ubuf_size, stream, cfg, args)) \
    X(ERR, E, aclError, aclrtLaunchSIMTKernelWithHostArgs, \
        (void *func, ascend_cy_dim3 grid_dim, ascend_cy_dim3 block_dim, size_t dyn_ubuf_size, \
        aclrtStream stream, aclrtLaunchKernelCfg *cfg, void *host_args, size_t args_size, \
        aclrtPlaceHolderInfo *place_holder_array, size_t place_holder_num), \
        (func, grid_dim, block_dim, dyn_ubuf_size, stream, cfg, host_args, args_size, place_holder_array, \
        place_holder_num)) \
    X(ERR, B, aclError, aclrtGetHardwareSyncAddr, (void **addr), (addr)) \
    /* notifies and labels */ \
    X(ERR, B, aclError, aclrtCreateNotify, (aclrtNotify *notify, uint64_t flag), (notify, flag)) \
    X(ERR, B, aclError, aclrtDestroyNotify, (aclrtNotify notify), (notify)) \
    X(ERR, B, aclError, aclrtRecordNotify, (aclrtNotify notify, aclrtStream stream), (notify, stream)) \
    X(ERR, B, aclError, aclrtWaitAndResetNotify, \
        (aclrtNotify notify, aclrtStream stream, uint32_t timeout), \
        (notify, stream, timeout)) \
    X(ERR, B, aclError, aclrtGetNotifyId, (aclrtNotify notify, uint32_t *notify_id), (notify, notify_id)) \
    X(ERR, B, aclError, aclrtNotifyBatchReset, (aclrtNotify *notifies, size_t num), (notifies, num)) \
    X(ERR, B, aclError, aclrtNotifyGetExportKey, \
        (aclrtNotify notify, char *key, size_t len, uint64_t flags), \
        (notify, key, len, flags)) \
    X(ERR, B, aclError, aclrtNotifyImportByKey, \
        (aclrtNotify *notify, const char *key, uint64_t flags), \
        (notify, key, flags)) \
    X(ERR, B, aclError, aclrtNotifySetImportPid, \
        (aclrtNotify notify, int32_t *pid, size_t num), \
        (notify, pid, num)) \
    X(ERR, B, aclError, aclrtNotifySetImportPidInterServer, \
        (aclrtNotify notify, aclrtServerPid *server_pids, size_t num), \
        (notify, server_pids, num)) \
    X(ERR, B, aclError, aclrtCntNotifyCreate, \
        (aclrtCntNotify *cnt_notify, uint64_t flag), \
        (cnt_notify, flag)) \
    X(ERR, B, aclError, aclrtCntNotifyDestroy, (aclrtCntNotify cnt_notify), (cnt_notify)) \
    X(ERR, B, aclError, aclrtCntNotifyRecord, \
        (aclrtCntNotify cnt_notify, aclrtStream stream, aclrtCntNotifyRecordInfo *info), \
        (cnt_notify, stream, info)) \
    X(ERR, B, aclError, aclrtCntNotifyWaitWithTimeout, \
        (aclrtCntNotify cnt_notify, aclrtStream stream, aclrtCntNotifyWaitInfo *info), \
        (cnt_notify, stream, info)) \
    X(ERR, B, aclError, aclrtCntNotifyReset, \
        (aclrtCntNotify cnt_notify, aclrtStream stream), \
        (cnt_notify, stream)) \
    X(ERR, B, aclError, aclrtCntNotifyGetId, \
        (aclrtCntNotify cnt_notify, uint32_t *notify_id), \
        (cnt_notify, notify_id)) \
    X(ERR, B, aclError, aclrtCreateLabel, (aclrtLabel *label), (label)) \
    X(ERR, B, aclError, aclrtDestroyLabel, (aclrtLabel label), (label)) \
    X(ERR, B, aclError, aclrtSetLabel, (aclrtLabel label, aclrtStream stream), (label, stream)) \
    X(ERR, B, aclError, aclrtCreateLabelList, \
        (aclrtLabel *labels, size_t num, aclrtLabelList *label_list), \
        (labels, num, label_list)) \
    X(ERR, B, aclError, aclrtDestroyLabelList, (aclrtLabelList label_list), (label_list)) \
    X(ERR, B, aclError, aclrtSwitchLabelByIndex, \
        (void *ptr, uint32_t max_value, aclrtLabelList label_list, aclrtStream stream), \
        (ptr, max_value, label_list, stream)) \
    /* runtime instances: capture, build, replay */ \
    X(ERR, A, aclError, aclmdlRICaptureBegin, \
        (aclrtStream stream, aclmdlRICaptureMode mode), \
        (stream, mode)) \
    X(ERR, A, aclError, aclmdlRICaptureEnd, (aclrtStream stream, aclmdlRI *model_ri), (stream, model_ri)) \
    X(ERR, A, aclError, aclmdlRICaptureGetInfo, \
        (aclrtStream stream, aclmdlRICaptureStatus *status, aclmdlRI *model_ri), \
        (stream, status, model_ri)) \
    X(ERR, A, aclError, aclmdlRICaptureThreadExchangeMode, (aclmdlRICaptureMode *mode), (mode)) \
    X(ERR, A, aclError, aclmdlRICaptureTaskGrpBegin, (aclrtStream stream), (stream)) \
    X(ERR, A, aclError, aclmdlRICaptureTaskGrpEnd, \
        (aclrtStream stream, aclrtTaskGrp *handle), \
        (stream, handle)) \
    X(ERR, A, aclError, aclmdlRICaptureTaskUpdateBegin, \
        (aclrtStream stream, aclrtTaskGrp handle), \
        (stream, handle)) \
    X(ERR, A, aclError, aclmdlRICaptureTaskUpdateEnd, (aclrtStream stream), (stream)) \
    X(ERR, D, aclError, aclmdlRICaptureToModelRIBegin, \
        (aclrtStream stream, aclmdlRI model_ri, aclmdlRICaptureMode mode), \
        (stream, model_ri, mode)) \
    X(ERR, B, aclError, aclmdlRIBuildBegin, (aclmdlRI *model_ri, uint32_t flag), (model_ri, flag)) \
    X(ERR, B, aclError, aclmdlRIBindStream, \
        (aclmdlRI model_ri, aclrtStream stream, uint32_t flag), \
        (model_ri, stream, flag)) \
    X(ERR, B, aclError, aclmdlRIEndTask, (aclmdlRI model_ri, aclrtStream stream), (model_ri, stream)) \
    X(ERR, B, aclError, aclmdlRIBuildEnd, (aclmdlRI model_ri, void *reserve), (model_ri, reserve)) \
    X(ERR, B, aclError, aclmdlRIUnbindStream, (aclmdlRI model_ri, aclrtStream stream), (model_ri, stream)) \
    X(ERR, B, aclError, aclmdlRIExecute, (aclmdlRI model_ri, int32_t timeout), (model_ri, timeout)) \
    X(ERR, A, aclError, aclmdlRIExecuteAsync, (aclmdlRI model_ri, aclrtStream stream), (model_ri, stream)) \
    X(ERR, B, aclError, aclmdlRIAbort, (aclmdlRI model_ri), (model_ri)) \
    X(ERR, A, aclError, aclmdlRIDestroy, (aclmdlRI model_ri), (model_ri)) \
    X(ERR, C, aclError, aclmdlRIDestroyRegisterCallback, \
        (aclmdlRI model_ri, aclrtCallback func, void *user_data), \
        (model_ri, func, user_data)) \
    X(ERR, C, aclError, aclmdlRIDestroyUnregisterCallback, \
        (aclmdlRI model_ri, aclrtCallback func), \
        (model_ri, func)) \
    X(ERR, B, aclError, aclmdlRISetName, (aclmdlRI model_ri, const char *name), (model_ri, name)) \
    X(ERR, B, aclError, aclmdlRIGetName, \
        (aclmdlRI model_ri, uint32_t max_len, char *name), \
        (model_ri, max_len, name)) \
    X(ERR, D, aclError, aclmdlRIGetId, (aclmdlRI model_ri, uint32_t *model_riid), (model_ri, model_riid)) \
    X(ERR, A, aclError, aclmdlRIDebugPrint, (aclmdlRI model_ri), (model_ri)) \
    X(ERR, B, aclError, aclmdlRIDebugJsonPrint, \
        (aclmdlRI model_ri, const char *path, uint32_t flags), \
        (model_ri, path, flags)) \
    X(ERR, D, aclError, aclmdlRIGetStreams, \
        (aclmdlRI model_ri, aclrtStream *streams, uint32_t *num_streams), \
        (model_ri, streams, num_streams)) \
    X(ERR, D, aclError, aclmdlRIGetTasksByStream, \
        (aclrtStream stream, aclmdlRITask *tasks, uint32_t *num_tasks), \
        (stream, tasks, num_tasks)) \
    X(ERR, D, aclError, aclmdlRITaskGetType, (aclmdlRITask task, aclmdlRITaskType *type), (task, type)) \
    X(ERR, D, aclError, aclmdlRITaskGetSeqId, (aclmdlRITask task, uint32_t *id), (task, id)) \
    X(ERR, D, aclError, aclmdlRITaskGetParams, \
        (aclmdlRITask task, aclmdlRITaskParams *params), \
        (task, params)) \
    X(ERR, D, aclError, aclmdlRITaskSetParams, \
        (aclmdlRITask task, aclmdlRITaskParams *params), \
        (task, params)) \
    X(ERR, D, aclError, aclmdlRIKernelTaskGetAttribute, \
        (aclmdlRITask task, aclrtLaunchKernelAttrId attr_id, aclrtLaunchKernelAttrValue *attr_value), \
        (task, attr_id, attr_value)) \
    X(ERR, D, aclError, aclmdlRITaskDisable, (aclmdlRITask task), (task)) \
    X(ERR, D, aclError, aclmdlRIUpdate, (aclmdlRI model_ri), (model_ri)) \
    X(ERR, D, aclError, aclmdlRICondHandleCreate, \
        (aclmdlRI model_ri, uint32_t default_launch_value, aclmdlRICondHandleFlag flag, \
        aclmdlRICondHandle *handle), \
        (model_ri, default_launch_value, flag, handle)) \
    X(ERR, D, aclError, aclmdlRICondHandleGetCondPtr, \
        (aclmdlRICondHandle handle, uint64_t **ptr), \
        (handle, ptr)) \
    X(ERR, D, aclError, aclmdlRIAddCondTask, \
        (aclmdlRICondTaskParams params, aclrtStream stream, uint32_t flags), \
        (params, stream, flags)) \
    /* data buffers and data types */ \
    X(PTR, A, aclDataBuffer *, aclCreateDataBuffer, (void *data, size_t size), (data, size)) \
    X(ERR, A, aclError, aclDestroyDataBuffer, (const aclDataBuffer *data_buffer), (data_buffer)) \
    X(ERR, A, aclError, aclUpdateDataBuffer, \
        (aclDataBuffer *data_buffer, void *data, size_t size), \
        (data_buffer, data, size)) \
    X(PTR, A, void *, aclGetDataBufferAddr, (const aclDataBuffer *data_buffer), (data_buffer)) \
    X(U32, A, uint32_t, aclGetDataBufferSize, (const aclDataBuffer *data_buffer), (data_buffer)) \
    X(SIZE, A, size_t, aclGetDataBufferSizeV2, (const aclDataBuffer *data_buffer), (data_buffer)) \
    X(SIZE, A, size_t, aclDataTypeSize, (aclDataType data_type), (data_type)) \
    X(F32, A, float, aclFloat16ToFloat, (aclFloat16 value), (value)) \
    X(U16, A, aclFloat16, aclFloatToFloat16, (float value), (value))
/* clang-format on */

#endif /* ASCEND_CY_ACL_FUNCTIONS_H */
