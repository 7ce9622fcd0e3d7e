// The functions of libFuzzer that a program may call (llvm/docs/LibFuzzer.rst). No installed header declares them.
#include <stddef.h>
#include <stdint.h>

// Runs the fuzzer with a program's arguments. Returns after the last input.
int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*callback)(const uint8_t *data, size_t count));

// Changes bytes in place, to at most `most` of them, as libFuzzer does without a custom mutator. Returns their number.
size_t LLVMFuzzerMutate(uint8_t *data, size_t count, size_t most);
