// The orders in which entries are written, for qsort over pointers to them.
#ifndef CY_ORDER_H
#define CY_ORDER_H

#include <string.h>

#include "include/CYardstick.h"

static inline int cy_by_id(const void *left, const void *right) {
    return memcmp((*(const cy_entry *const *)left)->id, (*(const cy_entry *const *)right)->id, 16);
}

static inline int cy_by_date(const void *left, const void *right) {
    const cy_entry *one = *(const cy_entry *const *)left, *other = *(const cy_entry *const *)right;
    if (one->date != other->date) return one->date < other->date ? -1 : 1;
    return cy_by_id(left, right);
}

static inline int cy_by_habit_date(const void *left, const void *right) {
    const cy_entry *one = *(const cy_entry *const *)left, *other = *(const cy_entry *const *)right;
    if (one->hasHabit != other->hasHabit) return one->hasHabit - other->hasHabit;
    int order = memcmp(one->habit, other->habit, 16);
    return order ? order : cy_by_date(left, right);
}

#endif
