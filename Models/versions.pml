/*
 * Two schema versions, and the programs that have them: writes, migrations in two steps, kills, and a store that a person accepts.
 *
 * Store 0 is the old one, store 1 the new one. Program 1 has version 1 only; program 2 has both, and brings a user to version 2 when it opens
 * one: the store that does not serve first, then the one that does, each in a transaction of its own. An opening holds the lock of the
 * switches. Models/README.md says which step is which function.
 */

#ifndef WRITES
#define WRITES 2
#endif
#ifndef CRASHES
#define CRASHES 1
#endif

#ifndef DAMAGES     /* times that the old store's file is damaged */
#define DAMAGES 0
#endif

#define OFF      0                  /* the old store serves */
#define LIVE     1                  /* the new store serves, and the old one takes each write before it is acknowledged */
#define COMPLETE 2                  /* the new store serves, and the old one was left */

#ifdef FROM_COMPLETE
#define START COMPLETE
#else
#define START LIVE
#endif

typedef Store {
    byte version; byte writes;      /* how many writes it holds; with as many migrations as its version says these are its token */
    bit isSound; bit isCurrent      /* the role */
};

/* ---- On the disk ---- */

Store store[2];
byte stage = START;
bit isKillKnown;                    /* the control file remembers a kill that no store was told of */
bit isKilled;                       /* the store that serves was told */
byte mark = 0;                      /* the control file's mark of the last acknowledged token's writes */

/* ---- What really happened, for the laws ---- */

byte acknowledged;
bit isPulled;                       /* the kill switch was pulled, and the user not re-armed since */
bit wasRestored;                    /* an older file was put back */
bit hangs;                          /* the store that was left does not answer */
bit isDamaged;                      /* the old store's file is damaged: nothing is made in its place */
Store copy; bit hasCopy;

byte writes = WRITES, crashes = CRASHES, kills = 1, restores = 1, hangings = 1, acceptances = 1, damages = DAMAGES;
bit lock;

#define SERVING (stage == OFF -> 0 : 1)
#define LEFT    (1 - SERVING)

/* AuthorityResolution: the store that claims to serve is served if it holds what was acknowledged. */
#define SERVES(known) (store[SERVING].isSound && store[SERVING].isCurrent && store[SERVING].version == known && store[SERVING].writes >= mark)
#define LANDED (stage == OFF && isKilled)

/* One opening by a program that has the versions up to `known`. */
proctype App(byte known) {
    bit reached;                    /* the store that does not serve answered, and was brought along */
    bit wasPulled;                  /* the kill switch was pulled when this opening began */
    bit isExcused;                  /* the other store did not answer, is damaged, or is of a version that the program lacks */
    bit refuses;                    /* a kill waits: this program reads, and does not write */

    do
    :: atomic { lock == 0 -> lock = 1; reached = 0; wasPulled = isPulled; isExcused = 0; refuses = 0 };
        /* Migrating: the store that does not serve first, where that answers; the one that serves does not wait for it. */
        do
        :: known == 2 && store[SERVING].version == 1 && store[SERVING].isSound && store[SERVING].writes >= mark ->
            atomic {
                if
#ifdef OLD_LEFT_FIRST
                :: store[LEFT].isSound && store[LEFT].version == 1 && !hangs -> store[LEFT].version = 2
                :: store[LEFT].isSound && store[LEFT].version == 1 && hangs ->
                    /* law 4 */
                    assert(stage == LIVE); lock = 0; goto over
#else
#ifdef OLD_LEFT_UNMIGRATED
                :: store[LEFT].isSound && store[LEFT].version == 1 && !hangs && stage != COMPLETE -> store[LEFT].version = 2
                :: store[LEFT].isSound && store[LEFT].version == 1 && (hangs || stage == COMPLETE)
#else
                :: store[LEFT].isSound && store[LEFT].version == 1 && !hangs -> store[LEFT].version = 2
                :: store[LEFT].isSound && store[LEFT].version == 1 && hangs
#endif
#endif
                :: !store[LEFT].isSound || store[LEFT].version == 2
                fi };
            if
            :: atomic { store[SERVING].version = 2 }
            :: atomic { crashes > 0 -> crashes--; lock = 0; goto over }
            fi
        :: known == 2 && store[SERVING].version == 2 && store[LEFT].isSound && store[LEFT].version == 1 && !hangs ->
#ifdef OLD_LEFT_UNMIGRATED
            atomic { if :: stage == COMPLETE -> break :: else -> store[LEFT].version = 2 fi }
#else
            /* bringAlong */
            atomic { store[LEFT].version = 2 }
#endif
        :: else -> break
        od;
        atomic { reached = (store[LEFT].isSound && store[LEFT].version == store[SERVING].version && !hangs) };
        /* A kill that is recorded is tried by each opening, until it lands. */
        if
        :: atomic { isKillKnown && stage == OFF && SERVES(known) -> isKilled = 1; isKillKnown = 0 }
        :: atomic { isKillKnown && stage != OFF && SERVES(known) && reached && !hangs ->
            /* kill: what the old store lacks is carried over, and it serves */
            store[0].writes = store[1].writes; store[0].isCurrent = 1; store[1].isCurrent = 0;
            stage = OFF; isKilled = 1; isKillKnown = 0 }
        :: atomic { isKillKnown && stage != OFF && SERVES(known) && !store[0].isSound && !isDamaged && !hangs ->
            /* withOldUp: the old store is made anew */
            store[0].isSound = 1; store[0].version = known; store[0].writes = store[1].writes;
            store[0].isCurrent = 1; store[1].isCurrent = 0; stage = OFF; isKilled = 1; isKillKnown = 0 }
        :: atomic { else -> isExcused = (hangs || isDamaged || known == 1) }
        fi;
        atomic { /* the opening is over */
            if
            :: SERVES(known) ->
                assert(store[SERVING].writes >= acknowledged);      /* law 1: all that was acknowledged is read */
                assert(!wasPulled || !isPulled || LANDED || isExcused)      /* law 3: a kill lands with the next opening that can */
            :: else ->
                /* law 4: who has the version is served, whatever the store that was left does */
                assert(known != 2 || wasRestored || !store[SERVING].isSound || hangs && stage == LIVE)
            fi;
            refuses = (isKillKnown && !LANDED);
            lock = 0 };
        do
        :: atomic { /* a write: in the store that serves, at live in both, then acknowledged */
            writes > 0 && lock == 0 && !refuses && SERVES(known) && (stage != LIVE || store[LEFT].isSound && store[LEFT].version == known && !hangs) ->
            writes--; store[SERVING].writes++;
            if
            :: stage == LIVE -> store[LEFT].writes = store[SERVING].writes
            :: else
            fi;
            mark = store[SERVING].writes; acknowledged = mark }
        :: break
        od;
over:   skip
    od
}

