internal import CPostgreSQL
internal import Glibc

/// A connection to PostgreSQL, used by one thread.
///
/// It blocks the thread that uses it, but never longer than the time limit of a call. The database's own limits do not
/// end the wait for a standby, and a frozen machine never answers. After the time limit, the connection is closed.
///
/// Invariant: a commit is reported as done only if the server confirmed it without any notice. `COMMIT` also succeeds
/// after a cancelled wait for a standby, with a warning (01000 or 57P01). In that case, only one machine has the
/// commit, and a failover loses it.
///
/// Safety invariant: the pointer is freed once, by ``close()``, which removes it.
@safe package final class PostgreSQLConnection {
    private var connection: OpaquePointer?
    private let notices = Notices()
    /// The names of prepared statements, by their text.
    private var prepared: [String: String] = [:]

    /// Connects to the first host that accepts writes.
    ///
    /// Throws ``PostgreSQLFailure/disconnected(_:)`` if no host does within `limit`. Every host except the last gets an
    /// equal share of the time, but no more than the address allows.
    package init(to target: PostgreSQLTarget, within limit: Duration) throws(PostgreSQLFailure) {
        let deadline = ContinuousClock.now + limit
        let (hosts, hostLimit) = target.hosts
        var reasons: [String] = []
        for (place, parameters) in hosts.enumerated() {
            var end = deadline
            if place < hosts.count - 1 {
                let share = (deadline - .now) / (hosts.count - place)
                end = .now + min(share, hostLimit ?? share)
            }
            do throws(PostgreSQLFailure) {
                try self.connect(parameters, until: end)
                try self.refusePooler(until: end)
                return
            } catch {
                reasons.append(error.description)
            }
        }
        throw .disconnected(reasons.joined(separator: "; "))
    }

    private func connect(
        _ parameters: [(keyword: String, value: String)],
        until deadline: ContinuousClock.Instant
    ) throws(PostgreSQLFailure) {
        unsafe self.connection = Self.withTerminatedStrings(parameters.map(\.keyword)) { keywords in
            unsafe Self.withTerminatedStrings(parameters.map(\.value)) { values in
                unsafe PQconnectStartParams(keywords, values, 1)
            }
        }
        unsafe PQsetNoticeReceiver(
            self.connection,
            { context, _ in
                guard let context = unsafe context else { return }
                unsafe Unmanaged<Notices>.fromOpaque(context).takeUnretainedValue().count += 1
            },
            Unmanaged.passUnretained(self.notices).toOpaque()
        )
        try self.finishConnecting(until: deadline)
    }

    /// The beginning of the reason for which a pooler is rejected.
    package static let pooler = "a pooler answers instead of the database"

    /// Rejects a connection that another process answers than the one that accepted it.
    ///
    /// Threat: a pooler that assigns a backend to each transaction shares a session's settings and advisory locks among
    /// clients. Two servers then have the maintenance at once, and a lane's settings may be another client's.
    private func refusePooler(until deadline: ContinuousClock.Instant) throws(PostgreSQLFailure) {
        let accepted = unsafe PQbackendPID(self.connection)
        // Not prepared, since a shared backend may have another client's statement of the same name.
        let rows = try unsafe self.exchange(commits: false, until: deadline) { connection in
            unsafe PQsendQueryParams(connection, "select pg_backend_pid()::bigint", 0, nil, nil, nil, nil, 1)
        }
        guard let answering = rows.number(0, 0), answering != Int64(accepted) else { return }
        self.close()
        throw .disconnected(
            "\(Self.pooler): process \(answering), which answers, is not the one that accepted the connection"
        )
    }

    deinit { self.close() }

    /// False once the connection is lost or closed.
    package var isOpen: Bool { unsafe self.connection != nil }

    /// Closes the connection without waiting for the server.
    package func close() {
        guard let connection = unsafe self.connection else { return }
        unsafe self.connection = nil
        unsafe PQfinish(connection)
    }

    /// Runs one statement, which is prepared on first use.
    ///
    /// - Parameter commits: True if the statement ends with a commit: `COMMIT`, or a change outside a transaction. If
    ///   its answer is missing, is late, or comes with a notice, the outcome is unknown.
    package func run(
        _ statement: String,
        _ values: [PostgreSQLValue] = [],
        commits: Bool = false,
        within limit: Duration
    ) throws(PostgreSQLFailure) -> PostgreSQLRows {
        let deadline = ContinuousClock.now + limit
        let name: String
        if let known = self.prepared[statement] {
            name = known
        } else {
            name = "s\(self.prepared.count)"
            _ = try unsafe self.exchange(commits: false, until: deadline) { connection in
                unsafe PQsendPrepare(connection, name, statement, 0, nil)
            }
            self.prepared[statement] = name
        }
        return try unsafe self.exchange(commits: commits, until: deadline) { connection in
            unsafe Self.send(name, values, on: connection)
        }
    }

    /// Waits until the database notifies this connection (`listen`), `pipe` is woken, or the time is over; returns the
    /// notified channels.
    package func notifications(
        orWoken pipe: WakePipe,
        until deadline: ContinuousClock.Instant
    ) throws(PostgreSQLFailure) -> Set<String> {
        while true {
            guard let connection = unsafe self.connection else { throw .disconnected("the connection is closed") }
            var channels: Set<String> = []
            while let notice = unsafe PQnotifies(connection) {
                unsafe channels.insert(String(cString: notice.pointee.relname))
                unsafe PQfreemem(notice)
            }
            let left = deadline - .now
            guard channels.isEmpty, left > .zero else { return channels }
            var descriptors = unsafe [
                pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0),
                pollfd(fd: pipe.readable, events: Int16(POLLIN), revents: 0),
            ]
            _ = unsafe poll(&descriptors, 2, Int32(clamping: Int64(left / .milliseconds(1)) + 1))
            guard descriptors[1].revents == 0 else { return [] }
            guard unsafe descriptors[0].revents == 0 || PQconsumeInput(connection) == 1 else {
                throw self.lost(commits: false)
            }
        }
    }

    /// Sends a statement and waits for its result.
    private func exchange(
        commits: Bool,
        until deadline: ContinuousClock.Instant,
        _ send: (OpaquePointer) -> Int32
    ) throws(PostgreSQLFailure) -> PostgreSQLRows {
        guard let connection = unsafe self.connection else { throw .disconnected("the connection is closed") }
        self.notices.count = 0
        guard unsafe send(connection) == 1 else { throw self.lost(commits: commits) }
        while true {
            let flushed = unsafe PQflush(connection)
            if flushed == 0 { break }
            guard flushed == 1 else { throw self.lost(commits: commits) }
            guard self.wait(for: POLLIN | POLLOUT, until: deadline) else { throw self.late(commits: commits) }
            // The server may send before it has read everything.
            guard unsafe PQconsumeInput(connection) == 1 else { throw self.lost(commits: commits) }
        }
        var answer: PostgreSQLRows?
        while true {
            while unsafe PQisBusy(connection) == 1 {
                guard self.wait(for: POLLIN, until: deadline) else { throw self.late(commits: commits) }
                guard unsafe PQconsumeInput(connection) == 1 else { throw self.lost(commits: commits) }
            }
            guard let result = unsafe PQgetResult(connection) else { break }
            let rows = unsafe PostgreSQLRows(takingOwnershipOf: result)
            // Outside a transaction, the server sends the rows before it commits, so a failed commit is an error after
            // them.
            if answer?.isDone ?? true { answer = rows }
        }
        guard let answer, unsafe PQstatus(connection) == CONNECTION_OK else { throw self.lost(commits: commits) }
        if commits && self.notices.count > 0 {
            self.close()
            throw .outcomeUnknown("the database warned; was a wait for a standby cancelled?")
        }
        guard answer.isDone else { throw answer.rejection ?? self.lost(commits: commits) }
        return answer
    }

    private func finishConnecting(until deadline: ContinuousClock.Instant) throws(PostgreSQLFailure) {
        var polled = PGRES_POLLING_WRITING
        guard unsafe PQstatus(self.connection) != CONNECTION_BAD else { throw self.lost(commits: false) }
        while polled != PGRES_POLLING_OK {
            guard polled == PGRES_POLLING_READING || polled == PGRES_POLLING_WRITING else {
                throw self.lost(commits: false)
            }
            guard self.wait(for: polled == PGRES_POLLING_READING ? POLLIN : POLLOUT, until: deadline) else {
                throw self.late(commits: false)
            }
            polled = unsafe PQconnectPoll(self.connection)
        }
        guard unsafe PQsetnonblocking(self.connection, 1) == 0 else { throw self.lost(commits: false) }
    }

    /// Closes a failed connection, and returns the consequence for the statement.
    private func lost(commits: Bool) -> PostgreSQLFailure {
        var reason = "no memory for a connection"
        if let text = unsafe PQerrorMessage(self.connection) { reason = unsafe String(cString: text) }
        return self.end(reason.split(whereSeparator: \.isNewline).joined(separator: "; "), commits: commits)
    }

    private func late(commits: Bool) -> PostgreSQLFailure {
        self.end("the database did not answer in time", commits: commits)
    }

    private func end(_ reason: String, commits: Bool) -> PostgreSQLFailure {
        self.close()
        return commits ? .outcomeUnknown(reason) : .disconnected(reason)
    }

    /// Waits for the socket; returns false at the deadline.
    private func wait(for events: Int32, until deadline: ContinuousClock.Instant) -> Bool {
        while true {
            let left = deadline - .now
            guard left > .zero else { return false }
            var descriptor = unsafe pollfd(fd: PQsocket(self.connection), events: Int16(events), revents: 0)
            let milliseconds = Int32(clamping: Int64(left / .milliseconds(1)) + 1)
            let ready = unsafe poll(&descriptor, 1, milliseconds)
            if ready > 0 || (ready < 0 && errno != EINTR) { return true }
        }
    }
}

