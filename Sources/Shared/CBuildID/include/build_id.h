#pragma once

// Which commit the programs were built from, as `git describe` says it; empty where the build did not say.
const char *_Nonnull remote_pin_build_id(void);
