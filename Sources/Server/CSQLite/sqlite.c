#include "CSQLite.h"

// From this version on, the setting for triggers leaves those in the temporary schema, which a connection makes itself.
enum { TEMPORARY_TRIGGERS_VERSION = 3035000 };

int CSQLite_harden(sqlite3 *connection) {
    if (sqlite3_libversion_number() < TEMPORARY_TRIGGERS_VERSION) return SQLITE_ERROR;
    static const int settings[][2] = {
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_DQS_DML, 0},
        {SQLITE_DBCONFIG_DQS_DDL, 0},
    };
    for (unsigned place = 0; place < sizeof settings / sizeof settings[0]; place++) {
        int value = -1;
        int code = sqlite3_db_config(connection, settings[place][0], settings[place][1], &value);
        if (code != SQLITE_OK) return code;
        if (value != settings[place][1]) return SQLITE_ERROR;
    }
    return SQLITE_OK;
}
