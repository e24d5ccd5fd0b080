#include "measured.h"

__attribute__((noinline)) void cy_measured(void (*body)(void *context), void *context) {
    body(context);
    // Without this the call above becomes a tail call, and the function ends before the body begins.
    __asm__ volatile("" ::: "memory");
}
