/*
 * The evidence by which the gate opens: clean reads, verifications, differences, stays at a stage, and the places where lines are kept.
 *
 * Two processes compare the stores and count in memory; moves demote, promote and kill the user. The records of the two stores may come to
 * differ once. One fault happens: a place takes no lines and cannot be read for a while, the lines of a store are damaged, one store is put
 * back from a copy, or with LOSSES both stores are lost and a backup is restored. Models/README.md says which step is which function.
 *
 * Without ROWS the lines are in a file of their own, as in the product. With ROWS they are rows of both stores, written to the store first
 * that is written first by a user's writes, in the transaction that changes role and epoch or in one of their own.
 */

#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef MOVES
#define MOVES 3
#endif
#ifndef FAULTS
#define FAULTS 1
#endif
#ifndef LOSSES
#define LOSSES 0
#endif
#ifndef READS
#define READS 1
#endif
#ifndef LOOKS
#define LOOKS 2
#endif
#ifndef DAMAGES
#define DAMAGES 1
#endif
#define NEEDED 1                    /* clean reads that the gate to live asks for */

#define DUALWRITE 1
#define SHADOW    2
#define LIVE      3
#define COMPLETE  4

#define OLD  0
#define NEW  1
#define FILE 2

/* ---- On the disk ---- */

byte stage = SHADOW, epoch = 1;
bit differs;                        /* the stores hold different records */
bit away[3];                        /* a place that can neither be read nor take a line now: hung, full, unreadable */
bit torn[3];                        /* a store that works, and whose lines cannot be read any more */
byte logEpoch[3] = 1;               /* the lines of a place: the last entry into a stage, */
byte logClean[3];                   /* clean reads since that, */
bit logVerified[3];                 /* whether the last verification since that was clean, */
bit logOpen[3];                     /* a difference that no verification has refuted, */
byte last[3];                       /* the last line, of all that were ever written, */
bit cut[3];                         /* and whether lines before it are missing */
byte marked, lastMark;              /* the control file: the number of a difference that is not in the lines yet, */
byte witness;                       /* and the last line (with files the stores remember it) */
bit failedMark;                     /* and with rows, that a verification failed whose line is not there yet */

byte keptStage;                     /* a backup, made once */
byte keptEpoch[2], keptClean[2], keptLast[2];
bit keptVerified[2], keptOpen[2], keptCut[2];

/* ---- What really happened, for the laws ---- */

byte cleanHere;                     /* clean reads of the present stay */
bit verifiedHere;                   /* the last verification of the present stay was clean */
bit seen;                           /* a difference was seen, and no verification has refuted it since */
bit recorded;                       /* and was recorded */

byte crashes = CRASHES, moves = MOVES, reads = READS, looks = LOOKS, damages = DAMAGES, faults = FAULTS, losses = LOSSES;
byte lock, lines;

/* The place that is read and written, and the one that has a copy. */
#ifdef ROWS
#ifdef ROWS_OF_THE_SERVING_STORE
#define AT (stage >= LIVE -> NEW : OLD)
#define FOLLOWS(p) false
#else
#define BOTH_KEEP_ROWS
#define AT (stage == COMPLETE -> NEW : OLD)
#define FOLLOWS(p) (!away[p] && !torn[p] && last[p] == before && !cut[p])
#endif
#else
#define AT FILE
#define FOLLOWS(p) false
#endif

#define READABLE(p) (!away[p] && !torn[p])
/* Where the history is carried, lines are: to the store that lacks the last one. */
#define LACKS(p) (READABLE(p) && !cut[p] && last[p] != witness && READABLE(1 - p) && last[1 - p] == witness)
/* The stores compare only if both answer. */
#define BOTH (!away[OLD] && !away[NEW])

#ifdef ROWS_WITHOUT_WITNESS
#define COMPLETE_AT(p) (READABLE(p) && !cut[p])
#else
#define COMPLETE_AT(p) (READABLE(p) && !cut[p] && last[p] == witness)
#endif

/* A difference that is not in the lines yet closes the gate, and a promotion first appends its own line. */
#ifdef OLD_EVIDENCE_LOST
#define MAY_OPEN COMPLETE_AT(AT)
#else
#define MAY_OPEN (!marked && !failedMark && COMPLETE_AT(AT))
#endif

/* A stay begins: whatever was proven was proven of another one. */
inline enter(to) {
    stage = to; epoch++; cleanHere = 0; verifiedHere = 0
}

/* The number of a line at a place: what follows missing lines is seen to do so. */
inline number(p) {
    if
    :: last[p] != witness -> cut[p] = 1
    :: else
    fi;
    lines++; last[p] = lines; witness = lines
}

inline copyLine(from, p) {
    last[p] = last[from]; logEpoch[p] = logEpoch[from]; logClean[p] = logClean[from]; logVerified[p] = logVerified[from];
    logOpen[p] = logOpen[from]; cut[p] = cut[from]
}

