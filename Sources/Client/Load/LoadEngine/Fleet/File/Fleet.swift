package import HistoryChecker
package import HostSystem
internal import Secrets
internal import Synchronization
package import Vocabulary

/// An open file of a fleet's wallets, locked against other processes.
///
/// A record is 64 bytes long and contains the values chosen by the server and those that change (``FleetRecord``).
/// Everything else is derived from the seed in the header. 10,000,000 wallets take 640,008,192 bytes on disk and in the
/// system file cache, but almost no memory in this process.
///
/// These invariants hold even if the process is killed at any instruction:
/// - The file only contains wallets that exist on the server, because a slot is written after the response to Register.
/// - An App Attest counter is never used twice, because it is written before the proof exists. If a machine crash loses
///   the last writes, all counters continue from a base beyond any used value (``FleetHeader/counterBase``).
/// - A partial write is detected, because each record has a checksum and there are two copies of the header.
package final class Fleet: Sendable {
    package let path: String
    /// The number of wallets the file has room for.
    package let slotCount: Int
    /// The number of registered wallets when the file was opened.
    ///
    /// Their indices are below this number.
    package let count: Int
    /// The number of slots whose record was torn when the file was opened.
    ///
    /// They are treated as free.
    package let tornCount: Int
    /// Whether the last process that used this file ended without calling ``close()``, so that a crash may have lost
    /// its last writes.
    ///
    /// Counters and PINs are recovered, but a history may be older than the server's state.
    package let mayBeBehind: Bool
    /// The fingerprint of the server that the wallets are registered with.
    package let fingerprint: SHA256Digest

    let keys: FleetKeys
    /// Serializes the proofs of each iOS wallet, by slot.
    ///
    /// Each proof is made only after the response to the previous one. App Attest counters must arrive in order. If two
    /// proofs are sent at once over two connections, the later one may arrive first, and the server then rejects the
    /// other.
    let proofs = KeyedAsyncLock<Int>()
    /// The free slots below the last registered one, in ascending order.
    ///
    /// They are left behind by interrupted registrations.
    let gaps: [Int]
    let counterBase: UInt64
    private let file: RecordFile
    private let state: Mutex<State>

    private struct State {
        var header: FleetHeader
        var proofsSinceFlush = 0
        /// Nil once the fleet is closed.
        var lock: FileLock?
    }

    /// The minimum and maximum number of wallets in a file.
    package static let allowedCounts = 1...100_000_000

    init(path: String, lock: FileLock, file: RecordFile, header: FleetHeader, scan: FleetScan, mayBeBehind: Bool) {
        self.path = path
        self.file = file
        self.slotCount = header.count
        self.count = scan.registered
        self.tornCount = scan.torn
        self.gaps = scan.gaps
        self.mayBeBehind = mayBeBehind
        self.fingerprint = header.authority
        self.keys = FleetKeys(seed: header.seed)
        self.counterBase = header.counterBase
        self.state = Mutex(State(header: header, lock: lock))
    }

    deinit { try? self.close() }

    // MARK: - Wallets

    /// Returns the wallet at an index below ``count``.
    package subscript(index: Int) -> FleetWallet {
        get throws(FleetError) { self.wallet(index, try self.record(in: self.slot(of: index))) }
    }

    private func wallet(_ index: Int, _ record: FleetRecord) -> FleetWallet {
        FleetWallet(index: index, slot: self.slot(of: index), record: record, keys: self.keys)
    }

    /// Replaces the history in a wallet's record by `placeholder`.
    ///
    /// Returns the wallet and its history as saved by an earlier run, or `fresh` if no run has saved one.
    package func takeHistory(
        of index: Int,
        leaving placeholder: HistorySummary
    ) throws(FleetError) -> (wallet: FleetWallet, history: HistorySummary) {
        try self.change(self.slot(of: index)) { record in
            defer { record.history = placeholder }
            return (self.wallet(index, record), record.history)
        }
    }

    /// Saves a wallet's history for the next run.
    ///
    /// - Parameter history: Returns the history for the generation of the wallet's current PIN.
    package func record(of index: Int, _ history: (_ generation: UInt32) -> HistorySummary) throws(FleetError) {
        try self.change(self.slot(of: index)) { $0.history = history($0.generation) }
    }

    /// Returns the slot of the wallet at an index, which is the index plus the number of gaps before it.
    private func slot(of index: Int) -> Int {
        precondition((0..<self.count).contains(index), "there are \(self.count) wallets")
        var (low, high) = (0, self.gaps.count)
        while low < high {
            let middle = (low + high) / 2
            if self.gaps[middle] - middle <= index { low = middle + 1 } else { high = middle }
        }
        return index + low
    }

    /// Records the generation of the current PIN; never goes back to an earlier one.
    func keep(generation: UInt32, of wallet: FleetWallet) throws(FleetFailure) {
        try mapError(
            self.change(wallet.slot) { $0.generation = max($0.generation, generation) },
            to: FleetFailure.fleet
        )
    }

    /// Returns the counter for one proof of an iOS wallet.
    ///
    /// It is first written to the file, and it is never returned again.
    func takeCounter(of wallet: FleetWallet) throws(FleetFailure) -> UInt32 {
        try mapError(self.nextCounter(in: wallet.slot), to: FleetFailure.fleet)
    }

    private func nextCounter(in slot: Int) throws(FleetError) -> UInt32 {
        let path = self.path
        let counter: UInt64 = try self.change(slot) { (record) throws(FleetError) in
            guard record.counter < .max else { throw .countersSpent(path: path) }
            record.counter += 1
            return UInt64(record.counter)
        }
        try self.countProof()
        guard let proof = UInt32(exactly: self.counterBase + counter) else { throw .countersSpent(path: path) }
        return proof
    }

    /// Flushes all counters before the number of unflushed proofs exceeds ``counterLeap``.
    private func countProof() throws(FleetError) {
        let isDue = self.state.withLock { state in
            state.proofsSinceFlush += 1
            return state.proofsSinceFlush >= Self.mostUnwrittenProofs
        }
        if isDue { try self.flush() }
    }

    static let mostUnwrittenProofs = 1 << 19
    /// The amount by which the counter base increases if the last process did not close the file.
    static let counterLeap: UInt64 = 1 << 20

    // MARK: - Records

    /// Writes a wallet that the server has just registered.
    func keep(_ wallet: NewWallet, in slot: Int) throws(FleetError) {
        let record = FleetRecord(wallet)
        try self.state.withLock { (_) throws(FleetError) in try self.write(record, in: slot) }
    }

    func record(in slot: Int) throws(FleetError) -> FleetRecord {
        // Hold the lock while reading. Otherwise, a concurrent write could leave us with half of the old record and
        // half of the new one.
        try self.state.withLock { (_) throws(FleetError) in try self.read(slot) }
    }

    /// Reads, changes and writes one record under the lock.
    @discardableResult
    private func change<Result>(
        _ slot: Int,
        _ body: (inout FleetRecord) throws(FleetError) -> Result
    ) throws(FleetError) -> Result {
        try self.state.withLock { (_) throws(FleetError) in
            var record = try self.read(slot)
            let before = record
            let result = try body(&record)
            if record != before { try self.write(record, in: slot) }
            return result
        }
    }

    private func read(_ slot: Int) throws(FleetError) -> FleetRecord {
        let bytes = try mapError(self.file.read(FleetRecord.byteCount, at: Self.offset(of: slot)), to: FleetError.file)
        guard let record = FleetRecord(decoding: bytes) else {
            throw .recordDamaged(path: self.path, number: slot)
        }
        return record
    }

    private func write(_ record: FleetRecord, in slot: Int) throws(FleetError) {
        try mapError(self.file.write(record.encoded, at: Self.offset(of: slot)), to: FleetError.file)
    }

    static func offset(of slot: Int) -> Int { FleetHeader.end + slot * FleetRecord.byteCount }

    // MARK: - Closing

    /// Returns once everything written so far is durable.
    package func flush() throws(FleetError) {
        self.state.withLock { $0.proofsSinceFlush = 0 }
        try mapError(self.file.synchronize(), to: FleetError.file)
    }

    /// Makes everything durable, marks the file as closed, and releases its lock.
    ///
    /// The fleet must not be used afterwards.
    package func close() throws(FleetError) {
        try self.state.withLock { (state) throws(FleetError) in
            guard let lock = state.lock else { return }
            state.lock = nil
            // Release the lock only after the mark has been written.
            defer { withExtendedLifetime(lock) {} }
            state.header.isInUse = false
            try mapError(self.file.synchronize(), to: FleetError.file)
            try mapError(state.header.writeNext(to: self.file), to: FleetError.file)
        }
    }
}

