internal import HostSystem

/// A phone's folder: one process at a time, for its owner alone.
///
///     HOME/wallet.yaml   server, trust, language: the person's
///     HOME/app/          state, sealed data, slots, salts: what "a copy of the device's storage" means
///     HOME/device/       profile, hardware key, keychain: what never leaves the device
///     HOME/lock          held while a process uses the folder
package struct PhoneHome: Sendable {
    package let path: String
    private let lock: FileLock

    /// Makes the folder where it is missing and takes its lock.
    ///
    /// - Parameter path: Nil for the XDG base directory specification's place for state.
    package init(_ path: String?) throws(PhoneError) {
        let path = Environment.absolute(try Self.chosen(path))
        self.path = path
        do throws(FileError) {
            try DurableFile.makeFolder(path, mode: 0o700)
        } catch {
            throw .storage("the home cannot be made: \(error)")
        }
        do throws(LockError) {
            self.lock = try FileLock(path + "/lock")
        } catch {
            switch error {
            case .heldBy(let holder): throw .homeInUse(path: path, holder: holder)
            case .file(let error): throw .storage("the home cannot be used: \(error)")
            }
        }
    }

    package var appFolder: String { self.path + "/app" }
    package var deviceFolder: String { self.path + "/device" }
    package var settingsFile: String { self.path + "/wallet.yaml" }

    private static func chosen(_ path: String?) throws(PhoneError) -> String {
        if let path { return path }
        if let state = Environment.value("XDG_STATE_HOME") { return state + "/remote-pin/wallet" }
        guard let home = Environment.value("HOME") else {
            throw .usage("name the wallet's folder with --home: neither XDG_STATE_HOME nor HOME is set")
        }
        return home + "/.local/state/remote-pin/wallet"
    }
}
