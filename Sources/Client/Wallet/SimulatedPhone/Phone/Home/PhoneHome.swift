internal import FoundationEssentials
internal import HostSystem
internal import WalletFlows

/// A phone's folder.
///
/// It is readable only by its owner and used by one process at a time.
///
///     HOME/wallet.yaml   server, trust, language: may be edited by the user
///     HOME/app/          state, sealed data, slots, salts: included in copies of the storage
///     HOME/device/       profile, hardware key, keychain: never leaves the device
///     HOME/lock          locked while a process uses the folder
package struct PhoneHome: Sendable {
    package let path: String
    private let lock: FileLock

    /// Locks the folder, creating it if necessary.
    ///
    /// - Parameter path: The folder, or nil for the state folder of the XDG Base Directory Specification.
    package init(_ path: String?) throws(PhoneError) {
        let path = Environment.absolute(try Self.chosen(path))
        self.path = path
        do {
            try DurableFile.makeFolder(path, mode: 0o700)
            self.lock = try FileLock(path + "/lock")
        } catch LockError.heldBy(let holder) {
            throw .homeInUse(path: path, holder: holder)
        } catch LockError.file(let error) {
            throw .storage("the wallet's folder cannot be locked: \(error)")
        } catch {
            throw .storage("the wallet's folder cannot be created: \(error)")
        }
    }

    package var appFolder: String { self.path + "/app" }
    package var deviceFolder: String { self.path + "/device" }
    package var settingsFile: String { self.path + "/wallet.yaml" }

    /// Returns why the phone's profile cannot be used, or nil if it can or if there is none.
    package func profileDamage() -> String? {
        do throws(DeviceError) {
            _ = try DeviceFiles(folder: self.deviceFolder).profile()
            return nil
        } catch {
            return error.description
        }
    }

    /// Removes the phone's profile; the next command makes a new one.
    package func removeProfile() throws(PhoneError) {
        try mapError(DeviceFiles(folder: self.deviceFolder).remove(.profile), to: PhoneError.device)
    }

    private static func chosen(_ path: String?) throws(PhoneError) -> String {
        if let path { return path }
        if let state = Environment.value("XDG_STATE_HOME") { return state + "/remote-pin/wallet" }
        guard let home = Environment.value("HOME") else {
            throw .usage("neither XDG_STATE_HOME nor HOME is set; name the wallet's folder with --home")
        }
        return home + "/.local/state/remote-pin/wallet"
    }
}

package enum Environment {
    /// Returns the value of a variable, or nil if it is unset or empty.
    package static func value(_ name: String) -> String? {
        guard let value = ProcessInfo.processInfo.environment[name], !value.isEmpty else { return nil }
        return value
    }

    /// Returns whether a variable is set and not empty.
    package static func has(_ name: String) -> Bool { self.value(name) != nil }

    /// Resolves a relative path against the current working directory.
    package static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : "\(FileManager.default.currentDirectoryPath)/\(path)"
    }
}
