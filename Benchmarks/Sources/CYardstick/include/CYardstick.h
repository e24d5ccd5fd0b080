// The yardstick: the same work on the same data, hand-written in C directly on SQLite and LMDB, with the same indexes.
#ifndef CYARDSTICK_H
#define CYARDSTICK_H

#include <stddef.h>
#include <stdint.h>

/// A decoded entry. `noteLength` is -1 without a note.
typedef struct {
    uint8_t id[16];
    uint8_t habit[16];
    double date;
    double value;
    const char *note;
    int32_t noteLength;
    uint8_t hasValue;
    uint8_t hasHabit;
} cy_entry;

/// A range of a habit's entries: from `from`, up to but not including `to`.
typedef struct {
    uint8_t habit[16];
    double from;
    double to;
} cy_range;

/// Decoded entries that outlive the transaction, like those of a fetch: an array and their concatenated notes.
typedef struct {
    cy_entry *entries;
    size_t count;
    size_t capacity;
    char *notes;
    size_t noteBytes;
    size_t noteCapacity;
} cy_list;

uint64_t cy_list_checksum(const cy_list *list);
void cy_list_free(cy_list *list);

typedef struct cy_sqlite cy_sqlite;
typedef struct cy_lmdb cy_lmdb;

// Each function returns 0 or the library's error code. A checksum sums up every field of every record that was read, to show that all programs did
// the
// same work.

/// The SHA-1 over all rows of a database, computed as SQLite's program dbhash does.
int cy_dbhash(const char *path, uint8_t digest[20]);

/// The layout of entries in a file: by identifier with an index on habit and date, or in the order of habit and date with an index on the identifier.
typedef enum { cy_by_identifier, cy_clustered } cy_layout;

/// The additional writes of a commit: none, or a history row and the sums of a digest.
typedef enum { cy_entry_alone, cy_with_history } cy_commit_kind;

/// The order in which a load writes: as the entries come, or each table and index in its own order.
typedef enum { cy_given, cy_sorted } cy_load_order;

int cy_sqlite_load(
    const char *path, cy_layout layout, cy_load_order order, const cy_entry *entries, size_t count,
    const uint8_t *habits, size_t habitCount);
int cy_sqlite_open(const char *path, cy_layout layout, cy_sqlite **store);
int cy_sqlite_read_ids(cy_sqlite *store, const uint8_t *ids, size_t count, uint64_t *checksum);
/// Reads one entry in a separate transaction with a cached statement.
int cy_sqlite_read(cy_sqlite *store, const uint8_t *id, uint64_t *checksum);
int cy_sqlite_ranges(cy_sqlite *store, const cy_range *ranges, size_t count, uint64_t *checksum);
int cy_sqlite_scan(cy_sqlite *store, cy_list *list);
int cy_sqlite_contains(cy_sqlite *store, const char *text, cy_list *list);
/// Counts the entries with a value above a number.
int cy_sqlite_count(cy_sqlite *store, double above, uint64_t *count);
/// Inserts one entry, of a habit that must exist, in a separate durable transaction.
int cy_sqlite_commit(cy_sqlite *store, cy_commit_kind kind, const cy_entry *entry);
void cy_sqlite_close(cy_sqlite *store);

int cy_lmdb_load(
    const char *path, cy_layout layout, cy_load_order order, const cy_entry *entries, size_t count,
    const uint8_t *habits, size_t habitCount);
int cy_lmdb_open(const char *path, cy_layout layout, cy_lmdb **store);
/// Opens the same file for another thread, while the first one is open.
int cy_lmdb_share(const cy_lmdb *store, cy_lmdb **shared);
int cy_lmdb_read_ids(cy_lmdb *store, const uint8_t *ids, size_t count, uint64_t *checksum);
/// Reads one entry in a transaction that is kept and renewed.
int cy_lmdb_read(cy_lmdb *store, const uint8_t *id, uint64_t *checksum);
int cy_lmdb_ranges(cy_lmdb *store, const cy_range *ranges, size_t count, uint64_t *checksum);
int cy_lmdb_scan(cy_lmdb *store, cy_list *list);
int cy_lmdb_contains(cy_lmdb *store, const char *text, cy_list *list);
int cy_lmdb_count(cy_lmdb *store, double above, uint64_t *count);
int cy_lmdb_commit(cy_lmdb *store, cy_commit_kind kind, const cy_entry *entry);
void cy_lmdb_close(cy_lmdb *store);

#include "measured.h"
#include "allocations.h"
#include "plans.h"
#include "server.h"

#endif