/* A line was added at a place: the other store gets it too, if it has what was there before. */
inline follow(p) {
#ifdef BOTH_KEEP_ROWS
    if
    :: FOLLOWS(1 - p) -> copyLine(p, 1 - p)
    :: else
    fi;
#endif
    before = 0
}

inline entered(p) {
    before = last[p]; number(p); logEpoch[p] = epoch; logClean[p] = 0; logVerified[p] = 0; follow(p)
}

byte before;

proctype App(byte me) {
    byte clean, cleanEpoch;         /* counted in memory, not yet flushed */
    bit unwritten;                  /* a difference in memory that could not be written */
    bit failed;                     /* a failed verification in memory that could not be written */
    byte seenMark;

    do
    :: atomic { /* a shadow read, at one token of both stores */
        stage == SHADOW && BOTH && reads > 0 -> reads--;
        if
        :: differs ->
            /* found(_:at:): a difference is marked first, and kept until it is written */
            seen = 1;
#ifndef OLD_EVIDENCE_LOST
            lastMark++; marked = lastMark;
#endif
            unwritten = 1
        :: else ->
            cleanHere++;
            if
            :: cleanEpoch == 0 || cleanEpoch == epoch -> clean++; cleanEpoch = epoch
            :: else -> clean = 1; cleanEpoch = epoch
            fi
        fi }
    :: atomic { /* a verification; its line is part of it, or the difference that it found is owed */
        looks > 0 && stage != DUALWRITE && lock == 0 -> looks--;
        if
        :: BOTH && differs -> seen = 1; verifiedHere = 0; lastMark++; marked = lastMark; unwritten = 1
        :: BOTH && !differs && COMPLETE_AT(AT) ->
            seen = 0; recorded = 0; verifiedHere = 1; failed = 0; failedMark = 0;
            before = last[AT]; number(AT); logVerified[AT] = 1; logOpen[AT] = 0; follow(AT)
        :: BOTH && !differs && !COMPLETE_AT(AT)
        :: !BOTH -> /* a store does not answer: what was verified before does not count any more */
            verifiedHere = 0;
            if
            :: READABLE(AT) -> before = last[AT]; number(AT); logVerified[AT] = 0; follow(AT)
            :: else -> failed = 1;
#ifdef ROWS
#ifndef ROWS_FAILURE_NOT_OWED
                failedMark = 1
#endif
#endif
            fi
        fi }
    :: atomic { /* record: what was kept back is written down, by whoever finds it there */
        (unwritten || marked > 0) && READABLE(AT) -> seenMark = marked;
        before = last[AT]; number(AT); logOpen[AT] = 1; logClean[AT] = 0; logVerified[AT] = 0; follow(AT);
        if
        :: seen -> recorded = 1
        :: else
        fi;
        unwritten = 0 };
        atomic { /* the mark goes if it is still the one that was there before the line */
#ifdef MARK_CLEARED_BLINDLY
            marked = 0;
#else
            if
            :: marked == seenMark -> marked = 0
            :: else
            fi;
#endif
            seenMark = 0 }
    :: atomic { (failed || failedMark) && READABLE(AT) -> failed = 0; failedMark = 0;
        before = last[AT]; number(AT); logVerified[AT] = 0; follow(AT) }
    :: atomic { /* flush: what was counted is written down; at any later time */
        clean > 0 && READABLE(AT) && !unwritten ->
        if
#ifdef OLD_READS_WITHOUT_EPOCH
        :: stage == SHADOW -> before = last[AT]; number(AT); logClean[AT] = logClean[AT] + clean; follow(AT)
#else
        :: stage == SHADOW && cleanEpoch == logEpoch[AT] ->
            before = last[AT]; number(AT); logClean[AT] = logClean[AT] + clean; follow(AT)
#endif
        :: else
        fi;
        clean = 0; cleanEpoch = 0 }
#ifdef ROWS
    :: atomic { stage == SHADOW && moves > 0 && lock == 0 && !away[OLD] -> moves--; enter(DUALWRITE);
        /* the line is in the transaction of the move; one that cannot be written there leaves an earlier epoch behind */
        if
        :: !torn[OLD] -> entered(OLD)
        :: else
        fi }
#else
    :: atomic { /* moves, under the lock of the switches */
        lock == 0 && moves > 0 && stage == SHADOW && !away[OLD] -> lock = 1; moves--; enter(DUALWRITE) };
        atomic { /* the line of the move; what cannot be written is made up for at the next look */
            if
            :: READABLE(FILE) -> entered(FILE)
            :: else
            fi;
            lock = 0 }
#endif
    :: atomic { lock == 0 && moves > 0 && stage == DUALWRITE && !away[OLD] && READABLE(AT) -> moves--; enter(SHADOW); entered(AT) }
    :: atomic { /* promote: the gate reads the lines */
        lock == 0 && moves > 0 && stage == SHADOW && BOTH && logEpoch[AT] == epoch && logClean[AT] >= NEEDED &&
        logVerified[AT] && !logOpen[AT] && !unwritten && !failed && MAY_OPEN ->
        moves--;
        assert(!seen);
        assert(cleanHere >= NEEDED);
        assert(verifiedHere);
        enter(LIVE);
#ifdef ROWS_OF_THE_SERVING_STORE
        copyLine(OLD, NEW); torn[NEW] = 0;
#endif
        entered(AT) }
    :: atomic { /* to complete: the new store gets what the old one has */
        lock == 0 && moves > 0 && stage == LIVE && BOTH && logEpoch[AT] == epoch && logVerified[AT] && !logOpen[AT] &&
        !unwritten && !failed && MAY_OPEN ->
        moves--;
        assert(!seen);
        assert(verifiedHere);
#ifdef BOTH_KEEP_ROWS
        copyLine(OLD, NEW); torn[NEW] = 0;
#endif
        enter(COMPLETE); entered(AT) }
    :: atomic { /* a kill from live: needs the old store, and nothing of the new one or of the lines */
        lock == 0 && moves > 0 && stage == LIVE && !away[OLD] -> moves--;
#ifdef ROWS_KILL_READS
        assert(!torn[OLD]);
#endif
        enter(DUALWRITE);
#ifdef BOTH_KEEP_ROWS
        if
        :: LACKS(OLD) -> copyLine(NEW, OLD)
        :: else
        fi;
#endif
        if
        :: READABLE(AT) -> entered(AT)
        :: else
        fi }
#ifdef BOTH_KEEP_ROWS
    :: atomic { LACKS(OLD) -> copyLine(NEW, OLD) }
    :: atomic { LACKS(NEW) -> copyLine(OLD, NEW) }
#endif
    :: atomic { crashes > 0 -> crashes--; clean = 0; cleanEpoch = 0; unwritten = 0; failed = 0 }
    od
}