extension PostgreSQLConnection {
    /// The notices received during the current statement.
    ///
    /// libpq calls the receiver on the connection's thread, within the calls above.
    private final class Notices {
        var count = 0
    }

    /// Sends a prepared statement with its values, and requests binary results.
    private static func send(_ name: String, _ values: [PostgreSQLValue], on connection: OpaquePointer) -> Int32 {
        var buffer: [UInt8] = []
        let places = values.map { value in
            let start = buffer.count
            return (start: start, count: value.write(to: &buffer))
        }
        // Ensures that an empty value at the end has an address, because a null address means NULL.
        buffer.append(0)
        let lengths = places.map { Int32($0.count ?? 0) }
        let formats = [Int32](repeating: 1, count: values.count)
        return unsafe buffer.withUnsafeBytes { bytes in
            let base = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            let starts = unsafe places.map { place -> UnsafePointer<CChar>? in
                unsafe place.count == nil ? nil : base.map { unsafe $0 + place.start }
            }
            return unsafe PQsendQueryPrepared(connection, name, Int32(values.count), starts, lengths, formats, 1)
        }
    }

    /// Lends C strings, followed by a null pointer.
    private static func withTerminatedStrings<Result>(
        _ strings: [String],
        _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
    ) -> Result {
        let copies = unsafe strings.map { unsafe strdup($0) }
        defer { unsafe copies.forEach { unsafe free($0) } }
        let pointers = unsafe copies.map { unsafe UnsafePointer<CChar>($0) } + [nil]
        return unsafe pointers.withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else { preconditionFailure("the array has an element") }
            return unsafe body(start)
        }
    }
}
