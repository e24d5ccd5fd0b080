#ifndef CYARDSTICK_CHECKSUM_H
#define CYARDSTICK_CHECKSUM_H

#include <string.h>

#include "CYardstick.h"

static inline uint64_t cy_bits(double number) {
    uint64_t bits;
    memcpy(&bits, &number, 8);
    return bits;
}

static inline uint64_t cy_checksum(const cy_entry *entry) {
    uint64_t sum = cy_bits(entry->date) + (uint64_t)(int64_t)entry->noteLength * 17 + entry->id[0];
    if (entry->hasValue) sum += cy_bits(entry->value) * 31;
    if (entry->hasHabit) sum += entry->habit[15];
    return sum;
}

#endif
