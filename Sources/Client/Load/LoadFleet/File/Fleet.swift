package import HistoryChecker
internal import HostSystem
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

    deinit {
        try? self.close()
    }

    // MARK: - Wallets

    /// Returns the wallet at an index below ``count``.
    package subscript(index: Int) -> FleetWallet {
        get throws(FleetError) {
            self.wallet(index, try self.record(in: self.slot(of: index)))
        }
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

    /// Records the generation of the current PIN.
    ///
    /// Never goes back to an earlier one.
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
