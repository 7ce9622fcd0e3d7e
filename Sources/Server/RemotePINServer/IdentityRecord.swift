internal import Vocabulary
internal import WalletStore

/// Who a wallet is: the key of its hardware, the app that holds it and the PIN that counts.
///
/// It is sealed as one value, so that a writer of the database can put back an earlier one of the same wallet but never
/// combine one wallet's hardware with another's PIN. Form of the proofs, app and environment are fixed here at
/// registration; no message chooses them.
struct IdentityRecord: Hashable {
    let platform: Platform
    let hardwareKey: P256PublicKey
    /// Package or team and bundle id, 1 to 255 bytes.
    let appID: String
    /// App Attest's environment, at most 31 bytes; empty on Android.
    let environment: String
    var pinKey: P256PublicKey
    var pinKeyID: PINKeyID

    /// Nil where a text is longer than its field.
    init?(
        platform: Platform,
        hardwareKey: P256PublicKey,
        appID: String,
        environment: String,
        pinKey: P256PublicKey,
        pinKeyID: PINKeyID
    ) {
        guard (1...255).contains(appID.utf8.count), environment.utf8.count <= 31 else { return nil }
        self.platform = platform
        self.hardwareKey = hardwareKey
        self.appID = appID
        self.environment = environment
        self.pinKey = pinKey
        self.pinKeyID = pinKeyID
    }

    /// The same wallet with another PIN.
    func with(pinKey: P256PublicKey, id: PINKeyID) -> IdentityRecord {
        var record = self
        record.pinKey = pinKey
        record.pinKeyID = id
        return record
    }
}

/// A wallet's identity beside the sealed value that it was opened from.
///
/// The sealed value is what the store compares: the record may be judged with only while that one is on file.
///
/// A class, so that a call takes one reference along and not those of all its parts; it never changes.
final class OpenedIdentity: Sendable {
    let record: IdentityRecord
    let sealed: Sealed

    init(record: IdentityRecord, sealed: Sealed) {
        self.record = record
        self.sealed = sealed
    }
}

// The bytes that are sealed: version 1 ‖ platform ‖ hardware key ‖ PIN key ‖ PIN key id ‖ app id ‖ environment, the two
// texts with their length in front and zeros behind. All have one length, so the sealed value tells nothing apart.
extension IdentityRecord {
    /// The length of every record.
    static let byteCount = 2 + 65 + 65 + 16 + 256 + 32
    private static let version: UInt8 = 1

    var bytes: [UInt8] {
        var bytes = [Self.version, self.platform == .android ? 1 : 2]
        bytes.reserveCapacity(Self.byteCount)
        bytes += self.hardwareKey.bytes
        bytes += self.pinKey.bytes
        bytes += self.pinKeyID.bytes
        bytes += Self.field(self.appID, byteCount: 256)
        bytes += Self.field(self.environment, byteCount: 32)
        return bytes
    }

    /// Reads what ``bytes`` wrote; nil for anything else.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount, bytes[0] == Self.version, bytes[1] == 1 || bytes[1] == 2,
            let hardwareKey = P256PublicKey(bytes[2..<67]), let pinKey = P256PublicKey(bytes[67..<132]),
            let pinKeyID = PINKeyID(bytes[132..<148]), let appID = Self.text(bytes[148..<404]),
            let environment = Self.text(bytes[404..<436])
        else { return nil }
        self.init(
            platform: bytes[1] == 1 ? .android : .iOS,
            hardwareKey: hardwareKey,
            appID: appID,
            environment: environment,
            pinKey: pinKey,
            pinKeyID: pinKeyID
        )
    }

    private static func field(_ text: String, byteCount: Int) -> [UInt8] {
        let utf8 = Array(text.utf8)
        return [UInt8(utf8.count)] + utf8 + Array(repeating: 0, count: byteCount - 1 - utf8.count)
    }

    private static func text(_ field: ArraySlice<UInt8>) -> String? {
        guard let length = field.first, Int(length) < field.count else { return nil }
        let text = field.dropFirst().prefix(Int(length))
        guard !text.contains(0), field.dropFirst(1 + text.count).allSatisfy({ $0 == 0 }) else { return nil }
        return String(decoding: text, as: UTF8.self)
    }
}
