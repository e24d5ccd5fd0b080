#ifndef CSYSTEMFAULTS_H
#define CSYSTEMFAULTS_H

#include <stdbool.h>
#include <stdint.h>

/// System faults that a process injects into itself. If a program links this library, its own calls and those of all libraries that it loads pass
/// through here and on to the C library, unless a fault was requested. Linux with glibc only.

/// Whether faults can be injected on this system.
bool system_faults_are_supported(void);

/// Shifts the clock of the day by `seconds` from the true one; waits until a time of day follow the shifted clock.
void system_faults_shift_clock(int64_t seconds);

/// Makes calls fail on files whose name begins with `prefix`, which must stay valid forever.
///
/// `ENOSPC` fails calls that need space, `EROFS` those that write, and `EIO` everything except closing. 0 ends the fault.
void system_faults_fail(const char *prefix, int error);

/// The number of calls that have failed so far.
uint64_t system_faults_count(void);

/// If one of the process's own faults ends it with a signal, the process first writes to standard error: a line with the signal and whether any
/// memory
/// was left, then the functions on the stack, one per line, the innermost first.
void system_faults_tell_deaths(void);

#endif
