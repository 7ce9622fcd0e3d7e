internal import HostSystem
internal import PreparedSQL

/// The state of a store's files, read without changing them, even while a server has them open.
package struct StoreFilesState: Sendable {
    /// The process that has the store open, or nil if there is none.
    package let holder: Int32?
    package let version: Int
    package let byteCount: Int
    /// The length of the write-ahead log, or nil if there is none.
    package let logByteCount: Int?
    /// Whether the last process that opened the store failed to close it.
    package let isLeftOpen: Bool
    /// The number of the last commit, or nil while a process has the store open.
    package let generation: UInt64?

    /// Reads the store files in a folder.
    ///
    /// If a start would reject them, throws the same error. The search for missing commits is skipped while a process
    /// has the store open, because the files change as they are read and that process has already searched them.
    package init(folder: String) throws(StoreOpenError) {
        let path = folder + "/wallets.db"
        self.holder = FileLock.currentHolder(folder + "/lock")
        try StoreFile.refuseOthers(path, creating: false)
        do throws(FileError) {
            let file = try AppendFile(reading: path)
            self.version = StoreFile.Head(try file.read(at: 0, atMost: StoreFile.Head.byteCount)).version
            self.byteCount = try file.byteCount()
            let log = path + "-wal"
            self.logByteCount = try AppendFile.ifPresent(reading: log)?.byteCount()
        } catch {
            throw StoreOpenError(error)
        }
        let check = self.holder == nil ? try StoreCheck.look(path) : nil
        self.isLeftOpen = check?.mark?.isInUse ?? false
        self.generation = check?.generation
    }

    /// Returns the objects in the schema of a store that its version does not make, makes otherwise, or misses.
    ///
    /// No process may have the store open, and it must have no log.
    package static func schemaDifferences(in folder: String, ofVersion version: Int) -> [String] {
        StoreFile.schemaDifferences(in: folder + "/wallets.db", ofVersion: version)
    }

    /// Returns SQLite's findings about the structure of a store, empty if it is sound.
    ///
    /// No process may have the store open, and it must have no log. This takes as long as reading the file.
    package static func structureFindings(in folder: String) -> [String] {
        StructureCheck.findings(in: folder + "/wallets.db")
    }
}
