internal import Evidence
internal import HostSystem
internal import Lab
package import Secrets
internal import Statements
internal import Transport
package import Vocabulary
internal import Wire

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

extension FleetWallet {
    /// Creates a complete OpenSession call for a connection.
    ///
    /// On iOS, it uses a new counter, which is first written to the file.
    func sessionCall(
        _ facts: DeviceFacts,
        of fleet: Fleet,
        on connection: ClientConnection
    ) throws(FleetFailure) -> OpenSession {
        let body = OpenSessionBody(appVersion: facts.appVersion, osVersion: facts.osVersion).encoded()
        let statement = Statement(
            .session,
            channelBinding: connection.channelBinding,
            walletID: self.walletID,
            body: body
        )
        let counter = self.platform == .iOS ? try fleet.takeCounter(of: self) : 0
        let proof = Self.proof(
            by: self.keys.hardwareKey(of: self.walletID),
            self.platform,
            of: statement,
            counter: counter
        )
        return OpenSession(walletID: self.walletID, body: body, deviceProof: proof)
    }

    /// Returns the hardware's proof for a statement: a signature on Android, or an assertion with its counter on iOS.
    static func proof(
        by key: SigningKey,
        _ platform: Platform,
        of statement: Statement,
        counter: UInt32
    ) -> DeviceProof {
        let bytes: [UInt8]
        switch platform {
        case .android: bytes = key.signature(for: statement.bytes).bytes
        case .iOS:
            bytes = AppAttestKey(key, appID: LabApp.iOSAppID).assertion(for: statement.digest, counter: counter).encoded
        }
        guard let proof = DeviceProof(bytes) else { preconditionFailure("a proof has fewer than 1024 bytes") }
        return proof
    }
}

extension DeviceFacts {
    func hello(_ platform: Platform) -> Hello {
        Hello(appVersion: self.appVersion, platform: platform, osVersion: self.osVersion)
    }
}

extension ClientConnection {
    /// Sends calls in a single flight and converts the error.
    func flight(_ calls: [Call], timeout: Duration) async throws(FleetFailure) -> [CallResult] {
        try await mapError(of: await self.call(calls, timeout: timeout), to: FleetFailure.call)
    }
}
