#define _GNU_SOURCE

#include <errno.h>
#include <lmdb.h>

#include "lmdb_format.h"

struct cy_lmdb_plans {
    MDB_env *environment;
    MDB_dbi entries, byHabit, byDate, habits, byName, byTag, tagByName;
    MDB_txn *transaction;
    regex_t regex;
};

static int open_databases(cy_lmdb_plans *store) {
    MDB_txn *transaction;
    int result = mdb_txn_begin(store->environment, NULL, MDB_RDONLY, &transaction);
    if (result) return result;
    result = mdb_dbi_open(transaction, "Entry", 0, &store->entries);
    if (!result) result = mdb_dbi_open(transaction, "Entry.habitID+date", 0, &store->byHabit);
    if (!result) result = mdb_dbi_open(transaction, "Entry.date", 0, &store->byDate);
    if (!result) result = mdb_dbi_open(transaction, "Habit", 0, &store->habits);
    if (!result) result = mdb_dbi_open(transaction, "Habit.name", 0, &store->byName);
    if (!result) result = mdb_dbi_open(transaction, "Habit.tagIDs", 0, &store->byTag);
    if (!result) result = mdb_dbi_open(transaction, "Tag.name", 0, &store->tagByName);
    if (result) {
        mdb_txn_abort(transaction);
        return result;
    }
    result = mdb_txn_commit(transaction);
    // One transaction that each query renews, as hand-written code does.
    if (!result) result = mdb_txn_begin(store->environment, NULL, MDB_RDONLY, &store->transaction);
    if (!result) mdb_txn_reset(store->transaction);
    return result;
}

int cy_lmdb_plans_open(const char *path, const char *regex, cy_lmdb_plans **store) {
    cy_lmdb_plans *made = calloc(1, sizeof *made);
    if (regcomp(&made->regex, regex, REG_EXTENDED)) {
        free(made);
        return EINVAL;
    }
    int result = mdb_env_create(&made->environment);
    if (!result) result = mdb_env_set_maxdbs(made->environment, 32);
    if (!result) result = mdb_env_open(made->environment, path, MDB_NOSUBDIR | MDB_NOTLS | MDB_RDONLY, 0600);
    if (!result) result = open_databases(made);
    if (result) {
        cy_lmdb_plans_close(made);
        return result;
    }
    *store = made;
    return 0;
}

void cy_lmdb_plans_close(cy_lmdb_plans *store) {
    mdb_txn_abort(store->transaction);
    mdb_env_close(store->environment);
    regfree(&store->regex);
    free(store);
}

// MARK: Walks

