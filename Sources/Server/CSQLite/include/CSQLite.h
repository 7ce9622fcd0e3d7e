#pragma once

#include <sqlite3.h>

// Settings of SQLite's sqlite3_db_config, which is variadic, so Swift cannot call it.

// Makes a connection run no trigger except its own temporary ones, read no view, trust no function in the schema,
// take no quoted name for a text, and reject changes of the schema other than by its statements. Returns SQLite's result code, an error before 3.35.
int CSQLite_harden(sqlite3 *connection);
