package import FastSigning
internal import Lab
package import Secrets
internal import Statements
package import Vocabulary

/// One wallet of a fleet: a cheap value, whose keys are derived when they are asked for.
package struct FleetWallet: Sendable {
    /// Its number among the registered ones.
    package let index: Int
    package let walletID: WalletID
    package let platform: Platform
    /// Which of its PINs counts, as far as the file knows: a session knows better.
    package let generation: UInt32

    /// Where it stands in the file.
    let slot: Int
    let shareCheck: [UInt8]
    let keys: FleetKeys

    init(index: Int, slot: Int, record: FleetRecord, keys: FleetKeys) {
        self.index = index
        self.slot = slot
        self.walletID = record.walletID
        self.platform = record.platform
        self.generation = record.generation
        self.shareCheck = record.shareCheck
        self.keys = keys
    }

    /// The key that an entry gives; as costly as on a phone.
    ///
    /// - Parameter generation: the PIN that counts; as the file knows it where it is left out.
    package func pinKey(_ entry: PINChoice, generation: UInt32? = nil) -> FastPINKey {
        self.keys.pinKey(of: self.walletID, generation: generation ?? self.generation, entry: entry)
    }

    /// The public name of a PIN's key.
    package func pinKeyID(generation: UInt32) -> PINKeyID {
        self.keys.pinKeyID(of: self.walletID, generation: generation)
    }

    /// Whether this is the unlock share that the wallet was registered with, so that the server has judged the right PIN.
    package func proves(_ share: Share) -> Bool {
        constantTimeEqual(Self.check(of: share), self.shareCheck)
    }

    /// What is kept of a share.
    static func check(of share: Share) -> [UInt8] {
        Array(SlotKeys.checkValue(share: share).prefix(FleetRecord.shareCheckByteCount))
    }

    /// The generation whose key has this id; nil where it is none of the next.
    ///
    /// The file may be behind the server: the answer to a change may have been lost, or the last writes with the machine.
    func generation(of id: PINKeyID, from first: UInt32) -> UInt32? {
        (first...max(first, first &+ Self.generationsAhead)).first { self.pinKeyID(generation: $0) == id }
    }

    private static let generationsAhead: UInt32 = 4096
}

/// What all wallets of a fleet say of the app and the phone that they run on.
enum FleetPhone {
    static let android = AndroidPhone()
    static let iOSVersion = "26.1"
    static let iOSModel = "iPhone17,1"

    /// The facts of a registration.
    static func facts(_ platform: Platform) -> DeviceFacts {
        guard let version = AppVersion(LabApp.version),
            let osVersion = DeviceText(platform == .android ? self.android.osVersion : self.iOSVersion)
        else { preconditionFailure("the lab's app and phones have versions") }
        let model = platform == .android ? self.android.model : self.iOSModel
        return DeviceFacts(appVersion: version, osVersion: osVersion, model: DeviceText(model))
    }
}
