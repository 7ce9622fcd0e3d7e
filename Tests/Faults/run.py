#!/usr/bin/env python3
"""Breaks a real lab server in every way that operators meet, and prints what it did.

    Tests/Faults/run.py FOLDER-OF-THE-PROGRAMS [WORD ...]    only faults whose names contain a WORD
    Tests/Faults/run.py FOLDER --seed 7                      repeats the choices of an earlier run

Each trial damages a copy of a lab whose wallets have wrong PINs on record, starts the server on it, and lets every
wallet check what it remembers. The server may refuse to start, refuse some wallets, or serve; it must never give a
guess back without a word. The program fails if one did, if a server crashed, or if a fault had another result than
the ones listed with it. It needs Linux; the faults marked "as root" are left out for other users.
"""
import argparse
import collections
import contextlib
import ctypes
import errno
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request

from bench import Bench, Outcome, Server, flip, temporary_folder, wal_commits
from crowd import BEGIN_ENROLLMENT, HELLO, Crowd, Phones, any_address
from module import INSTALLED, Module, Thief

FAULTS = []
IS_ROOT = os.geteuid() == 0
# The user as whom a production server runs if this program is run by root.
NOBODY = 65534


def fault(name, times, allowed, as_root=False):
    """Registers a fault: a function that damages, judges and returns an outcome, and the outcomes that may be."""

    def register(function):
        if IS_ROOT or not as_root:
            FAULTS.append((name, times, allowed, function))
        return function

    return register


REFUSED = r"not started, status (74|78|79)"
ANY_BUT_SILENT = (
    REFUSED + r"|served|served with a warning|(internal|unavailable|authentication-failed) for some wallets, logged"
    r"|guesses given back, logged|ended while serving, status 79"
)
HIDDEN = "authentication-failed for some wallets"
ANY_OF_DATABASE = ANY_BUT_SILENT + f"|{HIDDEN}, found by a backup"

# --- wallets.db


def judge_database(bench, folder):
    """Judges a store whose pages may each be sound, so that a search does not find some wallets.

    These wallets get no guess. No call shows the damage, but the next backup does.
    """
    outcome = bench.judge(folder)
    if outcome.text != HIDDEN:
        return outcome
    status, output = bench.run("remote-pin-server", "backup", folder / "new.backup", "--lab", folder / "lab")
    is_found = status != 0 and "database is damaged" in output
    return Outcome(HIDDEN + (", found by a backup" if is_found else ""), not is_found, outcome.detail + output)


@fault("one bit of wallets.db", 16, ANY_OF_DATABASE)
def database_bit(bench, dice):
    folder = bench.copy("stopped")
    path = bench.data(folder, "wallets.db")
    flip(path, dice.randrange(path.stat().st_size))
    return judge_database(bench, folder)


@fault("64 zero bytes in wallets.db", 10, ANY_OF_DATABASE)
def database_zeros(bench, dice):
    folder = bench.copy("stopped")
    path = bench.data(folder, "wallets.db")
    with open(path, "r+b") as file:
        file.seek(dice.randrange(path.stat().st_size - 64))
        file.write(bytes(64))
    return judge_database(bench, folder)


