#!/usr/bin/env python3
"""A server that counts attempts in PostgreSQL: the reference for the rules that a store must keep in a cluster.

    reference_server.py --name N --listen ADDRESS:PORT --readiness ADDRESS:PORT --database PARAMETERS
    reference_server.py --prepare COUNT --database PARAMETERS        makes the table with COUNT wallets

A client sends lines such as {"wallet": 7, "attempt": "HEX", "after": 3} and is answered {"count": 4}: its wallet's
fourth attempt is counted. The same attempt, sent again after a lost connection, is answered with the same number.

`--break RULE` leaves out one rule, and the test fails with the given faults:

    notices    a commit counts although PostgreSQL warned that no standby has it   (cancel-kill)
    unknown    an unknown outcome is answered "unavailable", as if nothing had been counted   (cancel)
    settings   serves even if commits wait for no standby   (kill, with --synchronous off)
"""
import argparse
import asyncio
import queue
import struct
import json
import sys
import threading
import time

from libpq import Connection, NotConnected, NotDone, Unknown

RULES = ["notices", "unknown", "settings"]
BATCH = 32
# Number of attempts, number of writes, last attempt.
RECORD = struct.Struct(">QQ16s")

SETTINGS = """
    select current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
           current_setting('fsync'), current_setting('full_page_writes'), current_setting('client_min_messages'),
           pg_is_in_recovery()"""

# One statement, one transaction. Rows that another transaction holds are skipped: a waiting statement would hold up
# the others in the batch, and the client repeats its attempt. The order of the locks prevents deadlocks.
COMPARE_AND_SET = f"""
    with wanted as (select * from unnest($1::bigint[], $2::bytea[], $3::bytea[]) as wanted(id, old, new)),
         locked as (select wallets.id, wanted.old, wanted.new from wallets join wanted using (id)
                    where wallets.record = wanted.old order by id for no key update of wallets skip locked),
         done as (update wallets set record = locked.new from locked
                  where wallets.id = locked.id and wallets.record = locked.old returning wallets.id)
    select settings.*, (select array_agg(id) from done) from ({SETTINGS}) as settings"""


class Request:
    """An attempt to count, and the client that waits for it."""

    def __init__(self, wallet, attempt, after, answer):
        self.wallet, self.attempt, self.after, self.answer = wallet, attempt, after, answer


class Unsafe(Exception):
    """A setting with which an acknowledged commit can be lost."""


def check(settings, rules):
    """Raises Unsafe if the database can acknowledge a commit that a failover loses."""
    commit, standbys, fsync, pages, messages, in_recovery = settings
    problems = [
        (commit not in ("on", "remote_apply"), f"synchronous_commit is {commit}"),
        (standbys == "" or "*" in standbys, f"synchronous_standby_names is '{standbys}'"),
        (fsync != "on" or pages != "on", "fsync or full_page_writes is off"),
        (messages not in ("warning", "notice", "log") and not messages.startswith("debug"), "warnings are hidden"),
        (in_recovery != "f", "the node is in recovery"),
    ]
    found = [text for is_wrong, text in problems if is_wrong]
    if found and "settings" not in rules:
        raise Unsafe(", ".join(found))


