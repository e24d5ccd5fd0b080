#include <lmdb.h>
#include <stdlib.h>

#include "checksum.h"
#include "list.h"

// Record: date 8, value 8, flags 1 (1 value, 2 habit, 4 note), habit 16, then the note.
// Indexes: habit 16 | date 8 (order-preserving) | id 16, and date 8 | id 16, both with empty values.

struct cy_lmdb {
    MDB_env *environment;
    MDB_dbi habits, entries, byHabit, byDate;
    char note[65536];
};

enum { recordHeader = 33 };

static void order_bytes(double number, uint8_t *bytes) {
    uint64_t bits = cy_bits(number);
    bits = bits >> 63 ? ~bits : bits ^ (1ull << 63);
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(bits >> (56 - 8 * i));
}

int cy_lmdb_open(const char *path, cy_lmdb **store) {
    cy_lmdb *made = calloc(1, sizeof *made);
    MDB_txn *transaction = NULL;
    int result = mdb_env_create(&made->environment);
    if (!result) result = mdb_env_set_mapsize(made->environment, (size_t)4 << 30);
    if (!result) result = mdb_env_set_maxdbs(made->environment, 8);
    if (!result) result = mdb_env_open(made->environment, path, MDB_NOSUBDIR | MDB_NOTLS, 0600);
    if (!result) result = mdb_txn_begin(made->environment, NULL, 0, &transaction);
    if (!result) result = mdb_dbi_open(transaction, "Habit", MDB_CREATE, &made->habits);
    if (!result) result = mdb_dbi_open(transaction, "Entry", MDB_CREATE, &made->entries);
    if (!result) result = mdb_dbi_open(transaction, "Entry.habitID+date", MDB_CREATE, &made->byHabit);
    if (!result) result = mdb_dbi_open(transaction, "Entry.date", MDB_CREATE, &made->byDate);
    if (!result) result = mdb_txn_commit(transaction);
    if (result) {
        cy_lmdb_close(made);
        return result;
    }
    *store = made;
    return 0;
}

void cy_lmdb_close(cy_lmdb *store) {
    mdb_env_close(store->environment);
    free(store);
}

int cy_lmdb_load(const char *path, const cy_entry *entries, size_t count, const uint8_t *habits, size_t habitCount) {
    cy_lmdb *store;
    MDB_txn *transaction;
    uint8_t *record = malloc(recordHeader + 65536);
    int result = cy_lmdb_open(path, &store);
    if (result) return result;
    result = mdb_txn_begin(store->environment, NULL, 0, &transaction);
    MDB_val empty = {0, ""};
    for (size_t i = 0; !result && i < habitCount; i++) {
        MDB_val key = {16, (void *)(habits + 16 * i)};
        result = mdb_put(transaction, store->habits, &key, &empty, MDB_NOOVERWRITE);
    }
    for (size_t i = 0; !result && i < count; i++) {
        const cy_entry *entry = entries + i;
        MDB_val key = {16, (void *)entry->id}, found;
        size_t size = recordHeader;
        if (entry->hasHabit) {
            MDB_val habit = {16, (void *)entry->habit};
            result = mdb_get(transaction, store->habits, &habit, &found);
            if (result) break;
        }
        memcpy(record, &entry->date, 8);
        memcpy(record + 8, &entry->value, 8);
        record[16] = (uint8_t)(entry->hasValue | entry->hasHabit << 1 | (entry->noteLength >= 0) << 2);
        memcpy(record + 17, entry->habit, 16);
        if (entry->noteLength > 0) {
            memcpy(record + recordHeader, entry->note, (size_t)entry->noteLength);
            size += (size_t)entry->noteLength;
        }
        MDB_val value = {size, record};
        result = mdb_put(transaction, store->entries, &key, &value, MDB_NOOVERWRITE);
        uint8_t index[40];
        if (entry->hasHabit) memcpy(index, entry->habit, 16);
        else memset(index, 0, 16);
        order_bytes(entry->date, index + 16);
        memcpy(index + 24, entry->id, 16);
        MDB_val habitKey = {40, index}, dateKey = {24, index + 16};
        if (!result) result = mdb_put(transaction, store->byHabit, &habitKey, &empty, 0);
        if (!result) result = mdb_put(transaction, store->byDate, &dateKey, &empty, 0);
    }
    if (result) mdb_txn_abort(transaction);
    else result = mdb_txn_commit(transaction);
    free(record);
    cy_lmdb_close(store);
    return result;
}

// The note is lent until the transaction ends.
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

// What one read costs when nothing outlives it: the entry, and its note in one buffer.
static uint64_t read_one(cy_lmdb *store, const void *id, MDB_val value) {
    cy_entry entry = decode(id, value);
    if (entry.noteLength > 0 && (size_t)entry.noteLength < sizeof store->note) {
        memcpy(store->note, entry.note, (size_t)entry.noteLength);
    }
    return cy_checksum(&entry);
}

int cy_lmdb_read_ids(cy_lmdb *store, const uint8_t *ids, size_t count, uint64_t *checksum) {
    MDB_txn *transaction;
    int result = mdb_txn_begin(store->environment, NULL, MDB_RDONLY, &transaction);
    if (result) return result;
    *checksum = 0;
    for (size_t i = 0; i < count; i++) {
        MDB_val key = {16, (void *)(ids + 16 * i)}, value;
        if (!mdb_get(transaction, store->entries, &key, &value)) *checksum += read_one(store, key.mv_data, value);
    }
    mdb_txn_abort(transaction);
    return 0;
}

int cy_lmdb_ranges(cy_lmdb *store, const cy_range *ranges, size_t count, uint64_t *checksum) {
    MDB_txn *transaction;
    MDB_cursor *cursor;
    int result = mdb_txn_begin(store->environment, NULL, MDB_RDONLY, &transaction);
    if (result) return result;
    result = mdb_cursor_open(transaction, store->byHabit, &cursor);
    cy_list list = {0};
    *checksum = 0;
    for (size_t i = 0; !result && i < count; i++) {
        uint8_t from[24], to[24];
        cy_list_clear(&list);
        memcpy(from, ranges[i].habit, 16);
        order_bytes(ranges[i].from, from + 16);
        memcpy(to, ranges[i].habit, 16);
        order_bytes(ranges[i].to, to + 16);
        MDB_val key = {24, from}, value;
        int step = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
        while (!step && memcmp(key.mv_data, to, 24) < 0) {
            MDB_val id = {16, (uint8_t *)key.mv_data + 24}, record;
            result = mdb_get(transaction, store->entries, &id, &record);
            if (result) break;
            cy_entry entry = decode(id.mv_data, record);
            cy_list_append(&list, &entry, entry.note);
            step = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
        }
        cy_list_finish(&list);
        *checksum += cy_list_checksum(&list);
    }
    cy_list_free(&list);
    mdb_cursor_close(cursor);
    mdb_txn_abort(transaction);
    return result;
}

int cy_lmdb_scan(cy_lmdb *store, cy_list *list) {
    MDB_txn *transaction;
    MDB_cursor *cursor;
    MDB_val key, value;
    int result = mdb_txn_begin(store->environment, NULL, MDB_RDONLY, &transaction);
    if (result) return result;
    result = mdb_cursor_open(transaction, store->entries, &cursor);
    int step = result ? result : mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    while (!step) {
        cy_entry entry = decode(key.mv_data, value);
        cy_list_append(list, &entry, entry.note);
        step = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    cy_list_finish(list);
    mdb_cursor_close(cursor);
    mdb_txn_abort(transaction);
    return result;
}
