#include "answer.h"

#include "checksum.h"

static void place(cy_text *text, const uint8_t *bytes) {
    text->bytes = text->length < 0 ? NULL : (const char *)bytes + (size_t)text->bytes;
}

void cy_answer_finish(cy_answer *answer) {
    cy_list_finish(&answer->entries);
    for (size_t i = 0; i < answer->habitCount; i++) {
        cy_habit *habit = answer->habits + i;
        place(&habit->name, answer->bytes);
        place(&habit->category, answer->bytes);
        place(&habit->unit, answer->bytes);
        habit->tags = answer->bytes + (size_t)habit->tags;
    }
}

static uint64_t habit_checksum(const cy_habit *habit) {
    uint64_t sum = cy_bits(habit->createdAt) + habit->id[0];
    sum += (uint64_t)(int64_t)habit->name.length * 17 + (uint64_t)(int64_t)habit->category.length * 19;
    sum += (uint64_t)(int64_t)habit->unit.length * 23 + (uint64_t)habit->streak * 29;
    sum += (uint64_t)habit->timesPerPeriod * 37 + (uint64_t)habit->periodDays * 41 + habit->isArchived * 43;
    if (habit->hasTarget) sum += cy_bits(habit->target) * 31;
    for (size_t i = 0; i < habit->tagCount; i++) sum += habit->tags[16 * i + 15];
    return sum;
}

static uint64_t id_checksum(const uint8_t *id) {
    uint64_t parts[2];
    memcpy(parts, id, 16);
    return parts[0] ^ parts[1];
}

uint64_t cy_answer_checksum(const cy_answer *answer) {
    uint64_t sum = (uint64_t)answer->count;
    for (size_t i = 0; i < answer->entries.count; i++) sum = sum * 31 + cy_checksum(answer->entries.entries + i);
    for (size_t i = 0; i < answer->habitCount; i++) sum = sum * 31 + habit_checksum(answer->habits + i);
    for (size_t i = 0; i < answer->idCount; i++) sum = sum * 31 + id_checksum(answer->ids + 16 * i);
    for (size_t i = 0; i < answer->numberCount; i++) {
        const cy_number *number = answer->numbers + i;
        sum = sum * 31 + (number->isPresent ? cy_bits(number->value) : 1);
    }
    return sum;
}

void cy_answer_free(cy_answer *answer) {
    cy_list_free(&answer->entries);
    free(answer->habits);
    free(answer->bytes);
    free(answer->ids);
    free(answer->numbers);
    memset(answer, 0, sizeof *answer);
}
