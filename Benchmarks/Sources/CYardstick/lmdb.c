// For memmem.
#define _GNU_SOURCE
#include <lmdb.h>
#include <stdlib.h>

#include "checksum.h"
#include "list.h"
#include "order.h"

// Record: date 8, value 8, flags 1 (1 value, 2 habit, 4 note), habit 16, then the note.
// By identifier: id -> record, and an index habit 16 | date 8 (order-preserving) | id 16 with empty values.
// Clustered: habit 16 | date 8 | id 16 -> record, and id -> habit 16 | date 8.
// Both: an index date 8 | id 16 with empty values.

enum { recordHeader = 33, noteCapacity = 4096 };

struct cy_lmdb {
    MDB_env *environment;
    MDB_dbi habits, entries, byHabit, byDate, history, digests;
    cy_layout layout;
    MDB_txn *reader;
    int isShared;
    uint8_t record[recordHeader + noteCapacity];
    char note[noteCapacity];
};

static void order_bytes(double number, uint8_t *bytes) {
    uint64_t bits = cy_bits(number);
    bits = bits >> 63 ? ~bits : bits ^ (1ull << 63);
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(bits >> (56 - 8 * i));
}

int cy_lmdb_open(const char *path, cy_layout layout, cy_lmdb **store) {
    cy_lmdb *made = calloc(1, sizeof *made);
    MDB_txn *transaction = NULL;
    made->layout = layout;
    int result = mdb_env_create(&made->environment);
    if (!result) result = mdb_env_set_mapsize(made->environment, (size_t)4 << 30);
    if (!result) result = mdb_env_set_maxdbs(made->environment, 8);
    if (!result) result = mdb_env_open(made->environment, path, MDB_NOSUBDIR | MDB_NOTLS, 0600);
    // Only a new file needs a write transaction.
    MDB_stat status;
    if (!result) result = mdb_env_stat(made->environment, &status);
    unsigned int flags = !result && status.ms_entries == 0 ? 0 : MDB_RDONLY, create = flags ? 0 : MDB_CREATE;
    if (!result) result = mdb_txn_begin(made->environment, NULL, flags, &transaction);
    if (!result) result = mdb_dbi_open(transaction, "Habit", create, &made->habits);
    if (!result) result = mdb_dbi_open(transaction, "Entry", create, &made->entries);
    if (!result) result = mdb_dbi_open(transaction, "Entry.habitID+date", create, &made->byHabit);
    if (!result) result = mdb_dbi_open(transaction, "Entry.date", create, &made->byDate);
    if (!result) result = mdb_dbi_open(transaction, "history", create, &made->history);
    if (!result) result = mdb_dbi_open(transaction, "digests", create, &made->digests);
    if (!result) result = mdb_txn_commit(transaction);
    if (result) {
        cy_lmdb_close(made);
        return result;
    }
    *store = made;
    return 0;
}

int cy_lmdb_share(const cy_lmdb *store, cy_lmdb **shared) {
    cy_lmdb *made = calloc(1, sizeof *made);
    *made = *store;
    made->reader = NULL;
    made->isShared = 1;
    *shared = made;
    return 0;
}

void cy_lmdb_close(cy_lmdb *store) {
    if (store->reader) mdb_txn_abort(store->reader);
    if (!store->isShared) mdb_env_close(store->environment);
    free(store);
}

static MDB_val encode(cy_lmdb *store, const cy_entry *entry) {
    uint8_t *record = store->record;
    memcpy(record, &entry->date, 8);
    memcpy(record + 8, &entry->value, 8);
    record[16] = (uint8_t)(entry->hasValue | entry->hasHabit << 1 | (entry->noteLength >= 0) << 2);
    memcpy(record + 17, entry->habit, 16);
    size_t length = entry->noteLength > 0 ? (size_t)entry->noteLength : 0;
    if (length > 0) memcpy(record + recordHeader, entry->note, length);
    return (MDB_val){recordHeader + length, record};
}

static void make_index(const cy_entry *entry, uint8_t *index) {
    if (entry->hasHabit) memcpy(index, entry->habit, 16);
    else memset(index, 0, 16);
    order_bytes(entry->date, index + 16);
    memcpy(index + 24, entry->id, 16);
}

