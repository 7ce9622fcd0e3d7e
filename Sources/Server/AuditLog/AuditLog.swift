internal import Dispatch
internal import HostSystem
internal import Synchronization
internal import Vault
internal import Vocabulary

/// Who did what to whom, kept so that nobody can take a word of it back.
///
/// Every entry carries the vault's MAC over itself and its predecessor's MAC. An append returns when the entry has
/// reached the device. Entries that come together share one write and one sync.
///
/// Invariant: numbers and MACs continue what the file holds. After a failure that leaves this unknown, nothing more is
/// appended and ``Parts/onFatal`` ends the process.
///
/// Invariant: what is begun can be ended. A disk that fills up meanwhile refuses what is about to begin; the end of what
/// was committed has its room set aside, for without it the process would have to end, and could not start again.
package final class AuditLog: Sendable {
    private struct Waiting {
        let record: AuditRecord
        let waiter: CheckedContinuation<Result<AuditMark, AuditLogError>, Never>
    }

    private struct State {
        var waiting: [Waiting] = []
        var isWriting = false
        var newest: AuditMark
        /// What was begun and not ended when the log was opened.
        var unended: [UInt64: AuditRecord]
        /// Room for the ends of what was begun since, by the number of each.
        var owed: [UInt64: Int] = [:]
        var isClosed = false
        /// Nil once closed and idle.
        var lock: FileLock?
        var closing: [CheckedContinuation<Void, Never>] = []
    }

    /// What is written once more of a log that is opened: more than the entries of one write, of which a failed sync may
    /// have lost any.
    private static let renewedByteCount = 1 << 20
    /// Entries that share one write.
    private static let largestBatch = 256

    let parts: Parts
    private let file: AppendFile
    private let queue = DispatchQueue(label: "audit log")
    private let state: Mutex<State>

    private init(
        _ parts: Parts,
        file: AppendFile,
        lock: FileLock,
        newest: AuditMark,
        unended: [UInt64: AuditRecord]
    ) {
        self.parts = parts
        self.file = file
        self.state = Mutex(State(newest: newest, unended: unended, lock: lock))
    }

    /// The newest entry.
    package var newest: AuditMark { self.state.withLock(\.newest) }

    /// What was begun and not ended when the log was opened; given once.
    func takeUnended() -> [UInt64: AuditRecord] {
        self.state.withLock { state in
            defer { state.unended = [:] }
            return state.unended
        }
    }

    /// Whether there is a log at this path.
    package static func exists(at path: String) -> Bool { DurableFile.exists(path) }

    /// Makes a log with its first entry; one that exists is never replaced.
    package static func create(_ parts: Parts) async throws(AuditLogError) {
        let record = AuditRecord(
            at: parts.clock.now(),
            epoch: parts.epoch,
            actor: .server,
            event: .logBegun,
            phase: .done(of: nil, result: "log \(String(UInt64.random(in: .min ... .max), radix: 36))")
        )
        let (line, _) = try await Self.line(of: record, after: nil, vault: parts.vault)
        do throws(FileError) { try DurableFile.create(line, at: parts.path) } catch { throw .file(error) }
    }

    /// Opens a log to append to it, after a look at every entry.
    ///
    /// What a crash left of an entry stays in the file, and an entry behind it says so. A log that is not as it was
    /// written is not gone on with.
    package static func open(_ parts: Parts) async throws(AuditLogError) -> AuditLog {
        let lock: FileLock
        do throws(LockError) {
            lock = try FileLock(parts.path + ".lock")
        } catch {
            switch error {
            case .heldBy: throw .inUse(parts.path)
            case .file(let error): throw .file(error)
            }
        }
        let file: AppendFile
        do throws(FileError) { file = try AppendFile(parts.path) } catch { throw .file(error) }
        let (found, unended) = try await Self.look(at: file, parts)
        guard let newest = found.newest else { throw .damaged(parts.path, found.problem ?? .empty) }
        // Before anything is written: an entry of a lower epoch would hide for ever that the store is an older one.
        let epoch = found.newestEpoch ?? parts.epoch
        guard epoch == parts.epoch || (parts.opensEpoch && epoch < parts.epoch) else {
            throw .otherEpoch(parts.path, log: epoch, store: parts.epoch)
        }
        do throws(FileError) {
            try file.renewEnd(atMost: Self.renewedByteCount)
        } catch {
            switch error {
            // A file that may only grow (chattr +a), or a full disk whose file system writes nothing in place: as it is.
            case .notAllowed, .diskFull: break
            default: throw .file(error)
            }
        }
        let log = AuditLog(parts, file: file, lock: lock, newest: newest, unended: unended)
        switch found.problem {
        case nil: break
        case .tornTail(_, _, let byteCount):
            try await log.record(torn: byteCount, at: found.intactByteCount)
        case let problem?: throw .damaged(parts.path, problem)
        }
        parts.onNewest(log.newest)
        return log
    }

    private static func look(
        at file: AppendFile,
        _ parts: Parts
    ) async throws(AuditLogError) -> (AuditVerification, unended: [UInt64: AuditRecord]) {
        var unended: [UInt64: AuditRecord] = [:]
        do {
            let found = try await AuditReader(file, vault: parts.vault).verify { entry in
                switch entry.record.phase {
                case .begun: unended[entry.number] = entry.record
                case .done(let of?, _), .failed(let of?, _), .unclear(let of, _): unended[of] = nil
                case .done(nil, _), .failed(nil, _): break
                }
            }
            return (found, unended)
        } catch let error as FileError {
            throw .file(error)
        } catch {
            throw .vault
        }
    }

    /// Ends the remains of a crash with a line's end and writes the entry that tells of them, in one write.
    private func record(torn byteCount: Int, at offset: Int) async throws(AuditLogError) {
        var remains: [UInt8]
        do throws(FileError) {
            remains = try self.file.read(at: offset, atMost: byteCount)
        } catch {
            throw .file(error)
        }
        // Also what lacks nothing but its line's end is no entry from here on: nobody was answered on the strength of it.
        let lineEnd: [UInt8] = remains.last == 0x0A ? [] : [0x23, 0x0A]
        remains += lineEnd
        let record = AuditRecord(
            at: self.parts.clock.now(),
            epoch: self.parts.epoch,
            actor: .server,
            event: .tornTail,
            phase: .done(of: nil, result: "\(byteCount) bytes before this entry are the remains of a crash")
        )
        let (line, mark) = try await Self.line(of: record, after: self.newest, torn: remains, vault: self.parts.vault)
        do throws(AppendFile.AppendError) {
            try self.file.append(lineEnd + line)
        } catch {
            switch error {
            case .refused(let error), .unknown(let error): throw .file(error)
            }
        }
        self.state.withLock { $0.newest = mark }
    }
}

