#include "build_id.h"

// Given by Package.swift where the environment has one. In a file of its own: another commit compiles this and nothing else.
#ifndef REMOTE_PIN_BUILD_ID
#define REMOTE_PIN_BUILD_ID ""
#endif

const char *remote_pin_build_id(void) { return REMOTE_PIN_BUILD_ID; }