static int insert(cy_lmdb *store, MDB_txn *transaction, const cy_entry *entry) {
    if (entry->noteLength > noteCapacity) return MDB_BAD_VALSIZE;
    if (entry->hasHabit) {
        MDB_val habit = {16, (void *)entry->habit}, found;
        int result = mdb_get(transaction, store->habits, &habit, &found);
        if (result) return result;
    }
    uint8_t index[40];
    make_index(entry, index);
    MDB_val empty = {0, ""}, id = {16, (void *)entry->id}, byHabit = {40, index}, byDate = {24, index + 16};
    MDB_val place = {24, index}, record = encode(store, entry);
    int isClustered = store->layout == cy_clustered;
    int result = mdb_put(transaction, store->entries, &id, isClustered ? &place : &record, MDB_NOOVERWRITE);
    if (!result) result = mdb_put(transaction, store->byHabit, &byHabit, isClustered ? &record : &empty, 0);
    if (!result) result = mdb_put(transaction, store->byDate, &byDate, &empty, 0);
    return result;
}

static int add_habits(cy_lmdb *store, MDB_txn *transaction, const uint8_t *habits, size_t count) {
    MDB_val empty = {0, ""};
    int result = 0;
    for (size_t i = 0; !result && i < count; i++) {
        MDB_val key = {16, (void *)(habits + 16 * i)};
        result = mdb_put(transaction, store->habits, &key, &empty, MDB_NOOVERWRITE);
    }
    return result;
}

// Fills one database in the order of its keys, appending each key after the last one.
static int append_all(
    cy_lmdb *store, MDB_txn *transaction, MDB_dbi database, const cy_entry **sorted, size_t count,
    void (*make)(cy_lmdb *, const cy_entry *, uint8_t *, MDB_val *, MDB_val *)) {
    MDB_cursor *cursor;
    int result = mdb_cursor_open(transaction, database, &cursor);
    if (result) return result;
    for (size_t i = 0; !result && i < count; i++) {
        uint8_t index[40];
        MDB_val key, value;
        make(store, sorted[i], index, &key, &value);
        result = mdb_cursor_put(cursor, &key, &value, MDB_APPEND);
    }
    mdb_cursor_close(cursor);
    return result;
}

static void make_record(cy_lmdb *store, const cy_entry *entry, uint8_t *index, MDB_val *key, MDB_val *value) {
    *key = (MDB_val){16, (void *)entry->id};
    if (store->layout == cy_by_identifier) {
        *value = encode(store, entry);
        return;
    }
    make_index(entry, index);
    *value = (MDB_val){24, index};
}

static void make_habit_key(cy_lmdb *store, const cy_entry *entry, uint8_t *index, MDB_val *key, MDB_val *value) {
    make_index(entry, index);
    *key = (MDB_val){40, index};
    *value = store->layout == cy_clustered ? encode(store, entry) : (MDB_val){0, ""};
}

static void make_date_key(cy_lmdb *store, const cy_entry *entry, uint8_t *index, MDB_val *key, MDB_val *value) {
    (void)store;
    make_index(entry, index);
    *key = (MDB_val){24, index + 16};
    *value = (MDB_val){0, ""};
}

// Sorts for each database, and appends to it.
static int load_sorted(cy_lmdb *store, MDB_txn *transaction, const cy_entry *entries, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!entries[i].hasHabit) continue;
        MDB_val habit = {16, (void *)entries[i].habit}, found;
        int result = mdb_get(transaction, store->habits, &habit, &found);
        if (result) return result;
    }
    const cy_entry **sorted = malloc((count + 1) * sizeof *sorted);
    for (size_t i = 0; i < count; i++) sorted[i] = entries + i;
    qsort(sorted, count, sizeof *sorted, cy_by_id);
    int result = append_all(store, transaction, store->entries, sorted, count, make_record);
    if (!result) qsort(sorted, count, sizeof *sorted, cy_by_habit_date);
    if (!result) result = append_all(store, transaction, store->byHabit, sorted, count, make_habit_key);
    if (!result) qsort(sorted, count, sizeof *sorted, cy_by_date);
    if (!result) result = append_all(store, transaction, store->byDate, sorted, count, make_date_key);
    free(sorted);
    return result;
}

