internal import Lab
package import Secrets
internal import Statements
package import Vocabulary

/// A wallet of a fleet, as a small value whose keys are derived on demand.
package struct FleetWallet: Sendable {
    /// Its index among the registered wallets.
    package let index: Int
    package let walletID: WalletID
    package let platform: Platform
    /// The generation of the current PIN according to the file.
    ///
    /// A session may have a newer one.
    package let generation: UInt32

    /// Its slot in the file.
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

    /// Returns the key for an entered PIN.
    ///
    /// - Parameter generation: The generation of the right PIN. If nil, the one in the file is used.
    package func pinKey(_ entry: PINChoice, generation: UInt32? = nil) -> FleetPINKey {
        self.keys.pinKey(of: self.walletID, generation: generation ?? self.generation, entry: entry)
    }

    /// Returns the public id of a PIN key.
    package func pinKeyID(generation: UInt32) -> PINKeyID {
        self.keys.pinKeyID(of: self.walletID, generation: generation)
    }

    /// Returns whether this is the unlock share from the wallet's registration, which shows that the right PIN was
    /// judged.
    package func proves(_ share: Share) -> Bool {
        if let proven = self.keys.provenShares[self.walletID], proven.isEqual(to: share) { return true }
        let isProven = constantTimeEqual(Self.check(of: share), self.shareCheck)
        if isProven { self.keys.provenShares[self.walletID] = share }
        return isProven
    }

    /// Returns the part of a share that is stored in the file.
    static func check(of share: Share) -> [UInt8] {
        Array(SlotKeys.checkValue(share: share).prefix(FleetRecord.shareCheckByteCount))
    }

    /// Returns the generation whose key has this id, or nil if it is not one of the next ones.
    ///
    /// The file may lag behind the server if the response to a PIN change, or the last writes to the file, were lost.
    func generation(of id: PINKeyID, from first: UInt32) -> UInt32? {
        (first...max(first, first &+ Self.generationsAhead)).first { self.pinKeyID(generation: $0) == id }
    }

    private static let generationsAhead: UInt32 = 4096
}

/// The app and phone reported by all wallets of a fleet.
enum FleetPhone {
    static let android = AndroidPhone()
    static let iOSVersion = "26.1"
    static let iOSModel = "iPhone17,1"

    /// Returns the facts used in a registration.
    static func facts(_ platform: Platform) -> DeviceFacts {
        guard let version = AppVersion(LabApp.version),
            let osVersion = DeviceText(platform == .android ? self.android.osVersion : self.iOSVersion)
        else { preconditionFailure("the lab's app and phones have versions") }
        let model = platform == .android ? self.android.model : self.iOSModel
        return DeviceFacts(appVersion: version, osVersion: osVersion, model: DeviceText(model))
    }
}
