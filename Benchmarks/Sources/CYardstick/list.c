#include "list.h"

#include "checksum.h"

uint64_t cy_list_checksum(const cy_list *list) {
    uint64_t sum = 0;
    for (size_t i = 0; i < list->count; i++) sum += cy_checksum(list->entries + i);
    return sum;
}

void cy_list_free(cy_list *list) {
    free(list->entries);
    free(list->notes);
    memset(list, 0, sizeof *list);
}
