#pragma once
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/obj_mac.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// Functions for the macros of libssl, which Swift cannot call. Each has the name of its macro with a prefix.

static inline int COpenSSL_SSL_CTX_set_min_proto_version(SSL_CTX *context, int version) {
    return SSL_CTX_set_min_proto_version(context, version);
}

static inline int COpenSSL_SSL_CTX_set_max_proto_version(SSL_CTX *context, int version) {
    return SSL_CTX_set_max_proto_version(context, version);
}

static inline long COpenSSL_SSL_CTX_set_mode(SSL_CTX *context, long mode) {
    return SSL_CTX_set_mode(context, mode);
}

// Returns the certificate at a place in the context's chain, which excludes the first one; NULL after the last.
static inline X509 *COpenSSL_SSL_CTX_get0_chain_cert(SSL_CTX *context, int place) {
    STACK_OF(X509) *chain = NULL;
    SSL_CTX_get0_chain_certs(context, &chain);
    return place < sk_X509_num(chain) ? sk_X509_value(chain, place) : NULL;
}

static inline long COpenSSL_SSL_CTX_set_max_send_fragment(SSL_CTX *context, long byteCount) {
    return SSL_CTX_set_max_send_fragment(context, byteCount);
}

static inline long COpenSSL_SSL_CTX_set_session_cache_mode(SSL_CTX *context, long mode) {
    return SSL_CTX_set_session_cache_mode(context, mode);
}

static inline int COpenSSL_SSL_CTX_set1_groups_list(SSL_CTX *context, const char *groups) {
    return (int)SSL_CTX_set1_groups_list(context, (char *)groups);
}

static inline int COpenSSL_SSL_set_tlsext_host_name(SSL *connection, const char *name) {
    return (int)SSL_set_tlsext_host_name(connection, (char *)name);
}

static inline long COpenSSL_SSL_get_tmp_key(SSL *connection, EVP_PKEY **key) {
    return SSL_get_tmp_key(connection, key);
}

static inline long COpenSSL_SSL_get_peer_tmp_key(SSL *connection, EVP_PKEY **key) {
    return SSL_get_peer_tmp_key(connection, key);
}

static inline void COpenSSL_SSL_set_msg_callback_arg(SSL *connection, void *argument) {
    SSL_set_msg_callback_arg(connection, argument);
}

static inline uint64_t COpenSSL_SSL_OP_NO_RENEGOTIATION(void) { return SSL_OP_NO_RENEGOTIATION; }

static inline uint64_t COpenSSL_SSL_OP_NO_COMPRESSION(void) { return SSL_OP_NO_COMPRESSION; }

static inline uint64_t COpenSSL_SSL_OP_CIPHER_SERVER_PREFERENCE(void) { return SSL_OP_CIPHER_SERVER_PREFERENCE; }

static inline uint64_t COpenSSL_SSL_OP_CLEANSE_PLAINTEXT(void) { return SSL_OP_CLEANSE_PLAINTEXT; }

// Sets key and hash of an HMAC; the parameters' constructors take pointers that are not const.
static inline int COpenSSL_set_mac_key(EVP_MAC_CTX *mac, const void *key, size_t byteCount) {
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, (void *)key, byteCount),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0),
        OSSL_PARAM_construct_end(),
    };
    return EVP_MAC_CTX_set_params(mac, parameters);
}

// EC_POINTs_mul is deprecated since OpenSSL 3.0 in favor of a function for one point, which cannot share the doublings
// of many points. It is also declared here, as a weak symbol, so that a header or a library without it causes no error.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
extern int EC_POINTs_mul(
    const EC_GROUP *group, EC_POINT *result, const BIGNUM *ofGenerator, size_t count, const EC_POINT *points[],
    const BIGNUM *scalars[], BN_CTX *scratch
) __attribute__((weak));

static inline int COpenSSL_has_EC_POINTs_mul(void) { return EC_POINTs_mul != NULL; }
#pragma GCC diagnostic pop

static inline int COpenSSL_EC_POINTs_mul(
    const EC_GROUP *group, EC_POINT *result, const BIGNUM *ofGenerator, size_t count, const EC_POINT **points,
    const BIGNUM **scalars, BN_CTX *scratch
) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return EC_POINTs_mul(group, result, ofGenerator, count, points, scalars, scratch);
#pragma GCC diagnostic pop
}

// OpenSSL 3.0 deprecated the functions of individual hashes in favor of EVP, which allocates each copy of a state.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static inline int COpenSSL_SHA256_Init(SHA256_CTX *state) { return SHA256_Init(state); }

static inline int COpenSSL_SHA256_Update(SHA256_CTX *state, const void *bytes, size_t byteCount) {
    return SHA256_Update(state, bytes, byteCount);
}

static inline int COpenSSL_SHA256_Final(unsigned char *digest, SHA256_CTX *state) {
    return SHA256_Final(digest, state);
}
#pragma GCC diagnostic pop

static inline int COpenSSL_ERR_GET_REASON(unsigned long code) { return ERR_GET_REASON(code); }

static inline int COpenSSL_ERR_GET_LIB(unsigned long code) { return ERR_GET_LIB(code); }
