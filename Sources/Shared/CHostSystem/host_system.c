#define _GNU_SOURCE

#include "host_system.h"

#include <fcntl.h>

int host_system_set_aside(int file, off_t offset, off_t length) {
    return fallocate(file, FALLOC_FL_KEEP_SIZE, offset, length);
}
