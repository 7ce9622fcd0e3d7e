// The functions of libFuzzer that a program may call (llvm/docs/LibFuzzer.rst). No installed header declares them.
#include <stddef.h>
#include <stdint.h>

// Runs the fuzzer with a program's arguments. Returns after the last input.
int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*callback)(const uint8_t *data, size_t count));

// Mutates bytes in place as libFuzzer does by default, to at most `most` bytes. Returns the new number of bytes.
size_t LLVMFuzzerMutate(uint8_t *data, size_t count, size_t most);
