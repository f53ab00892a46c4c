# The host library's own headers (runtime.h, pool.h, launch.h …) as Cython declarations. No logic.
# For the package's own modules, which link libascend_cy; others cimport ascend_cy.

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t


cdef extern from "ascend_cy/runtime.h" nogil:
    int ASCEND_CY_ABI_VERSION
    enum:
        ASCEND_CY_KIND_NONE
        ASCEND_CY_KIND_NPU
        ASCEND_CY_KIND_CPU
        ASCEND_CY_KIND_SIM

    ctypedef struct ascend_cy_device_info_t:
        int kind
        int unified
        const char *requested
        const char *library
        const char *reason
        const char *tried
        int error

    const ascend_cy_device_info_t *ascend_cy_device_info() noexcept
    int ascend_cy_init() noexcept
    int ascend_cy_is_initialized() noexcept
    int ascend_cy_ensure_context() noexcept
    int ascend_cy_current_device(int32_t *device) noexcept
    int ascend_cy_set_device(int32_t device) noexcept
    int ascend_cy_device_count(uint32_t *count) noexcept
    int ascend_cy_has(const char *function) noexcept
    const char *ascend_cy_package_dir() noexcept
    void ascend_cy_shutdown() noexcept
    int ascend_cy_is_forked_child() noexcept

    const char *ascend_cy_last_message() noexcept
    const char *ascend_cy_last_function() noexcept
    int ascend_cy_last_code() noexcept
    int ascend_cy_record_error(int code, const char *function) noexcept
    const char *ascend_cy_error_name(int code) noexcept

    ctypedef struct ascend_cy_stream_t:
        pass
    int ascend_cy_stream_create(int32_t device, uint32_t priority, uint32_t flags,
                                ascend_cy_stream_t **out) noexcept
    int ascend_cy_stream_wrap(int32_t device, void *handle, void (*on_release)(void *) noexcept nogil,
                              void *context, ascend_cy_stream_t **out) noexcept
    void ascend_cy_stream_retain(ascend_cy_stream_t *stream) noexcept
    void ascend_cy_stream_release(ascend_cy_stream_t *stream) noexcept
    void *ascend_cy_stream_handle(const ascend_cy_stream_t *stream) noexcept
    int32_t ascend_cy_stream_device(const ascend_cy_stream_t *stream) noexcept
    ascend_cy_stream_t *ascend_cy_current_stream() noexcept
    int ascend_cy_set_current_stream(ascend_cy_stream_t *stream) noexcept
    ascend_cy_stream_t *ascend_cy_default_stream(int32_t device) noexcept
    int ascend_cy_stream_synchronize(ascend_cy_stream_t *stream, int32_t timeout_ms) noexcept
    int ascend_cy_stream_query(ascend_cy_stream_t *stream, int *done) noexcept
    int ascend_cy_stream_wait_stream(ascend_cy_stream_t *stream, ascend_cy_stream_t *other) noexcept
    int ascend_cy_stream_enter(ascend_cy_stream_t *stream, void **previous) noexcept
    void ascend_cy_stream_leave(void *previous) noexcept
    int ascend_cy_synchronize_device(int32_t timeout_ms) noexcept
    uint64_t ascend_cy_devices_used() noexcept
    int ascend_cy_stream_add_host_function(ascend_cy_stream_t *stream,
                                           void (*function)(void *) noexcept nogil, void *context) noexcept
    int ascend_cy_may_wait(const char *what) noexcept

    ctypedef struct ascend_cy_event_t:
        pass
    int ascend_cy_event_create(int32_t device, uint32_t flags, ascend_cy_event_t **out) noexcept
    void ascend_cy_event_release(ascend_cy_event_t *event) noexcept
    void *ascend_cy_event_handle(const ascend_cy_event_t *event) noexcept
    int ascend_cy_event_record(ascend_cy_event_t *event, ascend_cy_stream_t *stream) noexcept
    int ascend_cy_event_recorded(const ascend_cy_event_t *event) noexcept
    int ascend_cy_event_query(ascend_cy_event_t *event, int *done) noexcept
    int ascend_cy_event_synchronize(ascend_cy_event_t *event, int32_t timeout_ms) noexcept
    int ascend_cy_stream_wait_event(ascend_cy_stream_t *stream, ascend_cy_event_t *event) noexcept
    int ascend_cy_event_elapsed_ms(ascend_cy_event_t *start, ascend_cy_event_t *end, float *ms) noexcept

    ctypedef struct ascend_cy_live_counts_t:
        int64_t streams
        int64_t events
        int64_t buffers
        int64_t buffer_bytes
        int64_t pinned
        int64_t pinned_bytes
    void ascend_cy_live_counts(ascend_cy_live_counts_t *out) noexcept