@fault("two pages of wallets.db swapped", 8, ANY_OF_DATABASE)
def database_pages(bench, dice):
    folder = bench.copy("stopped")
    path = bench.data(folder, "wallets.db")
    content = bytearray(path.read_bytes())
    one, two = (4096 * place for place in dice.sample(range(1, len(content) // 4096), 2))
    content[one : one + 4096], content[two : two + 4096] = content[two : two + 4096], content[one : one + 4096]
    path.write_bytes(content)
    return judge_database(bench, folder)


@fault("wallets.db cut", 5, REFUSED)
def database_cut(bench, dice):
    folder = bench.copy("stopped")
    path = bench.data(folder, "wallets.db")
    os.truncate(path, dice.randrange(100, path.stat().st_size - 4096))
    return bench.judge(folder)


def edit(bench, folder, *statements):
    """Changes a stopped server's database as a program with SQLite does."""
    database = sqlite3.connect(bench.data(folder, "wallets.db"), isolation_level=None)
    for statement in statements:
        database.execute(statement)
    close_database(bench, folder, database)


def edit_attempts(bench, sql, *more):
    folder = bench.copy("stopped")
    if change_closed(bench, folder, sql, *more) == 0:
        return Outcome("NOTHING TO CHANGE", True)
    return bench.judge(folder)


def change_closed(bench, folder, *statements):
    """Changes the store of a stopped server; returns the number of rows that the first statement changed."""
    database = sqlite3.connect(bench.data(folder, "wallets.db"))
    database.create_function("lower_count", 1, lower_count)
    changed = [database.execute(statement).rowcount for statement in statements]
    close_database(bench, folder, database)
    return changed[0]


def close_database(bench, folder, database):
    """Writes this program's changes to the database, and removes the files that it leaves behind."""
    database.commit()
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    for name in ("wallets.db-wal", "wallets.db-shm"):
        bench.data(folder, name).unlink(missing_ok=True)


def lower_count(record):
    """Makes the record one of fewer wrong PINs: byte 3 holds their number in the round."""
    content = bytearray(record)
    content[3] = content[3] >> 1
    return bytes(content)


@fault("attempt records edited: wrong PINs 3 → 1", 2, ANY_BUT_SILENT)
def attempts_lowered(bench, dice):
    return edit_attempts(bench, "UPDATE attempts SET record = lower_count(record)")


@fault("attempt records edited: all zero", 2, ANY_BUT_SILENT)
def attempts_zeroed(bench, dice):
    return edit_attempts(bench, "UPDATE attempts SET record = zeroblob(length(record))")


@fault("attempt records edited, without their MACs and the note of their key", 2, "not started, status 79")
def attempts_without_mac(bench, dice):
    return edit_attempts(
        bench,
        "UPDATE attempts SET record = substr(lower_count(record), 1, length(record) - 8)",
        "DELETE FROM record_key",
    )


@fault("attempt records deleted", 2, ANY_BUT_SILENT)
def attempts_deleted(bench, dice):
    return edit_attempts(bench, "DELETE FROM attempts")


SCHEMA_CHANGES = [
    "CREATE TRIGGER t AFTER UPDATE ON attempts BEGIN "
    "UPDATE attempts SET record = old.record WHERE wallet = new.wallet; END",
    "CREATE TRIGGER t BEFORE UPDATE ON attempts BEGIN SELECT RAISE(IGNORE); END",
    "CREATE VIEW t AS SELECT * FROM attempts",
    "CREATE TABLE t (entry TEXT)",
    "CREATE INDEX t ON attempts (record)",
    "ALTER TABLE attempts ADD COLUMN t BLOB AS (record)",
]


@fault(
    "schema changed: triggers, view, table, index, column", len(SCHEMA_CHANGES),
    "not started, status 79; the doctor names the object, and no backup is made",
)
def schema_changed(bench, dice):
    bench.schema_turn = (getattr(bench, "schema_turn", -1) + 1) % len(SCHEMA_CHANGES)
    folder = bench.copy("stopped")
    change_closed(bench, folder, SCHEMA_CHANGES[bench.schema_turn])
    doctor, found = bench.run("remote-pin-server", "doctor", folder / "lab")
    backup, refused = bench.run("remote-pin-server", "backup", folder / "new.backup", "--lab", folder / "lab")
    outcome = bench.judge(folder)
    name = re.compile(r"\w+ t( on attempts)? is unknown|table attempts is changed")
    names = all(map(name.search, (found, refused)))
    if outcome.is_bad or doctor != 2 or backup == 0 or not names:
        return Outcome(f"{outcome.text}; doctor {doctor}, backup {backup}", True, found + refused + outcome.detail)
    return Outcome(f"{outcome.text}; the doctor names the object, and no backup is made", False)


# --- the write-ahead log after SIGKILL


@fault("one bit of the live log after SIGKILL", 20, ANY_BUT_SILENT)
def log_bit(bench, dice):
    folder = bench.copy("killed")
    path = bench.data(folder, "wallets.db-wal")
    # Before the last transaction: a crash can tear only that one, before it was answered.
    flip(path, dice.randrange(wal_commits(path)[-2]))
    return bench.judge(folder)


@fault("live log cut after SIGKILL", 8, ANY_BUT_SILENT)
def log_cut(bench, dice):
    folder = bench.copy("killed")
    path = bench.data(folder, "wallets.db-wal")
    os.truncate(path, dice.randrange(wal_commits(path)[-2]))
    return bench.judge(folder)


@fault("live log deleted after SIGKILL", 2, ANY_BUT_SILENT)
def log_deleted(bench, dice):
    folder = bench.copy("killed")
    bench.data(folder, "wallets.db-wal").unlink()
    return bench.judge(folder)


@fault("live log as SIGKILL left it (control)", 2, "served")
def log_intact(bench, dice):
    return bench.judge(bench.copy("killed"))


@fault("older copy of wallets.db put back", 1, "not started, status 79")
def database_older(bench, dice):
    folder = bench.copy("stopped")
    older = bench.data(folder, "older.db")
    shutil.copy(bench.data(folder, "wallets.db"), older)
    server = Server(bench, folder)
    bench.load(folder, "wrong=1", "1500ms")
    server.ends()
    older.rename(bench.data(folder, "wallets.db"))
    return bench.judge(folder, known={})


# --- key and audit log


# The wallets remember their wrong PINs. A command that lists them would add an entry to the audit log, which has the
# store's generation.


def guess_and_kill(bench, folder):
    """Lets the wallets enter so many wrong PINs that the log starts over, and kills the server."""
    log = bench.data(folder, "wallets.db-wal")
    server = Server(bench, folder)
    beginning = log.read_bytes()[16:24]
    for _ in range(20):
        bench.load(folder, "wrong=1,right=9", "2s")
        if log.read_bytes()[16:24] != beginning:
            break
    bench.load(folder, "wrong=1", "500ms")
    server.ends(signal.SIGKILL)


@fault("older copy of wallets.db alone put back after SIGKILL", 2, "not started, status 79")
def database_older_alone(bench, dice):
    folder = bench.copy("stopped")
    path = bench.data(folder, "wallets.db")
    older = path.read_bytes()
    guess_and_kill(bench, folder)
    path.write_bytes(older)
    return bench.judge(folder, known={})


@fault("older data folder put back after SIGKILL, the audit log has no entry since", 2, "not started, status 79")
def folder_older(bench, dice):
    folder = bench.copy("stopped")
    data = folder / "lab/server/data"
    bench.copy_tree(data, folder / "older")
    server = Server(bench, folder)
    bench.load(folder, "wrong=1", "1500ms")
    server.ends(signal.SIGKILL)
    shutil.rmtree(data)
    (folder / "older").rename(data)
    return bench.judge(folder, known={})


@fault("a stopped store after VACUUM, with another page size, reloaded", 3, "served")
def rewritten(bench, dice):
    folder = bench.copy("stopped")
    path = bench.data(folder, "wallets.db")
    bench.rewriting_turn = (getattr(bench, "rewriting_turn", -1) + 1) % 3
    if bench.rewriting_turn == 0:
        edit(bench, folder, "VACUUM")
    elif bench.rewriting_turn == 1:
        edit(bench, folder, "PRAGMA journal_mode = DELETE", "PRAGMA page_size = 8192", "VACUUM")
    else:
        database, reloaded = sqlite3.connect(path), sqlite3.connect(folder / "reloaded.db", isolation_level=None)
        reloaded.executescript("\n".join(database.iterdump()))
        for pragma in ("application_id", "user_version"):
            reloaded.execute(f"PRAGMA {pragma} = {database.execute(f'PRAGMA {pragma}').fetchone()[0]}")
        reloaded.close()
        close_database(bench, folder, database)
        (folder / "reloaded.db").rename(path)
    return bench.judge(folder)


@fault("a file of the store moved, replaced or written under the server", 9, "ended with status 79, with its path")
def changed_in_use(bench, dice):
    turn = bench.file_turn = (getattr(bench, "file_turn", -1) + 1) % 9
    folder = bench.copy("stopped")
    data = folder / "lab/server/data"
    path = [data / "wallets.db", data / "wallets.db-wal", folder / "lab/server/audit.log.mark"][turn % 3]
    server = Server(bench, folder)
    bench.load(folder, "wrong=1", "500ms")
    content = path.read_bytes()
    if turn >= 6 and turn % 3 < 2:
        with open(path, "r+b") as file:
            file.write(content)
    else:
        path.rename(folder / "moved")
        if turn >= 3:
            path.write_bytes(content)
    bench.load(folder, "wrong=1", "1s")
    is_named = str(path) in server.output
    status = server.process.poll()
    text = f"ended with status {status}" + (", with its path" if is_named else "")
    return Outcome(text, status is None, server.output)


@fault("rows of the update policy and of the deny list deleted", 2, "repeated, logged and on record")
def rows_deleted(bench, dice):
    folder = bench.copy("stopped")
    server, lab = Server(bench, folder), folder / "lab"
    bench.must("remote-pin-server", "admin", "update-policy", "set", "all", "..1.2=block", "--lab", lab)
    bench.run("remote-pin-server", "admin", "revoke", "recovery-code", "code", "--lab", lab)
    before = bench.must("remote-pin-server", "admin", "update-policy", "show", "--lab", lab)
    server.ends()
    edit(bench, folder, "DELETE FROM operator_values", "DELETE FROM denied_recovery_codes")
    server = Server(bench, folder)
    after = bench.must("remote-pin-server", "admin", "update-policy", "show", "--lab", lab)
    status, shown = bench.run("remote-pin-server", "admin", "deny-list", "show", "code", "--lab", lab)
    log = server.output
    record = (lab / "server/audit.log").read_text()
    is_well = "block" in after and after.count("block") == before.count("block") and status == 0
    is_logged = log.count("was not in force and was repeated") >= 2 and record.count("not in force at the start") >= 4
    text = ("repeated" if is_well else "GIVEN BACK") + (", logged and on record" if is_logged else "")
    return Outcome(text, not is_well, f"{before}\n{after}\n{shown}\n{log}")


@fault("one bit of vault.key", 6, REFUSED + "|served")
def key_bit(bench, dice):
    folder = bench.copy("stopped")
    path = folder / "lab/server/vault.key"
    flip(path, dice.randrange(path.stat().st_size))
    return bench.judge(folder)


@fault("vault.key missing, empty, readable by others, of another lab", 4, REFUSED)
def key_file(bench, dice):
    folder = bench.copy("stopped")
    path = folder / "lab/server/vault.key"
    bench.key_turn = (getattr(bench, "key_turn", -1) + 1) % 4
    if bench.key_turn == 0:
        path.unlink()
    elif bench.key_turn == 1:
        path.write_bytes(b"")
    elif bench.key_turn == 2:
        path.chmod(0o644)
    else:
        bench.must("remote-pin-server", "init", "--lab", folder / "other")
        shutil.copy(folder / "other/server/vault.key", path)
    return bench.judge(folder)


@fault("audit log: one bit, a line cut, repeated or swapped", 12, REFUSED + "|served with a warning|served")
def audit_changed(bench, dice):
    folder = bench.copy("stopped")
    path = folder / "lab/server/audit.log"
    lines = path.read_bytes().splitlines(keepends=True)
    place = dice.randrange(len(lines) - 1)
    kind = dice.choice(["bit", "cut", "repeat", "swap"])
    if kind == "bit":
        flip(path, dice.randrange(sum(map(len, lines[:-1]))))
    elif kind == "cut":
        path.write_bytes(b"".join(lines[:place] + lines[place + 1 :]))
    elif kind == "repeat":
        path.write_bytes(b"".join(lines[: place + 1] + lines[place:]))
    else:
        lines[place], lines[place + 1] = lines[place + 1], lines[place]
        path.write_bytes(b"".join(lines))
    outcome = bench.judge(folder)
    # Every entry before the last one is chained: none of these changes may be served.
    outcome.is_bad |= outcome.text.startswith("served")
    return outcome


@fault("audit log deleted; also with the store's mark of it", 2, "not started, status 79")
def audit_deleted(bench, dice):
    folder = bench.copy("stopped")
    (folder / "lab/server/audit.log").unlink()
    bench.mark_turn = not getattr(bench, "mark_turn", True)
    if bench.mark_turn:
        edit(bench, folder, "delete from audit_mark")
    return bench.judge(folder)


@fault("audit log cut, extended, moved or replaced under the server", 4, "ended with status 79, wallet not revoked")
def audit_changed_in_use(bench, dice):
    folder = bench.copy("stopped")
    path = folder / "lab/server/audit.log"
    server = Server(bench, folder)
    bench.change_turn = (getattr(bench, "change_turn", -1) + 1) % 4
    if bench.change_turn == 0:
        os.truncate(path, dice.randrange(1, path.stat().st_size))
    elif bench.change_turn == 1:
        with open(path, "ab") as file:
            file.write(b"x")
    else:
        path.rename(folder / "away")
        if bench.change_turn == 3:
            shutil.copy(folder / "away", path)
    wallet = dice.choice(sorted(bench.known))
    bench.run("remote-pin-server", "admin", "revoke", "wallet", wallet, "--lab", folder / "lab")
    status, names_it = server.process.wait(30), "the audit log was changed while it was in use" in server.output
    database = sqlite3.connect(bench.data(folder, "wallets.db"))
    ended = database.execute("select count(*) from ended").fetchone()[0]
    database.close()
    is_good = status == 79 and names_it and ended == 0
    text = f"ended with status {status}, " + ("wallet not revoked" if ended == 0 else "WALLET REVOKED WITHOUT ENTRY")
    return Outcome(text, not is_good, server.output)


@fault("a revoked wallet's older row put back", 2, "revoked again, logged and on record")
def revoked_row(bench, dice):
    folder = bench.copy("stopped")
    wallet = dice.choice(sorted(bench.known))
    shutil.copy(bench.data(folder, "wallets.db"), folder / "older.db")
    server = Server(bench, folder)
    bench.must("remote-pin-server", "admin", "revoke", "wallet", wallet, "--lab", folder / "lab")
    server.ends()
    bench.ended_turn = not getattr(bench, "ended_turn", False)
    edit(
        bench, folder, f"attach '{folder / 'older.db'}' as older", f"delete from wallets where id = x'{wallet}'",
        f"insert into wallets select * from older.wallets where id = x'{wallet}'",
        # The index of ended wallets may still have it.
        "delete from ended" if bench.ended_turn else "select 1",
    )
    server = Server(bench, folder)
    status, shown = bench.run("remote-pin-server", "admin", "wallet", "show", wallet, "--json", "--lab", folder / "lab")
    _, audit = bench.run("remote-pin-server", "admin", "audit", "show", "--wallet", wallet, "--lab", folder / "lab")
    server.ends()
    is_revoked = status == 0 and json.loads(shown)["state"] == "revoked"
    is_told = "a change on record was not in force" in server.output and "on record as done" in audit
    text = "revoked again" if is_revoked else "SERVED"
    detail = server.output + shown + audit
    return Outcome(text + (", logged and on record" if is_told else ""), not (is_revoked and is_told), detail)


# --- the disk


@contextlib.contextmanager
def small_disk(data):
    """Mounts a file system of 32 MiB with the files of a data folder, and yields whether that is possible here."""
    kept = {path.name: path.read_bytes() for path in data.iterdir()}
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"tmpfs", os.fsencode(data), b"tmpfs", 0, b"size=32m,mode=700") != 0:
        yield False
        return
    try:
        for name, content in kept.items():
            (data / name).write_bytes(content)
            (data / name).chmod(0o600)
        yield True
    finally:
        libc.umount2(os.fsencode(data), 2)


@fault("disk full under load, a restart on it, then room (as root)", 1, "refused while full, then served", as_root=True)
def disk_full(bench, dice):
    folder = bench.copy("stopped")
    data = folder / "lab/server/data"
    with small_disk(data) as is_mounted:
        if not is_mounted:
            return Outcome("refused while full, then served (not mounted here)")
        server = Server(bench, folder)
        ballast = open(data / "ballast", "wb", buffering=0)
        try:
            while True:
                ballast.write(bytes(4096))
        except OSError:
            pass
        status, output = bench.load(folder, "wrong=1", "2s", "--max-wrong-per-wallet", 3)
        names_reason = "SQLITE_FULL" in server.output
        if "violations 0" not in output:
            return Outcome("GUESSES GIVEN BACK", True, output)
        server.ends(signal.SIGKILL)
        again = Server(bench, folder)
        status = again.ends(signal.SIGKILL)
        ballast.close()
        (data / "ballast").unlink()
        outcome = bench.judge(folder, known={})
        if outcome.is_bad or outcome.text != "served":
            return outcome
        if not names_reason:
            return Outcome("the log does not name SQLITE_FULL", True, server.output)
        return Outcome("refused while full, then served")


def without_room(bench, folder, server, number, end):
    """Loads a server that has no room, ends the shortage, and judges the same server and the next one."""
    _, output = bench.load(folder, "wrong=1", "2s", "--max-wrong-per-wallet", 3)
    end()
    names_reason = f"({errno.errorcode[number]})" in server.output
    if "violations 0" not in output:
        return Outcome("GUESSES GIVEN BACK", True, output + server.output)
    if server.process.poll() is not None:
        return Outcome(f"ended with status {server.process.returncode}", True, server.output)
    if not names_reason:
        return Outcome("the log does not name the cause", True, server.output)
    status, output = bench.load(folder, "right=1", "1s", "--pick", "uniform")
    server.ends()
    if status != 0:
        return Outcome("not served with room again", True, output + server.output)
    outcome = bench.judge(folder, known={})
    return Outcome("refused without room, then served") if outcome.text == "served" else outcome


@fault("no file may grow (RLIMIT_FSIZE), then it may", 1, "refused without room, then served")
def file_size(bench, dice):
    folder = bench.copy("stopped")
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    # The shortest limit that leaves room for the start.
    small = bench.data(folder, "wallets.db").stat().st_size
    server = Server(bench, folder, before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (small, most)))
    if not server.is_ready:
        return Outcome("not started", True, server.output)

    def end():
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most, most))

    return without_room(bench, folder, server, errno.EFBIG, end)


