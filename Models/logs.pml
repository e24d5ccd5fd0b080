/*
 * A SQLite file and its write-ahead log: which pairs are opened, which are refused, and what a refusal leaves in place.
 *
 * A process commits into the log and checkpoints page by page; it may die between two of its steps. An operator copies the file and the log,
 * one at a time, and puts copies back, removes the log, or takes another user's. Models/README.md says which step is which function.
 *
 * The contents are three pages. Commit n writes page n % 3 and the page of the mark. SQLite writes any log over any file; the result is
 * whole only if each page is as the last commit that wrote it left it.
 */

#ifndef COMMITS
#define COMMITS 5
#endif
#ifndef CRASHES
#define CRASHES 2
#endif
#ifndef EXCHANGES
#define EXCHANGES 2
#endif

#define OTHER 16                    /* the commits of another user's file are those above this */

typedef File { byte page[3]; byte mark };
typedef Log { byte first; byte last; byte base };   /* empty without a last; `base` is the mark before the first commit */

/* ---- On the disk ---- */

File file; Log log;
byte acknowledged;                  /* the token mark of the control file: the last commit that was reported as done */

/* ---- The operator's copies ---- */

File fileCopy; Log logCopy;
bit hasFileCopy, hasLogCopy;

/* ---- What really happened, for the laws ---- */

bit exchanged;                      /* the pair is not what its processes have left */
byte changes;                       /* how often a byte of the two was changed */
bit isHalf;                         /* a checkpoint is half done: without its log the file cannot be told from a whole one */

byte crashes = CRASHES, exchanges = EXCHANGES;
bit isOpen;                         /* nothing is exchanged under an open file here; the readers of an open one look at its inode */

File seen;                          /* what SQLite shows: the log written over the file */
hidden byte c;

inline copyFile(to, from) {
    to.page[0] = from.page[0]; to.page[1] = from.page[1]; to.page[2] = from.page[2]; to.mark = from.mark
}
inline copyLog(to, from) { to.first = from.first; to.last = from.last; to.base = from.base }

inline recover() {
    copyFile(seen, file);
    if
    :: log.last != 0 ->
        for (c : log.first .. log.last) { seen.page[c % 3] = c }
        seen.mark = log.last
    :: else
    fi;
    c = 0
}

/* The last commit up to `n` that wrote page `p`; none is 0. */
#define WRITER(p, n) ((n) % 3 == (p) -> (n) : ((n) >= 1 && ((n) - 1) % 3 == (p) -> (n) - 1 : ((n) >= 2 && ((n) - 2) % 3 == (p) -> (n) - 2 : 0)))
#define WHOLE (seen.mark < OTHER && seen.page[0] == WRITER(0, seen.mark) && seen.page[1] == WRITER(1, seen.mark) && seen.page[2] == WRITER(2, seen.mark))

/* SQLiteLogCheck: the log has the file's mark, or begins after it. Nothing speaks against an empty log. */
#ifdef OLD_LOG_UNCHECKED
#define BELONGS true
#else
#ifdef BASE_ONLY
#define BELONGS (log.last == 0 || file.mark == log.base)
#else
#define BELONGS (log.last == 0 || file.mark == log.base || (file.mark >= log.first && file.mark <= log.last))
#endif
#endif
/* StatusCheck: whose store it is, and whether it holds what was acknowledged. */
#define KNOWN (seen.mark < OTHER && seen.mark >= acknowledged)

proctype App() {
    byte before, p;

    do
    :: atomic { /* open */
        !isOpen -> isOpen = 1; before = changes;
        if
        :: BELONGS ->
            recover();
#ifdef OLD_LOG_UNCHECKED
            /* What is found to be wrong afterwards is refused with the log already in the file. */
            if
            :: log.last != 0 -> copyFile(file, seen); log.first = 0; log.last = 0; log.base = 0; changes++; isHalf = 0
            :: else
            fi;
#endif
            if
            :: KNOWN -> assert(WHOLE) /* law 1: what is served is whole, and all that was acknowledged */
            :: else -> assert(changes == before); assert(exchanged); isOpen = 0; before = 0; goto refused
            fi
        :: else ->
            assert(changes == before);  /* law 2: a refusal leaves each byte in its place */
            assert(exchanged);          /* law 3: what its own processes have left is never refused */
            isOpen = 0; before = 0; goto refused
        fi;
        before = 0 }
        do
        :: atomic { /* commit, then acknowledge */
            seen.mark < COMMITS ->
            if
            :: log.last == 0 -> log.base = file.mark; log.first = seen.mark + 1
            :: else
            fi;
            log.last = seen.mark + 1; seen.mark = log.last; seen.page[log.last % 3] = log.last; changes++ }
            if
            :: atomic { acknowledged < log.last -> acknowledged = log.last }
            :: atomic { crashes > 0 -> crashes--; isOpen = 0; break }
            fi
        :: log.last != 0 -> /* checkpoint: the newest state of each page, in any order, the mark's among them; then the log begins anew */
            do
            :: atomic { p < 3 && file.mark != log.last -> file.mark = log.last; changes++; isHalf = 1 }
            :: atomic { p < 3 -> file.page[p] = seen.page[p]; changes++; isHalf = 1; p++ }
            :: atomic { p == 3 -> file.mark = log.last; changes++; p = 0; isHalf = 0;
                log.first = 0; log.last = 0; log.base = 0; break }
            :: atomic { crashes > 0 -> crashes--; isOpen = 0; p = 0; goto refused }
            od
        :: atomic { isOpen = 0; break } /* closed with a log, as a killed process leaves it */
        od;
refused: skip
    od
}

proctype Operator() {
    do
    :: atomic { exchanges > 0 && !hasFileCopy && !isHalf -> copyFile(fileCopy, file); hasFileCopy = 1 }
    :: atomic { exchanges > 0 && !hasLogCopy && log.last != 0 -> copyLog(logCopy, log); hasLogCopy = 1 }
    :: atomic { exchanges > 0 && !isOpen && !isHalf ->
        exchanges--; exchanged = 1;
        if
        :: hasFileCopy -> copyFile(file, fileCopy)
        :: hasLogCopy -> copyLog(log, logCopy)
        :: log.first = 0; log.last = 0; log.base = 0
        :: log.base = OTHER + 1; log.first = OTHER + 2; log.last = OTHER + 3
        :: file.page[0] = OTHER + 2; file.page[1] = 0; file.page[2] = OTHER + 1; file.mark = OTHER + 2
        fi }
    od
}

init { atomic { run App(); run Operator() } }
