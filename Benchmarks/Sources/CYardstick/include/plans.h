// The yardstick for plans: every kind of query hand-written in C, on files that HabitStore has written. Nothing here plans: each kind has one fixed
// statement or walk, chosen to be right for this data.
#ifndef CYARDSTICK_PLANS_H
#define CYARDSTICK_PLANS_H

#include "CYardstick.h"

enum { cy_membership_count = 20, cy_text_capacity = 64 };

/// The kinds of queries, in the order of `Plan`.
typedef enum {
    cy_plan_equality,
    cy_plan_range,
    cy_plan_range_limit,
    cy_plan_newest,
    cy_plan_membership,
    cy_plan_prefix,
    cy_plan_top,
    cy_plan_join_name,
    cy_plan_join_archived,
    cy_plan_any_entry,
    cy_plan_any_tag,
    cy_plan_count,
    cy_plan_count_residual,
    cy_plan_values,
    cy_plan_dates,
    cy_plan_identifiers,
    cy_plan_contains,
    cy_plan_arithmetic,
    cy_plan_regex,
    cy_plan_count_of_plans
} cy_plan;

/// A query: its kind and its values; each kind reads only the values that it needs.
typedef struct {
    cy_plan plan;
    uint8_t habit[16];
    uint8_t habits[cy_membership_count][16];
    double from;
    double to;
    double number;
    int64_t limit;
    /// Zero-terminated.
    char text[cy_text_capacity];
} cy_question;

/// A text; NULL for none.
typedef struct {
    const char *bytes;
    int32_t length;
} cy_text;

/// A decoded habit; its tags are identifiers of 16 bytes each.
typedef struct {
    uint8_t id[16];
    cy_text name;
    cy_text category;
    cy_text unit;
    double createdAt;
    double target;
    int64_t streak;
    int64_t timesPerPeriod;
    int64_t periodDays;
    const uint8_t *tags;
    size_t tagCount;
    uint8_t isArchived;
    uint8_t hasTarget;
} cy_habit;

/// An optional number.
typedef struct {
    double value;
    uint8_t isPresent;
} cy_number;

/// The result of a query, which outlives the transaction and is reused for the next query.
typedef struct {
    cy_list entries;
    cy_habit *habits;
    size_t habitCount;
    size_t habitCapacity;
    uint8_t *bytes;
    size_t byteCount;
    size_t byteCapacity;
    uint8_t *ids;
    size_t idCount;
    size_t idCapacity;
    cy_number *numbers;
    size_t numberCount;
    size_t numberCapacity;
    int64_t count;
} cy_answer;

/// The checksum of everything found; it depends on the order.
uint64_t cy_answer_checksum(const cy_answer *answer);
void cy_answer_free(cy_answer *answer);

typedef struct cy_sqlite_plans cy_sqlite_plans;
typedef struct cy_lmdb_plans cy_lmdb_plans;

// Each function returns 0, or the library's error code.

int cy_sqlite_plans_open(const char *path, const char *regex, cy_sqlite_plans **store);
int cy_sqlite_plans_answer(cy_sqlite_plans *store, const cy_question *question, cy_answer *answer);
void cy_sqlite_plans_close(cy_sqlite_plans *store);

int cy_lmdb_plans_open(const char *path, const char *regex, cy_lmdb_plans **store);
int cy_lmdb_plans_answer(cy_lmdb_plans *store, const cy_question *question, cy_answer *answer);
void cy_lmdb_plans_close(cy_lmdb_plans *store);

#endif
