/* The attempts on one wallet through two servers on a primary and a standby; README.md explains it.
 * Each #ifdef is a mutant: it breaks one rule, and an assertion fails. */
#define ALLOWANCE 2     /* two rounds of one attempt: the second wrong PIN blocks permanently */
#define ENTRIES 4       /* attempt ids */
#define MESSAGES 4      /* instructions and openings of sessions, repetitions included */
#define RIGHTS 1        /* messages with the right PIN */
#define CANCELLATIONS 1 /* waits for the standby that end early */
#define FAILOVERS 1
#define EXPIRIES 1      /* of the lease of server 1; the servers are alike */
#define REVOCATION 3

/* The wallet's row. For the assertions, `round` counts right PINs and `serial` names the last judgement. */
typedef Row { byte failures, lastWrong, round, serial; bool revoked }
Row primary, standby;  /* committed on the primary; received by the standby */
bool behind;           /* the standby has not received the last write, which may have changed nothing */
byte waiting;          /* whose commit locks the row and waits: connection + 1, or REVOCATION */
bool sure[2];          /* the server's acknowledged write is the present row */
bool lease[2] = true;  /* a server without a lease releases nothing */
bool open[2];          /* connections, one to each server, on which an answer may leave */
bool confirmed;        /* the operator knows that the wallet is revoked */
byte entries, messages, rights, cancellations, failovers, expiries, serials;
byte told[RIGHTS + 1]; bool known[MESSAGES + 1]; /* wrong verdicts that clients received, by round, by judgement */
inline copy(from, to) {
    to.failures = from.failures; to.lastWrong = from.lastWrong; to.round = from.round; to.serial = from.serial;
    to.revoked = from.revoked
}
inline commit(by) { waiting = by; behind = true; sure[0] = false; sure[1] = false }

/* A repetition, `blocked` and the pin_state of a session tell the last verdict again. */
inline tell(judgement, in) {
    if
    :: judgement > 0 && !known[judgement] -> known[judgement] = true; told[in]++;
       printf("MSC: the client learns that judgement %d was wrong: %d in round %d\n", judgement, told[in], in);
       assert(told[in] <= ALLOWANCE)
    :: else
    fi
}

proctype connection(bit me) {
    byte id, judgement, round; bool right, valid;
endNext:
    atomic { /* A failed compare-and-set starts over: read and write are one step. Entry 0 opens a session. */
        waiting == 0 && messages < MESSAGES -> messages++; open[me] = true; right = false; valid = false; id = 0;
        if :: true :: entries < ENTRIES -> entries++; id = entries :: entries > 0 -> select(id : 1 .. entries) fi;
        if :: id > 0 && rights < RIGHTS -> rights++; right = true :: true fi;
        printf("MSC: connection %d: entry %d, right PIN %d\n", me, id, right);
        if
        :: primary.revoked -> if :: sure[me] -> goto answer :: else fi /* the error `revoked`: no verdict, judgement 0 */
        :: !primary.revoked && (id == 0 || primary.failures >= ALLOWANCE
#ifndef FORGOTTEN_ATTEMPT
           || primary.lastWrong == id
#endif
           ) -> judgement = primary.serial; round = primary.round;
#ifdef ANSWER_FROM_READ
           goto answer;
#endif
           if :: sure[me] -> goto answer :: else fi
        :: else -> /* count, judge, reset */
           serials++; judgement = serials; round = primary.round; valid = right;
#ifdef ANSWER_BEFORE_COMMIT
           if :: !valid -> tell(judgement, round); goto done :: true fi; /* the server crashes */
#endif
           primary.failures = (right -> 0 : primary.failures + 1); primary.lastWrong = (right -> 0 : id);
           primary.serial = (right -> 0 : judgement); primary.round = round + right;
           assert(entries > 1 || primary.failures <= 1) /* one entry costs at most one attempt */
        fi;
        commit(me + 1); id = 0; right = false;
        printf("MSC: connection %d: committed on the primary, failures %d\n", me, primary.failures)
    }
    atomic {
        if
#ifdef ASYNCHRONOUS_REPLICATION
        :: waiting == me + 1 -> waiting = 0
#endif
        :: waiting == me + 1 && !behind -> waiting = 0; sure[me] = true
        :: waiting == me + 1 && cancellations < CANCELLATIONS -> cancellations++; waiting = 0;
           printf("MSC: connection %d: wait cancelled, no answer\n", me); goto done
        :: waiting != me + 1 -> goto done /* a failover: the outcome is unknown, no answer */
        fi
    }
answer:
    atomic {
        if
        :: printf("MSC: connection %d: answer lost\n", me)
        :: open[me] && lease[me] && valid -> printf("MSC: connection %d: share sent\n", me); assert(!confirmed)
        :: open[me] && lease[me] && !valid -> tell(judgement, round)
        fi
    }
done:
    atomic { id = 0; judgement = 0; round = 0; right = false; valid = false; open[me] = false; goto endNext }
}

active proctype revocation() {
again:
    atomic { waiting == 0 -> primary.revoked = true; commit(REVOCATION); printf("MSC: revocation on the primary\n") }
    atomic {
        if
        :: waiting == REVOCATION && !behind -> waiting = 0
        :: waiting == REVOCATION && cancellations < CANCELLATIONS -> cancellations++; waiting = 0; goto again
        :: waiting != REVOCATION -> goto again
        fi
    }
#ifndef UNACKNOWLEDGED_REVOCATION /* each server closes its connections, or its lease has expired */
    open[0] = false; atomic { if :: lease[1] -> open[1] = false :: !lease[1] fi }
#endif
    confirmed = true; printf("MSC: revocation confirmed\n")
}

active proctype environment() {
endDo: do
    :: atomic { behind -> copy(primary, standby); behind = false }
    :: atomic { failovers < FAILOVERS && behind -> failovers++; if :: skip :: copy(primary, standby) fi;
                copy(standby, primary); commit(0); behind = false;
                printf("MSC: failover, failures %d\n", primary.failures); assert(!confirmed || primary.revoked) }
    :: atomic { expiries < EXPIRIES -> expiries++; lease[1] = false }
    :: atomic { !lease[1] -> open[1] = false; lease[1] = true } /* renewed once its connections are closed */
    od
}
init { atomic { run connection(0); run connection(1) } }
