internal import HostSystem
internal import Secrets
package import Vocabulary

extension Fleet {
    /// Creates a file for the given number of wallets, none of them registered yet, and opens it.
    ///
    /// The disk space is allocated immediately. Only the owner can read the file, because it contains the keys.
    /// - Parameter fingerprint: The fingerprint of the server that the wallets will be registered with
    ///   (``Target/fingerprint``).
    package static func create(
        at path: String,
        wallets: Int,
        fingerprint: SHA256Digest
    ) throws(FleetError) -> Fleet {
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
    /// Writes the next copy over the older one.
    ///
    /// Returns once it is durable.
    mutating func writeNext(to file: RecordFile) throws(FileError) {
        self.sequence += 1
        let places = Self.places
        try file.write(self.encoded, at: places[Int(self.sequence % UInt64(places.count))])
        try file.synchronize()
    }
}