extension Fleet {
    /// Creates a file for the given number of wallets, none of them registered yet, and opens it.
    ///
    /// The disk space is allocated immediately. Only the owner can read the file, because it contains the keys.
    /// - Parameter fingerprint: The fingerprint of the server that the wallets will be registered with
    ///   (``Target/fingerprint``).
    package static func create(at path: String, wallets: Int, fingerprint: SHA256Digest) throws(FleetError) -> Fleet {
        precondition(self.allowedCounts.contains(wallets), "a fleet has \(self.allowedCounts) wallets")
        let lock = try self.lock(path)
        let header = FleetHeader(
            count: wallets,
            seed: SecretBytes.random(count: 32).exposedBytes(),
            authority: fingerprint
        )
        let bytes = header.encoded
        let padding = [UInt8](repeating: 0, count: FleetHeader.end - bytes.count)
        try mapError(DurableFile.create(bytes + padding, at: path), to: FleetError.file)
        return try self.open(path, lock: lock, for: fingerprint, mending: true, wallets: wallets)
    }

    /// Opens a file of wallets that have already been registered with this server.
    package static func open(_ path: String, for fingerprint: SHA256Digest) throws(FleetError) -> Fleet {
        let fleet = try self.open(path, lock: self.lock(path), for: fingerprint, mending: false, wallets: 1)
        guard fleet.count > 0 else { throw .empty(path: path) }
        return fleet
    }

