/*
 * The rollout of one user: two stores, a control file, two locks, and processes that write, move, copy, mirror, kill and die.
 *
 * One atomic or d_step is one store transaction, one read snapshot, or one access to the control file; what lies between
 * two of them can be interleaved with anything, and a process may stop for as long as it likes there.
 * Models/README.md says which step is which function of the code. Rules that once were wrong are OLD_... switches.
 */

#ifndef PROCESSES
#define PROCESSES 2
#endif
#ifndef WRITES      /* writes in all, the first of them made before the model begins where FIRST is 1 */
#define WRITES 3
#endif
#ifndef MOVES
#define MOVES 3
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef COPIES      /* copies that may be begun or gone on with */
#define COPIES 0
#endif
#ifndef PRUNES      /* times that the authoritative store forgets its history */
#define PRUNES 0
#endif
#ifndef VERIFICATIONS
#define VERIFICATIONS 0
#endif
#ifndef RESTORES
#define RESTORES 0
#endif
#ifndef MUTES       /* times that the old store stops taking writes */
#define MUTES 1
#endif
#ifndef TRIES
#define TRIES 1
#endif
#ifndef REARMS
#define REARMS 1
#endif
#ifndef GOALS       /* what a process may want under the lock of the switches: bits as below */
#define GOALS 7
#endif

/* Roles of a store. */
#define AUTHORITATIVE 0
#define STANDBY       1
#define SEALED        2
#define BACKFILLING   3

/* Stages. dualwrite and shadow take the same steps, and so do live and rampdown: each pair is one stage here. */
#define OFF      0
#define DUAL     1
#define LIVE     2
#define COMPLETE 3

#define OLD 0
#define NEW 1
#define NOBODY 2
#define AUTHORITY(stage) ((stage) >= LIVE -> NEW : OLD)

/* The evidence of the promotion to live, as far as the stores are concerned; evidence.pml has the rest. */
#if VERIFICATIONS
#define PROVEN (verified == e && role[NEW] == STANDBY && token[NEW] == token[OLD])
#else
#define PROVEN (role[NEW] == STANDBY && token[NEW] == token[OLD])
#endif

/* Goals. */
#define JUST_LOOK 0
#define FORWARD   1
#define BACK      2
#define KILL      4
#define TOGGLE    8
#define FIND      16  /* what became of a write */
#define REARM     32
#define HAS(goal) ((GOALS & (goal)) != 0)

/* Write x changes record x % 2, and adds itself to it: what a store holds is a set of writes, and a record its half. */
#define RECORD(x) (((x) & 1) -> 10 : 5)
#define AT(h, t) (((h) >> (2 * ((t) - 1))) & 3)
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define WITHIN(a, b) (((a) & ~(b)) == 0)

/* ---- What is on the disk ---- */

byte role[2], epoch[2], stage[2], movingTo[2];
byte data[2], token[2], history[2], pruned[2];   /* history: 2 bits for each token; pruned: the history's floor */
byte copyRun[2], copyStart[2], copyDone[2];      /* the state of an unfinished copy */

byte wordStage, wordEpoch;                       /* the word; epoch 0: invalid */
byte floorEpoch, confirmed, mark;                /* floorEpoch: the highest epoch that any move has claimed */

#ifdef PASSING
byte passes = 1;
#endif
#if PRUNES
byte prunes = PRUNES;
#endif
#ifdef WAITING
bit recorded;                                    /* the record of a kill, until a re-arm */
bit mute;                                        /* the old store can be read, and takes no writes */
#endif
#if VERIFICATIONS
byte verified;                                   /* the epoch in which both stores were compared and found alike */
#endif

/* ---- What the system keeps ---- */

byte switchLock, copyLock, writeLock[2];         /* the holder's number, 0 for nobody */
byte routeStage[PROCESSES], routeEpoch[PROCESSES];
#ifdef WAITING
bit refuses[PROCESSES];                          /* the route is one for reads */
#endif

/* ---- What is counted ---- */

byte acked, nextWrite, runs;
#ifdef FENCED
byte shown, failed;
#endif
byte crashes = CRASHES, moves = MOVES, copies = COPIES, verifications = VERIFICATIONS;
#ifdef WAITING
bit pulled;                                      /* the kill switch was pulled, and the user not re-armed since */
bit waits;                                       /* an opening ended without having carried out the kill */
bit excused;                                     /* in this opening the old store took no writes at some moment */
byte mutes = MUTES, tries = TRIES, rearms = REARMS; /* tries: attempts of kills that have to fail, and claim epochs */
#endif
#if RESTORES
byte restores = RESTORES;
byte kept = NOBODY, keptRole, keptEpoch, keptStage, keptMoving, keptData, keptToken, keptHistory;
byte keptWord, keptConfirmed, keptMark, keptFloor;
#endif

#define READS(p) (routeEpoch[p] > 0 && routeEpoch[p] == wordEpoch && routeStage[p] == wordStage)
#define ROUTELESS(p) (routeEpoch[p] == 0)
#if PROCESSES == 1
#define ALL_CLOSED (ROUTELESS(0) && switchLock == 0)
#elif PROCESSES == 2
#define ALL_CLOSED (ROUTELESS(0) && ROUTELESS(1) && switchLock == 0)
#endif

/* Used within one step only; not part of the state. (Breadth first, Spin allows no such variables.) */
#ifdef BREADTH_FIRST
#define SCRATCH
#else
#define SCRATCH hidden
#endif
SCRATCH byte i, m, who, how, other;

/* ---- One transaction each ---- */

inline append(s, x) {
    history[s] = history[s] | ((x) << (2 * token[s]));
    data[s] = data[s] | (1 << (x));
    token[s] = token[s] + 1;
}