cdef extern from "ascend_cy/pool.h" nogil:
    ctypedef struct ascend_cy_buffer_t:
        pass
    int ascend_cy_buffer_create(size_t size, ascend_cy_stream_t *stream, ascend_cy_buffer_t **out) noexcept
    int ascend_cy_buffer_create_within(size_t size, ascend_cy_stream_t *stream, int32_t timeout_ms,
                                       ascend_cy_buffer_t **out) noexcept
    int ascend_cy_buffer_wrap(void *pointer, size_t size, ascend_cy_stream_t *stream,
                              void (*on_release)(void *) noexcept nogil, void *context,
                              ascend_cy_buffer_t **out) noexcept
    int ascend_cy_buffer_try_create(size_t size, ascend_cy_stream_t *stream, ascend_cy_buffer_t **out) noexcept
    void ascend_cy_buffer_retain(ascend_cy_buffer_t *buffer) noexcept
    void ascend_cy_buffer_release(ascend_cy_buffer_t *buffer) noexcept
    uint32_t ascend_cy_buffer_owners(const ascend_cy_buffer_t *buffer) noexcept
    int ascend_cy_buffer_take_back(ascend_cy_buffer_t *buffer) noexcept
    int ascend_cy_buffer_is_shared(const ascend_cy_buffer_t *buffer) noexcept
    void *ascend_cy_buffer_pointer(const ascend_cy_buffer_t *buffer) noexcept
    size_t ascend_cy_buffer_size(const ascend_cy_buffer_t *buffer) noexcept
    ascend_cy_stream_t *ascend_cy_buffer_stream(const ascend_cy_buffer_t *buffer) noexcept
    int ascend_cy_buffer_record_stream(ascend_cy_buffer_t *buffer, ascend_cy_stream_t *stream) noexcept
    int ascend_cy_buffer_order(ascend_cy_buffer_t *buffer, ascend_cy_stream_t *stream) noexcept

    int ascend_cy_buffer_layout(const size_t *sizes, size_t count, size_t *offsets, size_t *total) noexcept

    int ascend_cy_buffers_order(ascend_cy_buffer_t *const *buffers, int reads, int count,
                                ascend_cy_stream_t *stream) noexcept
    int ascend_cy_buffers_record(ascend_cy_buffer_t *const *buffers, int reads, int count,
                                 ascend_cy_stream_t *stream) noexcept

    ctypedef struct ascend_cy_pool_t:
        pass
    int ascend_cy_pool_create(int32_t device, const char *name, uint64_t limit, ascend_cy_pool_t **out) noexcept
    void ascend_cy_pool_retain(ascend_cy_pool_t *pool) noexcept
    void ascend_cy_pool_release(ascend_cy_pool_t *pool) noexcept
    int32_t ascend_cy_pool_device(const ascend_cy_pool_t *pool) noexcept
    const char *ascend_cy_pool_name(const ascend_cy_pool_t *pool) noexcept
    ascend_cy_pool_t *ascend_cy_default_pool(int32_t device) noexcept
    ascend_cy_pool_t *ascend_cy_current_pool(int32_t device) noexcept
    int ascend_cy_set_current_pool(int32_t device, ascend_cy_pool_t *pool) noexcept
    ascend_cy_pool_t *ascend_cy_buffer_pool(const ascend_cy_buffer_t *buffer) noexcept

    ctypedef struct ascend_cy_pool_figures_t:
        uint64_t in_use_bytes
        uint64_t reserved_bytes
        uint64_t cached_bytes
        uint64_t pending_bytes
        uint64_t largest_free_bytes
        uint64_t limit_bytes
        uint64_t peak_in_use_bytes
        uint64_t peak_reserved_bytes
        uint64_t allocations
        uint64_t hits
        uint64_t device_allocations
        uint64_t device_frees
        uint64_t buffers
        uint64_t free_blocks
        uint64_t segments
        double hit_rate
        double fragmentation
    int ascend_cy_pool_figures(ascend_cy_pool_t *pool, ascend_cy_pool_figures_t *out, size_t size) noexcept
    int ascend_cy_pool_reset_peaks(ascend_cy_pool_t *pool) noexcept
    int ascend_cy_pool_limit_to(ascend_cy_pool_t *pool, uint64_t bytes) noexcept
    int ascend_cy_pool_trim_to(ascend_cy_pool_t *pool, uint64_t keep, int32_t timeout_ms) noexcept

    int ascend_cy_pool_hazard_mode() noexcept
    size_t ascend_cy_pool_hazards() noexcept
    const char *ascend_cy_pool_hazard(size_t index) noexcept

    int ascend_cy_pinned_alloc_within(size_t size, int32_t timeout_ms, void **out) noexcept
    void ascend_cy_pinned_free(void *pointer) noexcept
    int ascend_cy_pinned_record_stream(void *pointer, ascend_cy_stream_t *stream) noexcept
    int ascend_cy_pinned_trim_within(int32_t timeout_ms) noexcept


