#pragma once

#include <sys/types.h>

// Linux functions that Swift's module of the C library does not offer.

// fallocate(2) with FALLOC_FL_KEEP_SIZE: reserves room after a file's end without changing the file's length.
int host_system_set_aside(int file, off_t offset, off_t length);

// renameat2(2) with RENAME_NOREPLACE: fails with EEXIST if the new name exists, or EINVAL if the file system cannot.
int host_system_rename_exclusively(const char *name, const char *path);

// strerrorname_np(3): the name of an error number, such as "EACCES", or null if it is unknown.
const char *host_system_error_name(int code);

// prctl(2) with PR_SET_DUMPABLE 0, and with PR_GET_DUMPABLE.
int host_system_forbid_dumps(void);
int host_system_allows_dumps(void);

// The number of processors in sched_getaffinity(2), or 0 on failure.
int host_system_allowed_processors(void);
