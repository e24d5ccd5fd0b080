#ifndef CSYSTEMFAULTS_H
#define CSYSTEMFAULTS_H

#include <stdbool.h>
#include <stdint.h>

/// Faults of the system that a process gives itself. Whoever links this has its own calls, and those of all libraries that it
/// loads, pass through here: they go on to the C library unless a fault was asked for. Linux with glibc only.

/// Whether faults can be made here.
bool system_faults_are_supported(void);

/// Moves the clock of the day by so many seconds from the true one; waits until a time of day go by the moved one.
void system_faults_shift_clock(int64_t seconds);

/// Lets calls fail that touch a file whose name begins with `prefix`, which has to last for ever.
///
/// With `ENOSPC` it is what needs room, with `EROFS` what writes, with `EIO` everything but closing. 0 ends it.
void system_faults_fail(const char *prefix, int error);

/// How many calls have failed so far.
uint64_t system_faults_count(void);

/// Has the process tell on its standard error when a fault of its own ends it by a signal: one line that says by which, and
/// whether there was any memory left, then the functions that were running, one a line, the innermost first.
void system_faults_tell_deaths(void);

#endif