/* Replication.carry: every record that changed behind the token gets its state at the source's moment. */
inline carry(d, t, h, contents, from) {
    d_step {
        i = from;
        do
        :: i < (t) ->
            m = RECORD(AT(h, i + 1));
            data[d] = (data[d] & ~m) | ((contents) & m);
            i++
        :: else -> break
        od;
        if
        :: from > 0 -> history[d] = (history[d] & ((1 << (2 * (from))) - 1)) | ((h) & ~((1 << (2 * (from))) - 1))
        :: else -> history[d] = h
        fi;
        token[d] = t;
        i = 0; m = 0
    }
}

/* Replication.agree */
#define AGREE(h1, h2, f1, f2, t) ((t) == 0 || (t) <= (f1) || (t) <= (f2) || AT(h1, t) == AT(h2, t))
#define STORES_AGREE(t) AGREE(history[OLD], history[NEW], pruned[OLD], pruned[NEW], t)
#define CAN_DRAIN(from, to) (token[to] <= token[from] && role[to] != BACKFILLING && epoch[to] > 0 \
    && token[to] >= pruned[from] && STORES_AGREE(token[to]))

inline drain(from, to) { carry(to, token[from], history[from], data[from], token[to]) }

/* A store that is an unfinished copy is given no role, whatever its token says. */
#ifdef OLD_ROLE_TO_UNFINISHED
#define UNFINISHED(s) false
#else
#define UNFINISHED(s) (role[s] == BACKFILLING)
#endif


/* StageSwitch.claims: the old store holds everything that was acknowledged or shown. */
#define SAYS_ALL (role[OLD] == SEALED -> movingTo[OLD] != COMPLETE && stage[OLD] <= DUAL : \
    role[OLD] == STANDBY && stage[OLD] == LIVE)
#ifdef OLD_CLAIM_UNCHECKED
#define CLAIMS SAYS_ALL
#else
#define CLAIMS (SAYS_ALL && epoch[OLD] >= confirmed && token[OLD] >= mark)
#endif

#ifdef OLD_TRUST_OLD_STORE
#define IS_CURRENT true
#else
#define IS_CURRENT (epoch[OLD] >= confirmed && token[OLD] >= mark)
#endif

/* Gives a role, and remembers it as the last that this switch knows of. */
#define give(s, r, e, st) role[s] = r; epoch[s] = e; stage[s] = st; movingTo[s] = 0; seenR[s] = r; seenE[s] = epoch[s]

/* A transaction that the store does not take: a lack of permission, a file that is damaged where it is written, a full disk. */
#ifdef WAITING
#define IF_MUTE(s, instead) if :: mute && (s) == OLD -> instead :: else fi;
#define TAKES(s) (!mute || (s) != OLD)
#define WRITES_ALLOWED (!refuses[me])
#define LOOKS_AGAIN (refuses[me] && (!mute || tries > 0 || !recorded) || HAS(REARM) && rearms > 0 && recorded)
#define IS_RECORDED recorded
#else
#define IF_MUTE(s, instead)
#define TAKES(s) true
#define WRITES_ALLOWED true
#define LOOKS_AGAIN false
#define IS_RECORDED false
#endif

#define UNMOVED(s) (role[s] == seenR[s] && epoch[s] == seenE[s])
#ifdef OLD_SET_UNCHECKED
#define MUST(holds) if :: true fi
#else
#define MUST(holds) if :: holds :: else -> goto unlock fi
#endif

/* ---- Who serves: StageSwitch.settle(old:), and what an opening after the death of all would come to ---- */

#define ALONE 0
#define FOUND 1
#define REOPEN 2
#define LAND 3
#define STALE 4
#define NONE 5

/* The highest epoch wins; in one epoch who is authoritative does. */
#ifdef OLD_SEALED_LAST
#define RANK(s) (role[s] == AUTHORITATIVE -> 100 + 2 * epoch[s] + 1 : (role[s] == SEALED -> 1 + (1 - s) : 0))
#else
#define RANK(s) (role[s] == AUTHORITATIVE -> 2 * epoch[s] + 1 : (role[s] == SEALED -> 2 * epoch[s] : 0))
#endif

inline decide() {
    who = NOBODY; how = NONE;
    if
    :: role[OLD] == AUTHORITATIVE && epoch[OLD] > 0 && stage[OLD] <= DUAL && IS_CURRENT -> who = OLD; how = ALONE
    :: else ->
        if
        :: RANK(OLD) > 0 && RANK(OLD) >= RANK(NEW) -> who = OLD; how = (role[OLD] == SEALED -> REOPEN : FOUND)
        :: RANK(NEW) > RANK(OLD) -> who = NEW; how = (role[NEW] == SEALED -> REOPEN : FOUND)
        :: RANK(OLD) == 0 && RANK(NEW) == 0 ->
            if
            :: CLAIMS -> who = OLD; how = LAND
            :: else
            fi
        fi;
#ifndef OLD_TRUST_OLD_STORE
        other = 1 - who;
        if
        :: who == NOBODY
        :: who != NOBODY && epoch[who] < confirmed -> who = NOBODY; how = STALE
        :: who != NOBODY && epoch[who] >= confirmed && token[who] < mark ->
            /* Where both are written, what one lacks is carried over from the other one. */
            if
            :: stage[who] == LIVE && token[other] >= mark && STORES_AGREE(token[who]) && role[other] != BACKFILLING
            :: else -> who = NOBODY; how = STALE
            fi
        :: else
        fi;
        other = 0
#endif
    fi
}

/* A crash releases the locks and forgets the rest. It is asked for behind each step. */
#define CR if :: true :: crashes > 0 -> crashes--; goto dead fi