// Appends the identifiers of a span of keys.
static int collect(cy_lmdb_plans *store, MDB_dbi index, const span *keys, cy_answer *answer) {
    MDB_cursor *cursor;
    int result = mdb_cursor_open(store->transaction, index, &cursor);
    if (result) return result;
    MDB_val key = {keys->fromLength, (void *)keys->from}, value;
    result = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    while (!result && is_within(keys, &key)) {
        cy_answer_append_id(answer, identifier(&key));
        result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    return result == MDB_NOTFOUND ? 0 : result;
}

static int compare_ids(const void *left, const void *right) { return memcmp(left, right, 16); }

typedef void (*appender)(cy_answer *, const uint8_t *);

// Replaces the collected identifiers with their records, in their order or sorted.
static int look_up(cy_lmdb_plans *store, MDB_dbi records, int isSorted, cy_answer *answer, appender append) {
    MDB_cursor *cursor;
    int result = mdb_cursor_open(store->transaction, records, &cursor);
    if (result) return result;
    if (isSorted) qsort(answer->ids, answer->idCount, 16, compare_ids);
    for (size_t i = 0; !result && i < answer->idCount; i++) {
        MDB_val key = {16, answer->ids + 16 * i}, value;
        result = mdb_cursor_get(cursor, &key, &value, MDB_SET);
        if (!result) append(answer, value.mv_data);
    }
    mdb_cursor_close(cursor);
    answer->idCount = 0;
    return result;
}

typedef int (*condition)(const uint8_t *record, const void *context);

// Appends every record that fulfils a condition, by identifier; each call gets its own loop by inlining.
static inline __attribute__((always_inline)) int scan(
    cy_lmdb_plans *store, MDB_dbi records, condition fulfils, const void *context, cy_answer *answer, appender append) {
    MDB_cursor *cursor;
    MDB_val key, value;
    int result = mdb_cursor_open(store->transaction, records, &cursor);
    if (result) return result;
    result = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    while (!result) {
        if (fulfils(value.mv_data, context)) append(answer, value.mv_data);
        result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    return result == MDB_NOTFOUND ? 0 : result;
}

// Visits the entries of one habit in the index's order, each with its record, up to a limit.
static int walk_habit(
    cy_lmdb_plans *store, const span *keys, int64_t limit, const cy_question *question, cy_answer *answer,
    void (*visit)(const cy_question *, const uint8_t *, cy_answer *)) {
    MDB_cursor *cursor;
    int result = mdb_cursor_open(store->transaction, store->byHabit, &cursor);
    if (result) return result;
    MDB_val key = {keys->fromLength, (void *)keys->from}, value;
    result = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    for (int64_t i = 0; !result && i < limit && is_within(keys, &key); i++) {
        MDB_val id = {16, (void *)identifier(&key)}, record;
        result = mdb_get(store->transaction, store->entries, &id, &record);
        if (result) break;
        visit(question, record.mv_data, answer);
        result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    return result == MDB_NOTFOUND ? 0 : result;
}

static void visit_entry(const cy_question *question, const uint8_t *record, cy_answer *answer) {
    (void)question;
    append_entry(answer, record);
}

static void visit_value(const cy_question *question, const uint8_t *record, cy_answer *answer) {
    (void)question;
    cy_answer_append_number(answer, !(record[8] & valueIsNull), read_double(record + entryValue));
}

static void visit_count(const cy_question *question, const uint8_t *record, cy_answer *answer) {
    answer->count += !(record[8] & valueIsNull) && read_double(record + entryValue) > question->number;
}

// Answers from the keys alone: their number, or their dates.
static int walk_keys(cy_lmdb_plans *store, const cy_question *question, cy_answer *answer) {
    MDB_cursor *cursor;
    int result = mdb_cursor_open(store->transaction, store->byHabit, &cursor);
    if (result) return result;
    span keys = habit_span(question->habit);
    MDB_val key = {keys.fromLength, keys.from}, value;
    result = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    while (!result && is_within(&keys, &key)) {
        if (question->plan == cy_plan_count) {
            answer->count++;
        } else {
            const uint8_t *date = (const uint8_t *)key.mv_data + 18;
            uint64_t bits = 0;
            for (int i = 0; i < 8; i++) bits = bits << 8 | date[i];
            bits = bits >> 63 ? bits ^ (1ull << 63) : ~bits;
            double number;
            memcpy(&number, &bits, 8);
            cy_answer_append_number(answer, 1, number);
        }
        result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    return result == MDB_NOTFOUND ? 0 : result;
}

// Walks the index backwards from its last key. Keys of the same date are in order of identifier, so all keys of the last date are collected before
// any
// excess is dropped.
static int newest(cy_lmdb_plans *store, const cy_question *question, cy_answer *answer) {
    MDB_cursor *cursor;
    MDB_val key, value;
    uint8_t date[9] = {0};
    size_t limit = (size_t)question->limit, first = 0;
    int result = mdb_cursor_open(store->transaction, store->byDate, &cursor);
    if (result) return result;
    result = mdb_cursor_get(cursor, &key, &value, MDB_LAST);
    while (!result) {
        if (memcmp(key.mv_data, date, 9)) {
            qsort(answer->ids + 16 * first, answer->idCount - first, 16, compare_ids);
            first = answer->idCount;
            if (first >= limit) break;
            memcpy(date, key.mv_data, 9);
        }
        cy_answer_append_id(answer, identifier(&key));
        result = mdb_cursor_get(cursor, &key, &value, MDB_PREV);
    }
    qsort(answer->ids + 16 * first, answer->idCount - first, 16, compare_ids);
    mdb_cursor_close(cursor);
    if (answer->idCount > limit) answer->idCount = limit;
    return result && result != MDB_NOTFOUND ? result : look_up(store, store->entries, 0, answer, append_entry);
}

// MARK: The largest values

typedef struct {
    const uint8_t *records[256];
    double values[256];
    size_t count, limit;
} largest;

// Records come by identifier: of equal values the first stays in front. A missing value sorts after every value.
static int keep_largest(const uint8_t *record, const void *context) {
    largest *kept = (largest *)context;
    double value = record[8] & valueIsNull ? -__builtin_inf() : read_double(record + entryValue);
    if (kept->count == kept->limit && !(value > kept->values[kept->count - 1])) return 0;
    size_t place = kept->count < kept->limit ? kept->count++ : kept->count - 1;
    for (; place > 0 && value > kept->values[place - 1]; place--) {
        kept->values[place] = kept->values[place - 1];
        kept->records[place] = kept->records[place - 1];
    }
    kept->values[place] = value;
    kept->records[place] = record;
    return 0;
}

static int top(cy_lmdb_plans *store, const cy_question *question, cy_answer *answer) {
    largest kept = {.limit = question->limit < 256 ? (size_t)question->limit : 256};
    if (kept.limit == 0) return 0;
    int result = scan(store, store->entries, keep_largest, &kept, answer, append_entry);
    for (size_t i = 0; i < kept.count; i++) append_entry(answer, kept.records[i]);
    return result;
}

// MARK: Conditions

static int has_text(const uint8_t *record, const void *context) {
    const cy_question *question = context;
    if (record[8] & noteIsNull) return 0;
    const uint8_t *note = record + read_u32(record + entryNote);
    return memmem(note, read_u32(record + entryNote + 4), question->text, strlen(question->text)) != NULL;
}

static int is_over(const uint8_t *record, const void *context) {
    const cy_question *question = context;
    double value = record[8] & valueIsNull ? 0 : read_double(record + entryValue);
    return value * 2 + 1 > question->number;
}

static int has_match(const uint8_t *record, const void *context) {
    if (record[8] & noteIsNull) return 0;
    return cy_matches(
        context, (const char *)record + read_u32(record + entryNote), read_u32(record + entryNote + 4));
}

// MARK: Joins

// A set of identifiers, whose bytes are random enough to serve as their hash.
typedef struct {
    uint8_t (*slots)[17];
    size_t mask;
} id_set;

static int make_set(cy_lmdb_plans *store, id_set *set) {
    MDB_stat statistics;
    int result = mdb_stat(store->transaction, store->habits, &statistics);
    size_t size = 16;
    if (result) return result;
    while (size < 4 * statistics.ms_entries) size *= 2;
    set->slots = calloc(size, sizeof *set->slots);
    set->mask = size - 1;
    return 0;
}

// The slot of an identifier, or the free one for it.
static uint8_t *slot(const id_set *set, const uint8_t *id) {
    size_t place = (size_t)read_i64(id) & set->mask;
    while (set->slots[place][0] && memcmp(set->slots[place] + 1, id, 16)) place = (place + 1) & set->mask;
    return set->slots[place];
}

static void insert(const id_set *set, const uint8_t *id) {
    uint8_t *found = slot(set, id);
    found[0] = 1;
    memcpy(found + 1, id, 16);
}

static int insert_archived(const uint8_t *record, const void *context) {
    if (record[habitArchived]) insert(context, record + 10);
    return 0;
}

static int is_in_habits(const uint8_t *record, const void *context) {
    return !(record[8] & habitIsNull) && slot(context, record + entryHabit)[0];
}

typedef struct {
    id_set set;
    double number;
} habits_over;

static int insert_habit_over(const uint8_t *record, const void *context) {
    const habits_over *found = context;
    if (record[8] & (valueIsNull | habitIsNull)) return 0;
    if (read_double(record + entryValue) > found->number) insert(&found->set, record + entryHabit);
    return 0;
}

static int is_found(const uint8_t *record, const void *context) { return slot(context, record + 10)[0]; }

static int join_archived(cy_lmdb_plans *store, cy_answer *answer) {
    id_set set;
    int result = make_set(store, &set);
    if (result) return result;
    result = scan(store, store->habits, insert_archived, &set, answer, append_habit);
    if (!result) result = scan(store, store->entries, is_in_habits, &set, answer, append_entry);
    free(set.slots);
    return result;
}

static int any_entry(cy_lmdb_plans *store, const cy_question *question, cy_answer *answer) {
    habits_over found = {.number = question->number};
    int result = make_set(store, &found.set);
    if (result) return result;
    result = scan(store, store->entries, insert_habit_over, &found, answer, append_entry);
    if (!result) result = scan(store, store->habits, is_found, &found.set, answer, append_habit);
    free(found.set.slots);
    return result;
}

// For each identifier whose key in `names` is the text, collects the identifiers that `index` has for it.
static int join_text(
    cy_lmdb_plans *store, MDB_dbi names, MDB_dbi index, const cy_question *question, cy_answer *answer) {
    uint8_t bytes[128];
    span keys = prefix_span(bytes, put_end(put_text(bytes, question->text)));
    int result = collect(store, names, &keys, answer);
    size_t count = answer->idCount;
    for (size_t i = 0; !result && i < count; i++) {
        keys = habit_span(answer->ids + 16 * i);
        result = collect(store, index, &keys, answer);
    }
    answer->idCount -= count;
    memmove(answer->ids, answer->ids + 16 * count, 16 * answer->idCount);
    return result;
}

// MARK: Answering

static int collect_entries(cy_lmdb_plans *store, const span *keys, cy_answer *answer) {
    int result = collect(store, store->byHabit, keys, answer);
    return result ? result : look_up(store, store->entries, 1, answer, append_entry);
}

static int membership(cy_lmdb_plans *store, const cy_question *question, cy_answer *answer) {
    int result = 0;
    for (int i = 0; !result && i < cy_membership_count; i++) {
        span keys = habit_span(question->habits[i]);
        result = collect(store, store->byHabit, &keys, answer);
    }
    return result ? result : look_up(store, store->entries, 1, answer, append_entry);
}

static int prefix(cy_lmdb_plans *store, const cy_question *question, cy_answer *answer) {
    uint8_t bytes[128];
    span keys = prefix_span(bytes, put_text(bytes, question->text));
    int result = collect(store, store->byName, &keys, answer);
    return result ? result : look_up(store, store->habits, 1, answer, append_habit);
}

static int answer_by_index(cy_lmdb_plans *store, const cy_question *question, cy_answer *answer) {
    span keys = habit_span(question->habit), dates = date_span(question);
    switch (question->plan) {
    case cy_plan_equality: return collect_entries(store, &keys, answer);
    case cy_plan_range: return collect_entries(store, &dates, answer);
    case cy_plan_range_limit: return walk_habit(store, &dates, question->limit, question, answer, visit_entry);
    case cy_plan_count_residual: return walk_habit(store, &keys, INT64_MAX, question, answer, visit_count);
    case cy_plan_values: return walk_habit(store, &keys, INT64_MAX, question, answer, visit_value);
    case cy_plan_identifiers: return collect(store, store->byHabit, &dates, answer);
    default: return walk_keys(store, question, answer);
    }
}

static int answer_question(cy_lmdb_plans *store, const cy_question *question, cy_answer *answer) {
    int result;
    switch (question->plan) {
    case cy_plan_newest: return newest(store, question, answer);
    case cy_plan_membership: return membership(store, question, answer);
    case cy_plan_prefix: return prefix(store, question, answer);
    case cy_plan_top: return top(store, question, answer);
    case cy_plan_join_name:
        result = join_text(store, store->byName, store->byHabit, question, answer);
        return result ? result : look_up(store, store->entries, 1, answer, append_entry);
    case cy_plan_join_archived: return join_archived(store, answer);
    case cy_plan_any_entry: return any_entry(store, question, answer);
    case cy_plan_any_tag:
        result = join_text(store, store->tagByName, store->byTag, question, answer);
        return result ? result : look_up(store, store->habits, 1, answer, append_habit);
    case cy_plan_contains: return scan(store, store->entries, has_text, question, answer, append_entry);
    case cy_plan_arithmetic: return scan(store, store->entries, is_over, question, answer, append_entry);
    case cy_plan_regex: return scan(store, store->entries, has_match, &store->regex, answer, append_entry);
    default: return answer_by_index(store, question, answer);
    }
}

int cy_lmdb_plans_answer(cy_lmdb_plans *store, const cy_question *question, cy_answer *answer) {
    cy_answer_clear(answer);
    int result = mdb_txn_renew(store->transaction);
    if (result) return result;
    result = answer_question(store, question, answer);
    mdb_txn_reset(store->transaction);
    cy_answer_finish(answer);
    return result;
}
