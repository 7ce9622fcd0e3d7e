internal import Evidence
internal import FastSigning
internal import Lab
internal import Secrets
internal import Statements
package import Transport
package import Vocabulary
internal import Wire

/// A wallet that a server has just registered, and that is in no file yet.
package struct NewWallet: Sendable {
    package let walletID: WalletID
    package let platform: Platform
    /// What the answer's share is known again by.
    let shareCheck: [UInt8]
    /// Of the proof that registered it; 0 on Android.
    let counter: UInt32
    let generation: UInt32
}

/// Makes the evidence of phones, with a lab's authority, and registers wallets with it.
///
/// The server's work is that of a real phone's registration: chain, key description or authenticator data, both
/// signatures. All wallets of a fleet come over few connections; Hello is said once on each.
package struct Registrar: Sendable {
    let keys: FleetKeys
    private let counterBase: UInt64
    private let authority: LabAuthority
    private let clock: any WallClock

    /// Reads the authority.
    ///
    /// - Parameter fleet: whose seed the keys come from.
    package init(for fleet: Fleet, at target: Target) throws(Target.Problem) {
        self.authority = try target.authority()
        self.clock = target.clock
        self.keys = fleet.keys
        self.counterBase = fleet.counterBase
    }

    /// Says hello, and nothing else, on a new connection on which wallets are to be registered.
    package static func greet(_ connection: ClientConnection, timeout: Duration) async throws(FleetFailure) {
        let answers = try await connection.flight([self.hello], timeout: timeout)
        if case .refused(let refusal) = answers.first { throw .refused(refusal.reason) }
        guard case .hello = answers.first else { throw .unexpectedAnswer }
    }

    static var hello: Call { .hello(FleetPhone.facts(.android).hello(.android)) }

    /// Registers one wallet on a connection that has said hello: an enrollment and its end, two round trips.
    package func register(
        _ platform: Platform,
        on connection: ClientConnection,
        timeout: Duration
    ) async throws(FleetFailure) -> NewWallet {
        let began = try await connection.flight([.beginEnrollment], timeout: timeout)
        if case .refused(let refusal) = began.first { throw .refused(refusal.reason) }
        guard case .beginEnrollment(let enrollment) = began.first else { throw .unexpectedAnswer }
        let call = self.call(enrollment, platform, attempt: 0, on: connection)
        let ended = try await connection.flight([.register(call)], timeout: timeout)
        if case .refused(let refusal) = ended.first { throw .refused(refusal.reason) }
        guard case .register(let registration) = ended.first else { throw .unexpectedAnswer }
        return self.wallet(enrollment, platform, attempt: 0, registration)
    }

    /// The wallet that an answer made of an enrollment.
    func wallet(
        _ enrollment: Enrollment,
        _ platform: Platform,
        attempt: UInt32,
        _ registration: Registration
    ) -> NewWallet {
        NewWallet(
            walletID: enrollment.walletID,
            platform: platform,
            shareCheck: FleetWallet.check(of: registration.unlockShare),
            counter: platform == .iOS ? attempt + 1 : 0,
            generation: attempt
        )
    }

    /// A complete Register call with evidence of its own.
    ///
    /// - Parameter attempt: how often this enrollment was sent before; each has another PIN key id, so that a message
    ///   thought lost that arrives last is told from the one that was answered.
    func call(
        _ enrollment: Enrollment,
        _ platform: Platform,
        attempt: UInt32,
        on connection: ClientConnection
    ) -> Register {
        let walletID = enrollment.walletID
        let hardwareKey = self.keys.hardwareKey(of: walletID)
        let pinKey = self.keys.pinKey(of: walletID, generation: attempt, entry: .right)
        let body = RegisterBody(
            pinPublicKey: pinKey.publicKey,
            pinKeyID: self.keys.pinKeyID(of: walletID, generation: attempt),
            attestation: self.evidence(for: hardwareKey, platform, challenge: .of(enrollment.token)),
            device: FleetPhone.facts(platform)
        ).encoded()
        func statement(_ purpose: Purpose) -> Statement {
            Statement(purpose, channelBinding: connection.channelBinding, walletID: walletID, body: body)
        }
        return Register(
            token: enrollment.token,
            body: body,
            pinSignature: pinKey.sign(statement(.registerPIN)).signature,
            deviceProof: FleetWallet.proof(
                by: hardwareKey,
                platform,
                of: statement(.registerDevice),
                counter: UInt32(truncatingIfNeeded: self.counterBase + UInt64(attempt) + 1)
            )
        )
    }

    private func evidence(for key: SigningKey, _ platform: Platform, challenge: SHA256Digest) -> Attestation {
        let time = self.clock.now()
        switch platform {
        case .android:
            let description = FleetPhone.android.keyDescription(challenge: challenge, at: time)
            let chain = self.authority.androidChain(for: key.publicKey, description: description, at: time)
            return .android(certificates: chain)
        case .iOS:
            let attested = AppAttestKey(key, appID: LabApp.iOSAppID)
            let object = attested.attestation(
                saying: attested.attestedData,
                challenge: challenge,
                by: self.authority,
                at: time
            )
            return .apple(object: object.encoded, keyID: attested.id)
        }
    }
}