proctype App(byte me) {
    byte w, goal, c, e, st, target;             /* of a write, and of a switch */
    byte s, sRole, sEpoch, sToken, sHistory, sData, sPruned; /* the snapshot of a copy's source */
    byte mine, chunk, seenRole, seenRun, seenToken;  /* of a copy */
    bit toggling, known;
    byte seenR[2], seenE[2], claimed;           /* of a switch: what the stores were, and the epoch that is its own */
#ifdef WAITING
    byte written;                               /* the token of the write that it finds */
    byte tried;                                 /* of a kill: how many of its two ways have failed */
    bit hasObstacle, isRefused, finds;          /* of an opening */
#endif

idle:
    do
    :: atomic { /* UserStore.writeHere and writeFirstThere: the transaction begins, and proves that it may */
        routeEpoch[me] > 0 && nextWrite < WRITES && writeLock[AUTHORITY(routeStage[me])] == 0 && WRITES_ALLOWED ->
        s = AUTHORITY(routeStage[me]);
        if
        :: role[s] == AUTHORITATIVE && epoch[s] == routeEpoch[me] &&
            (routeStage[me] != LIVE || (role[OLD] == STANDBY && epoch[OLD] == routeEpoch[me] && token[OLD] == token[NEW])) ->
#ifdef WAITING
            assert(!waits || floorEpoch > routeEpoch[me]); /* law 8; a passed epoch is checked again below */
#endif
            w = nextWrite; nextWrite++;
            writeLock[s] = me + 1;
            st = routeStage[me]; e = routeEpoch[me];
            CR
        :: else -> routeEpoch[me] = 0; routeStage[me] = 0; s = 0; goto idle
        fi };
        if
        :: st == LIVE ->
            atomic { /* commitFirst */
                writeLock[OLD] == 0 ->
                IF_MUTE(OLD, failed = failed | (1 << w); writeLock[NEW] = 0; goto reset)
                if
                :: role[OLD] == STANDBY && epoch[OLD] == e && token[OLD] == token[NEW] -> append(OLD, w); CR
                :: else -> writeLock[NEW] = 0; goto reset
                fi }
        :: else
        fi;
        atomic { append(s, w); writeLock[s] = 0; sToken = token[s]; CR };
#ifdef MARK_BEFORE_FENCE
        atomic { mark = MAX(mark, sToken); CR };
#endif
#ifdef FENCED
#ifndef OLD_NO_FENCE_AFTER_COMMIT
        if
        :: atomic { floorEpoch <= e -> CR }
        :: atomic { floorEpoch > e && switchLock == 0 -> /* a move has begun: where the user is now decides */
            switchLock = me + 1; goal = FIND;
#ifdef WAITING
            finds = 1; written = sToken; excused = mute;
            if :: recorded -> goal = KILL :: else fi;
#endif
            CR };
            goto settle
        fi;
#endif
#endif
        atomic {
            mark = MAX(mark, sToken); acked = acked | (1 << w);
            goto reset }

#ifndef NO_MIRROR
    :: atomic { /* Mirror.carry, and a prepared write: a snapshot of the source ... */
        routeEpoch[me] > 0 && routeStage[me] == DUAL &&
            (token[NEW] != token[OLD] || role[NEW] != STANDBY || epoch[NEW] != epoch[OLD] || !known) ->
        sRole = role[OLD]; sEpoch = epoch[OLD]; sToken = token[OLD]; sHistory = history[OLD]; sData = data[OLD];
        sPruned = pruned[OLD]; CR };
        atomic { /* ... and one transaction of the mirror */
            writeLock[NEW] == 0 ->
            if
            :: role[NEW] == BACKFILLING || epoch[NEW] == 0 || token[NEW] < sPruned
            :: else ->
                if
                :: !(sRole == AUTHORITATIVE && epoch[NEW] < sEpoch) && role[NEW] != STANDBY
                :: else ->
                    if
                    :: !known && !AGREE(sHistory, history[NEW], sPruned, pruned[NEW], MIN(token[NEW], sToken))
#ifndef OLD_MIRROR_AHEAD
                    :: token[NEW] > sToken && token[NEW] > token[OLD]
#endif
                    :: else ->
                        if
                        :: sRole == AUTHORITATIVE && epoch[NEW] < sEpoch -> role[NEW] = STANDBY; epoch[NEW] = sEpoch
                        :: else
                        fi;
                        known = true;
                        if
                        :: token[NEW] < sToken -> carry(NEW, sToken, sHistory, sData, token[NEW])
                        :: else
                        fi
                    fi
                fi
            fi;
            CR;
            goto reset }
#endif

#if VERIFICATIONS
    :: atomic { /* verify: both stores at one token, from two snapshots */
        verifications > 0 && routeEpoch[me] > 0 && routeStage[me] == DUAL &&
            wordEpoch == routeEpoch[me] && verified != wordEpoch && role[NEW] == STANDBY && token[OLD] == token[NEW] ->
        verifications--;
        if
        :: data[OLD] == data[NEW] -> verified = epoch[OLD]
        :: else -> verified = 0
        fi }
#endif

#if PRUNES
    :: atomic { /* the history is forgotten where no mirror needs it */
        prunes > 0 && routeEpoch[me] > 0 && (routeStage[me] == OFF || routeStage[me] == COMPLETE) &&
            role[AUTHORITY(routeStage[me])] == AUTHORITATIVE && epoch[AUTHORITY(routeStage[me])] == routeEpoch[me] &&
            writeLock[AUTHORITY(routeStage[me])] == 0 &&
            pruned[AUTHORITY(routeStage[me])] < token[AUTHORITY(routeStage[me])] ->
        prunes--; pruned[AUTHORITY(routeStage[me])] = token[AUTHORITY(routeStage[me])] }
#endif

#if COPIES
    :: atomic { /* Mirror.carry and UserStore.withOldUp: the way of the copy; who comes second waits, or takes over */
        copies > 0 && routeEpoch[me] > 0 && (routeStage[me] == DUAL || routeStage[me] == COMPLETE) ->
        copies--;
        s = AUTHORITY(routeStage[me]) };
        goto copy
#endif

#ifdef PASSING
    :: atomic { /* a kill passes by a lock whose holder does not let go */
        switchLock != 0 && passes > 0 && moves > 0 -> passes--; goal = KILL };
        goto settle
#endif
    :: atomic { /* withSwitch */
        switchLock == 0 && (routeEpoch[me] == 0 || routeEpoch[me] != wordEpoch || moves > 0 && !IS_RECORDED || LOOKS_AGAIN) ->
        switchLock = me + 1;
        goal = JUST_LOOK;
#ifdef WAITING
        excused = mute;
        if
        :: recorded && (!READS(me) || refuses[me] && (!mute || tries > 0)) -> goal = KILL; goto settle /* each opening tries again */
        :: HAS(REARM) && rearms > 0 && recorded -> rearms--; goal = REARM; goto settle
        :: HAS(KILL) && moves > 0 && !recorded -> moves--; goal = KILL; recorded = 1; pulled = 1; CR; goto settle /* recordKill */
        :: !recorded
        fi;
#endif
        if
        :: true
#ifndef WAITING
        :: HAS(FORWARD) && moves > 0 -> goal = FORWARD
        :: HAS(BACK) && moves > 0 -> goal = BACK
        :: HAS(KILL) && moves > 0 -> goal = KILL
#else
        :: HAS(FORWARD) && moves > 0 -> goal = FORWARD
        :: HAS(BACK) && moves > 0 -> goal = BACK
#endif
        :: HAS(TOGGLE) && moves > 0 && copies > 0 -> goal = TOGGLE
        fi };
        goto settle
#if RESTORES
    :: atomic { routeEpoch[me] > 0 -> routeEpoch[me] = 0; routeStage[me] = 0; known = 0 } /* UserStore.close */
#endif
    od;

    /* ---- StageSwitch.settle ---- */
settle:
    atomic {
        d_step {
            decide(); c = who; target = how; who = 0; how = 0;
            seenR[OLD] = role[OLD]; seenR[NEW] = role[NEW]; seenE[OLD] = epoch[OLD]; seenE[NEW] = epoch[NEW] };
        if
        :: c == NOBODY -> wordEpoch = 0; wordStage = 0; goto unlock
        :: else
        fi;
        st = stage[c];
        e = epoch[c];
        CR;
        if
        :: target == ALONE -> goto settled
        :: target == FOUND && floorEpoch <= e
        :: else ->
            claimed = MAX(floorEpoch, MAX(epoch[OLD], epoch[NEW]));
#ifdef HEAL_WITHOUT_CLAIM
            if
            :: target == FOUND
            :: else -> claimed++
            fi;
#else
            claimed++;
#endif
            floorEpoch = claimed
        fi;
        CR };
    if
    :: target == LAND ->
        atomic { writeLock[OLD] == 0 -> IF_MUTE(OLD, goto unlock) MUST(UNMOVED(OLD)); st = OFF; e = claimed; give(OLD, AUTHORITATIVE, e, OFF); CR; goto settled }
    :: else
    fi;
    if
    :: st == LIVE ->
        atomic { /* equalize */
            if
            :: token[1 - c] > token[c] && writeLock[c] == 0 && CAN_DRAIN(1 - c, c) -> MUST(UNMOVED(c)); drain(1 - c, c)
#ifdef WAITING
            :: token[1 - c] < token[c] && !TAKES(1 - c) ->
#ifdef OLD_REOPEN_NEEDS_BOTH
                if :: target == REOPEN -> goto unlock :: else fi;
#endif
                hasObstacle = 1
#endif
            :: token[1 - c] < token[c] && writeLock[c] == 0 && writeLock[1 - c] == 0 && CAN_DRAIN(c, 1 - c) && TAKES(1 - c) ->
                MUST(UNMOVED(1 - c)); drain(c, 1 - c)
            :: token[1 - c] == token[c]
            /* It does not answer: an obstacle to writes, and none to a kill. */
            :: token[1 - c] != token[c] && goal == KILL && (writeLock[OLD] != 0 || writeLock[NEW] != 0) -> goto settled
            :: token[1 - c] > token[c] && !CAN_DRAIN(1 - c, c) -> goto refused
            :: token[1 - c] < token[c] && !CAN_DRAIN(c, 1 - c) -> goto refused
            fi;
            CR };
        atomic { writeLock[1 - c] == 0 ->
            MUST(UNMOVED(1 - c));
            if
            :: UNFINISHED(1 - c) -> goto refused
            :: !UNFINISHED(1 - c) && (role[1 - c] != STANDBY || epoch[1 - c] != MAX(e, claimed) || stage[1 - c] != st) ->
#ifdef WAITING
                if
                :: TAKES(1 - c)
                :: else ->
#ifdef OLD_REOPEN_NEEDS_BOTH
                    if :: target == REOPEN -> goto unlock :: else fi;
#endif
                    hasObstacle = 1; goto followed
                fi;
#endif
                give(1 - c, STANDBY, MAX(e, claimed), st)
            :: else
            fi;
            CR }
    :: st != LIVE && (target == FOUND -> seenR[1 - c] == SEALED || seenR[1 - c] == AUTHORITATIVE : c == NEW && SAYS_ALL) ->
        if
        :: atomic { writeLock[1 - c] == 0 ->
            IF_MUTE(1 - c, if :: target == FOUND -> goto followed :: else -> goto unlock fi)
            MUST(UNMOVED(1 - c)); give(1 - c, STANDBY, MAX(e, claimed), st); CR }
        :: atomic { writeLock[1 - c] != 0 && target == FOUND } /* it does not answer, and is seen to later */
        fi
    :: else
    fi;
followed:
    if
    :: claimed > 0 && (claimed != e || target == REOPEN) ->
        if
        :: atomic { writeLock[c] == 0 -> IF_MUTE(c, goto unlock) MUST(UNMOVED(c)); e = claimed; give(c, AUTHORITATIVE, e, st); CR }
        /* The raise of the epoch waits for a frozen writer; that must not stop a kill. */
        :: atomic { writeLock[c] != 0 && goal == KILL && target == FOUND }
        fi
    :: else
    fi;
settled:
    /* ---- What is wanted ---- */
    atomic {
        target = st; claimed = 0;
        if
        :: goal == FORWARD && st < COMPLETE && (st != DUAL || PROVEN) -> target = st + 1
        :: goal == BACK && st > OFF -> if :: target = OFF :: st > DUAL -> target = st - 1 fi
#ifdef WAITING
        /* Both ways have failed, or would again: the user stays, and only reads. */
        :: goal == KILL && st > OFF && (tried == 2 || tried == 0 && mute && tries == 0 && waits) -> isRefused = 1; goto publish
        :: goal == KILL && st > OFF && tried == 0 && mute && tries > 0 -> tries--; target = OFF
        :: goal == KILL && st > OFF && (tried == 1 || tried == 0 && (!mute || tries == 0 && !waits)) -> target = OFF
        :: goal == REARM && (st != OFF || !mute) -> recorded = 0; pulled = 0; waits = 0; goto publish
        :: goal == REARM && st == OFF && mute -> goto publish
#else
        :: goal == KILL && st > OFF -> target = OFF
#endif
        :: goal == TOGGLE -> target = (AUTHORITY(st) == OLD -> COMPLETE : OFF)
        :: else -> goto publish
        fi;
#ifdef WAITING
        if :: goal == KILL :: else -> moves-- fi;
#else
        moves--;
#endif
        s = c
    };
    if
    :: goal == TOGGLE -> toggling = true; copies--; goto copy
    :: else
    fi;
move:
    /* ---- StageSwitch.move and kill; c and e are the store and the epoch of before ---- */
    atomic {
        floorEpoch = MAX(MAX(epoch[OLD], epoch[NEW]), floorEpoch) + 1; claimed = floorEpoch;
#ifndef FENCE_KEEPS_WORD
        if
        :: goal == KILL -> wordEpoch = 0; wordStage = 0
        :: else
        fi;
#endif
        CR };
    if
    :: c == OLD && AUTHORITY(target) == OLD ->
        atomic { writeLock[OLD] == 0 -> IF_MUTE(OLD, goto failed_) MUST(UNMOVED(OLD)); give(OLD, AUTHORITATIVE, claimed, target); CR };
        goto moved
    :: else
    fi;
    if
#ifdef WAITING
    :: tried == 1 -> goto unsealed
    :: atomic { writeLock[c] == 0 && tried == 0 -> IF_MUTE(c, goto failed_) MUST(UNMOVED(c)); role[c] = SEALED; seenR[c] = SEALED; movingTo[c] = target; CR }
#else
    :: atomic { writeLock[c] == 0 -> MUST(UNMOVED(c)); role[c] = SEALED; seenR[c] = SEALED; movingTo[c] = target; CR }
#endif
    :: goal == KILL && c == NEW -> goto unsealed /* the new store does not answer in time */
    fi;
    if
    :: c == OLD || (AUTHORITY(target) == OLD -> token[OLD] < token[NEW] : target == LIVE && token[OLD] < token[NEW]) ->
        atomic {
            if
            :: writeLock[1 - c] == 0 && CAN_DRAIN(c, 1 - c) && TAKES(1 - c) -> MUST(UNMOVED(1 - c) && UNMOVED(c)); drain(c, 1 - c); CR
            :: !CAN_DRAIN(c, 1 - c) || !TAKES(1 - c) -> goto failed_
            fi }
#ifndef OLD_COMPLETE_UNDRAINED
    :: c == NEW && target == COMPLETE && token[OLD] > token[NEW] ->
        atomic {
            if
            :: CAN_DRAIN(OLD, NEW) -> MUST(UNMOVED(NEW)); drain(OLD, NEW); CR
            :: else -> goto failed_
            fi }
#endif
    :: else
    fi;
    if
    :: toggling && (data[OLD] != data[NEW] || token[OLD] != token[NEW]) -> goto failed_ /* the check */
    :: else
    fi;
    if
    :: c == NEW && AUTHORITY(target) == NEW ->
        atomic { writeLock[OLD] == 0 ->
            IF_MUTE(OLD, goto failed_)
            MUST(UNMOVED(OLD));
            if
            :: UNFINISHED(OLD) -> goto failed_
            :: else
            fi;
            give(OLD, STANDBY, claimed, target); CR };
        atomic { MUST(floorEpoch == claimed); CR };
        atomic { MUST(UNMOVED(NEW)); give(NEW, AUTHORITATIVE, claimed, target); CR }
    :: else ->
        atomic { MUST(floorEpoch == claimed); CR };
        atomic { writeLock[1 - c] == 0 ->
            IF_MUTE(1 - c, goto failed_)
            MUST(UNMOVED(1 - c));
            if
            :: UNFINISHED(1 - c) -> goto failed_
            :: else
            fi;
            give(1 - c, AUTHORITATIVE, claimed, target); CR };
        atomic {
            if
            :: UNMOVED(c) && TAKES(c) -> give(c, STANDBY, claimed, target)
            :: else /* it is seen to later */
            fi;
            CR }
    fi;
    goto moved;

unsealed:
    /* StageSwitch.kill, where the new store does not answer: the old one takes over if it holds everything, */
    if
    :: !CLAIMS ->
#ifdef FENCED
        /* or is brought up by reading the new one: whoever commits there from here on looks at the claimed epoch. */
        atomic { sToken = token[NEW]; sHistory = history[NEW]; sData = data[NEW]; sPruned = pruned[NEW]; CR };
        atomic { writeLock[OLD] == 0 ->
            IF_MUTE(OLD, tried = 1; goto failed_)
            if
            :: UNMOVED(OLD) && token[OLD] <= sToken && role[OLD] == STANDBY && token[OLD] >= sPruned &&
                AGREE(history[OLD], sHistory, pruned[OLD], sPruned, token[OLD]) ->
                carry(OLD, sToken, sHistory, sData, token[OLD]); CR
            :: else -> goto unlock /* refused: who looks next settles it */
            fi }
#else
        goto unlock
#endif
    :: CLAIMS
    fi;
    atomic { MUST(floorEpoch == claimed); CR };
    atomic { writeLock[OLD] == 0 ->
        IF_MUTE(OLD, tried = 1; goto failed_)
        MUST(UNMOVED(OLD)); give(OLD, AUTHORITATIVE, claimed, OFF); CR };
    goto moved;

failed_:
    /* What can be undone is undone now. */
#ifdef WAITING
    atomic { wordEpoch = 0; wordStage = 0; toggling = 0; s = 0; claimed = 0; hasObstacle = 0;
        if :: goal == KILL -> tried++ :: else -> goal = JUST_LOOK fi;
        CR };
#else
    atomic { wordEpoch = 0; wordStage = 0; goal = JUST_LOOK; toggling = 0; s = 0; claimed = 0; CR };
#endif
    goto settle;

moved:
    atomic { st = target; e = claimed };

publish:
    atomic { /* UserStore.install */
        if
        :: e < confirmed -> goto unlock
/* Where a kill waits, an epoch that was passed is published too, if a frozen writer delays the store's claim: reads go on. */
#if !defined(PUBLISH_OVER_CLAIM) && !defined(WAITING)
        :: floorEpoch > e -> goto unlock
#endif
        :: else
        fi;
        wordStage = st; wordEpoch = e; floorEpoch = MAX(floorEpoch, e);
#if defined(WAITING) && !defined(CONFIRM_UNACKNOWLEDGED)
        if :: hasObstacle :: else -> confirmed = e fi;
#else
        confirmed = e;
#endif
        routeStage[me] = st; routeEpoch[me] = e;
#ifdef WAITING
#ifdef WAITING_WRITES
        refuses[me] = hasObstacle;
#else
        refuses[me] = hasObstacle || isRefused;
#endif
        waits = pulled && st != OFF;
        if
        :: isRefused ->
            assert(excused); /* law 6: an opening that can carries the kill out */
#ifdef OPENING_FORGETS_KILL
            recorded = 0
#endif
        :: else -> assert(!pulled || st == OFF) /* law 6: none forgets it */
        fi;
#endif
#ifdef FENCED
        if
#ifdef WAITING
        :: finds -> sToken = written;
#else
        :: goal == FIND ->
#endif
            s = AUTHORITY(st);
            if
            :: token[s] >= sToken && AT(history[s], sToken) == w -> mark = MAX(mark, sToken); acked = acked | (1 << w)
            :: else -> failed = failed | (1 << w)
            fi
        :: else
        fi
#endif
        };
unlock:
    atomic {
#ifdef WAITING
        assert(READS(me)); /* law 7 */
        excused = 0;
#endif
        if :: switchLock == me + 1 -> switchLock = 0 :: else fi; goto reset };
refused:
    /* In live what writes would need is not there: reads are served, writes refused. */
    atomic { routeEpoch[me] = 0; routeStage[me] = 0; wordStage = st; wordEpoch = epoch[c]; goto unlock };

#if COPIES
    /* ---- Backfill, from store s ---- */
copy:
#ifdef OLD_COPY_UNFENCED
    if
    :: s == OLD && !toggling -> atomic { copyLock == 0 -> copyLock = me + 1; CR }
    :: else
    fi;
#else
    if
    :: atomic { copyLock == 0 -> copyLock = me + 1; CR }
    :: copyLock != 0 /* its holder makes no progress: the run of this one takes over */
    fi;
#endif
    atomic { /* inspect */
        sEpoch = epoch[s]; sToken = token[s];
        seenRole = role[1 - s]; seenRun = copyRun[1 - s]; seenToken = token[1 - s];
        if
        :: role[s] == BACKFILLING -> goto copied
        :: role[1 - s] == BACKFILLING && copyStart[1 - s] >= pruned[s] && copyDone[1 - s] > 0 ->
            chunk = copyDone[1 - s]; sToken = copyStart[1 - s]
        :: role[1 - s] == BACKFILLING && !(copyStart[1 - s] >= pruned[s] && copyDone[1 - s] > 0)
        :: role[1 - s] != BACKFILLING && epoch[1 - s] == 0
        :: role[1 - s] != BACKFILLING && epoch[1 - s] > 0 && token[1 - s] > token[s] -> goto copied
        :: role[1 - s] != BACKFILLING && epoch[1 - s] > 0 && token[1 - s] < pruned[s]
        :: role[1 - s] != BACKFILLING && epoch[1 - s] > 0 && token[1 - s] <= token[s] && token[1 - s] >= pruned[s] ->
            chunk = 3 /* catch up */
        fi;
        CR };
    if
    :: chunk == 3 ->
#ifdef OLD_CATCH_UP_UNCHECKED
        atomic { sToken = token[s]; sHistory = history[s]; sData = data[s]; sPruned = pruned[s]; target = token[1 - s]; CR };
        atomic { writeLock[1 - s] == 0 ->
            if
            :: token[1 - s] == target && target < sToken -> carry(1 - s, sToken, sHistory, sData, token[1 - s]); CR
            :: else
            fi };
#else
        atomic {
            sEpoch = epoch[s]; sRole = role[s];
            sToken = token[s]; sHistory = history[s]; sData = data[s]; sPruned = pruned[s]; CR };
        atomic { writeLock[1 - s] == 0 ->
            if
            :: token[1 - s] <= sToken && token[1 - s] >= sPruned && role[1 - s] == STANDBY && sRole == AUTHORITATIVE &&
                epoch[1 - s] <= sEpoch &&
                AGREE(sHistory, history[1 - s], sPruned, pruned[1 - s], token[1 - s]) ->
                carry(1 - s, sToken, sHistory, sData, token[1 - s]); CR; goto copied
            :: token[1 - s] <= sToken && role[1 - s] == STANDBY && sRole == AUTHORITATIVE && epoch[1 - s] <= sEpoch &&
                !AGREE(sHistory, history[1 - s], sPruned, pruned[1 - s], token[1 - s]) -> chunk = 0 /* parted: copied anew */
            :: else -> goto copied
            fi };
#endif
        if :: chunk == 3 -> goto copied :: else fi
    :: else
    fi;
    atomic { /* begin, or go on with the run of another one */
        writeLock[1 - s] == 0 ->
#ifdef OLD_COPY_UNFENCED
        if
        :: chunk == 0 -> role[1 - s] = BACKFILLING; epoch[1 - s] = sEpoch; copyStart[1 - s] = sToken; copyDone[1 - s] = 0
        :: else
        fi;
#else
        if
        :: role[1 - s] == AUTHORITATIVE && epoch[1 - s] >= sEpoch -> goto copied
        :: chunk > 0 && role[1 - s] != BACKFILLING -> goto copied
#ifndef OLD_BEGIN_BLIND
        :: role[1 - s] != seenRole || copyRun[1 - s] != seenRun || token[1 - s] != seenToken -> goto copied
#endif
        :: else
        fi;
        seenRole = 0; seenRun = 0; seenToken = 0;
        runs++; mine = runs; copyRun[1 - s] = mine;
        if
        :: chunk == 0 -> role[1 - s] = BACKFILLING; epoch[1 - s] = sEpoch; copyStart[1 - s] = sToken; copyDone[1 - s] = 0
        :: else
        fi;
#endif
        CR };
#ifdef OLD_COPY_UNFENCED
#define MINE true
#else
#define MINE (role[1 - s] == BACKFILLING && copyRun[1 - s] == mine)
#endif
    if
    :: chunk == 0 -> atomic { writeLock[1 - s] == 0 -> if :: MINE -> data[1 - s] = 0 :: else -> goto copied fi; CR }
    :: else
    fi;
    do
    :: chunk < 2 ->
        atomic { sData = data[s] & RECORD(chunk); CR };
        atomic { writeLock[1 - s] == 0 ->
            if
            :: MINE -> data[1 - s] = (data[1 - s] & ~RECORD(chunk)) | sData
            :: else -> goto copied
            fi;
            chunk++; copyDone[1 - s] = chunk; CR }
    :: else -> break
    od;
    atomic { target = sToken; /* finish: a snapshot of the source ... */
        sRole = role[s]; sToken = token[s]; sHistory = history[s]; sData = data[s]; sPruned = pruned[s];
#ifndef OLD_COPY_UNFENCED
        if
        :: sRole != AUTHORITATIVE || epoch[s] != sEpoch -> goto copied
        :: else
        fi;
#else
        sEpoch = epoch[s];
#endif
        CR };
    atomic { writeLock[1 - s] == 0 -> /* ... and one transaction of the destination */
        if
        :: MINE && target >= sPruned ->
            carry(1 - s, sToken, sHistory, sData, target);
            history[1 - s] = sHistory; pruned[1 - s] = sPruned;
            role[1 - s] = STANDBY; epoch[1 - s] = sEpoch; copyRun[1 - s] = 0; copyStart[1 - s] = 0; copyDone[1 - s] = 0
        :: else
        fi;
        CR };
copied:
    atomic {
        if :: copyLock == me + 1 -> copyLock = 0 :: else fi;
        sRole = 0; sEpoch = 0; sToken = 0; sHistory = 0; sData = 0; sPruned = 0; mine = 0; chunk = 0; seenRole = 0; seenRun = 0; seenToken = 0;
        if
        :: toggling -> target = (c == OLD -> COMPLETE : OFF); s = 0;
            seenR[1 - c] = role[1 - c]; seenE[1 - c] = epoch[1 - c]; goto move
        :: else -> goto reset
        fi };
#else
copy: skip;
#endif

dead:
    atomic {
        if :: switchLock == me + 1 -> switchLock = 0 :: else fi;
        if :: copyLock == me + 1 -> copyLock = 0 :: else fi;
        if :: writeLock[OLD] == me + 1 -> writeLock[OLD] = 0 :: else fi;
        if :: writeLock[NEW] == me + 1 -> writeLock[NEW] = 0 :: else fi;
#ifdef WAITING
        refuses[me] = 0;
        if :: switchLock == 0 -> excused = 0 :: else fi; /* the lock was its own, or is nobody's */
#endif
        routeEpoch[me] = 0; routeStage[me] = 0; known = 0 };
reset:
    atomic {
#ifdef WAITING
        tried = 0; hasObstacle = 0; isRefused = 0; finds = 0; written = 0;
#endif
        w = 0; goal = 0; c = 0; e = 0; st = 0; target = 0; s = 0; sRole = 0; sEpoch = 0; sToken = 0; sHistory = 0;
        sData = 0; sPruned = 0; mine = 0; chunk = 0; seenRole = 0; seenRun = 0; seenToken = 0; toggling = 0; claimed = 0;
        seenR[OLD] = 0; seenR[NEW] = 0; seenE[OLD] = 0; seenE[NEW] = 0; goto idle }
}