int cy_lmdb_load(
    const char *path, cy_layout layout, cy_load_order order, const cy_entry *entries, size_t count,
    const uint8_t *habits, size_t habitCount) {
    cy_lmdb *store;
    MDB_txn *transaction;
    int result = cy_lmdb_open(path, layout, &store);
    if (result) return result;
    result = mdb_txn_begin(store->environment, NULL, 0, &transaction);
    if (!result) {
        result = add_habits(store, transaction, habits, habitCount);
        if (!result && order == cy_sorted) result = load_sorted(store, transaction, entries, count);
        else for (size_t i = 0; !result && i < count; i++) result = insert(store, transaction, entries + i);
        if (result) mdb_txn_abort(transaction);
        else result = mdb_txn_commit(transaction);
    }
    cy_lmdb_close(store);
    return result;
}

// Appends a history row, and updates the two sums for a range of identifiers.
static int keep_history(cy_lmdb *store, MDB_txn *transaction, const cy_entry *entry) {
    uint8_t token[8] = {0}, change[49] = {1};
    MDB_cursor *cursor;
    MDB_val key, value;
    int result = mdb_cursor_open(transaction, store->history, &cursor);
    if (result) return result;
    if (!mdb_cursor_get(cursor, &key, &value, MDB_LAST)) memcpy(token, key.mv_data, 8);
    for (int i = 7; i >= 0 && ++token[i] == 0;) i--;
    memcpy(change + 1, &entry->date, 8);
    memcpy(change + 17, entry->id, 16);
    memcpy(change + 33, entry->habit, 16);
    key = (MDB_val){8, token};
    value = (MDB_val){sizeof change, change};
    result = mdb_cursor_put(cursor, &key, &value, MDB_APPEND);
    mdb_cursor_close(cursor);
    uint64_t sums[3] = {0};
    key = (MDB_val){1, (void *)entry->id};
    if (!result && !mdb_get(transaction, store->digests, &key, &value)) memcpy(sums, value.mv_data, sizeof sums);
    sums[0] += 1;
    sums[1] += cy_checksum(entry);
    sums[2] += entry->id[1];
    value = (MDB_val){sizeof sums, sums};
    return result ? result : mdb_put(transaction, store->digests, &key, &value, 0);
}

int cy_lmdb_commit(cy_lmdb *store, cy_commit_kind kind, const cy_entry *entry) {
    MDB_txn *transaction;
    int result = mdb_txn_begin(store->environment, NULL, 0, &transaction);
    if (result) return result;
    result = insert(store, transaction, entry);
    if (!result && kind == cy_with_history) result = keep_history(store, transaction, entry);
    if (!result) return mdb_txn_commit(transaction);
    mdb_txn_abort(transaction);
    return result;
}

// The note is borrowed until the transaction ends.
static cy_entry decode(const void *id, MDB_val value) {
    cy_entry entry;
    const uint8_t *record = value.mv_data;
    memcpy(entry.id, id, 16);
    memcpy(&entry.date, record, 8);
    memcpy(&entry.value, record + 8, 8);
    entry.hasValue = record[16] & 1;
    entry.hasHabit = record[16] >> 1 & 1;
    memcpy(entry.habit, record + 17, 16);
    entry.noteLength = record[16] & 4 ? (int32_t)(value.mv_size - recordHeader) : -1;
    entry.note = (const char *)record + recordHeader;
    return entry;
}

// The cost of a read whose result does not outlive it: the entry, with its note in one buffer.
static uint64_t read_one(cy_lmdb *store, const void *id, MDB_val value) {
    cy_entry entry = decode(id, value);
    if (entry.noteLength > 0 && (size_t)entry.noteLength < sizeof store->note) {
        memcpy(store->note, entry.note, (size_t)entry.noteLength);
    }
    return cy_checksum(&entry);
}

static int find(cy_lmdb *store, MDB_txn *transaction, const uint8_t *id, MDB_val *record) {
    MDB_val key = {16, (void *)id};
    int result = mdb_get(transaction, store->entries, &key, record);
    if (result || store->layout == cy_by_identifier) return result;
    uint8_t place[40];
    memcpy(place, record->mv_data, 24);
    memcpy(place + 24, id, 16);
    key = (MDB_val){40, place};
    return mdb_get(transaction, store->byHabit, &key, record);
}

int cy_lmdb_read(cy_lmdb *store, const uint8_t *id, uint64_t *checksum) {
    int result = store->reader ? mdb_txn_renew(store->reader)
                               : mdb_txn_begin(store->environment, NULL, MDB_RDONLY, &store->reader);
    if (result) return result;
    MDB_val record;
    result = find(store, store->reader, id, &record);
    if (!result) *checksum = read_one(store, id, record);
    mdb_txn_reset(store->reader);
    return result;
}

