internal import Foundation
internal import CSQLite

/// The disk below SQLite: writes are lost, torn or refused, and the process ends between two of them.
///
/// It is a layer over SQLite's own file functions and remembers the writes that were not synced. The files are real
/// ones, in memory. After a power failure, any subset of the writes that were not synced has reached the disk, and the
/// last of these may be torn between two sectors.
///
/// `@unchecked Sendable`: see ``Scheduler``.
@safe final class SimulatedDisk: @unchecked Sendable {
    /// A write that was not synced.
    private struct Write {
        let offset: Int
        let bytes: [UInt8]
        /// The new length of a file that was cut; `bytes` is then empty.
        let length: Int?
    }

    /// An open file: its contents at the last sync, and the writes since then.
    private struct File {
        let path: String
        var synced: [UInt8]
        var writes: [Write] = []
    }

    /// The result of a write or sync.
    enum Outcome {
        case done
        /// The disk is full.
        case full
        /// The disk fails.
        case failed
    }

    /// The disk of the run in progress.
    nonisolated(unsafe) static var active: SimulatedDisk?
    private var files: [Int: File] = [:]
    /// Decides on each write (true) or sync (false); may not return.
    var decide: (_ isWrite: Bool) -> Outcome = { _ in .done }
    /// Called with the name of a file and the number of its writes when they are synced.
    var onSync: (_ name: String, _ writes: Int) -> Void = { _, _ in }
    /// The writes since the start.
    private(set) var writeCount = 0

    fileprivate func opened(_ file: UnsafeMutablePointer<sqlite3_file>, _ path: String) {
        self.files[Int(bitPattern: file)] = File(path: path, synced: Self.contents(path))
    }

    fileprivate func closed(_ file: UnsafeMutablePointer<sqlite3_file>) { self.files[Int(bitPattern: file)] = nil }

    fileprivate func outcome(isWrite: Bool) -> Outcome {
        if isWrite { self.writeCount += 1 }
        return self.decide(isWrite)
    }

    fileprivate func written(_ file: UnsafeMutablePointer<sqlite3_file>, _ bytes: [UInt8], at offset: Int) {
        self.files[Int(bitPattern: file)]?.writes.append(Write(offset: offset, bytes: bytes, length: nil))
    }

    fileprivate func cut(_ file: UnsafeMutablePointer<sqlite3_file>, to length: Int) {
        self.files[Int(bitPattern: file)]?.writes.append(Write(offset: length, bytes: [], length: length))
    }

    fileprivate func synced(_ file: UnsafeMutablePointer<sqlite3_file>) {
        let key = Int(bitPattern: file)
        guard var state = self.files[key], !state.writes.isEmpty else { return }
        for write in state.writes { Self.apply(write, to: &state.synced) }
        self.onSync(URL(filePath: state.path).lastPathComponent, state.writes.count)
        state.writes = []
        self.files[key] = state
    }

    private static func apply(_ write: Write, to bytes: inout [UInt8]) {
        if let length = write.length {
            if length < bytes.count { bytes.removeLast(bytes.count - length) }
            return
        }
        let end = write.offset + write.bytes.count
        if bytes.count < end { bytes += [UInt8](repeating: 0, count: end - bytes.count) }
        bytes.replaceSubrange(write.offset..<end, with: write.bytes)
    }

    static func contents(_ path: String) -> [UInt8] {
        FileManager.default.contents(atPath: path).map { [UInt8]($0) } ?? []
    }

    /// The contents of each open file in this folder after a power failure.
    func contentsAfterPowerFailure(
        in folder: String,
        using generator: inout SeededGenerator
    ) -> [String: [UInt8]] {
        var contents: [String: [UInt8]] = [:]
        let concerned = self.files.values.filter { $0.path.hasPrefix(folder) && !$0.writes.isEmpty }
        for file in concerned.sorted(by: { $0.path < $1.path }) {
            var bytes = file.synced
            for var write in file.writes where generator.chance(60) {
                if generator.chance(20), write.bytes.count > Self.sectorByteCount {
                    let sectors = Int.random(in: 1..<8, using: &generator)
                    let kept = min(write.bytes.count, sectors * Self.sectorByteCount)
                    write = Write(offset: write.offset, bytes: Array(write.bytes.prefix(kept)), length: nil)
                }
                Self.apply(write, to: &bytes)
            }
            contents[file.path] = bytes
        }
        return contents
    }

