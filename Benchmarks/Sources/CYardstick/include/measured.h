// What callgrind counts the instructions of.
#ifndef CYARDSTICK_MEASURED_H
#define CYARDSTICK_MEASURED_H

/// Calls `body` with `context`. The function has a name that a profiler can be told to begin and end at.
void cy_measured(void (*body)(void *context), void *context);

#endif
