#ifndef CYARDSTICK_LMDB_FORMAT_H
#define CYARDSTICK_LMDB_FORMAT_H

#include <lmdb.h>

#include "answer.h"
#include "checksum.h"

// The files are those of HabitStore; the article On-disk formats describes records and keys. Checksums are skipped.
//
// Entry: header 8, nulls 1, id 16, date 8, note 4 + 4, value 8, habitID 16.
// Habit: header 8, nulls 2, id 16, name 4 + 4, createdAt 8, streak 8, category 4 + 4, isArchived 1, timesPerPeriod 8,
//        periodDays 8, unit 4 + 4, target 8, tagIDs 4 + 4.

enum { entryNote = 33, entryValue = 41, entryHabit = 49 };
enum { noteIsNull = 1 << 2, valueIsNull = 1 << 3, habitIsNull = 1 << 4 };
enum { habitArchived = 58 };

// MARK: Keys

static inline uint8_t *put_uuid(uint8_t *key, const uint8_t *id) {
    *key = 1;
    memcpy(key + 1, id, 16);
    return key + 17;
}

static inline uint8_t *put_double(uint8_t *key, double number) {
    uint64_t bits = cy_bits(number);
    bits = bits >> 63 ? ~bits : bits ^ (1ull << 63);
    *key = 1;
    for (int i = 0; i < 8; i++) key[1 + i] = (uint8_t)(bits >> (56 - 8 * i));
    return key + 9;
}

// Appends a text without a terminator, as a prefix of all texts that begin with it; it must not contain zeros.
static inline uint8_t *put_text(uint8_t *key, const char *text) {
    size_t length = strlen(text);
    *key = 1;
    memcpy(key + 1, text, length);
    return key + 1 + length;
}

static inline uint8_t *put_end(uint8_t *key) {
    key[0] = key[1] = 0;
    return key + 2;
}

// The keys from `from`: up to the last that begins with `stop` if it is inclusive, otherwise those before `stop`.
typedef struct {
    uint8_t from[128], stop[128];
    size_t fromLength, stopLength;
    int isInclusive;
} span;

static inline span prefix_span(const uint8_t *bytes, const uint8_t *end) {
    span made;
    made.fromLength = made.stopLength = (size_t)(end - bytes);
    memcpy(made.from, bytes, made.fromLength);
    memcpy(made.stop, bytes, made.stopLength);
    made.isInclusive = 1;
    return made;
}

static inline span habit_span(const uint8_t *habit) {
    uint8_t key[17];
    return prefix_span(key, put_uuid(key, habit));
}

static inline span date_span(const cy_question *question) {
    span made;
    made.fromLength = (size_t)(put_double(put_uuid(made.from, question->habit), question->from) - made.from);
    made.stopLength = (size_t)(put_double(put_uuid(made.stop, question->habit), question->to) - made.stop);
    made.isInclusive = 0;
    return made;
}

static inline int is_within(const span *keys, const MDB_val *key) {
    size_t length = key->mv_size < keys->stopLength ? key->mv_size : keys->stopLength;
    // A shorter key is before the end of a range. It does not have the prefix, but a walk over a prefix begins after it.
    return memcmp(key->mv_data, keys->stop, length) < (keys->isInclusive || length < keys->stopLength);
}

static inline const uint8_t *identifier(const MDB_val *key) {
    return (const uint8_t *)key->mv_data + key->mv_size - 16;
}

// MARK: Decoding

static inline uint32_t read_u32(const uint8_t *bytes) {
    uint32_t number;
    memcpy(&number, bytes, 4);
    return number;
}

static inline int64_t read_i64(const uint8_t *bytes) {
    int64_t number;
    memcpy(&number, bytes, 8);
    return number;
}

static inline double read_double(const uint8_t *bytes) {
    double number;
    memcpy(&number, bytes, 8);
    return number;
}

static inline void append_entry(cy_answer *answer, const uint8_t *record) {
    cy_entry entry;
    uint8_t nulls = record[8];
    memcpy(entry.id, record + 9, 16);
    entry.date = read_double(record + 25);
    entry.hasValue = !(nulls & valueIsNull);
    entry.value = read_double(record + entryValue);
    entry.hasHabit = !(nulls & habitIsNull);
    memcpy(entry.habit, record + entryHabit, 16);
    entry.noteLength = nulls & noteIsNull ? -1 : (int32_t)read_u32(record + entryNote + 4);
    cy_list_append(&answer->entries, &entry, record + read_u32(record + entryNote));
}

static inline cy_text keep_text(cy_answer *answer, const uint8_t *record, int position, int slot) {
    if (record[8 + position / 8] >> position % 8 & 1) return (cy_text){NULL, -1};
    return cy_answer_keep_text(answer, record + read_u32(record + slot), read_u32(record + slot + 4));
}

static inline void append_habit(cy_answer *answer, const uint8_t *record) {
    cy_habit *habit = cy_answer_append_habit(answer);
    memcpy(habit->id, record + 10, 16);
    habit->name = keep_text(answer, record, 1, 26);
    habit->createdAt = read_double(record + 34);
    habit->streak = read_i64(record + 42);
    habit->category = keep_text(answer, record, 4, 50);
    habit->isArchived = record[habitArchived];
    habit->timesPerPeriod = read_i64(record + 59);
    habit->periodDays = read_i64(record + 67);
    habit->unit = keep_text(answer, record, 8, 75);
    habit->hasTarget = !(record[9] & 1 << 1);
    habit->target = read_double(record + 83);
    size_t length = read_u32(record + 95);
    habit->tags = cy_answer_keep(answer, record + read_u32(record + 91), length);
    habit->tagCount = length / 16;
}

#endif