    private static let sectorByteCount = 512
}

// MARK: - The layer over SQLite's file functions

extension SimulatedDisk {
    /// SQLite's own functions; set once.
    nonisolated(unsafe) private static var base: UnsafeMutablePointer<sqlite3_vfs>?
    /// The layers, keyed by SQLite's functions for a kind of file.
    ///
    /// The log has other functions, because it is not locked.
    nonisolated(unsafe) private static var layers:
        [UnsafePointer<sqlite3_io_methods>: UnsafePointer<sqlite3_io_methods>] = unsafe [:]

    /// SQLite's own functions for a file.
    private static func methods(of file: UnsafeMutablePointer<sqlite3_file>) -> sqlite3_io_methods? {
        let layer = unsafe file.pointee.pMethods
        return unsafe self.layers.first { unsafe $0.value == layer }.map { unsafe $0.key.pointee }
    }

    /// Puts the layer over SQLite's file functions, for every database of this process.
    static func install() {
        guard unsafe self.base == nil, let base = unsafe sqlite3_vfs_find(nil) else { return }
        unsafe self.base = base
        let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        unsafe vfs.initialize(to: base.pointee)
        unsafe vfs.pointee.zName = UnsafePointer(strdup("simulated"))
        unsafe vfs.pointee.pNext = nil
        unsafe vfs.pointee.xOpen = { _, name, file, flags, out in
            guard let base = unsafe SimulatedDisk.base, let open = unsafe base.pointee.xOpen, let file = unsafe file
            else { return SQLITE_CANTOPEN }
            let status = unsafe open(base, name, file, flags, out)
            guard status == SQLITE_OK, let name = unsafe name, let own = unsafe file.pointee.pMethods else {
                return status
            }
            unsafe file.pointee.pMethods = SimulatedDisk.layer(over: own)
            unsafe SimulatedDisk.active?.opened(file, String(cString: name))
            return status
        }
        unsafe sqlite3_vfs_register(vfs, 1)
    }

    private static func layer(
        over methods: UnsafePointer<sqlite3_io_methods>
    ) -> UnsafePointer<sqlite3_io_methods> {
        if let layer = unsafe self.layers[methods] { return unsafe layer }
        let layered = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        unsafe layered.initialize(to: methods.pointee)
        unsafe layered.pointee.xWrite = { file, bytes, count, offset in
            guard let file = unsafe file, let write = unsafe SimulatedDisk.methods(of: file)?.xWrite,
                let bytes = unsafe bytes
            else { return SQLITE_IOERR }
            switch unsafe SimulatedDisk.active?.outcome(isWrite: true) ?? .done {
            case .full: return SQLITE_FULL
            case .failed: return SQLITE_IOERR | (3 << 8)
            case .done: break
            }
            let copy = unsafe Array(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
            unsafe SimulatedDisk.active?.written(file, copy, at: Int(offset))
            return unsafe write(file, bytes, count, offset)
        }
        unsafe layered.pointee.xTruncate = { file, length in
            guard let file = unsafe file, let truncate = unsafe SimulatedDisk.methods(of: file)?.xTruncate else {
                return SQLITE_IOERR
            }
            unsafe SimulatedDisk.active?.cut(file, to: Int(length))
            return unsafe truncate(file, length)
        }
        unsafe layered.pointee.xSync = { file, _ in
            guard let file = unsafe file else { return SQLITE_IOERR }
            switch unsafe SimulatedDisk.active?.outcome(isWrite: false) ?? .done {
            case .full, .failed: return SQLITE_IOERR | (4 << 8)
            case .done: break
            }
            // The files are in memory: only the simulated disk tells what is synced.
            unsafe SimulatedDisk.active?.synced(file)
            return SQLITE_OK
        }
        unsafe layered.pointee.xClose = { file in
            guard let file = unsafe file, let close = unsafe SimulatedDisk.methods(of: file)?.xClose else {
                return SQLITE_IOERR
            }
            unsafe SimulatedDisk.active?.closed(file)
            return unsafe close(file)
        }
        unsafe self.layers[methods] = UnsafePointer(layered)
        return unsafe UnsafePointer(layered)
    }
}
