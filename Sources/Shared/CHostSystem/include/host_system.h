#pragma once

#include <sys/types.h>

// What Linux has beyond what Swift's module of the C library shows.

// fallocate(2) with FALLOC_FL_KEEP_SIZE: room behind a file's end, which stays the file's without being in it.
int host_system_set_aside(int file, off_t offset, off_t length);

// prctl(2) with PR_SET_DUMPABLE 0, and with PR_GET_DUMPABLE.
int host_system_forbid_dumps(void);
int host_system_allows_dumps(void);
