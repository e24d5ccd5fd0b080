#include <sqlite3.h>
#include <stdlib.h>

#include "checksum.h"
#include "list.h"

struct cy_sqlite {
    sqlite3 *database;
    char note[65536];
};

static const char *schema =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16384;"
    "CREATE TABLE Habit (id BLOB NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;"
    "CREATE TABLE Entry (id BLOB NOT NULL PRIMARY KEY, date REAL NOT NULL, note TEXT, value REAL, habitID BLOB)"
    "  STRICT, WITHOUT ROWID;"
    "CREATE INDEX Entry_habitID_date ON Entry (habitID, date, id);"
    "CREATE INDEX Entry_date ON Entry (date, id);";

int cy_sqlite_open(const char *path, cy_sqlite **store) {
    cy_sqlite *made = calloc(1, sizeof *made);
    int result = sqlite3_open_v2(
        path, &made->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (result == SQLITE_OK) {
        result = sqlite3_exec(made->database, "PRAGMA synchronous = FULL; PRAGMA cache_size = -16384;", 0, 0, 0);
    }
    if (result != SQLITE_OK) {
        cy_sqlite_close(made);
        return result;
    }
    *store = made;
    return 0;
}

void cy_sqlite_close(cy_sqlite *store) {
    sqlite3_close(store->database);
    free(store);
}

int cy_sqlite_load(const char *path, const cy_entry *entries, size_t count, const uint8_t *habits, size_t habitCount) {
    cy_sqlite *store;
    sqlite3_stmt *insertHabit = NULL, *findHabit = NULL, *insert = NULL;
    int result = cy_sqlite_open(path, &store);
    if (result) return result;
    result = sqlite3_exec(store->database, schema, 0, 0, 0);
    if (!result) result = sqlite3_prepare_v2(store->database, "INSERT INTO Habit VALUES (?)", -1, &insertHabit, 0);
    if (!result) result = sqlite3_prepare_v2(store->database, "SELECT 1 FROM Habit WHERE id = ?", -1, &findHabit, 0);
    if (!result) {
        result = sqlite3_prepare_v2(store->database, "INSERT INTO Entry VALUES (?, ?, ?, ?, ?)", -1, &insert, 0);
    }
    if (!result) result = sqlite3_exec(store->database, "BEGIN IMMEDIATE", 0, 0, 0);
    for (size_t i = 0; !result && i < habitCount; i++) {
        sqlite3_bind_blob(insertHabit, 1, habits + 16 * i, 16, SQLITE_STATIC);
        if (sqlite3_step(insertHabit) != SQLITE_DONE) result = SQLITE_ERROR;
        sqlite3_reset(insertHabit);
    }
    for (size_t i = 0; !result && i < count; i++) {
        const cy_entry *entry = entries + i;
        if (entry->hasHabit) {
            sqlite3_bind_blob(findHabit, 1, entry->habit, 16, SQLITE_STATIC);
            if (sqlite3_step(findHabit) != SQLITE_ROW) result = SQLITE_ERROR;
            sqlite3_reset(findHabit);
        }
        sqlite3_bind_blob(insert, 1, entry->id, 16, SQLITE_STATIC);
        sqlite3_bind_double(insert, 2, entry->date);
        if (entry->noteLength < 0) sqlite3_bind_null(insert, 3);
        else sqlite3_bind_text(insert, 3, entry->note, entry->noteLength, SQLITE_STATIC);
        if (entry->hasValue) sqlite3_bind_double(insert, 4, entry->value);
        else sqlite3_bind_null(insert, 4);
        if (entry->hasHabit) sqlite3_bind_blob(insert, 5, entry->habit, 16, SQLITE_STATIC);
        else sqlite3_bind_null(insert, 5);
        if (sqlite3_step(insert) != SQLITE_DONE) result = SQLITE_ERROR;
        sqlite3_reset(insert);
    }
    sqlite3_finalize(insertHabit);
    sqlite3_finalize(findHabit);
    sqlite3_finalize(insert);
    if (!result) result = sqlite3_exec(store->database, "COMMIT", 0, 0, 0);
    cy_sqlite_close(store);
    return result;
}

// The note is lent until the statement steps on.
static cy_entry decode(sqlite3_stmt *statement) {
    cy_entry entry;
    memcpy(entry.id, sqlite3_column_blob(statement, 0), 16);
    entry.date = sqlite3_column_double(statement, 1);
    entry.note = (const char *)sqlite3_column_text(statement, 2);
    entry.noteLength = entry.note ? sqlite3_column_bytes(statement, 2) : -1;
    entry.hasValue = sqlite3_column_type(statement, 3) != SQLITE_NULL;
    entry.value = sqlite3_column_double(statement, 3);
    const void *habit = sqlite3_column_blob(statement, 4);
    entry.hasHabit = habit != NULL;
    if (habit) memcpy(entry.habit, habit, 16);
    return entry;
}

// What one read costs when nothing outlives it: the entry, and its note in one buffer.
static uint64_t read_one(cy_sqlite *store, sqlite3_stmt *statement) {
    cy_entry entry = decode(statement);
    if (entry.noteLength > 0 && (size_t)entry.noteLength < sizeof store->note) {
        memcpy(store->note, entry.note, (size_t)entry.noteLength);
    }
    return cy_checksum(&entry);
}

int cy_sqlite_read_ids(cy_sqlite *store, const uint8_t *ids, size_t count, uint64_t *checksum) {
    sqlite3_stmt *statement;
    int result = sqlite3_prepare_v2(
        store->database, "SELECT id, date, note, value, habitID FROM Entry WHERE id = ?", -1, &statement, 0);
    if (result) return result;
    *checksum = 0;
    sqlite3_exec(store->database, "BEGIN", 0, 0, 0);
    for (size_t i = 0; i < count; i++) {
        sqlite3_bind_blob(statement, 1, ids + 16 * i, 16, SQLITE_STATIC);
        if (sqlite3_step(statement) == SQLITE_ROW) *checksum += read_one(store, statement);
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    return sqlite3_exec(store->database, "COMMIT", 0, 0, 0);
}

int cy_sqlite_ranges(cy_sqlite *store, const cy_range *ranges, size_t count, uint64_t *checksum) {
    sqlite3_stmt *statement;
    int result = sqlite3_prepare_v2(
        store->database,
        "SELECT id, date, note, value, habitID FROM Entry WHERE habitID = ? AND date >= ? AND date < ? "
        "ORDER BY date, id",
        -1, &statement, 0);
    if (result) return result;
    cy_list list = {0};
    *checksum = 0;
    sqlite3_exec(store->database, "BEGIN", 0, 0, 0);
    for (size_t i = 0; i < count; i++) {
        sqlite3_bind_blob(statement, 1, ranges[i].habit, 16, SQLITE_STATIC);
        sqlite3_bind_double(statement, 2, ranges[i].from);
        sqlite3_bind_double(statement, 3, ranges[i].to);
        cy_list_clear(&list);
        while (sqlite3_step(statement) == SQLITE_ROW) {
            cy_entry entry = decode(statement);
            cy_list_append(&list, &entry, entry.note);
        }
        cy_list_finish(&list);
        *checksum += cy_list_checksum(&list);
        sqlite3_reset(statement);
    }
    cy_list_free(&list);
    sqlite3_finalize(statement);
    return sqlite3_exec(store->database, "COMMIT", 0, 0, 0);
}

int cy_sqlite_scan(cy_sqlite *store, cy_list *list) {
    sqlite3_stmt *statement;
    int result = sqlite3_prepare_v2(
        store->database, "SELECT id, date, note, value, habitID FROM Entry ORDER BY id", -1, &statement, 0);
    if (result) return result;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        cy_entry entry = decode(statement);
        cy_list_append(list, &entry, entry.note);
    }
    cy_list_finish(list);
    return sqlite3_finalize(statement);
}