@fault("quota exhausted (EDQUOT from each write, by strace), then not", 1, "refused without room, then served")
def quota(bench, dice):
    if shutil.which("strace") is None:
        return Outcome("refused without room, then served (no strace here)", True)
    folder = bench.copy("stopped")
    server = Server(bench, folder)
    tracer = subprocess.Popen(
        ["strace", "-f", "-qq", "-o", os.devnull, "-p", str(server.process.pid), "-e", "trace=pwrite64", "-P",
         str(bench.data(folder, "wallets.db-wal").resolve()), "-e", "inject=pwrite64:error=EDQUOT"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )

    def end():
        tracer.send_signal(signal.SIGINT)
        tracer.wait(30)

    return without_room(bench, folder, server, errno.EDQUOT, end)


@fault("data folder on a file system that is read-only (as root)", 1, "refused, status 74, named by the doctor", True)
def read_only(bench, dice):
    folder = bench.copy("stopped")
    data = folder / "lab/server/data"
    with small_disk(data) as is_mounted:
        if not is_mounted:
            return Outcome("refused, status 74, named by the doctor (not mounted here)")
        # MS_RDONLY | MS_REMOUNT
        ctypes.CDLL(None).mount(b"tmpfs", os.fsencode(data), b"tmpfs", 1 | 32, None)
        server = Server(bench, folder)
        status, output = server.ends(signal.SIGKILL), server.output
        doctor, report = bench.run("remote-pin-server", "doctor", folder / "lab")
    is_named = "read-only file system (EROFS)" in output and "permission denied" not in output
    is_found = doctor == 2 and "read-only file system" in report
    found = "named" if is_found else "not named"
    return Outcome(f"refused, status {status}, {found} by the doctor", not is_named, output + report)


# --- files that are not what they should be

ODD = ["link", "second name", "folder", "pipe"]
ODD_FILES = ["data/wallets.db", "data/wallets.db-wal", "data/wallets.db-mark", "data/lock", "audit.log"]


@fault(
    "a link, a second name, a folder or a pipe for wallets.db, its log, its mark, the lock, the audit log",
    len(ODD) * len(ODD_FILES),
    "refused, status 79, with its path; then served",
)
def odd_file(bench, dice):
    turn = bench.odd_turn = getattr(bench, "odd_turn", -1) + 1
    kind, name = ODD[turn % len(ODD)], ODD_FILES[turn // len(ODD) % len(ODD_FILES)]
    folder = bench.copy("killed")
    path, moved = folder / "lab/server" / name, folder / "moved"
    path.touch()
    path.rename(moved)
    if kind == "link":
        path.symlink_to(moved)
    elif kind == "second name":
        path.hardlink_to(moved)
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    server = Server(bench, folder)
    if server.is_ready:
        server.ends()
        return Outcome(f"SERVED: {name} is a {kind}", True, server.output)
    status, output = server.process.wait(60), server.output
    doctor, report = bench.run("remote-pin-server", "doctor", folder / "lab")
    backup, copied = bench.run("remote-pin-server", "backup", folder / "new.backup", "--lab", folder / "lab")
    # The doctor only looks for the holder of the lock.
    is_found = backup != 0 and str(path) in copied and (name == "data/lock" or doctor == 2 and str(path) in report)
    if str(path) not in output or not is_found:
        return Outcome(f"{name} is a {kind}: not named", True, output + report + copied)
    if kind == "folder":
        path.rmdir()
    else:
        path.unlink()
    moved.rename(path)
    outcome = bench.judge(folder)
    if outcome.text != "served":
        return outcome
    return Outcome(f"refused, status {status}, with its path; then served")


@fault("a foreign wallets.db-journal", 1, "refused, status 79, with its path")
def journal(bench, dice):
    folder = bench.copy("stopped")
    path = bench.data(folder, "wallets.db-journal")
    path.write_bytes(b"")
    server = Server(bench, folder)
    status = server.ends(signal.SIGKILL)
    is_named = str(path) in server.output
    return Outcome(f"refused, status {status}, with its path", not is_named, server.output)


@fault("the mark removed or emptied after an orderly stop, also with older files", 4, "not started, status 79")
def mark_removed(bench, dice):
    bench.mark_turn = (getattr(bench, "mark_turn", -1) + 1) % 4
    folder = bench.copy("stopped")
    server = folder / "lab/server"
    older = {name: (server / name).read_bytes() for name in ("data/wallets.db", "audit.log")}
    if bench.mark_turn >= 2:
        running = Server(bench, folder)
        bench.load(folder, "wrong=1", "1500ms")
        running.ends()
        for name, content in older.items():
            (server / name).write_bytes(content)
    mark = bench.data(folder, "wallets.db-mark")
    mark.unlink()
    if bench.mark_turn % 2 == 1:
        mark.touch(0o600)
    return bench.judge(folder, known={})


@fault("the data folder is empty, as if its volume were not mounted", 1, "not started, status 74, with the way out")
def not_mounted(bench, dice):
    folder = bench.copy("stopped")
    data = folder / "lab/server/data"
    data.rename(folder / "volume")
    data.mkdir(0o700)
    server = Server(bench, folder)
    status, output = server.ends(signal.SIGKILL), server.output
    init, advice = bench.run("remote-pin-server", "init", "--config", folder / "lab/server/server.yaml")
    is_good = "is its volume mounted?" in output and init == 74 and "mount the volume" in advice
    return Outcome(f"not started, status {status}, with the way out", not is_good, output + advice)


@fault("one byte of the store's note of the vault's key", 2, "not started, status 79; the doctor names the damage")
def key_note(bench, dice):
    folder = bench.copy("stopped")
    table = ["record_key", "vault_versions"][bench.trials % 2]
    database = sqlite3.connect(bench.data(folder, "wallets.db"))
    check = bytearray(database.execute(f"SELECT key_check FROM {table}").fetchone()[0])
    check[dice.randrange(len(check))] ^= 1 << dice.randrange(8)
    database.execute(f"UPDATE {table} SET key_check = ?", [bytes(check)])
    close_database(bench, folder, database)
    doctor, report = bench.run("remote-pin-server", "doctor", folder / "lab")
    outcome = bench.judge(folder)
    is_found = doctor == 2 and "is damaged" in report
    text = outcome.text + ("; the doctor names the damage" if is_found or table == "vault_versions" else "")
    return Outcome(text, outcome.is_bad, outcome.detail + report)


@fault("one bit of an attempt record, whose wallet may never have opened a session", 4, "found by doctor, list and log")
def record_bit(bench, dice):
    folder = bench.copy("stopped")
    database = sqlite3.connect(bench.data(folder, "wallets.db"))
    wallet, record = dice.choice(database.execute("SELECT wallet, record FROM attempts").fetchall())
    changed = bytearray(record)
    changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
    database.execute("UPDATE attempts SET record = ? WHERE wallet = ?", [bytes(changed), wallet])
    identity, state = database.execute("SELECT id, state FROM wallets WHERE key = ?", [wallet]).fetchone()
    if dice.random() < 0.5:
        # As if no session was ever opened: bit 1 of byte 2.
        state = bytearray(state)
        state[2] &= ~2
        database.execute("UPDATE wallets SET state = ? WHERE key = ?", [bytes(state), wallet])
    close_database(bench, folder, database)
    status, report = bench.run("remote-pin-server", "doctor", folder / "lab")
    server = Server(bench, folder)
    _, listed = bench.run("remote-pin-server", "admin", "wallet", "list", "--state", "damaged", "--lab", folder / "lab")
    bench.load(folder, "right=1", "1500ms", "--pick", "uniform")
    server.ends()
    found = [name for name, text in [("doctor", report), ("list", listed), ("log", server.output)]
             if identity.hex() in text]
    text = "found by doctor, list and log" if len(found) == 3 and status == 2 else f"found by {found} only"
    return Outcome(text, False, report + listed + server.output)


# --- the process


@fault("SIGKILL every second under load", 1, "nothing given back")
def killed_often(bench, dice):
    folder = bench.copy("stopped")
    status, output = bench.load(folder, "right=70,wrong=30", "12s", "--kill-server-every", "1s")
    kills = re.search(r"(\d+) (?:kills|times)", output)
    if status != 0:
        return Outcome("GUESSES GIVEN BACK" if "violations 0" not in output else f"status {status}", True, output)
    return Outcome("nothing given back", False, output + str(kills))


@fault("SIGKILL during the start", 10, "served")
def killed_starting(bench, dice):
    folder = bench.copy("killed")
    process = subprocess.Popen(
        [bench.program("remote-pin-server"), "serve", str(folder / "lab")],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    time.sleep(dice.uniform(0.02, 0.3))
    process.kill()
    process.wait()
    return bench.judge(folder)


@fault("SIGKILL during restore", 8, "the same restore gives a store; the wallets are charged")
def killed_restoring(bench, dice):
    folder = bench.copy("stopped")
    data = folder / "lab/server/data"
    data.rename(folder / "lab/server/data.before")
    command = ["restore", folder / "old.backup", "--yes", "--lab", folder / "lab"]
    process = subprocess.Popen(
        [bench.program("remote-pin-server"), *map(str, command)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    time.sleep(dice.uniform(0.02, 0.4))
    process.kill()
    process.wait()
    if not (data / "wallets.db").exists():
        server = Server(bench, folder)
        if server.is_ready:
            server.ends()
            return Outcome("SERVED HALF A RESTORE", True, server.output)
        status, output = bench.run("remote-pin-server", *command)
        if status != 0:
            return Outcome(f"the same restore fails with {status}", True, output)
    server = Server(bench, folder)
    failures = bench.failures(folder) if server.is_ready else None
    server.ends()
    if failures is None:
        return Outcome("not served after the restore", True, server.output)
    # Rule `strict`: each wallet is in its last round.
    if min(failures.values()) < 12:
        return Outcome("GUESSES GIVEN BACK", True, str(failures))
    return Outcome("the same restore gives a store; the wallets are charged")


@fault("two servers: same folder; other folder with the same audit log", 2, "refused, status 69")
def two_servers(bench, dice):
    folder = bench.copy("stopped")
    server = Server(bench, folder)
    more = []
    bench.pair_turn = not getattr(bench, "pair_turn", False)
    if bench.pair_turn:
        other = bench.copy("stopped")
        more = ["--audit.file", folder / "lab/server/audit.log"]
        status, output = bench.run("remote-pin-server", "serve", other / "lab", *more)
    else:
        more = ["--admin.socket", folder / "other.sock"]
        status, output = bench.run("remote-pin-server", "serve", folder / "lab", *more)
    server.ends()
    return Outcome(f"refused, status {status}", status == 0, output)


# --- the machine


def production(bench, folder):
    """Makes a production server's folder with a lab's certificate; returns the command that serves it."""
    path = folder / "production"
    bench.must("remote-pin-server", "init", path)
    for name in ("tls.pem", "tls.key"):
        shutil.copy(folder / "lab/server" / name, path)
    (path / "tls.key").chmod(0o600)
    command = []
    if IS_ROOT:
        command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        for entry in [path, *path.rglob("*")]:
            os.chown(entry, NOBODY, NOBODY)
        for parent in (bench.root, folder):
            parent.chmod(0o711)
    command += [
        bench.program("remote-pin-server"), "serve", str(path), "--tls.certificate", str(path / "tls.pem"), "--tls.key",
        str(path / "tls.key"), "--ios.apps", "ABCDE12345.org.example.wallet", "--listen.address", "127.0.0.1:0",
        "--observation.listen", "none",
    ]
    return path, command


@fault("clock: −20 years, −2 days, +2 days, +50 years at the start", 4, "refused, status 69")
def clock(bench, dice):
    folder = bench.copy("stopped")
    path, command = production(bench, folder)
    first = Server(bench, folder, command=command)
    if not first.is_ready:
        return Outcome("not started", True, first.output)
    first.ends()
    bench.clock_turn = (getattr(bench, "clock_turn", -1) + 1) % 4
    days = [20 * 365, 2, -2, -50 * 365][bench.clock_turn]
    # Not the clock moves, which other programs need, but the times that the server compares it with.
    stamp = time.time() + days * 86400
    for name in ("wallets.db", "lock"):
        os.utime(path / "data" / name, (stamp, stamp))
    if days < 0:
        year = time.gmtime().tm_year
        log = (path / "audit.log").read_text()
        (path / "audit.log").write_text(log.replace(f'"time":"{year}', f'"time":"{year - 60}'))
    server = Server(bench, folder, command=command)
    if server.is_ready:
        server.ends()
        return Outcome("SERVED", True, server.output)
    return Outcome(f"refused, status {server.process.returncode}", False, server.output)


@fault("production server as root (as root)", 1, "refused, status 77", as_root=True)
def as_root(bench, dice):
    folder = bench.copy("stopped")
    _, command = production(bench, folder)
    server = Server(bench, folder, command=command[4:])
    if server.is_ready:
        server.ends()
    return Outcome(f"refused, status {server.process.returncode}", server.process.returncode == 0, server.output)


@fault("writable for all: data folder, database, audit log, key's folder, configuration", 5, "refused, status 78")
def writable(bench, dice):
    folder = bench.copy("stopped")
    lab = folder / "lab/server"
    bench.right_turn = (getattr(bench, "right_turn", -1) + 1) % 5
    path = [lab / "data", lab / "data/wallets.db", lab / "audit.log", lab, lab / "server.yaml"][bench.right_turn]
    path.chmod(path.stat().st_mode | 0o002)
    server = Server(bench, folder)
    if server.is_ready:
        server.ends()
    return Outcome(f"refused, status {server.process.returncode}", server.process.returncode == 0, server.output)


def openssl(folder, *arguments):
    subprocess.run(["openssl", *map(str, arguments)], cwd=folder, check=True, capture_output=True)


@fault("expired certificate: reload, check-config, start", 1, "reload keeps the old one; check-config and start warn")
def certificate(bench, dice):
    folder = bench.copy("stopped")
    lab = folder / "lab/server"
    server = Server(bench, folder)
    # Not yet expired when it is made: a self-signed certificate of one day cannot be dated back with this command.
    (folder / "ca.cnf").write_text(
        "[ca]\ndefault_ca=own\n[own]\ndatabase=index\nserial=serial\nnew_certs_dir=.\ndefault_md=sha256\npolicy=any\n"
        "[any]\ncommonName=supplied\n"
    )
    (folder / "index").write_text("")
    (folder / "serial").write_text("01\n")
    (folder / "san.cnf").write_text("subjectAltName=DNS:localhost\n")
    openssl(folder, "req", "-new", "-key", lab / "tls.key", "-subj", "/CN=localhost", "-out", "request.pem")
    openssl(
        folder, "ca", "-batch", "-config", "ca.cnf", "-selfsign", "-keyfile", lab / "tls.key", "-in", "request.pem",
        "-out", "expired.pem", "-notext", "-extfile", "san.cnf", "-startdate", "20200101000000Z", "-enddate",
        "20200201000000Z",
    )
    shutil.copy(folder / "expired.pem", lab / "tls.pem")
    reload, text = bench.run("remote-pin-server", "admin", "reload", "--lab", folder / "lab")
    works, _ = bench.load(folder, "right=1", "1s", connections=2)
    server.ends()
    check, warning = bench.run("remote-pin-server", "check-config", folder / "lab")
    again = Server(bench, folder)
    warns = "expired" in again.output
    again.ends()
    if reload == 74 and "expired" in text and works == 0 and check == 0 and "warning" in warning and warns:
        return Outcome("reload keeps the old one; check-config and start warn")
    return Outcome(f"reload {reload}, checks {works}, check-config {check}, start warns: {warns}", True, text + warning)


@fault("few open files, as many clients as there is room for", 1, "probes and operators are served")
def descriptors(bench, dice):
    folder = bench.copy("stopped")
    command = [
        "/bin/sh", "-c", 'ulimit -n 1100; exec "$0" "$@"', bench.program("remote-pin-server"), "serve",
        str(folder / "lab"), "--observation.listen", "127.0.0.1:0", "--portal.socket", "none",
        "--limits.connections-per-source", "0",
    ]
    server = Server(bench, folder, command=command)
    port = int(re.search(r"ready on \S+:(\d+)", server.output).group(1))
    probe = int(re.search(r"observed address=\S+:(\d+)", server.output).group(1))
    clients = []
    # The servers of later faults inherit the limit, so it is never lowered.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(4096, hard)), hard))
    try:
        for _ in range(1300):
            clients.append(socket.create_connection(("127.0.0.1", port), timeout=5))
        time.sleep(1)
        alive = urllib.request.urlopen(f"http://127.0.0.1:{probe}/livez", timeout=5).status
        status, output = bench.run("remote-pin-server", "admin", "status", "--lab", folder / "lab", timeout=10)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Outcome("PROBES OR OPERATORS SHUT OUT", True, f"{error}\n{server.output}")
    finally:
        for client in clients:
            client.close()
        server.ends()
    is_good = alive == 200 and status == 0 and "fewer open files are allowed" in server.output
    return Outcome("probes and operators are served" if is_good else f"{alive}, {status}", not is_good, output)


# --- floods


class FullTable:
    """A server with few places and an observation listener, and a crowd that fills them."""

    def __init__(self, bench, folder, places):
        resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
        self.places = places
        self.server = Server(
            bench, folder,
            ["--limits.connections", str(places), "--limits.connections-per-source", str(places // 4),
             "--observation.listen", "127.0.0.1:0"],
        )
        self.port = int(re.search(r"ready on \S+:(\d+)", self.server.output).group(1))
        self.probe = int(re.search(r"observed address=\S+:(\d+)", self.server.output).group(1))

    def metric(self, series):
        text = urllib.request.urlopen(f"http://127.0.0.1:{self.probe}/metrics", timeout=10).read().decode()
        return next(float(line.split()[-1]) for line in text.splitlines() if line.startswith(series + " "))

    @property
    def held(self):
        return self.metric("remote_pin_connections")

    @property
    def displaced(self):
        return self.metric('remote_pin_connections_refused_total{limit="without_session"}')

    def judge(self, crowd, action):
        """Waits until the crowd fills the table, and returns the outcome of the action; ends crowd and server."""
        try:
            end = time.monotonic() + 60
            while self.held < 0.98 * self.places:
                if time.monotonic() > end:
                    return Outcome("the table was never full", True, self.server.output)
                time.sleep(0.1)
            return action()
        finally:
            crowd.end()
            self.server.ends()


def one_of_four(thread):
    return f"127.0.0.{2 + thread}"


@fault("connection table full from 4 sources, an honest wallet from a fifth", 1, "100 of 100 unlocks within 2 s")
def table_full(bench, dice):
    folder = bench.copy("stopped")
    table, result = FullTable(bench, folder, 2000), folder / "result.json"

    def unlocks():
        before = table.displaced
        status, output = bench.run(
            "pin-load", "run", "--lab", folder / "lab", "--wallets", folder / "fleet", "--connections", 4, "--rate", 5,
            "--connection", "new", "--mix", "right=1", "--duration", "20s", "--out", result, timeout=120,
        )
        held, closed = table.held, table.displaced - before
        totals = json.loads(result.read_text())["totals"]
        unlock = totals["operations"]["unlock"]
        times = unlock["latencyMicros"]
        in_time = sum(count for limit, count in zip(times["values"], times["counts"]) if limit <= 2_000_000)
        good = min(in_time, unlock["outcomes"].get("valid", 0))
        slowest = times["max"] / 1e6
        print(f"{held:.0f} held, {closed:.0f} closed for newcomers, slowest unlock {slowest:.3f} s", file=sys.stderr)
        return Outcome(f"{good} of {totals['count']} unlocks within 2 s", status != 0 or closed == 0, output)

    crowd = Crowd(table.port, one_of_four, table.places, rate=400, calls=HELLO + BEGIN_ENROLLMENT)
    return table.judge(crowd, unlocks)


# About twenty phones behind a mobile operator's address have no session at a time.
SHARED = "127.0.0.9"
SHARING = {"unlocks": (SHARED, 0.4, 4.5), "enrollments of 3 s": (SHARED, 3, 2.8), "enrollments": (SHARED, 12, 0.7)}


def phones_beside(bench, source, judged):
    """Fills a table of 400 places at 45 connections a second, which begin enrollments, and lets phones connect."""
    table = FullTable(bench, bench.copy("stopped"), 400)
    crowd = Crowd(table.port, source, table.places, rate=45, calls=HELLO + BEGIN_ENROLLMENT)
    phones = Phones(table.port, SHARING)

    def connections():
        phones.run(30)
        detail = ", ".join(f"{name}: {sum(done)} of {len(done)}" for name, done in phones.results.items())
        print(detail, file=sys.stderr)
        return Outcome(f"{phones.share(judged)} %", detail=detail)

    return table.judge(crowd, connections)


@fault("connection table full from many addresses, unlocks behind a shared address", 1, "(99|100) %")
def table_full_of_addresses(bench, dice):
    return phones_beside(bench, lambda thread: any_address(), "unlocks")


@fault("connection table full from 4 sources, enrollments of 12 s behind a shared address", 1, "(9[5-9]|100) %")
def table_full_beside_enrollments(bench, dice):
    return phones_beside(bench, one_of_four, "enrollments")


# --- operators


@fault("`wallet list` with 100,000 wallets", 1, "100,024 listed")
def many_wallets(bench, dice):
    folder = bench.copy("stopped")
    database = sqlite3.connect(bench.data(folder, "wallets.db"))
    columns = [row[1] for row in database.execute("PRAGMA table_info(wallets)")]
    fresh = {"key": "NULL", "id": "randomblob(16)", "deletion_digest": "NULL"}
    chosen = ", ".join(fresh.get(name, name) for name in columns)
    database.execute(
        f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) INSERT INTO wallets "
        f"({', '.join(columns)}) SELECT {chosen} FROM n, (SELECT * FROM wallets ORDER BY key LIMIT 1)"
    )
    close_database(bench, folder, database)
    server = Server(bench, folder)
    start = time.monotonic()
    status, output = bench.run(
        "remote-pin-server", "admin", "wallet", "list", "--json", "--limit", 200000, "--lab", folder / "lab",
        timeout=300,
    )
    seconds = time.monotonic() - start
    server.ends()
    count = len(re.findall(r'"wallet":', output)) if status == 0 else 0
    text = f"{count:,} listed" if status == 0 else f"status {status}"
    return Outcome(text, status != 0, f"{seconds:.1f} s\n{output[:2000]}")


@fault("backup into the data folder", 1, "refused, status 74")
def backup_into_data(bench, dice):
    folder = bench.copy("stopped")
    server = Server(bench, folder)
    path = bench.data(folder, "wallets.db-journal")
    status, output = bench.run("remote-pin-server", "backup", path, "--lab", folder / "lab")
    server.ends()
    return Outcome(f"refused, status {status}", path.exists(), output)


@fault("silent connections to the operators' socket", 1, "the next command names the reason, status 69")
def silent_operators(bench, dice):
    folder = bench.copy("stopped")
    # A copy's configuration still names the socket of the lab it was copied from.
    settings = (folder / "lab/server/server.yaml").read_text()
    path = re.search(r"^admin:.*?^  socket: '(.*?)'", settings, re.M | re.S).group(1)
    server = Server(bench, folder)
    silent = []
    try:
        for _ in range(64):
            client = socket.socket(socket.AF_UNIX)
            client.connect(path)
            silent.append(client)
        status, output = bench.run("remote-pin-server", "admin", "status", "--lab", folder / "lab", timeout=30)
    finally:
        for client in silent:
            client.close()
        server.ends()
    names_reason = status == 69 and "64 connections to the socket are open" in output
    seen = "the next command names the reason, status 69" if names_reason else f"status {status}"
    return Outcome(seen, not names_reason, output)


@fault("a log pipe that nothing reads, log.level debug", 1, "served throughout; SIGTERM ends it with status 0")
def log_unread(bench, dice):
    folder = bench.copy("stopped")
    port = dice.randrange(20_000, 32_000)
    reader, writer = os.pipe()
    settings = {
        "REMOTE_PIN_LOG_FILE": "none", "REMOTE_PIN_LOG_LEVEL": "debug", "REMOTE_PIN_DRAIN_LIMIT": "2s",
        "REMOTE_PIN_OBSERVATION_LISTEN": f"127.0.0.1:{port}",
    }
    process = subprocess.Popen(
        [bench.program("remote-pin-server"), "serve", str(folder / "lab")],
        stdin=subprocess.DEVNULL, stdout=writer, stderr=writer, env={**os.environ, **settings},
    )
    bench.running.append(process)
    os.close(writer)

    def answers(path):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=9) as answer:
            return answer.read().decode()

    start = os.read(reader, 4096)
    while b"ready on " not in start:
        start += os.read(reader, 4096)
    # From here on nothing reads. The queue is full after a minute of this load.
    status, output = bench.load(folder, "right=1", "20s")
    try:
        probes = answers("/livez"), answers("/readyz")
        dropped = re.findall(r"^remote_pin_log_lines_dropped_total .*", answers("/metrics"), re.M)
    except OSError as error:
        probes, dropped = error, ""
    process.terminate()
    try:
        end = process.wait(30)
    except subprocess.TimeoutExpired:
        end = "none within 30 s"
    os.close(reader)
    is_well = status == 0 and "violations 0" in output and isinstance(probes, tuple) and end == 0
    seen = "served throughout; SIGTERM ends it with status 0" if is_well else f"load {status}, {probes}, end {end}"
    return Outcome(seen, not is_well, f"{dropped}\n{output}")


# --- the vault's roots in a module


class Move:
    """A lab server under load, whose roots move to a module; one of the steps is killed at a random moment."""

    STEPS = ("start", "rotate", "seal", "retire", "import", "reload")

    def __init__(self, bench, folder, dice):
        self.bench, self.folder, self.dice = bench, folder, dice
        self.key_file = folder / "lab/server/vault.key"
        self.module = Module(bench, folder)
        self.module.must("make", "key-2")
        self.module.must("make", "history-2")
        self.module.serve()
        self.environment = {"REMOTE_PIN_VAULT_SOCKET": str(self.module.socket)}
        self.output = ""

    def start(self):
        self.server = Server(self.bench, self.folder, environment=self.environment)
        if not self.server.is_ready:
            raise SystemExit(f"the server does not start: {self.server.output}")

    def command(self, *arguments):
        """Runs a command of the server; returns its status."""
        status, output = self.bench.run("remote-pin-server", *arguments, "--lab", self.folder / "lab")
        self.output += output
        return status

    def take(self, step):
        """Takes a step, which may have been taken before, wholly or in part."""
        if step == "rotate":
            # Not allowed: the rotation was done before the kill.
            if self.command("vault", "rotate", "--yes") not in (0, 69, 77):
                raise SystemExit(self.output)
        elif step == "seal":
            for _ in range(600):
                if "all values are sealed with version 2" in self.status():
                    break
                time.sleep(0.05)
        elif step == "retire":
            self.command("admin", "clock", "advance", "1h")
            self.command("vault", "retire", "--yes")
        elif step == "import":
            self.module.start("import", self.key_file, "index").wait(60)
        elif step == "reload":
            self.command("admin", "reload")

    def status(self):
        return self.bench.run("remote-pin-server", "vault", "status", "--lab", self.folder / "lab")[1]

    def run(self):
        """Moves the roots while pin-load checks PINs; returns the output of its runs."""
        self.start()
        killed, runs = self.dice.choice(self.STEPS), []
        for step in self.STEPS:
            more = ["run", "--lab", self.folder / "lab", "--wallets", self.folder / "fleet", "--connections", 8]
            command = [*more, "--connection", "new", "--mix", "wrong=1,right=4", "--duration", "1s"]
            load = subprocess.Popen(
                [self.bench.program("pin-load"), *map(str, command)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )
            self.bench.running.append(load)
            if step == killed:
                self.kill_within(step)
            self.take(step)
            runs.append(load.communicate(timeout=60)[0].decode(errors="replace"))
        self.server.ends()
        return killed, runs

    def kill_within(self, step):
        """Takes a step, kills the server and the command at a random moment of it, and starts the server again."""
        if step == "import":
            process = self.module.start("import", self.key_file, "index")
        else:
            command = {"rotate": ["vault", "rotate", "--yes"], "retire": ["vault", "retire", "--yes"]}
            words = command.get(step, ["admin", "reload"])
            if step == "retire":
                self.command("admin", "clock", "advance", "1h")
            process = subprocess.Popen(
                [self.bench.program("remote-pin-server"), *words, "--lab", self.folder / "lab"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )
            self.bench.running.append(process)
        time.sleep(self.dice.uniform(0, 0.5))
        self.server.ends(signal.SIGKILL)
        process.kill()
        process.wait()
        self.start()


@fault("roots moved to a module under load, killed", 20, "moved: every wallet opens, the stolen copy opens nothing")
def moved_to_module(bench, dice):
    if not INSTALLED:
        return Outcome("SoftHSM is not installed", True)
    folder = bench.copy("stopped")
    store, key_file = bench.data(folder, "wallets.db"), folder / "lab/server/vault.key"
    control = Thief(store, key_file)
    before = control.opened()
    move = Move(bench, folder, dice)
    killed, runs = move.run()
    lines = [line for line in key_file.read_text().splitlines() if re.search(r"\b[0-9a-f]{64}\b", line)]
    after = Thief(store, key_file).opened()
    # Every wallet checks what it remembers, with the right PIN last.
    outcome = bench.judge(folder, {}, environment=move.environment)
    detail = f"killed: {killed}\n{before}\n{after}\n{lines}\n{move.output}\n{''.join(runs)}\n{outcome.detail}"
    if set(before.values()) != {len(control.rows)}:
        return Outcome(f"the thief's control opens {before}", True, detail)
    if any(re.search(r"violations [1-9]", run) for run in runs) or outcome.text != "served":
        return Outcome(f"the load finds a fault, {outcome.text}", True, detail)
    # The history key of the first version verifies the audit log from before the rotation.
    if any(after.values()) or [line[:10] for line in lines] != ["history 1 "]:
        return Outcome(f"STOLEN: {after}", True, detail)
    return Outcome("moved: every wallet opens, the stolen copy opens nothing", False, detail)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", help="the folder of the built programs")
    parser.add_argument("words", nargs="*", help="run only faults whose names contain one of these")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    chosen = [entry for entry in FAULTS if not options.words or any(word in entry[0] for word in options.words)]
    print(f"seed {options.seed}", flush=True)
    bad = 0
    with temporary_folder() as root:
        bench = Bench(options.programs, root)
        try:
            bench.make_templates()
            print("| fault | times | result |\n| --- | --- | --- |", flush=True)
            for name, times, allowed, function in chosen:
                found = collections.Counter()
                for turn in range(times):
                    # Each trial has its own dice, so that a word on the command line changes no choice.
                    outcome = function(bench, random.Random(f"{options.seed} {name} {turn}"))
                    is_bad = outcome.is_bad or re.fullmatch(allowed, outcome.text) is None
                    found[("**" + outcome.text + "**") if is_bad else outcome.text] += 1
                    if is_bad:
                        bad += 1
                        print(f"{name}, trial {turn + 1}: {outcome.text}\n{outcome.detail[-3000:]}", file=sys.stderr)
                    bench.end_all()
                    for folder in bench.root.glob("trial-*"):
                        shutil.rmtree(folder, ignore_errors=True)
                result = "; ".join(f"{count} {text}" for text, count in found.most_common())
                print(f"| {name} | {times} | {result} |", flush=True)
        finally:
            bench.end_all()
    if bad:
        raise SystemExit(f"{bad} trials had a result that they must not have (seed {options.seed})")


if __name__ == "__main__":
    main()