inline putBack(s) {
    logEpoch[s] = keptEpoch[s]; logClean[s] = keptClean[s]; last[s] = keptLast[s];
    logVerified[s] = keptVerified[s]; logOpen[s] = keptOpen[s]; cut[s] = keptCut[s]
}

proctype World() {
    do
    :: atomic { damages > 0 -> damages--; differs = 1 }
    :: atomic { faults > 0 ->
        if
        :: away[OLD] = 1
        :: away[NEW] = 1
#ifdef ROWS
        :: torn[OLD] = 1
        :: torn[NEW] = 1
#else
        :: away[FILE] = 1
#endif
        fi;
        faults-- }
    :: atomic { away[OLD] -> away[OLD] = 0 }
    :: atomic { away[NEW] -> away[NEW] = 0 }
    :: atomic { away[FILE] -> away[FILE] = 0 }
    :: atomic { differs && stage == SHADOW -> differs = 0 } /* repaired, or written over */
    :: atomic { keptStage == 0 && stage < COMPLETE -> keptStage = stage;
        keptEpoch[OLD] = logEpoch[OLD]; keptClean[OLD] = logClean[OLD]; keptLast[OLD] = last[OLD];
        keptVerified[OLD] = logVerified[OLD]; keptOpen[OLD] = logOpen[OLD]; keptCut[OLD] = cut[OLD];
        keptEpoch[NEW] = logEpoch[NEW]; keptClean[NEW] = logClean[NEW]; keptLast[NEW] = last[NEW];
        keptVerified[NEW] = logVerified[NEW]; keptOpen[NEW] = logOpen[NEW]; keptCut[NEW] = cut[NEW] }
    /* A store that is older is served only where the other one has everything: rollout.pml has the rules. */
    :: atomic { keptStage > 0 && faults > 0 && stage <= LIVE -> faults--; putBack(NEW) }
    :: atomic { keptStage > 0 && faults > 0 && stage >= LIVE -> faults--; putBack(OLD) }
#if LOSSES
    /* Both stores are lost, and a backup is restored: a new epoch, in which nothing is proven. */
    :: atomic { keptStage > 0 && losses > 0 && lock == 0 && READABLE(FILE) -> losses--;
        away[OLD] = 0; away[NEW] = 0; torn[OLD] = 0; torn[NEW] = 0;
        putBack(OLD); putBack(NEW); differs = 0; marked = 0; failedMark = 0;
        enter(keptStage);
#ifdef ROWS
        witness = last[AT];
#endif
        entered(AT) }
#endif
    od
}

/* What was recorded against a user is known to whoever can read the evidence, until a verification refutes it. */
proctype Laws() {
    do
    :: d_step { recorded && READABLE(AT) -> assert(logOpen[AT] || marked || last[AT] != witness) }
    od
}

init { atomic { run World(); run App(0); run App(1); run Laws() } }
