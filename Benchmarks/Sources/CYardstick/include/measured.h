// Marks the code whose instructions callgrind counts.
#ifndef CYARDSTICK_MEASURED_H
#define CYARDSTICK_MEASURED_H

/// Calls `body` with `context`. A profiler can start and stop at this function's name.
void cy_measured(void (*body)(void *context), void *context);

#endif