/* ---- What must hold in every state ---- */

#define READS_ALL(p) (!READS(p) || role[AUTHORITY(routeStage[p])] == BACKFILLING || WITHIN(acked, data[AUTHORITY(routeStage[p])]))

SCRATCH byte served;

proctype Laws() {
    do
    :: d_step {
        /* A read by a process whose route holds gives every write that was acknowledged. */
        assert(READS_ALL(0));
#if PROCESSES > 1
        assert(READS_ALL(1));
#endif
#if PROCESSES > 2
        assert(READS_ALL(2));
#endif
        /* One store is authoritative at most in each epoch. */
        assert(!(role[OLD] == AUTHORITATIVE && role[NEW] == AUTHORITATIVE && epoch[OLD] == epoch[NEW]));
        /* Who claims to hold everything does: the new store may be gone the next moment. */
        assert(!CLAIMS || WITHIN(acked, data[OLD]));
        /* If all died now, whoever opens the user would find a store that serves, with every write that was acknowledged. */
        decide();
        if
        :: who == NOBODY ->
#if RESTORES
            assert(restores == 0)
#else
            assert(false)
#endif
        :: else ->
            served = data[who];
            if
            :: stage[who] == LIVE && token[1 - who] > token[who] -> served = served | data[1 - who]
            :: else
            fi;
            assert(WITHIN(acked, served));
#ifdef WAITING
            /* law 7: whoever reads does so in the store that serves. */
            assert((!READS(0) || AUTHORITY(routeStage[0]) == who) && (!READS(1) || AUTHORITY(routeStage[1]) == who));
#endif
#ifdef WAY_BACK
            /* law 9: where both are written, a kill lands without the new store. */
            assert(wordEpoch == 0 || wordStage != LIVE || role[NEW] != AUTHORITATIVE || CLAIMS);
#endif
#ifdef FENCED
            assert((failed & served) == 0);
            assert(WITHIN(shown, served));
#endif
            served = 0
        fi;
        who = 0; how = 0 }
#ifdef FENCED
    :: d_step { READS(0) && !WITHIN(data[AUTHORITY(routeStage[0])], shown) -> shown = shown | data[AUTHORITY(routeStage[0])] }
#endif
#ifdef WAITING
    :: d_step { mutes > 0 && !mute -> mutes--; mute = 1; if :: switchLock != 0 -> excused = 1 :: else fi }
    :: d_step { mute -> mute = 0 } /* repaired */
#endif
#if RESTORES
    /* One of the three files is kept, and put back while nobody has it open. */
    :: d_step { kept == NOBODY -> kept = OLD; keptRole = role[OLD]; keptEpoch = epoch[OLD]; keptStage = stage[OLD];
        keptMoving = movingTo[OLD]; keptData = data[OLD]; keptToken = token[OLD]; keptHistory = history[OLD] }
    :: d_step { kept == NOBODY -> kept = NEW; keptRole = role[NEW]; keptEpoch = epoch[NEW]; keptStage = stage[NEW];
        keptMoving = movingTo[NEW]; keptData = data[NEW]; keptToken = token[NEW]; keptHistory = history[NEW] }
    :: d_step { kept == NOBODY -> kept = 3; keptStage = wordStage; keptWord = wordEpoch; keptConfirmed = confirmed;
        keptMark = mark; keptFloor = floorEpoch }
    :: atomic { kept != NOBODY && restores > 0 && ALL_CLOSED -> restores--;
        if
        :: kept == 3 -> wordStage = keptStage; wordEpoch = keptWord; confirmed = keptConfirmed; mark = keptMark; floorEpoch = keptFloor
        :: else -> role[kept] = keptRole; epoch[kept] = keptEpoch; stage[kept] = keptStage; movingTo[kept] = keptMoving;
            data[kept] = keptData; token[kept] = keptToken; history[kept] = keptHistory
        fi;
        kept = 4; keptRole = 0; keptEpoch = 0; keptStage = 0; keptMoving = 0; keptData = 0; keptToken = 0; keptHistory = 0;
        keptWord = 0; keptConfirmed = 0; keptMark = 0; keptFloor = 0 }
#endif
    od
}

