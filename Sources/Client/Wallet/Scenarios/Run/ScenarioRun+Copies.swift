internal import Foundation
internal import HostSystem
internal import Phone

/// Methods that copy phones and app data.
extension ScenarioRun {
    /// Creates a new phone from a copy of all the current phone's files.
    func clone(as name: String) throws(StepProblem) {
        try self.checkIsNew(name)
        try Self.copy(self.current.phone.home.path, to: "\(self.folder)/\(name)")
        try self.addCopy(name)
    }

    /// Saves a copy of the app's data on the current phone.
    func backUp(as name: String) throws(StepProblem) {
        let backup = self.backup(name)
        guard !DurableFile.exists(backup) else { throw .failed("the backup \(name) exists already") }
        let folder = self.current.phone.home.appFolder
        guard DurableFile.exists(folder) else { throw .failed("the app has no data yet") }
        try Self.copy(folder, to: backup)
    }

    /// Terminates the app and replaces its data with an earlier copy.
    func restoreBackup(_ name: String) async throws(StepProblem) {
        let backup = self.backup(name)
        guard DurableFile.exists(backup) else {
            throw .failed("the phone \(self.current.name) has no backup \(name); `back up app` makes one")
        }
        await self.current.phone.endProcess()
        let folder = self.current.phone.home.appFolder
        do {
            if DurableFile.exists(folder) { try FileManager.default.removeItem(atPath: folder) }
        } catch {
            throw .failed("the app's data cannot be replaced: \(error.localizedDescription)")
        }
        try Self.copy(backup, to: folder)
    }

    /// Returns the folder for a backup of the current phone.
    ///
    /// It is next to the phones' folders.
    private func backup(_ name: String) -> String { "\(self.folder)/.backups/\(self.current.name)/\(name)" }

    /// Copies a folder except for the phone's lock, which belongs to its process.
    private static func copy(_ folder: String, to copy: String) throws(StepProblem) {
        do {
            try DurableFile.makeFolder(DurableFile.folder(of: copy))
            try FileManager.default.copyItem(atPath: folder, toPath: copy)
            if DurableFile.exists("\(copy)/lock") { try DurableFile.remove("\(copy)/lock") }
        } catch {
            let reason = (error as? FileError)?.reason ?? error.localizedDescription
            throw .failed("\(folder) cannot be copied: \(reason)")
        }
    }
}
