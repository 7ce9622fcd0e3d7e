#define _GNU_SOURCE

#include "host_system.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

int host_system_set_aside(int file, off_t offset, off_t length) {
    return fallocate(file, FALLOC_FL_KEEP_SIZE, offset, length);
}

int host_system_rename_exclusively(const char *name, const char *path) {
    return renameat2(AT_FDCWD, name, AT_FDCWD, path, RENAME_NOREPLACE);
}

const char *host_system_error_name(int code) { return strerrorname_np(code); }

int host_system_forbid_dumps(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

int host_system_allows_dumps(void) { return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0; }

int host_system_allowed_processors(void) {
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
}