cdef extern from "ascend_cy/launch.h" nogil:
    int ascend_cy_layernorm(const void *x, const void *gamma, const void *beta, void *y, float *mean,
                            float *rstd, int64_t rows, int64_t cols, int dtype, int gamma_dtype,
                            int beta_dtype, double eps, void *stream) noexcept
    int ascend_cy_layernorm_backward(const void *dy, const void *x, const float *mean, const float *rstd,
                                     const void *gamma, void *dx, void *dgamma, void *dbeta, int64_t rows,
                                     int64_t cols, int dtype, int gamma_dtype, ascend_cy_stream_t *stream) noexcept
    int ascend_cy_vector_add(const void *a, const void *b, void *y, int64_t n, int dtype, void *stream) noexcept

    ctypedef struct ascend_cy_matrices_t:
        const void *data
        int64_t batch_stride
        int64_t row_stride
        int64_t col_stride
    int ascend_cy_matmul(const ascend_cy_matrices_t *a, const ascend_cy_matrices_t *b, void *c, int64_t c_row_stride,
                         int64_t c_batch_stride, int64_t batch, int64_t m, int64_t n, int64_t k, int dtype,
                         void *stream) noexcept

cdef extern from "ascend_cy/module.h" nogil:
    ctypedef struct ascend_cy_module_t:
        pass
    ctypedef struct ascend_cy_kernel_t:
        pass
    ctypedef struct ascend_cy_inline_data_t:
        uint32_t slot
        uint32_t data
        uint32_t size
    int ascend_cy_module_load(const void *image, size_t size, const char *name, ascend_cy_module_t **out) noexcept
    void ascend_cy_module_retain(ascend_cy_module_t *module) noexcept
    void ascend_cy_module_release(ascend_cy_module_t *module) noexcept
    int64_t ascend_cy_live_modules() noexcept
    ctypedef struct ascend_cy_launches_t:
        pass
    int ascend_cy_module_wait(ascend_cy_module_t *module, int32_t timeout_ms) noexcept
    int ascend_cy_module_launches(ascend_cy_module_t *module, ascend_cy_launches_t **out) noexcept
    int ascend_cy_launches_wait(ascend_cy_launches_t *launches, int32_t timeout_ms) noexcept
    void ascend_cy_launches_release(ascend_cy_launches_t *launches) noexcept
    int ascend_cy_module_kernel(ascend_cy_module_t *module, const char *name, ascend_cy_kernel_t **out) noexcept
    int ascend_cy_kernel_param_count(ascend_cy_kernel_t *kernel, size_t *count) noexcept
    int ascend_cy_kernel_param(ascend_cy_kernel_t *kernel, size_t index, size_t *offset, size_t *size) noexcept
    int ascend_cy_kernel_launch(ascend_cy_kernel_t *kernel, uint32_t blocks, void *args, size_t params_size, size_t size,
                                const ascend_cy_inline_data_t *inline_data, size_t count,
                                ascend_cy_stream_t *stream) noexcept

cdef extern from "ascend_cy/profile.h" nogil:
    ctypedef struct ascend_cy_range_t:
        const char *name
        uint64_t stream
        int32_t device
        double enqueued_us
        double begin_us
        double end_us
    int ascend_cy_profile_start() noexcept
    int ascend_cy_profile_stop(ascend_cy_range_t **ranges, size_t *count, size_t *lost) noexcept
    void ascend_cy_profile_free(ascend_cy_range_t *ranges) noexcept
    void *ascend_cy_range_begin(const char *name, ascend_cy_stream_t *stream) noexcept
    void ascend_cy_range_end(void *range) noexcept

cdef extern from "ascend_cy/device_log.h" nogil:
    ctypedef struct ascend_cy_log_line_t:
        ascend_cy_log_line_t *next
        const char *text
        int64_t written_ns
        int64_t thread
        const char *thread_name
        uint32_t topic
    int ascend_cy_device_log_start(uint32_t topics) noexcept
    void ascend_cy_device_log_stop() noexcept
    void ascend_cy_device_log_take(ascend_cy_log_line_t **lines, uint64_t *lost) noexcept
    void ascend_cy_device_log_free(ascend_cy_log_line_t *lines) noexcept
