#pragma once
// PKCS #11 2.40. Only the header: modules are loaded at run time, and p11-kit is not linked.
#include <p11-kit-1/p11-kit/pkcs11.h>
