#pragma once

// The commit that the programs were built from, in the form of `git describe`; empty if the build did not set it.
const char *_Nonnull remote_pin_build_id(void);
