/*
 * The evidence by which the gate opens: clean reads, differences, the log that may not be writable, and stays at a stage.
 *
 * Two processes read in shadow and count in memory; a third thing, the operator's move, demotes and promotes the user. The records of the
 * two stores may come to differ once (somebody damages one of them). Models/README.md says which step is which function.
 */

#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef MOVES
#define MOVES 4
#endif
#define NEEDED 1                    /* clean reads that the gate to live asks for */

#define DUALWRITE 1
#define SHADOW    2
#define LIVE      3

/* ---- On the disk ---- */

byte stage = SHADOW, epoch = 1;
bit differs;                        /* the stores hold different records */
bit canAppend = 1;                  /* whether the log can be written */
byte logClean, logEpoch = 1;        /* the log: clean reads since the last entry into a stage or difference, and that entry */
bit logDifference;
byte marked, lastMark;              /* the control file's number of a difference that is not in the log yet; its room was taken before */

/* ---- What really happened, for the laws ---- */

byte cleanHere;                     /* clean reads of the present stay, made behind the last difference that was seen */
bit seenHere;                       /* a difference was seen in the present stay */

byte crashes = CRASHES, moves = MOVES, reads = 3, damages = 1, fills = 1;
byte lock;

/* A difference that is not in the log yet closes the gate, and a promotion first appends its own line. */
#ifdef OLD_EVIDENCE_LOST
#define MAY_OPEN true
#else
#define MAY_OPEN (!marked && canAppend)
#endif

/* A stay begins: whatever was proven was proven of another one. */
inline enter(to) {
    stage = to; epoch++; cleanHere = 0; seenHere = 0
}

proctype App(byte me) {
    byte clean, cleanEpoch;         /* counted in memory, not yet flushed */
    bit unwritten;                  /* a difference in memory that could not be written */
    byte seen;

    do
    :: atomic { /* a shadow read, at one token of both stores */
        stage == SHADOW && reads > 0 -> reads--;
        if
        :: differs ->
            /* found(_:at:): a difference is marked first, and kept until it is written */
            seenHere = 1; cleanHere = 0;
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
    :: atomic { /* record: what was kept back goes to the log, by whoever finds it there */
        (unwritten || marked > 0) && canAppend -> seen = marked; logDifference = 1; logClean = 0; unwritten = 0 };
        atomic { /* the mark goes if it is still the one that was there before the line */
#ifdef MARK_CLEARED_BLINDLY
            marked = 0;
#else
            if
            :: marked == seen -> marked = 0
            :: else
            fi;
#endif
            seen = 0 }
    :: atomic { /* flush: what was counted goes to the log; at any later time */
        clean > 0 && canAppend && !unwritten ->
        if
#ifdef OLD_READS_WITHOUT_EPOCH
        :: stage == SHADOW -> logClean = logClean + clean
#else
        :: stage == SHADOW && cleanEpoch == logEpoch -> logClean = logClean + clean
#endif
        :: else
        fi;
        clean = 0; cleanEpoch = 0 }
    :: atomic { /* moves, under the lock of the switches */
        lock == 0 && moves > 0 && stage == SHADOW -> lock = 1; moves--; enter(DUALWRITE) };
        atomic { /* the line of the move; what cannot be written is made up for at the next look */
            if
            :: canAppend -> logEpoch = epoch; logClean = 0; logDifference = 0
            :: !canAppend
            fi;
            lock = 0 }
    :: atomic { lock == 0 && moves > 0 && stage == DUALWRITE && canAppend -> moves--;
        enter(SHADOW); logEpoch = epoch; logClean = 0; logDifference = 0 }
    :: atomic { /* promote: the gate reads the log */
        lock == 0 && moves > 0 && stage == SHADOW && logEpoch == epoch && logClean >= NEEDED && !logDifference && !unwritten && MAY_OPEN ->
        moves--;
        assert(!seenHere);
        assert(cleanHere >= NEEDED);
        stage = LIVE }
    :: atomic { crashes > 0 -> crashes--; clean = 0; cleanEpoch = 0; unwritten = 0 }
    od
}

proctype World() {
    do
    :: atomic { damages > 0 -> damages--; differs = 1 }
    :: atomic { fills > 0 && canAppend -> fills--; canAppend = 0 } /* the disk is full, or the file may not be written */
    :: atomic { !canAppend -> canAppend = 1 }
    :: atomic { differs && stage == SHADOW -> differs = 0 } /* repaired, or written over */
    od
}

init { atomic { run World(); run App(0); run App(1) } }