extension AuditLog {
    /// Adds an entry and returns its place once it has reached the device.
    ///
    /// - Throws: when nothing was added. Whoever was about to do something does not do it.
    @discardableResult
    package func append(
        _ event: AuditEvent,
        by actor: AuditActor,
        on subject: AuditSubject = AuditSubject(),
        _ phase: AuditPhase,
        detail: String? = nil
    ) async throws(AuditLogError) -> AuditMark {
        let record = AuditRecord(
            at: self.parts.clock.now(),
            epoch: self.parts.epoch,
            actor: actor,
            event: event,
            subject: subject,
            phase: phase,
            detail: detail
        )
        let result = await withCheckedContinuation { waiter in
            let mustStart: Bool? = self.state.withLock { state in
                guard !state.isClosed else { return nil }
                state.waiting.append(Waiting(record: record, waiter: waiter))
                defer { state.isWriting = true }
                return !state.isWriting
            }
            guard let mustStart else { return waiter.resume(returning: .failure(.closed)) }
            // A task of its own: the caller's cancellation must not leave others' entries unwritten.
            if mustStart { Task.detached { await self.writeAll() } }
        }
        return try result.get()
    }

    /// Takes no more entries, waits for those that are being written and lets go of the file.
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

    /// Ends the process where what was committed cannot be told: the same as for a sync that failed.
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
            self.parts.onFatal("the audit log does not take what has been done: \(error)")
        }
    }

    /// Adds what may be missing: an entry before it says enough.
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
        var (bytes, marks): ([UInt8], [AuditMark]) = ([], [])
        var (newest, owed) = self.state.withLock { ($0.newest, $0.owed) }
        var needsRoom = false
        do throws(AuditLogError) {
            for waiting in batch {
                let (line, mark) = try await Self.line(of: waiting.record, after: newest, vault: self.parts.vault)
                bytes += line
                marks.append(mark)
                newest = mark
                switch waiting.record.phase {
                case .begun:
                    owed[mark.number] = Self.room(forEndOf: line)
                    needsRoom = true
                case .done(let of?, _), .failed(let of?, _), .unclear(let of, _): owed[of] = nil
                // What ends nothing must not take the room of what does.
                case .done(nil, _), .failed(nil, _): needsRoom = true
                }
            }
            try await self.write(bytes, leavingRoomFor: needsRoom ? owed.values.reduce(0, +) : 0)
        } catch {
            // One by one: what there is no room for must not keep others from their ends, which have theirs.
            if batch.count > 1 {
                for waiting in batch { await self.write([waiting]) }
            } else {
                for waiting in batch { waiting.waiter.resume(returning: .failure(error)) }
            }
            return
        }
        self.state.withLock { ($0.newest, $0.owed) = (newest, owed) }
        // Before anybody is answered: what an answer says was told to the log stream.
        self.parts.onNewest(newest)
        for (waiting, mark) in zip(batch, marks) { waiting.waiter.resume(returning: .success(mark)) }
    }

    /// What the end of something that is begun with this line may take: the same, and what came of it, of which not more
    /// than 4 KiB is written.
    private static func room(forEndOf line: [UInt8]) -> Int { line.count + 4_096 }

    /// Writes on a thread of its own, since a sync takes its time.
    private func write(_ bytes: [UInt8], leavingRoomFor room: Int) async throws(AuditLogError) {
        let result: Result<Void, AuditLogError> = await withCheckedContinuation { continuation in
            self.queue.async {
                do throws(AppendFile.AppendError) {
                    try self.file.append(bytes, leavingRoomFor: room)
                    continuation.resume(returning: .success(()))
                } catch {
                    switch error {
                    case .refused(let error): continuation.resume(returning: .failure(.file(error)))
                    case .unknown(let error): self.parts.onFatal("the audit log cannot be synced: \(error)")
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
    ) async throws(AuditLogError) -> (line: [UInt8], mark: AuditMark) {
        let message = AuditLine.message(AuditLine.beginning(after: newest, torn: torn), record)
        let bytes: [UInt8]
        do throws(VaultError) { bytes = try await vault.mac(message, for: .auditLog) } catch { throw .vault }
        let mark = AuditMark(number: (newest?.number ?? 0) + 1, mac: AuditLine.mac(bytes))
        let line = AuditLine.line(message, mac: mark.mac)
        // What is begun must be ended as well, by an entry of the same length and what came of it.
        let longest = AuditReader.longestLine
        guard record.phase != .begun || Self.room(forEndOf: line) < longest, line.count < longest else {
            throw .tooLong(byteCount: line.count)
        }
        return (line, mark)
    }
}
