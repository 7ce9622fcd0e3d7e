"""The few functions of libpq that a store needs, with the answers sorted by their meaning for a commit.

A commit counts only if the server is ready for the next statement and sent no warning on the way. The result of a
statement is no proof: the server sends it before it commits.
"""
import ctypes
import ctypes.util
import select
import time

PQ = ctypes.CDLL(ctypes.util.find_library("pq") or "libpq.so.5")
CONNECTION_OK, PGRES_FATAL_ERROR, PGRES_COMMAND_OK, PGRES_TUPLES_OK = 0, 7, 1, 2
SQLSTATE, SEVERITY, MESSAGE = ord("C"), ord("V"), ord("M")
NOTICE_RECEIVER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)

for _name, _result, *_arguments in [
    ("PQconnectdb", ctypes.c_void_p, ctypes.c_char_p),
    ("PQfinish", None, ctypes.c_void_p),
    ("PQstatus", ctypes.c_int, ctypes.c_void_p),
    ("PQerrorMessage", ctypes.c_char_p, ctypes.c_void_p),
    ("PQsocket", ctypes.c_int, ctypes.c_void_p),
    ("PQsetnonblocking", ctypes.c_int, ctypes.c_void_p, ctypes.c_int),
    ("PQsetNoticeReceiver", ctypes.c_void_p, ctypes.c_void_p, NOTICE_RECEIVER, ctypes.c_void_p),
    (
        "PQsendQueryParams", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p,
        ctypes.POINTER(ctypes.c_char_p), ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int,
    ),
    ("PQflush", ctypes.c_int, ctypes.c_void_p),
    ("PQconsumeInput", ctypes.c_int, ctypes.c_void_p),
    ("PQisBusy", ctypes.c_int, ctypes.c_void_p),
    ("PQgetResult", ctypes.c_void_p, ctypes.c_void_p),
    ("PQclear", None, ctypes.c_void_p),
    ("PQresultStatus", ctypes.c_int, ctypes.c_void_p),
    ("PQresultErrorField", ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int),
    ("PQntuples", ctypes.c_int, ctypes.c_void_p),
    ("PQnfields", ctypes.c_int, ctypes.c_void_p),
    ("PQgetisnull", ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_int),
    ("PQgetvalue", ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int),
]:  # fmt: skip
    getattr(PQ, _name).restype, getattr(PQ, _name).argtypes = _result, _arguments


class NotConnected(Exception):
    """No connection to a primary; nothing was sent."""


class NotDone(Exception):
    """An error of the server, which is ready for the next statement: the transaction has no effect."""


class Unknown(Exception):
    """The statement may be committed, on the primary alone or on its standbys, or not."""


class Connection:
    """A connection that is closed after the first unknown outcome.

    It is closed without a cancel request: that would end the wait for the standby and leave the commit on one machine.
    """

    def __init__(self, parameters):
        self.warnings = []
        # Kept here, because libpq keeps only its address.
        self._receiver = NOTICE_RECEIVER(self._notice)
        self._handle = PQ.PQconnectdb(parameters.encode())
        if PQ.PQstatus(self._handle) != CONNECTION_OK:
            reason = PQ.PQerrorMessage(self._handle).decode(errors="replace").strip().replace("\n", "; ")
            self.close()
            raise NotConnected(reason)
        PQ.PQsetNoticeReceiver(self._handle, self._receiver, None)
        PQ.PQsetnonblocking(self._handle, 1)

    def close(self):
        if self._handle:
            PQ.PQfinish(self._handle)
            self._handle = None

    def _notice(self, _, result):
        state = PQ.PQresultErrorField(result, SQLSTATE) or b""
        if PQ.PQresultErrorField(result, SEVERITY) == b"WARNING":
            self.warnings.append(state.decode())

    def run(self, statement, parameters=(), limit=3.0):
        """Runs one statement as one transaction and returns its rows, within a time limit of this side.

        `statement_timeout` does not end the wait for a standby.
        """
        end = time.monotonic() + limit
        self.warnings.clear()
        values = (ctypes.c_char_p * len(parameters))(*[str(value).encode() for value in parameters])
        sent = PQ.PQsendQueryParams(self._handle, statement.encode(), len(parameters), None, values, None, None, 0)
        if not sent:
            raise self._unknown(self._error())
        rows, error = [], None
        # Until the null result, which stands for "ready for query": that comes after the commit.
        while result := self._result(end):
            try:
                status = PQ.PQresultStatus(result)
                if status in (PGRES_COMMAND_OK, PGRES_TUPLES_OK):
                    rows += self._rows(result)
                else:
                    state, message = (PQ.PQresultErrorField(result, field) or b"" for field in (SQLSTATE, MESSAGE))
                    error = f"{state.decode()} {message.decode(errors='replace')}"
            finally:
                PQ.PQclear(result)
        if PQ.PQstatus(self._handle) != CONNECTION_OK:
            raise self._unknown(error or self._error())
        if self.warnings:
            raise self._unknown(f"warning {' '.join(self.warnings)}")
        if error:
            raise NotDone(error)
        return rows

    def _unknown(self, reason):
        self.close()
        return Unknown(reason)

    def _error(self):
        return PQ.PQerrorMessage(self._handle).decode(errors="replace").strip().replace("\n", "; ")

    def _result(self, end):
        socket = PQ.PQsocket(self._handle)
        while True:
            unsent = PQ.PQflush(self._handle)
            if not PQ.PQisBusy(self._handle):
                return PQ.PQgetResult(self._handle)
            left = end - time.monotonic()
            if left <= 0:
                raise self._unknown("time limit")
            poll = select.poll()
            poll.register(socket, select.POLLIN | (select.POLLOUT if unsent == 1 else 0))
            if poll.poll(left * 1000) and not PQ.PQconsumeInput(self._handle):
                # A lost connection. The next result says so.
                return PQ.PQgetResult(self._handle)

    @staticmethod
    def _rows(result):
        def value(row, column):
            return None if PQ.PQgetisnull(result, row, column) else PQ.PQgetvalue(result, row, column).decode()

        columns = range(PQ.PQnfields(result))
        return [[value(row, column) for column in columns] for row in range(PQ.PQntuples(result))]
