# Kernels of one's own for other people's Cython code: launched without the GIL. Append-only.

from ascend_cy._stream cimport Stream


# What launches `kernel` (an ascend_cy.Kernel): with the version of its module that is loaded now, which stays loaded until
# kernel_release(). A reload is seen by the next kernel_acquire(). Needs the GIL. Kernels with `data` parameters are refused.
cdef void *kernel_acquire(object kernel) except NULL
# Enqueues `blocks` blocks on `stream` (None: the thread's current stream). `args` are `size` bytes of parameters as the kernel
# reads them: a struct, whose members are at a multiple of their size, at least of 4, as the kernel's are. They are copied.
# Memory behind the pointers in them is the caller's care: array_order_stream() before, array_record_stream() after.
cdef int kernel_launch(void *kernel, unsigned int blocks, const void *args, size_t size, Stream stream) except -1 nogil
# Any thread, with or without the GIL; queued launches go on. NULL is allowed.
cdef void kernel_release(void *kernel) noexcept nogil
