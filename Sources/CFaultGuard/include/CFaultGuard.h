#ifndef C_FAULT_GUARD_H
#define C_FAULT_GUARD_H

/// Guards a page of a mapped file against the file being cut off: an access then finds a page of zeros, private to the process,
/// in its place and does not end the process by SIGBUS. Whoever relies on the page has to be able to tell it from zeros.
///
/// The first call installs the process's handler of SIGBUS. It passes every other SIGBUS on to the one that was there before. A
/// handler that is installed later has to pass on in turn what is not its own, as crash reporters do.
///
/// Returns 0, or an errno.
int habitstore_guard_page(void *page);

/// Ends the guarding, before the page is unmapped.
void habitstore_unguard_page(void *page);

/// From here on the thread that calls this says `text` on standard error where its code ends the process by SIGILL, SIGTRAP or
/// SIGABRT, as Swift's preconditions do. The process dies as it would have: the handlers that were there are called, or the
/// signal's own action is taken. `text` has to stay where it is until the end.
///
/// Returns what the thread said before, for the end.
const char *habitstore_begin_dying_words(const char *text);

/// Ends what the last beginning on the thread began, and puts back the handlers that were there where no other thread's still runs.
void habitstore_end_dying_words(const char *outer);

#endif
