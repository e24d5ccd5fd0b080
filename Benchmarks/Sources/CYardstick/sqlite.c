#include <sqlite3.h>
#include <stdlib.h>

#include "checksum.h"
#include "list.h"
#include "order.h"

enum { noteCapacity = 4096 };

struct cy_sqlite {
    sqlite3 *database;
    cy_layout layout;
    sqlite3_stmt *begin, *commit, *findHabit, *insert, *history, *digest, *read;
    char note[noteCapacity];
};

static const char *schemas[] = {
    "PRAGMA journal_mode = WAL;"
    "CREATE TABLE Habit (id BLOB NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;"
    "CREATE TABLE Entry (id BLOB NOT NULL PRIMARY KEY, date REAL NOT NULL, note TEXT, value REAL, habitID BLOB)"
    "  STRICT, WITHOUT ROWID;",
    "PRAGMA journal_mode = WAL;"
    "CREATE TABLE Habit (id BLOB NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;"
    "CREATE TABLE Entry (id BLOB NOT NULL, date REAL NOT NULL, note TEXT, value REAL, habitID BLOB NOT NULL,"
    "  PRIMARY KEY (habitID, date, id)) STRICT, WITHOUT ROWID;",
};

static const char *indexes[] = {
    "CREATE INDEX Entry_habitID_date ON Entry (habitID, date, id); CREATE INDEX Entry_date ON Entry (date, id);",
    "CREATE UNIQUE INDEX Entry_id ON Entry (id); CREATE INDEX Entry_date ON Entry (date, id);",
};

// A change log and two sums for each range of identifiers, as in a store with history and digests.
static const char *bookkeeping =
    "CREATE TABLE IF NOT EXISTS History (token INTEGER PRIMARY KEY, time REAL NOT NULL, author TEXT, changes BLOB NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS Digest (part INTEGER PRIMARY KEY, count INTEGER NOT NULL, low INTEGER NOT NULL, high INTEGER NOT NULL)"
    "  STRICT;"
    "WITH RECURSIVE parts (part) AS (SELECT 0 UNION ALL SELECT part + 1 FROM parts WHERE part < 255)"
    "  INSERT OR IGNORE INTO Digest SELECT part, 0, 0, 0 FROM parts;";

static int prepare(cy_sqlite *store, const char *text, sqlite3_stmt **statement) {
    return *statement ? SQLITE_OK : sqlite3_prepare_v2(store->database, text, -1, statement, 0);
}

static int run(sqlite3_stmt *statement) {
    int result = sqlite3_step(statement);
    sqlite3_reset(statement);
    return result == SQLITE_DONE || result == SQLITE_ROW ? SQLITE_OK : result;
}

