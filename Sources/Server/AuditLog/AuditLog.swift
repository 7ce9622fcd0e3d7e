internal import Dispatch
package import HostSystem
internal import Synchronization
package import Vault
package import Vocabulary

/// A durable, tamper-evident log of commands and of wallets that have ended.
///
/// Every entry carries the vault's MAC over its contents and its predecessor's MAC. An append returns once the entry is
/// on disk. Entries that arrive at the same time share one write and one sync.
///
/// Invariant: numbers and MACs continue those in the file. If a failure leaves the contents of the file unknown, or if
/// another program has changed the file, nothing more is appended, and ``Parts/onFatal`` ends the process.
///
/// Invariant: every command that was begun can be completed. On a full disk, no command can begin. Space for the
/// closing entry of a committed command is reserved, because without it the process would have to exit and could not
/// start again.
package final class AuditLog: Sendable {
    private struct Waiting {
        let record: AuditRecord
        let waiter: CheckedContinuation<Result<AuditMark, AuditLogError>, Never>
    }

    private struct State {
        var waiting: [Waiting] = []
        var isWriting = false
        var newest: AuditMark
        /// The commands that were unfinished when the log was opened.
        var unended: [UInt64: AuditRecord]
        /// The space reserved for the closing entries of commands begun since the log was opened, by entry number.
        var owed: [UInt64: Int] = [:]
        var isClosed = false
        /// Nil once the log is closed and idle.
        var lock: FileLock?
        var closing: [CheckedContinuation<Void, Never>] = []
    }

    /// The length of the tail that is rewritten when a log is opened.
    ///
    /// It is longer than a batch of entries, any of which may have been lost by a failed sync.
    private static let renewedByteCount = 1 << 20
    /// The maximum number of entries that share one write.
    private static let largestBatch = 256

    let parts: Parts
    private let file: AppendFile
    private let onDisk: BlockingWork
    private let state: Mutex<State>

    private init(_ parts: Parts, file: AppendFile, lock: FileLock, newest: AuditMark, unended: [UInt64: AuditRecord]) {
        self.parts = parts
        self.file = file
        self.onDisk = parts.onDisk
        self.state = Mutex(State(newest: newest, unended: unended, lock: lock))
    }

    /// The newest entry.
    package var newest: AuditMark { self.state.withLock(\.newest) }

    /// Returns the commands that were unfinished when the log was opened.
    ///
    /// Later calls return none.
    func takeUnended() -> [UInt64: AuditRecord] {
        self.state.withLock { state in
            defer { state.unended = [:] }
            return state.unended
        }
    }

    /// Returns whether a log exists at this path.
    package static func exists(at path: String) -> Bool { DurableFile.isNamed(path) }

    /// Returns the time of the last complete entry, without verifying it, or nil if the file has no readable entry.
    package static func newestTime(at path: String) -> Timestamp? {
        guard let file = try? AppendFile(reading: path), let length = try? file.byteCount(),
            let bytes = try? file.read(at: max(0, length - self.renewedByteCount), atMost: self.renewedByteCount)
        else { return nil }
        let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: true)
        return lines.reversed().lazy.compactMap { AuditLine.entry(in: $0)?.record.at }.first
    }

    /// Creates a log with its first entry.
    ///
    /// Never replaces an existing log.
    package static func create(_ parts: Parts) async throws(AuditLogError) {
        let record = AuditRecord(
            at: parts.clock.now(),
            epoch: parts.epoch,
            actor: .server,
            event: .logBegun,
            phase: .done(of: nil, result: "log \(String(UInt64.random(in: .min ... .max), radix: 36))")
        )
        let (line, mark) = try Self.line(of: record, after: nil, vault: parts.vault)
        try mapError(DurableFile.create(line, at: parts.path), to: AuditLogError.file)
        parts.onWritten(AuditEntry(number: mark.number, record: record), line)
    }

    /// Verifies every entry and opens the log for appending.
    ///
    /// If a crash left the beginning of an entry in the file, it stays there and the next entry records it. A log that
    /// was changed, or that lacks ``Parts/last``, is not continued.
    ///
    /// - Parameter read: Called with each entry, in order.
    package static func open(
        _ parts: Parts,
        read: ((AuditEntry) -> Void)? = nil
    ) async throws(AuditLogError) -> AuditLog {
        let lock: FileLock
        do throws(LockError) {
            lock = try FileLock(parts.path + ".lock")
        } catch {
            switch error {
            case .heldBy: throw .inUse(parts.path)
            case .file(let error): throw .file(error)
            }
        }
        let file = try mapError(AppendFile(parts.path), to: AuditLogError.file)
        let (found, unended) = try await Self.look(at: file, parts, read)
        guard let newest = found.newest else { throw .damaged(parts.path, found.problem ?? .empty) }
        // Check this before any write, because an entry with a lower epoch would permanently hide that the store is an
        // older one.
        let epoch = found.newestEpoch ?? parts.epoch
        guard epoch == parts.epoch || (parts.opensEpoch && epoch < parts.epoch) else {
            throw .otherEpoch(parts.path, log: epoch, store: parts.epoch)
        }
        // Bytes left by a crash must not hide that entries before them are missing.
        if !found.hasMark {
            switch found.problem {
            case .changed?, .converted?, .misplaced?, .empty?: break
            case .replaced(let number)?: throw .lacksEntry(parts.path, .replaced(number: number))
            case nil, .cut?, .tornTail?:
                throw .lacksEntry(parts.path, .cut(newest: newest.number, expected: parts.last?.number ?? 0))
            }
        }
        do throws(FileError) {
            try file.renewEnd(atMost: Self.renewedByteCount)
        } catch {
            switch error {
            // The file is append-only (chattr +a), or the disk is full on a copy-on-write file system. Leave the tail
            // as it is.
            case .notAllowed, .diskFull: break
            default: throw .file(error)
            }
        }
        let log = AuditLog(parts, file: file, lock: lock, newest: newest, unended: unended)
        switch found.problem {
        case nil: break
        case .tornTail(_, _, let byteCount): try await log.record(torn: byteCount, at: found.intactByteCount)
        case let problem?: throw .damaged(parts.path, problem)
        }
        parts.onNewest(log.newest)
        return log
    }

    private static func look(
        at file: AppendFile,
        _ parts: Parts,
        _ read: ((AuditEntry) -> Void)?
    ) async throws(AuditLogError) -> (AuditVerification, unended: [UInt64: AuditRecord]) {
        var unended: [UInt64: AuditRecord] = [:]
        do throws(FileError) {
            let found = try await AuditReader(file, vault: parts.vault).verify(last: parts.last) { entry in
                read?(entry)
                switch entry.record.phase {
                case .begun: unended[entry.number] = entry.record
                case .done(let of?, _), .failed(let of?, _), .unclear(let of, _): unended[of] = nil
                case .done(nil, _), .failed(nil, _): break
                }
            }
            return (found, unended)
        } catch {
            throw .file(error)
        }
    }

    /// Adds a line feed to the bytes left by a crash and appends the entry that records them, in a single write.
    private func record(torn byteCount: Int, at offset: Int) async throws(AuditLogError) {
        var remains = try mapError(self.file.read(at: offset, atMost: byteCount), to: AuditLogError.file)
        // Even if only the line feed is missing, these bytes are not an entry, because no caller received confirmation
        // that it was written.
        let lineEnd: [UInt8] = remains.last == 0x0A ? [] : [0x23, 0x0A]
        remains += lineEnd
        let record = AuditRecord(
            at: self.parts.clock.now(),
            epoch: self.parts.epoch,
            actor: .server,
            event: .tornTail,
            phase: .done(of: nil, result: "\(byteCount) bytes before this entry are the remains of a crash")
        )
        let (line, mark) = try Self.line(of: record, after: self.newest, torn: remains, vault: self.parts.vault)
        do throws(AppendFile.AppendError) {
            try self.file.append(lineEnd + line)
        } catch {
            switch error {
            case .refused(let error), .unknown(let error): throw .file(error)
            case .changed(let change): self.parts.end(because: change, after: self.newest)
            }
        }
        self.state.withLock { $0.newest = mark }
        self.parts.onWritten(AuditEntry(number: mark.number, record: record), line)
    }
}

