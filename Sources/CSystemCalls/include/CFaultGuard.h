#ifndef C_FAULT_GUARD_H
#define C_FAULT_GUARD_H

/// Guards a page of a mapped file against truncation of the file: an access then finds a page of zeros, private to the process,
/// instead of ending the process by SIGBUS. Users of the page must be able to tell it from zeros.
///
/// The first call installs the process's handler of SIGBUS, which passes every other SIGBUS on to the previous one. A handler that
/// is installed later must in turn pass on what is not its own, as crash reporters do.
///
/// Returns 0, or an errno.
int habitstore_guard_page(void *page);

/// Ends guarding a page; call it before the page is unmapped.
void habitstore_unguard_page(void *page);

/// From now on, if the code of the calling thread ends the process by SIGILL, SIGTRAP or SIGABRT, as Swift's preconditions do,
/// `text` is written to standard error. The process still dies as it would have: the previous handlers are called, or the signal's
/// default action is taken. `text` must remain in memory until the end.
///
/// Returns the thread's previous text, for the end.
const char *habitstore_begin_dying_words(const char *text);

/// Undoes the thread's last beginning. Restores the previous handlers if no other thread still needs these.
void habitstore_end_dying_words(const char *outer);

#endif
