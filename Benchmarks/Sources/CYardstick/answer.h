#ifndef CYARDSTICK_ANSWER_H
#define CYARDSTICK_ANSWER_H

#include <regex.h>

#include "list.h"
#include "plans.h"

// Reserves space for one more element.
#define CY_RESERVE(elements, count, capacity)                                     \
    if ((count) == (capacity)) {                                                  \
        (capacity) = (capacity) ? 2 * (capacity) : 256;                           \
        (elements) = realloc((elements), (capacity) * sizeof *(elements));        \
    }

// Clears the answer but keeps its memory.
static inline void cy_answer_clear(cy_answer *answer) {
    cy_list_clear(&answer->entries);
    answer->habitCount = answer->byteCount = answer->idCount = answer->numberCount = 0;
    answer->count = 0;
}

static inline void cy_answer_append_id(cy_answer *answer, const void *id) {
    if (answer->idCount == answer->idCapacity) {
        answer->idCapacity = answer->idCapacity ? 2 * answer->idCapacity : 256;
        answer->ids = realloc(answer->ids, 16 * answer->idCapacity);
    }
    memcpy(answer->ids + 16 * answer->idCount++, id, 16);
}

static inline void cy_answer_append_number(cy_answer *answer, int isPresent, double value) {
    CY_RESERVE(answer->numbers, answer->numberCount, answer->numberCapacity)
    answer->numbers[answer->numberCount++] = (cy_number){isPresent ? value : 0, isPresent != 0};
}

// Copies bytes. Returns an offset until the answer is complete, since the memory moves as it grows.
static inline const void *cy_answer_keep(cy_answer *answer, const void *bytes, size_t length) {
    if (answer->byteCount + length > answer->byteCapacity) {
        answer->byteCapacity = 2 * answer->byteCapacity + length + 4096;
        answer->bytes = realloc(answer->bytes, answer->byteCapacity);
    }
    const void *offset = (const void *)answer->byteCount;
    if (length > 0) memcpy(answer->bytes + answer->byteCount, bytes, length);
    answer->byteCount += length;
    return offset;
}

static inline cy_text cy_answer_keep_text(cy_answer *answer, const void *bytes, size_t length) {
    if (!bytes) return (cy_text){NULL, -1};
    return (cy_text){cy_answer_keep(answer, bytes, length), (int32_t)length};
}

// Appends a zeroed habit for the caller to fill in.
static inline cy_habit *cy_answer_append_habit(cy_answer *answer) {
    CY_RESERVE(answer->habits, answer->habitCount, answer->habitCapacity)
    cy_habit *habit = answer->habits + answer->habitCount++;
    memset(habit, 0, sizeof *habit);
    return habit;
}

void cy_answer_finish(cy_answer *answer);

static inline int cy_matches(const regex_t *regex, const char *text, size_t length) {
    regmatch_t match = {0, (regoff_t)length};
    return regexec(regex, text, 1, &match, REG_STARTEND) == 0;
}

#endif