extension AuditLog {
    /// Appends an entry and returns its position once it is on disk.
    ///
    /// - Throws: An error if nothing was added. In that case, the caller must not carry out the action that it was
    ///   about to record.
    @discardableResult
    package func append(
        _ event: AuditEvent,
        by actor: AuditActor,
        on subject: AuditSubject = AuditSubject(),
        _ phase: AuditPhase,
        detail: String? = nil,
        servers: [String]? = nil
    ) async throws(AuditLogError) -> AuditMark {
        let record = AuditRecord(
            at: self.parts.clock.now(),
            epoch: self.parts.epoch,
            actor: actor,
            event: event,
            subject: subject,
            phase: phase,
            detail: detail,
            generation: self.parts.generation(),
            server: self.parts.server,
            servers: servers
        )
        let result = await withCheckedContinuation { waiter in
            let mustStart: Bool? = self.state.withLock { state in
                guard !state.isClosed else { return nil }
                state.waiting.append(Waiting(record: record, waiter: waiter))
                defer { state.isWriting = true }
                return !state.isWriting
            }
            guard let mustStart else { return waiter.resume(returning: .failure(.closed)) }
            // Run this in a separate task, so that the caller's cancellation cannot leave other callers' entries
            // unwritten.
            if mustStart { Task.detached { await self.writeAll() } }
        }
        return try result.get()
    }