int cy_sqlite_open(const char *path, cy_layout layout, cy_sqlite **store) {
    cy_sqlite *made = calloc(1, sizeof *made);
    made->layout = layout;
    int result = sqlite3_open_v2(
        path, &made->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (result == SQLITE_OK) result = sqlite3_busy_timeout(made->database, 60000);
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
    sqlite3_finalize(store->begin);
    sqlite3_finalize(store->commit);
    sqlite3_finalize(store->findHabit);
    sqlite3_finalize(store->insert);
    sqlite3_finalize(store->history);
    sqlite3_finalize(store->digest);
    sqlite3_finalize(store->read);
    sqlite3_close(store->database);
    free(store);
}

static int prepare_insert(cy_sqlite *store) {
    int result = prepare(store, "BEGIN IMMEDIATE", &store->begin);
    if (!result) result = prepare(store, "COMMIT", &store->commit);
    if (!result) result = prepare(store, "SELECT 1 FROM Habit WHERE id = ?", &store->findHabit);
    if (!result) {
        result = prepare(
            store, "INSERT INTO Entry (id, date, note, value, habitID) VALUES (?, ?, ?, ?, ?)", &store->insert);
    }
    return result;
}

static int insert(cy_sqlite *store, const cy_entry *entry) {
    if (entry->hasHabit) {
        sqlite3_bind_blob(store->findHabit, 1, entry->habit, 16, SQLITE_STATIC);
        int found = sqlite3_step(store->findHabit);
        sqlite3_reset(store->findHabit);
        if (found != SQLITE_ROW) return SQLITE_CONSTRAINT;
    }
    sqlite3_stmt *statement = store->insert;
    sqlite3_bind_blob(statement, 1, entry->id, 16, SQLITE_STATIC);
    sqlite3_bind_double(statement, 2, entry->date);
    if (entry->noteLength < 0) sqlite3_bind_null(statement, 3);
    else sqlite3_bind_text(statement, 3, entry->note, entry->noteLength, SQLITE_STATIC);
    if (entry->hasValue) sqlite3_bind_double(statement, 4, entry->value);
    else sqlite3_bind_null(statement, 4);
    if (entry->hasHabit) sqlite3_bind_blob(statement, 5, entry->habit, 16, SQLITE_STATIC);
    else sqlite3_bind_null(statement, 5);
    return run(statement);
}

// Inserts in the order of the table; the indexes follow when the table is complete.
static int load_sorted(cy_sqlite *store, const cy_entry *entries, size_t count) {
    const cy_entry **sorted = malloc((count + 1) * sizeof *sorted);
    int result = 0;
    for (size_t i = 0; i < count; i++) sorted[i] = entries + i;
    qsort(sorted, count, sizeof *sorted, store->layout == cy_clustered ? cy_by_habit_date : cy_by_id);
    for (size_t i = 0; !result && i < count; i++) result = insert(store, sorted[i]);
    free(sorted);
    return result;
}

int cy_sqlite_load(
    const char *path, cy_layout layout, cy_load_order order, const cy_entry *entries, size_t count,
    const uint8_t *habits, size_t habitCount) {
    cy_sqlite *store;
    sqlite3_stmt *insertHabit = NULL;
    int result = cy_sqlite_open(path, layout, &store);
    if (result) return result;
    result = sqlite3_exec(store->database, schemas[layout], 0, 0, 0);
    if (!result && order == cy_given) result = sqlite3_exec(store->database, indexes[layout], 0, 0, 0);
    if (!result) result = prepare(store, "INSERT INTO Habit VALUES (?)", &insertHabit);
    if (!result) result = prepare_insert(store);
    if (!result) result = run(store->begin);
    for (size_t i = 0; !result && i < habitCount; i++) {
        sqlite3_bind_blob(insertHabit, 1, habits + 16 * i, 16, SQLITE_STATIC);
        result = run(insertHabit);
    }
    if (!result && order == cy_sorted) {
        result = load_sorted(store, entries, count);
        if (!result) result = sqlite3_exec(store->database, indexes[layout], 0, 0, 0);
    } else {
        for (size_t i = 0; !result && i < count; i++) result = insert(store, entries + i);
    }
    sqlite3_finalize(insertHabit);
    if (!result) result = run(store->commit);
    cy_sqlite_close(store);
    return result;
}

static int keep_history(cy_sqlite *store, const cy_entry *entry) {
    uint8_t change[33] = {1};
    memcpy(change + 1, entry->id, 16);
    memcpy(change + 17, entry->habit, 16);
    int result = store->history ? SQLITE_OK : sqlite3_exec(store->database, bookkeeping, 0, 0, 0);
    if (!result) result = prepare(store, "INSERT INTO History (time, author, changes) VALUES (?, 'bench', ?)", &store->history);
    if (!result) {
        result = prepare(
            store, "UPDATE Digest SET count = count + 1, low = low + ?, high = high + ? WHERE part = ?",
            &store->digest);
    }
    if (result) return result;
    sqlite3_bind_double(store->history, 1, entry->date);
    sqlite3_bind_blob(store->history, 2, change, sizeof change, SQLITE_STATIC);
    result = run(store->history);
    sqlite3_bind_int64(store->digest, 1, (sqlite3_int64)cy_checksum(entry) >> 2);
    sqlite3_bind_int64(store->digest, 2, entry->id[1]);
    sqlite3_bind_int64(store->digest, 3, entry->id[0]);
    return result ? result : run(store->digest);
}

int cy_sqlite_commit(cy_sqlite *store, cy_commit_kind kind, const cy_entry *entry) {
    int result = prepare_insert(store);
    if (!result) result = run(store->begin);
    if (result) return result;
    result = insert(store, entry);
    if (!result && kind == cy_with_history) result = keep_history(store, entry);
    if (result) sqlite3_exec(store->database, "ROLLBACK", 0, 0, 0);
    else result = run(store->commit);
    return result;
}

// The note is borrowed until the statement's next step.
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

// The cost of a read whose result does not outlive it: the entry, with its note in one buffer.
static uint64_t read_one(cy_sqlite *store, sqlite3_stmt *statement) {
    cy_entry entry = decode(statement);
    if (entry.noteLength > 0 && (size_t)entry.noteLength < sizeof store->note) {
        memcpy(store->note, entry.note, (size_t)entry.noteLength);
    }
    return cy_checksum(&entry);
}

int cy_sqlite_read(cy_sqlite *store, const uint8_t *id, uint64_t *checksum) {
    int result = prepare(store, "SELECT id, date, note, value, habitID FROM Entry WHERE id = ?", &store->read);
    if (result) return result;
    sqlite3_bind_blob(store->read, 1, id, 16, SQLITE_STATIC);
    result = sqlite3_step(store->read);
    if (result == SQLITE_ROW) *checksum = read_one(store, store->read);
    sqlite3_reset(store->read);
    return result == SQLITE_ROW ? SQLITE_OK : result;
}

int cy_sqlite_read_ids(cy_sqlite *store, const uint8_t *ids, size_t count, uint64_t *checksum) {
    sqlite3_stmt *statement = NULL;
    int result = prepare(store, "SELECT id, date, note, value, habitID FROM Entry WHERE id = ?", &statement);
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

static void append_rows(sqlite3_stmt *statement, cy_list *list) {
    while (sqlite3_step(statement) == SQLITE_ROW) {
        cy_entry entry = decode(statement);
        cy_list_append(list, &entry, entry.note);
    }
    cy_list_finish(list);
}

int cy_sqlite_ranges(cy_sqlite *store, const cy_range *ranges, size_t count, uint64_t *checksum) {
    sqlite3_stmt *statement = NULL;
    int result = prepare(
        store,
        "SELECT id, date, note, value, habitID FROM Entry WHERE habitID = ? AND date >= ? AND date < ? "
        "ORDER BY date, id",
        &statement);
    if (result) return result;
    cy_list list = {0};
    *checksum = 0;
    sqlite3_exec(store->database, "BEGIN", 0, 0, 0);
    for (size_t i = 0; i < count; i++) {
        sqlite3_bind_blob(statement, 1, ranges[i].habit, 16, SQLITE_STATIC);
        sqlite3_bind_double(statement, 2, ranges[i].from);
        sqlite3_bind_double(statement, 3, ranges[i].to);
        cy_list_clear(&list);
        append_rows(statement, &list);
        *checksum += cy_list_checksum(&list);
        sqlite3_reset(statement);
    }
    cy_list_free(&list);
    sqlite3_finalize(statement);
    return sqlite3_exec(store->database, "COMMIT", 0, 0, 0);
}

int cy_sqlite_scan(cy_sqlite *store, cy_list *list) {
    sqlite3_stmt *statement = NULL;
    int result = prepare(store, "SELECT id, date, note, value, habitID FROM Entry ORDER BY id", &statement);
    if (result) return result;
    append_rows(statement, list);
    return sqlite3_finalize(statement);
}

int cy_sqlite_contains(cy_sqlite *store, const char *text, cy_list *list) {
    sqlite3_stmt *statement = NULL;
    int result = prepare(
        store, "SELECT id, date, note, value, habitID FROM Entry WHERE instr(note, ?) > 0 ORDER BY id", &statement);
    if (result) return result;
    sqlite3_bind_text(statement, 1, text, -1, SQLITE_STATIC);
    append_rows(statement, list);
    return sqlite3_finalize(statement);
}

int cy_sqlite_count(cy_sqlite *store, double above, uint64_t *count) {
    sqlite3_stmt *statement = NULL;
    int result = prepare(store, "SELECT count(*) FROM Entry WHERE value > ?", &statement);
    if (result) return result;
    sqlite3_bind_double(statement, 1, above);
    if (sqlite3_step(statement) == SQLITE_ROW) *count = (uint64_t)sqlite3_column_int64(statement, 0);
    return sqlite3_finalize(statement);
}
