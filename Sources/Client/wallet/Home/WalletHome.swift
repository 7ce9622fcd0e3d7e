internal import HostSystem

/// A wallet's folder: one process at a time, for its owner alone.
///
///     HOME/wallet.yaml   server, trust, language: the person's
///     HOME/app/          state, sealed data, slots, salts: what "a copy of the device's storage" means
///     HOME/device/       profile, hardware key: what never leaves the device
///     HOME/lock          held while a process uses the folder
struct WalletHome {
    let path: String
    private let lock: FileLock

    /// Makes the folder where it is missing and takes its lock.
    init(_ path: String?) throws(CommandFailure) {
        let path = Self.absolute(try Self.chosen(path))
        self.path = path
        do throws(FileError) {
            try DurableFile.makeFolder(path, mode: 0o700)
        } catch {
            throw .failed("the home cannot be made: \(error)")
        }
        do throws(LockError) {
            self.lock = try FileLock(path + "/lock")
        } catch {
            switch error {
            case .heldBy(let pid):
                let holder = pid.map { "process \($0)" } ?? "another process"
                throw CommandFailure(status: .homeInUse, message: "\(path) is in use by \(holder)")
            case .file(let error):
                throw .failed("the home cannot be used: \(error)")
            }
        }
    }

    var appFolder: String { self.path + "/app" }
    var deviceFolder: String { self.path + "/device" }
    var settingsFile: String { self.path + "/wallet.yaml" }

    static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : "\(Environment.currentFolder)/\(path)"
    }

    /// The XDG base directory specification's place for state.
    private static func chosen(_ path: String?) throws(CommandFailure) -> String {
        if let path { return path }
        if let state = Environment.value("XDG_STATE_HOME") { return state + "/remote-pin/wallet" }
        guard let home = Environment.value("HOME") else {
            throw .usage("name the wallet's folder with --home: neither XDG_STATE_HOME nor HOME is set")
        }
        return home + "/.local/state/remote-pin/wallet"
    }
}
