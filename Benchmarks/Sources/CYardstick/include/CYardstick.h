// The yardstick: the same work on the same data by hand in C, straight on SQLite and LMDB, with the same indexes.
#ifndef CYARDSTICK_H
#define CYARDSTICK_H

#include <stddef.h>
#include <stdint.h>

/// One entry, decoded. `noteLength` is -1 for no note.
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

/// One range of a habit's entries: from `from`, up to and not including `to`.
typedef struct {
    uint8_t habit[16];
    double from;
    double to;
} cy_range;

/// Decoded entries that outlive the transaction, as those of a fetch do: an array, and their notes one after the other.
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

// Each function returns 0, or the library's error code. A checksum adds up every field of every record that was read,
// so that all programs can be shown to have done the same work.

/// The SHA-1 over all rows of a database, computed as SQLite's program dbhash does.
int cy_dbhash(const char *path, uint8_t digest[20]);

/// How entries lie in a file: by identifier with an index on habit and date, or in the order of habit and date with an
/// index on the identifier.
typedef enum { cy_by_identifier, cy_clustered } cy_layout;

/// What a commit keeps besides the entry: nothing, or a line of history and the sums of a digest.
typedef enum { cy_entry_alone, cy_with_history } cy_commit_kind;

/// In which order a load writes: as the entries come, or each table and index in its own.
typedef enum { cy_given, cy_sorted } cy_load_order;

int cy_sqlite_load(
    const char *path, cy_layout layout, cy_load_order order, const cy_entry *entries, size_t count,
    const uint8_t *habits, size_t habitCount);
int cy_sqlite_open(const char *path, cy_layout layout, cy_sqlite **store);
int cy_sqlite_read_ids(cy_sqlite *store, const uint8_t *ids, size_t count, uint64_t *checksum);
/// Reads one entry in a transaction of its own, by a statement that is kept.
int cy_sqlite_read(cy_sqlite *store, const uint8_t *id, uint64_t *checksum);
int cy_sqlite_ranges(cy_sqlite *store, const cy_range *ranges, size_t count, uint64_t *checksum);
int cy_sqlite_scan(cy_sqlite *store, cy_list *list);
int cy_sqlite_contains(cy_sqlite *store, const char *text, cy_list *list);
/// How many entries have a value above a number.
int cy_sqlite_count(cy_sqlite *store, double above, uint64_t *count);
/// Inserts one entry, of a habit that must exist, in a durable transaction of its own.
int cy_sqlite_commit(cy_sqlite *store, cy_commit_kind kind, const cy_entry *entry);
void cy_sqlite_close(cy_sqlite *store);

int cy_lmdb_load(
    const char *path, cy_layout layout, cy_load_order order, const cy_entry *entries, size_t count,
    const uint8_t *habits, size_t habitCount);
int cy_lmdb_open(const char *path, cy_layout layout, cy_lmdb **store);
/// The same file for another thread, while the first one is open.
int cy_lmdb_share(const cy_lmdb *store, cy_lmdb **shared);
int cy_lmdb_read_ids(cy_lmdb *store, const uint8_t *ids, size_t count, uint64_t *checksum);
/// Reads one entry by a transaction that is kept and renewed.
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