init {
    d_step {
#ifdef FROM_DUAL
        role[NEW] = STANDBY; epoch[OLD] = 2; epoch[NEW] = 2; stage[OLD] = DUAL; stage[NEW] = DUAL;
        wordStage = DUAL; wordEpoch = 2; floorEpoch = 2; confirmed = 2;
#endif
#ifdef FROM_DUAL_UNFILLED  /* the mirror was only just made, and the history does not reach back to its beginning */
        role[NEW] = AUTHORITATIVE; epoch[OLD] = 2; stage[OLD] = DUAL;
        data[OLD] = 1; token[OLD] = 1; pruned[OLD] = 1; nextWrite = 1; acked = 1; mark = 1;
        wordStage = DUAL; wordEpoch = 2; floorEpoch = 2; confirmed = 2;
#endif
#ifdef FROM_LIVE
        role[OLD] = STANDBY; epoch[OLD] = 3; epoch[NEW] = 3; stage[OLD] = LIVE; stage[NEW] = LIVE;
        wordStage = LIVE; wordEpoch = 3; floorEpoch = 3; confirmed = 3;
#endif
#ifdef FROM_COMPLETE
        role[OLD] = STANDBY; epoch[OLD] = 3; epoch[NEW] = 3; stage[OLD] = COMPLETE; stage[NEW] = COMPLETE;
        wordStage = COMPLETE; wordEpoch = 3; floorEpoch = 3; confirmed = 3;
#endif
#ifdef FROM_COMPLETE_PRUNED  /* the new store has gone on alone, and forgotten what the old one lacks */
        role[OLD] = STANDBY; epoch[OLD] = 3; epoch[NEW] = 3; stage[OLD] = COMPLETE; stage[NEW] = COMPLETE;
        data[NEW] = 1; token[NEW] = 1; pruned[NEW] = 1; nextWrite = 1; acked = 1; mark = 1;
        wordStage = COMPLETE; wordEpoch = 3; floorEpoch = 3; confirmed = 3;
#endif
    }
    atomic {
        run Laws();
        run App(0);
#if PROCESSES > 1
        run App(1);
#endif
#if PROCESSES > 2
        run App(2);
#endif
    }
}