class Store(threading.Thread):
    """The one thread that uses the database."""

    def __init__(self, parameters, limit, broken):
        super().__init__(daemon=True)
        self.parameters, self.limit, self.broken = parameters, limit, broken
        self.requests = queue.Queue()
        self.connection = None
        # Records that this server committed over the present connection. It needs no write to repeat their verdicts.
        self.known = {}

    @property
    def is_ready(self):
        return self.connection is not None

    def run(self):
        while True:
            try:
                if self.connection is None:
                    self._connect()
                self._batch(self._next())
            except NotConnected as error:
                self._refuse(f"not connected: {error}", 0.1)
            except Unsafe as error:
                self._disconnect()
                self._refuse(f"not serving: {error}", 0.1)

    def _connect(self):
        connection = Connection(self.parameters)
        try:
            check(connection.run(SETTINGS, limit=self.limit)[0], self.broken)
        except (Unknown, NotDone) as error:
            connection.close()
            raise NotConnected(str(error)) from None
        except Unsafe:
            connection.close()
            raise
        self.known.clear()
        self.connection = connection
        log("connected")

    def _disconnect(self):
        if self.connection:
            self.connection.close()
        self.connection = None
        self.known.clear()

    def _refuse(self, reason, pause):
        """Answers the waiting requests, none of which was sent to the database."""
        log(reason)
        time.sleep(pause)
        while not self.requests.empty():
            self.requests.get().answer({"error": "unavailable"})

    def _next(self):
        """Returns the next batch, with at most one request of each wallet."""
        batch = {}
        while len(batch) < BATCH:
            try:
                request = self.requests.get(block=not batch, timeout=1)
            except queue.Empty:
                break
            if request.wallet in batch:
                self.requests.put(request)
                break
            batch[request.wallet] = request
        return list(batch.values())

    def _batch(self, requests):
        """Counts a batch. Every request is answered only after the commit, or its connection is closed."""
        if not requests:
            return
        steps = []
        try:
            self._read([request.wallet for request in requests if request.wallet not in self.known])
            steps = [step for step in map(self._step, requests) if step]
            if not steps:
                return
            arrays = [array(request.wallet for request, *_ in steps)]
            arrays += [array(f'"\\\\x{step[number].hex()}"' for step in steps) for number in (2, 3)]
            row = self.connection.run(COMPARE_AND_SET, arrays, self.limit)[0]
        except Unknown as error:
            log(f"outcome unknown: {error}")
            if "notices" in self.broken and str(error).startswith("warning"):
                for request, reply, *_ in steps:
                    request.answer(reply)
            is_hidden = "unknown" in self.broken
            for request in requests:
                request.answer({"error": "unavailable"} if is_hidden else None)
            self._disconnect()
            return
        except NotDone as error:
            # For example 25006 (read-only), 40001 and 40P01: surely not counted.
            log(f"not done: {error}")
            for request in requests:
                request.answer({"error": "unavailable"})
            self._disconnect()
            return
        done = {int(number) for number in (row[-1] or "{}")[1:-1].split(",") if number}
        try:
            check(row[:-1], self.broken)
        except Unsafe:
            # Committed while the settings changed: perhaps on one machine only.
            for request in requests:
                request.answer(None)
            raise
        for request, reply, _, new in steps:
            if request.wallet in done:
                self.known[request.wallet] = (RECORD.unpack(new), new, True)
                request.answer(reply)
            else:
                # Another server wrote the wallet. The client returns with the same attempt.
                self.known.pop(request.wallet, None)
                request.answer(None)

    def _read(self, wallets):
        if not wallets:
            return
        for wallet, record in self.connection.run(
            "select id, record from wallets where id = any($1::bigint[])", [array(wallets)], self.limit
        ):
            content = bytes.fromhex(record[2:])
            self.known[int(wallet)] = (RECORD.unpack(content), content, False)

    def _step(self, request):
        """Returns the write that a request needs, or None if it is answered."""
        if request.wallet not in self.known:
            return request.answer({"error": "no such wallet"})
        (count, writes, attempt), old, is_own = self.known[request.wallet]
        if attempt == request.attempt:
            # A failover can take back a row that was read, so a verdict that was read needs a write.
            if is_own:
                return request.answer({"count": count})
            reply = {"count": count}
        elif request.after == count:
            count, attempt = count + 1, request.attempt
            reply = {"count": count}
        else:
            # From a client that has continued through another server, or another count than this client was told.
            reply = {"error": "stale", "count": count}
        return request, reply, old, RECORD.pack(count, writes + 1, attempt)


def array(values):
    return "{" + ",".join(map(str, values)) + "}"


def log(text):
    print(time.strftime("%H:%M:%S"), text, flush=True)


# --- connections


async def serve(options):
    store = Store(options.database, options.limit, options.broken)
    loop = asyncio.get_running_loop()

    async def client(reader, writer):
        try:
            while line := await reader.readline():
                message = json.loads(line)
                answered = loop.create_future()

                def answer(reply, answered=answered):
                    loop.call_soon_threadsafe(lambda: answered.done() or answered.set_result(reply))

                attempt = bytes.fromhex(message["attempt"])
                store.requests.put(Request(message["wallet"], attempt, message["after"], answer))
                reply = await answered
                if reply is None:
                    writer.transport.abort()
                    return
                writer.write(json.dumps(reply).encode() + b"\n")
        except (ConnectionError, ValueError):
            pass
        finally:
            writer.close()

    async def readiness(reader, writer):
        status = "200 OK" if store.is_ready else "503 Service Unavailable"
        writer.write(f"HTTP/1.0 {status}\r\nContent-Length: 0\r\n\r\n".encode())
        writer.close()

    for handler, address in ((client, options.listen), (readiness, options.readiness)):
        host, _, port = address.rpartition(":")
        await asyncio.start_server(handler, host, int(port))
    store.start()
    log(f"ready on {options.listen}")
    await asyncio.Event().wait()


def prepare(options):
    connection = Connection(options.database)
    connection.run("create table wallets (id bigint primary key, record bytea not null) with (fillfactor = 50)")
    connection.run("alter table wallets alter column record set storage plain")
    connection.run(
        "insert into wallets select id, $1::bytea from generate_series(0, $2::bigint - 1) as id",
        ["\\x" + RECORD.pack(0, 0, bytes(16)).hex(), options.prepare],
        limit=60,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name")
    parser.add_argument("--listen")
    parser.add_argument("--readiness")
    parser.add_argument("--database", required=True)
    parser.add_argument("--prepare", type=int)
    parser.add_argument("--limit", type=float, default=3.0, help="seconds for one statement")
    parser.add_argument("--break", dest="broken", action="append", default=[], choices=RULES)
    options = parser.parse_args()
    if options.prepare:
        prepare(options)
    else:
        asyncio.run(serve(options))


if __name__ == "__main__":
    sys.exit(main())
