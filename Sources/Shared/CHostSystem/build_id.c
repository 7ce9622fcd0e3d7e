#include "build_id.h"

// Package.swift defines the build id if the environment has one. It is in a separate file, so that a new commit
// recompiles only this file.
#ifndef REMOTE_PIN_BUILD_ID
#define REMOTE_PIN_BUILD_ID ""
#endif

const char *remote_pin_build_id(void) { return REMOTE_PIN_BUILD_ID; }
