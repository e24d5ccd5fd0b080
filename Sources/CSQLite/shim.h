#ifndef CSQLITE_SHIM_H
#define CSQLITE_SHIM_H

#include <sqlite3.h>

// sqlite3_db_config is variadic, which Swift does not import, and whose arguments are passed differently from those of
// a plain function on some platforms. Every option that takes a switch and gives it back has this one form.
static inline int csqlite_db_config_flag(sqlite3 *database, int option, int value, int *current) {
    return sqlite3_db_config(database, option, value, current);
}

// SQLITE_TRANSIENT is a cast of -1 to a function pointer, which Swift does not import.
static inline sqlite3_destructor_type csqlite_transient(void) {
    return SQLITE_TRANSIENT;
}

#endif
