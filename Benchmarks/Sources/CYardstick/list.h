#ifndef CYARDSTICK_LIST_H
#define CYARDSTICK_LIST_H

#include <stdlib.h>
#include <string.h>

#include "CYardstick.h"

// Appends an entry and a copy of its note. The note is an offset until the list is complete, since the notes' memory moves as it grows.
static inline void cy_list_append(cy_list *list, const cy_entry *entry, const void *note) {
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 1024;
        list->entries = realloc(list->entries, list->capacity * sizeof *list->entries);
    }
    cy_entry *target = list->entries + list->count++;
    *target = *entry;
    target->note = (const char *)list->noteBytes;
    if (entry->noteLength <= 0) return;
    if (list->noteBytes + (size_t)entry->noteLength > list->noteCapacity) {
        list->noteCapacity = 2 * list->noteCapacity + (size_t)entry->noteLength + 65536;
        list->notes = realloc(list->notes, list->noteCapacity);
    }
    memcpy(list->notes + list->noteBytes, note, (size_t)entry->noteLength);
    list->noteBytes += (size_t)entry->noteLength;
}

// Removes the entries but keeps the memory.
static inline void cy_list_clear(cy_list *list) {
    list->count = 0;
    list->noteBytes = 0;
}

static inline void cy_list_finish(cy_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        list->entries[i].note = list->entries[i].noteLength < 0 ? NULL : list->notes + (size_t)list->entries[i].note;
    }
}

#endif