/* People: the kill switch, and a store that is accepted as it is. */
proctype Operator() {
    byte chosen;

    do
    :: atomic { kills > 0 && !isPulled -> kills--; isPulled = 1;
        /* rollout kill, by program 1: recorded before any store is opened */
#ifdef OLD_KILL_FORGOTTEN
        isKillKnown = (store[0].version == 1 && store[1].version == 1)
#else
        isKillKnown = 1
#endif
        }
    :: atomic { isPulled && LANDED && lock == 0 -> isPulled = 0; isKilled = 0; isKillKnown = 0 } /* re-arm */
    :: atomic { acceptances > 0 && lock == 0 -> acceptances--;
        if
        :: chosen = 0
        :: chosen = 1
        fi;
        if
        /* adopt by program 1: it has to be able to open both stores, and none that is sound may serve and hold more. */
#ifdef OLD_ADOPT_BLIND
        :: store[chosen].isSound && store[chosen].version == 1 ->
#else
        :: (store[chosen].isSound && store[chosen].version == 1 && (!store[1 - chosen].isSound
            || store[1 - chosen].version == 1 && store[1 - chosen].writes <= store[chosen].writes)) ->
#endif
            /* law 2: nothing is given up for a store while a sound one has it */
            assert(store[chosen].writes >= acknowledged || !store[1 - chosen].isSound || store[1 - chosen].writes < acknowledged);
            mark = store[chosen].writes; acknowledged = mark;
            if
#ifndef ACCEPT_CLEARS_KILL
            :: isKillKnown || isKilled ->
                /* The kill lands: the accepted store is the old one from now on, and the other one is set aside. */
                store[0].version = store[chosen].version; store[0].writes = mark; store[0].isSound = 1; store[0].isCurrent = 1;
                store[1].isSound = 0; store[1].isCurrent = 0; store[1].version = store[0].version;
                stage = OFF; isKilled = 1; isKillKnown = 0; isDamaged = 0
#endif
            :: else ->
                stage = (chosen == 0 -> OFF : COMPLETE);
                store[chosen].isCurrent = 1; store[1 - chosen].isCurrent = 0; isKilled = 0; isKillKnown = 0
            fi
        :: else
        fi;
        chosen = 0 }
    od
}

/* Files: one is copied, and put back later; a store does not answer for a while; one is damaged, and may be repaired. */
proctype World() {
    do
    :: atomic { restores > 0 && !hasCopy && store[1].isSound -> hasCopy = 1;
        copy.version = store[1].version; copy.writes = store[1].writes; copy.isSound = 1; copy.isCurrent = store[1].isCurrent }
    :: atomic { restores > 0 && hasCopy && lock == 0 -> restores--; wasRestored = 1;
        store[1].version = copy.version; store[1].writes = copy.writes; store[1].isSound = copy.isSound; store[1].isCurrent = copy.isCurrent }
    :: atomic { hangings > 0 && !hangs -> hangings--; hangs = 1 }
    :: atomic { hangs && lock == 0 -> hangs = 0 }
    :: atomic { damages > 0 && lock == 0 && stage != OFF && store[0].isSound -> damages--; isDamaged = 1; store[0].isSound = 0 }
    :: atomic { isDamaged && lock == 0 && stage != OFF -> isDamaged = 0; store[0].isSound = 1 }
    od
}

init { atomic {
    store[0].version = 1; store[0].isSound = 1; store[1].version = 1; store[1].isSound = 1; store[1].isCurrent = 1;
    run App(1); run App(2); run Operator(); run World() } }