int cy_lmdb_read_ids(cy_lmdb *store, const uint8_t *ids, size_t count, uint64_t *checksum) {
    MDB_txn *transaction;
    int result = mdb_txn_begin(store->environment, NULL, MDB_RDONLY, &transaction);
    if (result) return result;
    *checksum = 0;
    for (size_t i = 0; i < count; i++) {
        MDB_val record;
        if (!find(store, transaction, ids + 16 * i, &record)) *checksum += read_one(store, ids + 16 * i, record);
    }
    mdb_txn_abort(transaction);
    return 0;
}

static int range(cy_lmdb *store, MDB_txn *transaction, MDB_cursor *cursor, const cy_range *range, cy_list *list) {
    uint8_t from[24], to[24];
    memcpy(from, range->habit, 16);
    order_bytes(range->from, from + 16);
    memcpy(to, range->habit, 16);
    order_bytes(range->to, to + 16);
    MDB_val key = {24, from}, record;
    int step = mdb_cursor_get(cursor, &key, &record, MDB_SET_RANGE);
    while (!step && memcmp(key.mv_data, to, 24) < 0) {
        const uint8_t *id = (const uint8_t *)key.mv_data + 24;
        int result = store->layout == cy_clustered ? 0 : find(store, transaction, id, &record);
        if (result) return result;
        cy_entry entry = decode(id, record);
        cy_list_append(list, &entry, entry.note);
        step = mdb_cursor_get(cursor, &key, &record, MDB_NEXT);
    }
    cy_list_finish(list);
    return 0;
}

int cy_lmdb_ranges(cy_lmdb *store, const cy_range *ranges, size_t count, uint64_t *checksum) {
    MDB_txn *transaction;
    MDB_cursor *cursor;
    int result = mdb_txn_begin(store->environment, NULL, MDB_RDONLY, &transaction);
    if (result) return result;
    result = mdb_cursor_open(transaction, store->byHabit, &cursor);
    if (!result) {
        cy_list list = {0};
        *checksum = 0;
        for (size_t i = 0; !result && i < count; i++) {
            cy_list_clear(&list);
            result = range(store, transaction, cursor, ranges + i, &list);
            *checksum += cy_list_checksum(&list);
        }
        cy_list_free(&list);
        mdb_cursor_close(cursor);
    }
    mdb_txn_abort(transaction);
    return result;
}

// Visits all records by identifier.
typedef void visit(const cy_entry *entry, void *context);

static int walk(cy_lmdb *store, visit *visit, void *context) {
    MDB_txn *transaction;
    MDB_cursor *cursor;
    MDB_val key, value;
    int result = mdb_txn_begin(store->environment, NULL, MDB_RDONLY, &transaction);
    if (result) return result;
    result = mdb_cursor_open(transaction, store->entries, &cursor);
    if (!result) {
        int step = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
        while (!step) {
            cy_entry entry = decode(key.mv_data, value);
            visit(&entry, context);
            step = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
        }
        mdb_cursor_close(cursor);
    }
    mdb_txn_abort(transaction);
    return result;
}

static void append(const cy_entry *entry, void *context) { cy_list_append(context, entry, entry->note); }

int cy_lmdb_scan(cy_lmdb *store, cy_list *list) {
    int result = walk(store, append, list);
    cy_list_finish(list);
    return result;
}

typedef struct {
    const char *text;
    size_t length;
    cy_list *list;
} search;

static void append_match(const cy_entry *entry, void *context) {
    const search *wanted = context;
    if (entry->noteLength <= 0 || !memmem(entry->note, (size_t)entry->noteLength, wanted->text, wanted->length)) return;
    cy_list_append(wanted->list, entry, entry->note);
}

int cy_lmdb_contains(cy_lmdb *store, const char *text, cy_list *list) {
    search wanted = {text, strlen(text), list};
    int result = walk(store, append_match, &wanted);
    cy_list_finish(list);
    return result;
}

typedef struct {
    double above;
    uint64_t count;
} tally;

static void count_match(const cy_entry *entry, void *context) {
    tally *found = context;
    if (entry->hasValue && entry->value > found->above) found->count += 1;
}

int cy_lmdb_count(cy_lmdb *store, double above, uint64_t *count) {
    tally found = {above, 0};
    int result = walk(store, count_match, &found);
    *count = found.count;
    return result;
}