    /// Opens a file to register its missing wallets.
    ///
    /// Restores the size of a truncated file, and enlarges a file that has room for fewer than `wallets`.
    package static func resume(
        _ path: String,
        wallets: Int,
        for fingerprint: SHA256Digest
    ) throws(FleetError) -> Fleet {
        try self.open(path, lock: self.lock(path), for: fingerprint, mending: true, wallets: wallets)
    }

    private static func lock(_ path: String) throws(FleetError) -> FileLock {
        do throws(LockError) {
            return try FileLock("\(path).lock")
        } catch {
            switch error {
            case .heldBy(let pid): throw .inUse(path: path, pid: pid)
            case .file(let error): throw .file(error)
            }
        }
    }

    private static func open(
        _ path: String,
        lock: FileLock,
        for fingerprint: SHA256Digest,
        mending: Bool,
        wallets: Int
    ) throws(FleetError) -> Fleet {
        let file = try mapError(RecordFile(opening: path), to: FleetError.file)
        var header = try self.header(of: file, path)
        guard header.authority == fingerprint else { throw .otherServer(path: path) }
        let length = try mapError(file.length(), to: FleetError.file)
        let whole = max(0, length - FleetHeader.end) / FleetRecord.byteCount
        guard mending || whole >= header.count else {
            throw .cut(path: path, whole: whole, expected: header.count)
        }
        header.count = max(header.count, wallets)
        // The last process did not close the file. The machine may have crashed too, and the last counters may be lost.
        let mayBeBehind = header.isInUse
        if mayBeBehind { header.counterBase += self.counterLeap }
        header.isInUse = true
        if mending { try mapError(file.extend(to: self.offset(of: header.count)), to: FleetError.file) }
        // Must be durable before any proof is made.
        try mapError(header.writeNext(to: file), to: FleetError.file)
        let scan = try mapError(FleetScan(file, count: header.count), to: FleetError.file)
        return Fleet(path: path, lock: lock, file: file, header: header, scan: scan, mayBeBehind: mayBeBehind)
    }

