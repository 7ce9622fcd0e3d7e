internal import DeviceInterface
internal import Evidence
internal import HostSystem

/// A simulated device's hardware key and its App Attest counter, stored in the file `hardware-key`.
///
/// They share a file that is replaced atomically, so that a crash can never combine a key with another key's counter.
struct HardwareKey: Sendable {
    let key: SigningKey
    /// The number of assertions so far.
    ///
    /// Always 0 on Android.
    var counter: UInt32 = 0

    init() {
        self.key = SigningKey()
    }

    /// Reads the file.
    ///
    /// Returns nil if it does not exist.
    static func read(_ path: String) throws(DeviceError) -> HardwareKey? {
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try DurableFile.readOwn(path, atMost: 4096)
        } catch .notFound {
            return nil
        } catch {
            throw .storage(error.description)
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
        do throws(FileError) {
            try DurableFile.write(Array("\(self.counter)\n\(self.key.pem)".utf8), to: path)
        } catch {
            throw .storage(error.description)
        }
    }
}
