// SPDX-License-Identifier: Apache-2.0
//
// The words that Ascend C adds to C++. On a host most of them mean nothing; `__global__` keeps a kernel visible, so that
// the entry table can ask the dynamic linker for its linkage name.
#ifndef ASCENDC_SIM_QUALIFIERS_H
#define ASCENDC_SIM_QUALIFIERS_H

// Before the words below become macros.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#define ASCENDC_SIM 1

#ifndef __NPU_ARCH__
#define __NPU_ARCH__ 2201
#endif
#ifndef __CCE_AICORE__
#define __CCE_AICORE__ 220
#endif

#define __global__ __attribute__((visibility("default")))
#define __aicore__
#define __vector__
#define __cube__
#define __mix__(...)
#define __schedmode__(...)
#define __inout_pipe__(...)
#define __in_pipe__(...)
#define __out_pipe__(...)
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __fbuf__
#define __ssbuf__
#define __sync_alias__
#define __sync_noalias__
#define __check_sync_alias__

#define GM_ADDR __gm__ uint8_t *

#ifndef likely
#define likely(x) __builtin_expect(!!(x), 1)
#endif
#ifndef unlikely
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif

// A loop whose iterations are independent, or work on exactly the same elements.
#if defined(__clang__)
#define ASCENDC_SIM_VECTOR_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define ASCENDC_SIM_VECTOR_LOOP _Pragma("GCC ivdep")
#endif

#endif // ASCENDC_SIM_QUALIFIERS_H