    /// Returns the newer of the two copies, if at least one is intact.
    private static func header(of file: RecordFile, _ path: String) throws(FleetError) -> FleetHeader {
        var found: FleetHeader?
        var defects: [FleetHeader.Defect] = []
        for place in FleetHeader.places {
            let bytes = try mapError(file.read(FleetHeader.byteCount, at: place), to: FleetError.file)
            do throws(FleetHeader.Defect) {
                let header = try FleetHeader(decoding: bytes)
                if found.map({ $0.sequence < header.sequence }) ?? true { found = header }
            } catch {
                defects.append(error)
            }
        }
        if let found { return found }
        for case .version(let version) in defects { throw .version(path: path, found: version) }
        throw defects.contains(.torn) ? .damaged(path: path) : .foreign(path: path)
    }
}

extension FleetHeader {
    /// Writes the next copy over the older one; returns once it is durable.
    mutating func writeNext(to file: RecordFile) throws(FileError) {
        self.sequence += 1
        let places = Self.places
        try file.write(self.encoded, at: places[Int(self.sequence % UInt64(places.count))])
        try file.synchronize()
    }
}

/// The result of scanning all records in a file.
struct FleetScan: Equatable {
    var registered = 0
    var torn = 0
    /// The free slots below the last registered one.
    var gaps: [Int] = []
    /// The slot after the last registered one.
    var end = 0

    /// The number of bytes per read, a whole number of records.
    private static let chunk = FleetRecord.byteCount << 14

    /// Scans the first `count` records; records beyond the end of the file are free.
    init(_ file: RecordFile, count: Int) throws(FileError) {
        var slot = 0
        while slot < count {
            let bytes = try file.read(
                min(Self.chunk, (count - slot) * FleetRecord.byteCount),
                at: Fleet.offset(of: slot)
            )
            let whole = bytes.count / FleetRecord.byteCount
            if whole == 0 { break }
            for number in 0..<whole {
                self.note(FleetRecord.kind(of: bytes, at: number * FleetRecord.byteCount), slot + number)
            }
            slot += whole
        }
    }

    private mutating func note(_ kind: FleetRecord.Kind, _ slot: Int) {
        switch kind {
        case .registered:
            self.registered += 1
            // The free slots since the last wallet form a gap.
            self.gaps += self.end..<slot
            self.end = slot + 1
        case .torn: self.torn += 1
        case .free: break
        }
    }
}

/// A reason why a fleet file cannot be used.
///
/// Each description says how to fix it.
package enum FleetError: Error, Hashable, CustomStringConvertible {
    /// The file cannot be created, read or written.
    case file(FileError)
    /// Another process is using it.
    ///
    /// Wait for that process or end it.
    case inUse(path: String, pid: Int32?)
    case foreign(path: String)
    case version(path: String, found: UInt32)
    case damaged(path: String)
    case cut(path: String, whole: Int, expected: Int)
    case recordDamaged(path: String, number: Int)
    case otherServer(path: String)
    case empty(path: String)
    case countersSpent(path: String)

    package var description: String {
        switch self {
        case .file(let error): return error.description
        case .inUse(let path, let pid):
            let who = pid.map { "process \($0)" } ?? "another process"
            return
                "\(path): \(who) is using these wallets; the server would reject a counter used by two processes. "
                + "Wait for it or end it."
        case .foreign(let path): return "\(path): not a file of wallets. Name one that `pin-load provision` wrote."
        case .version(let path, let found):
            return "\(path): written by another version of pin-load (format \(found), this version reads "
                + "\(FleetHeader.version)). Register new wallets: `pin-load provision` with another --out."
        case .damaged(let path):
            return "\(path): both copies of its header are damaged, and the keys are lost with them. "
                + "Register new wallets: `pin-load provision` with another --out."
        case .cut(let path, let whole, let expected):
            return "\(path): truncated after \(whole) of \(expected) wallets. "
                + "`pin-load provision --wallets \(expected) --out \(path)` registers the others again."
        case .recordDamaged(let path, let number):
            return "\(path): record \(number) is damaged. `pin-load provision` registers its wallet again."
        case .otherServer(let path):
            return "\(path): these wallets are registered with another server (it has another certificate authority). "
                + "Name that server, or register wallets with this one."
        case .empty(let path): return "\(path): contains no wallets. `pin-load provision` continues the registration."
        case .countersSpent(let path):
            return "\(path): an App Attest counter has reached its maximum. Register new wallets with another --out."
        }
    }
}
