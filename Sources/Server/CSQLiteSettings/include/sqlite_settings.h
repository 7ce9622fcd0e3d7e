#pragma once

struct sqlite3;

// Settings of SQLite's sqlite3_db_config, which is variadic, so Swift cannot call it.

// Makes a connection run no trigger except its own temporary ones, read no view, trust no function in the schema, and
// reject changes of the schema other than by its statements. Returns SQLite's result code, an error before 3.35.
int sqlite_settings_harden(struct sqlite3 *connection);