    /// Rejects further entries, waits for pending writes and closes the file.
    package func close() async {
        await withCheckedContinuation { continuation in
            let isIdle = self.state.withLock { state in
                state.isClosed = true
                if state.isWriting { state.closing.append(continuation) } else { state.lock = nil }
                return !state.isWriting
            }
            if isIdle { continuation.resume() }
        }
    }

    /// Appends the entry for a committed change.
    ///
    /// If that fails, ends the process, as after a failed sync.
    package func mustAppend(
        _ event: AuditEvent,
        by actor: AuditActor,
        on subject: AuditSubject = AuditSubject(),
        _ phase: AuditPhase,
        detail: String? = nil
    ) async {
        do throws(AuditLogError) {
            try await self.append(event, by: actor, on: subject, phase, detail: detail)
        } catch {
            self.parts.onFatal("the audit log cannot record a committed change: \(error)")
        }
    }

    /// Appends an entry if possible.
    ///
    /// It may be missing, because an earlier entry is sufficient.
    package func tryAppend(
        _ event: AuditEvent,
        by actor: AuditActor,
        on subject: AuditSubject = AuditSubject(),
        _ phase: AuditPhase,
        detail: String? = nil
    ) async {
        do throws(AuditLogError) { try await self.append(event, by: actor, on: subject, phase, detail: detail) } catch {
        }
    }

    private func writeAll() async {
        while true {
            let (batch, closing): ([Waiting], [CheckedContinuation<Void, Never>]) = self.state.withLock { state in
                let batch = Array(state.waiting.prefix(Self.largestBatch))
                state.waiting.removeFirst(batch.count)
                state.isWriting = !batch.isEmpty
                guard batch.isEmpty else { return (batch, []) }
                if state.isClosed { state.lock = nil }
                defer { state.closing = [] }
                return (batch, state.closing)
            }
            for continuation in closing { continuation.resume() }
            if batch.isEmpty { return }
            await self.write(batch)
        }
    }

    private func write(_ batch: [Waiting]) async {
        var written: [(mark: AuditMark, line: [UInt8])] = []
        var (newest, owed) = self.state.withLock { ($0.newest, $0.owed) }
        var needsRoom = false
        do throws(AuditLogError) {
            for waiting in batch {
                let (line, mark) = try Self.line(of: waiting.record, after: newest, vault: self.parts.vault)
                written.append((mark, line))
                newest = mark
                switch waiting.record.phase {
                case .begun:
                    owed[mark.number] = Self.room(forEndOf: line)
                    needsRoom = true
                case .done(let of?, _), .failed(let of?, _), .unclear(let of, _): owed[of] = nil
                // An entry that does not end a command must not use the space reserved for those that do.
                case .done(nil, _), .failed(nil, _): needsRoom = true
                }
            }
            let bytes = Array(written.map(\.line).joined())
            // rule: audit-end-not-reserved
            try await self.write(bytes, leavingRoomFor: needsRoom ? owed.values.reduce(0, +) : 0)
        } catch {
            // Write the entries one at a time, so that one without space cannot block those that have space reserved.
            if batch.count > 1 {
                for waiting in batch { await self.write([waiting]) }
            } else {
                for waiting in batch { waiting.waiter.resume(returning: .failure(error)) }
            }
            return
        }
        self.state.withLock { ($0.newest, $0.owed) = (newest, owed) }
        // Called before any answer is sent, so that the server's log contains every position that a caller receives.
        self.parts.onNewest(newest)
        for (waiting, new) in zip(batch, written) {
            self.parts.onWritten(AuditEntry(number: new.mark.number, record: waiting.record), new.line)
        }
        for (waiting, new) in zip(batch, written) { waiting.waiter.resume(returning: .success(new.mark)) }
    }

    /// Returns the space that the end of this line's command may need: the same length, plus the result, of which at
    /// most 4 KiB are written.
    private static func room(forEndOf line: [UInt8]) -> Int { line.count + 4_096 }

