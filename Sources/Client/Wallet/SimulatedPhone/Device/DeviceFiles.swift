internal import ConfigText
internal import DeviceInterface
internal import HostSystem
internal import Secrets
internal import Vocabulary

/// A device's folder: one file for each thing that never leaves a phone, readable by their owner alone.
///
///     profile.yaml    what the phone is, for people to read and change
///     hardware-key    the key in its secure hardware, with the App Attest counter
///     key-handle      what a program in the hardware's place calls its key
///     keychain        items, sealed
///     keychain-key    under which they are sealed
///     sensor          mismatches in a row
///     owner           a number of whoever owns the phone; the one thing that a restored phone keeps
struct DeviceFiles: Sendable {
    let folder: String

    enum Name: String, CaseIterable {
        case profile = "profile.yaml"
        case hardwareKey = "hardware-key"
        case keyHandle = "key-handle"
        case keychain
        case keychainKey = "keychain-key"
        case sensor
        case owner
    }

    func path(_ name: Name) -> String { "\(self.folder)/\(name.rawValue)" }

    /// Nil where there is no such file.
    func read(_ name: Name, atMost limit: Int = 65_536) throws(DeviceError) -> [UInt8]? {
        do throws(FileError) {
            return try DurableFile.read(self.path(name), atMost: limit)
        } catch .notFound {
            return nil
        } catch {
            throw .storage(error.description)
        }
    }

    /// Returns once the file is durable; what was there before is there until then.
    func write(_ bytes: [UInt8], to name: Name) throws(DeviceError) {
        do throws(FileError) {
            try DurableFile.makeFolder(self.folder)
            try DurableFile.write(bytes, to: self.path(name))
        } catch {
            throw .storage(error.description)
        }
    }

    /// Nothing happens where there is no such file.
    func remove(_ name: Name) throws(DeviceError) {
        do throws(FileError) {
            try DurableFile.remove(self.path(name))
        } catch .notFound {
            return
        } catch {
            throw .storage(error.description)
        }
    }

    /// The profile, or the new one, written, where there is none.
    func profile(orNew new: DeviceProfile) throws(DeviceError) -> DeviceProfile {
        guard let bytes = try self.read(.profile) else {
            try self.write(new)
            return new
        }
        do throws(ConfigError) {
            return try DeviceProfile(yaml: String(decoding: bytes, as: UTF8.self), source: self.path(.profile))
        } catch {
            throw .storage(error.description)
        }
    }

    func write(_ profile: DeviceProfile) throws(DeviceError) {
        guard let text = try? profile.yaml else { throw .storage("the profile cannot be written as YAML") }
        try self.write(Array(text.utf8), to: .profile)
    }

    /// Mismatches in a row; the file is there from the first one on.
    func mismatches() throws(DeviceError) -> Int {
        guard let bytes = try self.read(.sensor, atMost: 32) else { return 0 }
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.hasSuffix("\n"), let count = Int(text.dropLast()), count >= 0 else {
            throw .storage("\(self.path(.sensor)): not a sensor's count")
        }
        return count
    }

    func write(mismatches: Int) throws(DeviceError) {
        try self.write(Array("\(mismatches)\n".utf8), to: .sensor)
    }

    /// The owner's number; chosen when it is first asked for.
    func owner() throws(DeviceError) -> String {
        if let bytes = try self.read(.owner, atMost: 64) {
            let digits = bytes.filter { $0 != 0x0A }
            guard digits.count == 32 else { throw .storage("\(self.path(.owner)): not an owner's number") }
            return String(decoding: digits, as: UTF8.self)
        }
        let digits = SecretBytes.random(count: 16).hexadecimal().exposedBytes()
        try self.write(digits + [0x0A], to: .owner)
        return String(decoding: digits, as: UTF8.self)
    }
}
