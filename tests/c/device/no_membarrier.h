/* SPDX-License-Identifier: Apache-2.0
 * Takes the system call membarrier from the process, as old systems and sandboxes do: the device then keeps its records of
 * what calls use another way (in_use.h). For C++ tests, before they call anything. */
#ifndef DEVICE_TEST_NO_MEMBARRIER_H
#define DEVICE_TEST_NO_MEMBARRIER_H

#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

/* What a test program ends with that could not run here. */
constexpr int NOT_RUN = 77;

/* From here on membarrier gives ENOSYS in this thread and all it starts. */
inline bool forbid_membarrier()
{
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program = {sizeof code / sizeof *code, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0
        && syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == -1 && errno == ENOSYS;
}

/* Whether the program can go on: without membarrier if `word` asks for that. */
inline bool membarrier_as_asked(const char *word)
{
    if (strcmp(word, "no_membarrier") != 0) return true;
    if (forbid_membarrier()) return true;
    puts("not run: calls cannot be taken from a process here");
    return false;
}

#endif
