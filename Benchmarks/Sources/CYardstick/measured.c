#include "measured.h"

__attribute__((noinline)) void cy_measured(void (*body)(void *context), void *context) {
    body(context);
    // Without this the call above is a jump, and the function is left before the body begins.
    __asm__ volatile("" ::: "memory");
}
