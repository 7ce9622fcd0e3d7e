#pragma once
#include <libpq-fe.h>

// The fields of an error, which Swift cannot import because libpq-fe.h defines them as characters.

static inline int CPostgreSQL_PG_DIAG_SEVERITY_NONLOCALIZED(void) { return PG_DIAG_SEVERITY_NONLOCALIZED; }
static inline int CPostgreSQL_PG_DIAG_SQLSTATE(void) { return PG_DIAG_SQLSTATE; }
static inline int CPostgreSQL_PG_DIAG_MESSAGE_PRIMARY(void) { return PG_DIAG_MESSAGE_PRIMARY; }
