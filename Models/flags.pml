/*
 * Which engine is the old one: flag files say it, processes may read different ones, and a user at `off` or `complete` may be turned,
 * so that the same store serves and the parts are changed. Engines are A and B. Models/README.md says which step is which function.
 */

#define A 0
#define B 1
#define OFF      0
#define LIVE     1
#define COMPLETE 2

#ifndef TURNS
#define TURNS 12                    /* counted no further */
#endif

/* ---- On the disk ---- */

byte stage = LIVE, old = A;         /* of the store that serves */
bit killed, pulled;                 /* killed and not re-armed; the kill switch as it stands */
bit swappedBy[2];                    /* the flag files that have turned this user */

#define SERVING (stage == OFF -> old : 1 - old)

/* ---- What really happened ---- */

byte fledFrom = 2;                  /* the engine that the user was taken away from, 2 for none */
byte turns, rearms = 1, kills = 2, edits = 1;
byte file[2];                       /* which engine each process's flag file calls old */
byte identity[2];                   /* and which file that is */
byte lock;

#ifdef OLD_FLIP
#define MAY_TURN(p) true
#else
#define MAY_TURN(p) (!killed && !pulled && !swappedBy[identity[p]])
#endif

proctype App(byte me) {
    do
    :: atomic { /* reroute: under the lock of the switches */
        lock == 0 -> lock = me + 1 };
        atomic { /* turn */
            if
            :: old != file[me] && (stage == OFF || stage == COMPLETE) && MAY_TURN(me) ->
                old = 1 - old; stage = (stage == OFF -> COMPLETE : OFF); swappedBy[identity[me]] = 1;
                if
                :: turns < TURNS -> turns++
                :: else
                fi
            :: else
            fi };
        atomic { /* kill, where it is pulled or latched and not done yet: back to the old engine */
            if
            :: (pulled || killed) && !(stage == OFF && killed) ->
                if
                :: stage != OFF -> fledFrom = SERVING; stage = OFF
                :: else
                fi;
                killed = 1
            :: else
            fi;
            lock = 0 }
    :: atomic { /* rearm */
        lock == 0 && killed && !pulled && rearms > 0 -> rearms--; killed = 0; fledFrom = 2 }
    :: atomic { /* promote */
        lock == 0 && !killed && !pulled && stage < COMPLETE && old == file[me] -> stage++ }
    od
}

proctype Operator() {
    do
    :: atomic { kills > 0 && !pulled -> kills--; pulled = 1 }
    :: atomic { pulled -> pulled = 0 }
    :: atomic { edits > 0 -> edits--; file[0] = 1 - file[0] } /* an edit of a file is the same file */
    od
}

proctype Laws() {
    do
    :: d_step {
        /* A killed user is not served by the engine that was fled from, until re-armed. */
        assert(fledFrom == 2 || !killed || SERVING != fledFrom);
        /* Flags that disagree, or change, turn a user once each at most. */
        assert(turns <= 2) }
    od
}

init { atomic { file[0] = A; file[1] = B; identity[0] = 0; identity[1] = 1; run Laws(); run Operator(); run App(0); run App(1) } }
