internal import HostSystem
internal import Secrets
internal import Synchronization
package import Vocabulary

/// The file of a fleet's wallets, open and locked against any other process.
///
/// A record holds what the server chose and what changes (``FleetRecord``), 64 bytes; the rest comes from the seed in the
/// header. So 10,000,000 wallets are 640,008,192 bytes, on the disk and in the system's file cache, and next to nothing
/// in this process.
///
/// Invariants, each kept also where the process is killed at any instruction:
/// - A wallet is in the file only when the server has it: a slot is written after the answer to Register.
/// - An App Attest counter is never used twice: it is written before the proof exists. Where the whole machine ends, the
///   last writes may be gone; then all counters go on from a base beyond whatever was used (``FleetHeader/counterBase``).
/// - What was half written is recognized: each record has a checksum, the header has two copies.
package final class Fleet: Sendable {
    package let path: String
    /// How many wallets there are room for.
    package let slotCount: Int
    /// How many wallets were registered when the file was opened; they have the indices below.
    package let count: Int
    /// Slots whose record was torn when the file was opened; they count as free.
    package let tornCount: Int
    /// Whether the process that had the file last ended without ``close()``: its last writes may be gone with the machine.
    ///
    /// Counters and PINs are found again; a history may then be behind what the server knows.
    package let mayBeBehind: Bool
    /// What tells the server apart that they are registered with.
    package let fingerprint: SHA256Digest

    let keys: FleetKeys
    /// Proofs of one iOS wallet, by its slot, each answered before the next is made.
    ///
    /// App Attest counters must arrive in their order: of two on their way at once, over two connections, the later may
    /// arrive first, and the server refuses the other.
    let proofs = KeyedAsyncLock<Int>()
    /// Slots without a wallet below the last one with one, in order; a provisioning that was cut short leaves some.
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

    /// How many wallets a file may hold.
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

    /// The wallet of an index below ``count``.
    package subscript(index: Int) -> FleetWallet {
        get throws(FleetError) {
            precondition((0..<self.count).contains(index), "there are \(self.count) wallets")
            let slot = self.slot(of: index)
            return FleetWallet(index: index, slot: slot, record: try self.record(in: slot), keys: self.keys)
        }
    }

    /// What an earlier run kept of a wallet's past; nil where it kept nothing.
    package func history(of index: Int) throws(FleetError) -> WalletHistoryBytes? {
        try self.record(in: self.slot(of: index)).history
    }

    /// Keeps a wallet's past for the next run; nil for none.
    package func record(_ history: WalletHistoryBytes?, of index: Int) throws(FleetError) {
        try self.change(self.slot(of: index)) { $0.history = history }
    }

    /// Where the wallet of an index stands: as many slots further on as there are gaps before it.
    func slot(of index: Int) -> Int {
        var (low, high) = (0, self.gaps.count)
        while low < high {
            let middle = (low + high) / 2
            if self.gaps[middle] - middle <= index { low = middle + 1 } else { high = middle }
        }
        return index + low
    }

    /// The PIN that counts from now on; never an earlier one again.
    func keep(generation: UInt32, of wallet: FleetWallet) throws(FleetFailure) {
        do throws(FleetError) {
            try self.change(wallet.slot) { $0.generation = max($0.generation, generation) }
        } catch {
            throw .fleet(error)
        }
    }

    /// The counter for one proof of an iOS wallet; it is in the file when this returns, and never given again.
    func takeCounter(of wallet: FleetWallet) throws(FleetFailure) -> UInt32 {
        do throws(FleetError) {
            let path = self.path
            let counter: UInt64 = try self.change(wallet.slot) { (record) throws(FleetError) in
                guard record.counter < .max else { throw .countersSpent(path: path) }
                record.counter += 1
                return UInt64(record.counter)
            }
            try self.countProof()
            guard let proof = UInt32(exactly: self.counterBase + counter) else { throw .countersSpent(path: path) }
            return proof
        } catch {
            throw .fleet(error)
        }
    }

    /// Before as many proofs as the base grows by could be lost with the machine, all of them reach the disk.
    private func countProof() throws(FleetError) {
        let isDue = self.state.withLock { state in
            state.proofsSinceFlush += 1
            return state.proofsSinceFlush >= Self.mostUnwrittenProofs
        }
        if isDue { try self.flush() }
    }

    static let mostUnwrittenProofs = 1 << 19
    /// How much the base of counters grows where the end of the last process was not written.
    static let counterLeap: UInt64 = 1 << 20

    // MARK: - Records

    /// Writes a wallet that the server has just registered.
    func keep(_ wallet: NewWallet, in slot: Int) throws(FleetError) {
        let record = FleetRecord(wallet)
        try self.state.withLock { (_) throws(FleetError) in try self.write(record, in: slot) }
    }

    func record(in slot: Int) throws(FleetError) -> FleetRecord {
        // Under the lock: what is read while it is written may be half of each.
        try self.state.withLock { (_) throws(FleetError) in try self.read(slot) }
    }

    /// Reads, changes and writes one record, alone.
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
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try self.file.read(FleetRecord.byteCount, at: Self.offset(of: slot))
        } catch {
            throw .file(error)
        }
        guard let record = FleetRecord(decoding: bytes) else {
            throw .recordDamaged(path: self.path, number: slot)
        }
        return record
    }

    private func write(_ record: FleetRecord, in slot: Int) throws(FleetError) {
        do throws(FileError) {
            try self.file.write(record.encoded, at: Self.offset(of: slot))
        } catch {
            throw .file(error)
        }
    }

    static func offset(of slot: Int) -> Int { FleetHeader.end + slot * FleetRecord.byteCount }

    // MARK: - The end

    /// Returns once everything written so far is on the disk.
    package func flush() throws(FleetError) {
        self.state.withLock { $0.proofsSinceFlush = 0 }
        do throws(FileError) { try self.file.synchronize() } catch { throw .file(error) }
    }

    /// Writes that all has reached the disk, and lets others have the file; nothing may be asked of it afterwards.
    package func close() throws(FleetError) {
        try self.state.withLock { (state) throws(FleetError) in
            guard let lock = state.lock else { return }
            state.lock = nil
            // Others wait until the end is written.
            defer { withExtendedLifetime(lock) {} }
            state.header.isInUse = false
            do throws(FileError) {
                try self.file.synchronize()
                try state.header.writeNext(to: self.file)
            } catch {
                throw .file(error)
            }
        }
    }
}