    /// Writes on a separate thread, because a sync blocks.
    private func write(_ bytes: [UInt8], leavingRoomFor room: Int) async throws(AuditLogError) {
        let result: Result<Void, AuditLogError> = await withCheckedContinuation { continuation in
            self.onDisk {
                do throws(AppendFile.AppendError) {
                    try self.file.append(bytes, leavingRoomFor: room)
                    continuation.resume(returning: .success(()))
                } catch {
                    switch error {
                    case .refused(let error): continuation.resume(returning: .failure(.file(error)))
                    case .unknown(let error): self.parts.onFatal("the audit log cannot be synced: \(error)")
                    case .changed(let change): self.parts.end(because: change, after: self.newest)
                    }
                }
            }
        }
        try result.get()
    }

    private static func line(
        of record: AuditRecord,
        after newest: AuditMark?,
        torn: [UInt8] = [],
        vault: any Vault
    ) throws(AuditLogError) -> (line: [UInt8], mark: AuditMark) {
        let message = AuditLine.message(AuditLine.beginning(after: newest, torn: torn), record)
        let mac = AuditLine.mac(vault.mac(message, for: .auditLog))
        let mark = AuditMark(number: (newest?.number ?? 0) + 1, mac: mac)
        let line = AuditLine.line(message, mac: mark.mac)
        // A begun command needs a second entry of the same length plus its result, so that entry must fit too.
        let longest = AuditReader.longestLine
        guard record.phase != .begun || Self.room(forEndOf: line) < longest, line.count < longest else {
            throw .tooLong(byteCount: line.count)
        }
        return (line, mark)
    }
}

extension AuditLog {
    /// The values needed to create or open a log.
    package struct Parts: Sendable {
        package var path: String
        package var vault: any Vault
        package var clock: any WallClock
        /// The store's epoch, which increases with every restore.
        package var epoch: Int
        /// Whether the log may continue in a later epoch than its newest entry's.
        ///
        /// Only set by the restore that opens the epoch, and by servers that share a store.
        package var opensEpoch = false
        /// An entry that the log must contain because the store names it.
        package var last: AuditMark?
        /// Returns the store's generation for each entry to record, or nil if unknown.
        package var generation: @Sendable () -> UInt64? = { nil }
        /// The name of this server, which each entry records if several servers share the store.
        package var server: String?
        /// Called with the newest entry when the log is opened and after each write.
        ///
        /// The server writes it to its own log, so that a later truncation of the file can be detected.
        package var onNewest: @Sendable (AuditMark) -> Void
        /// Called with each entry and its line, including the line feed, once they are on disk, in order.
        package var onWritten: @Sendable (AuditEntry, [UInt8]) -> Void = { _, _ in }
        /// Runs writes, which block.
        package var onDisk: BlockingWork = DispatchQueue.blockingWork("audit log")
        /// Ends the process with this log message, because the contents of the file are unknown.
        package var onFatal: @Sendable (String) -> Never

        package init(
            path: String,
            vault: any Vault,
            clock: any WallClock,
            epoch: Int = 1,
            onNewest: @escaping @Sendable (AuditMark) -> Void = { _ in },
            onFatal: @escaping @Sendable (String) -> Never = { fatalError($0) }
        ) {
            self.path = path
            self.vault = vault
            self.clock = clock
            self.epoch = epoch
            self.onNewest = onNewest
            self.onFatal = onFatal
        }

        /// Ends the process, because another program changed the file while it was in use.
        ///
        /// Threat (G7): the log is cut or replaced under a running server. The entries after the gap would make it look
        /// like a complete log to a program that copies it.
        func end(because change: AppendFile.Change, after newest: AuditMark) -> Never {
            self.onFatal(
                "the audit log was changed while it was in use: \(change). Put that file back, or a copy that has "
                    + "entry \(newest)"
            )
        }
    }
}

extension AuditLog {
    /// Completes the commands that an earlier process left unfinished.
    ///
    /// Must be called before any other use of the log. A restore carries out every command that was begun but not
    /// completed, because it may have been committed just before a crash. A revocation is therefore also carried out
    /// here (`carryOut`) and recorded as done. For any other command, the store shows whether it was committed, so it
    /// is recorded as unclear. Without that entry, every later restore would carry out a command that a crash had
    /// prevented.
    ///
    /// - Parameter carryOut: Carries out a revocation that was begun. Returns false for any other command.
    /// - Returns: The number of unfinished commands.
    @discardableResult
    package func endUnended(
        _ carryOut: (AuditRecord) async throws -> Bool = { _ in false }
    ) async throws -> Int {
        let begun = self.takeUnended()
        for (number, record) in begun.sorted(by: { $0.key < $1.key }) {
            let phase: AuditPhase =
                try await carryOut(record)
                ? .done(of: number, result: "carried out at the start")
                : .unclear(of: number, reason: "the process ended before its result was on record")
            try await self.append(record.event, by: .server, on: record.subject, phase)
        }
        return begun.count
    }
}
