internal import ConfigText
internal import WalletFlows
internal import Evidence
internal import HostSystem
internal import Secrets

/// A device's folder, which contains the data that never leaves a phone.
///
/// Its files can only be read by their owner.
///
///     profile.yaml    the phone's properties, which may be edited by the user
///     hardware-key    the secure hardware's key and its App Attest counter
///     key-handle      a key hook's name for its key
///     keychain        sealed items
///     keychain-key    the key that seals them
///     sensor          the number of consecutive mismatches
///     owner           the owner's number; a restored phone keeps only this and the profile
struct DeviceFiles: Sendable {
    let folder: String

    enum Name: String, CaseIterable {
        case profile = "profile.yaml"
        case hardwareKey = "hardware-key"
        case keyHandle = "key-handle"
        case keychain
        case keychainKey = "keychain-key"
        case sensor, owner
    }

    func path(_ name: Name) -> String { "\(self.folder)/\(name.rawValue)" }

    /// Returns nil if the file does not exist.
    func read(_ name: Name, atMost limit: Int = 65_536) throws(DeviceError) -> [UInt8]? {
        try mapError(ifPresent(DurableFile.readOwn(self.path(name), atMost: limit)), to: DeviceError.init)
    }

    /// Atomically and durably replaces the file.
    func write(_ bytes: [UInt8], to name: Name) throws(DeviceError) {
        try mapError(DurableFile.makeFolder(self.folder), to: DeviceError.init)
        try mapError(DurableFile.write(bytes, to: self.path(name)), to: DeviceError.init)
    }

    /// Removes the file, if it exists.
    func remove(_ name: Name) throws(DeviceError) {
        try mapError(ifPresent(DurableFile.remove(self.path(name))), to: DeviceError.init)
    }

    /// Returns the stored profile.
    ///
    /// If there is none, stores and returns `new`.
    func profile(orNew new: DeviceProfile) throws(DeviceError) -> DeviceProfile {
        if let profile = try self.profile() { return profile }
        try self.write(new)
        return new
    }

    /// Returns the stored profile, or nil if there is none.
    func profile() throws(DeviceError) -> DeviceProfile? {
        guard let bytes = try self.read(.profile) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        return try mapError(DeviceProfile(yaml: text, source: self.path(.profile))) { (error: ConfigError) in
            DeviceError.storage(error.description)
        }
    }

    func write(_ profile: DeviceProfile) throws(DeviceError) {
        guard let text = try? profile.yaml else { throw .storage("the profile cannot be written as YAML") }
        try self.write(Array(text.utf8), to: .profile)
    }

    /// Returns the number of consecutive mismatches.
    ///
    /// The file does not exist until the first mismatch.
    func mismatches() throws(DeviceError) -> Int {
        guard let bytes = try self.read(.sensor, atMost: 32) else { return 0 }
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.hasSuffix("\n"), let count = Int(text.dropLast()), count >= 0 else {
            throw .storage("\(self.path(.sensor)) is not a count of mismatches")
        }
        return count
    }

    func write(mismatches: Int) throws(DeviceError) {
        try self.write(Array("\(mismatches)\n".utf8), to: .sensor)
    }

    /// Returns the owner's number, chosen at random on the first call.
    func owner() throws(DeviceError) -> String {
        if let bytes = try self.read(.owner, atMost: 64) {
            let digits = bytes.filter { $0 != 0x0A }
            guard digits.count == 32 else {
                throw .storage("\(self.path(.owner)) is not an owner's number of 32 digits")
            }
            return String(decoding: digits, as: UTF8.self)
        }
        let digits = SecretBytes.random(count: 16).hexadecimal().exposedBytes()
        try self.write(digits + [0x0A], to: .owner)
        return String(decoding: digits, as: UTF8.self)
    }
}

/// A simulated device's hardware key and its App Attest counter, stored in the file `hardware-key`.
///
/// They share a file that is replaced atomically, so that a crash can never combine a key with another key's counter.
struct HardwareKey: Sendable {
    let key: SigningKey
    /// The number of assertions so far; always 0 on Android.
    var counter: UInt32 = 0

    init() { self.key = SigningKey() }

    /// Reads the file; returns nil if it does not exist.
    static func read(_ path: String) throws(DeviceError) -> HardwareKey? {
        guard let bytes = try mapError(ifPresent(DurableFile.readOwn(path, atMost: 4096)), to: DeviceError.init) else {
            return nil
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", maxSplits: 1)
        guard lines.count == 2, let counter = UInt32(lines[0]), let key = SigningKey(pem: String(lines[1])) else {
            throw .storage("\(path) is not a hardware key")
        }
        return HardwareKey(key: key, counter: counter)
    }

    private init(key: SigningKey, counter: UInt32) {
        self.key = key
        self.counter = counter
    }

    /// Writes the file durably.
    func write(to path: String) throws(DeviceError) {
        let text = "\(self.counter)\n\(self.key.pem)"
        try mapError(DurableFile.write(Array(text.utf8), to: path), to: DeviceError.init)
    }
}

extension DeviceError {
    fileprivate init(_ error: FileError) { self = .storage(error.description) }
}
