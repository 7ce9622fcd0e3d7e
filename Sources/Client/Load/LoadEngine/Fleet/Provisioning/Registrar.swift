internal import Evidence
internal import Lab
internal import Secrets
internal import Statements
package import Transport
package import Vocabulary
internal import Wire

/// A wallet that the server has just registered and that has not been written to a file yet.
package struct NewWallet: Sendable {
    package let walletID: WalletID
    package let platform: Platform
    /// Identifies the share in the response.
    let shareCheck: [UInt8]
    /// The counter of the proof that registered it, or 0 on Android.
    let counter: UInt32
    let generation: UInt32
}

/// Creates evidence for simulated phones with a lab's authority, and registers wallets with it.
///
/// The server does the same work as for a real phone: certificate chain, key description or authenticator data, and
/// both signatures. All wallets of a fleet share a few connections, and each connection sends Hello once.
package struct Registrar: Sendable {
    let keys: FleetKeys
    private let counterBase: UInt64
    private let authority: LabAuthority
    private let clock: any WallClock

    /// Reads the authority.
    ///
    /// - Parameter fleet: The fleet whose seed the keys are derived from.
    package init(for fleet: Fleet, at target: Target) throws(Target.Problem) {
        self.authority = try target.authority()
        self.clock = target.clock
        self.keys = fleet.keys
        self.counterBase = fleet.counterBase
    }

    /// Sends Hello on a new connection used for registrations.
    package static func greet(_ connection: ClientConnection, timeout: Duration) async throws(FleetFailure) {
        switch try await connection.flight([self.hello], timeout: timeout).first {
        case .hello: return
        case .refused(let refusal): throw .refused(refusal.reason)
        default: throw .unexpectedAnswer
        }
    }

    static var hello: Call { .hello(FleetPhone.facts(.android).hello(.android)) }

    /// Registers one wallet on a connection after Hello.
    ///
    /// This takes two round trips: BeginEnrollment and Register.
    package func register(
        _ platform: Platform,
        on connection: ClientConnection,
        timeout: Duration
    ) async throws(FleetFailure) -> NewWallet {
        let enrollment = try Self.enrollment(try await connection.flight([.beginEnrollment], timeout: timeout).first)
        let call = self.call(enrollment, platform, attempt: 0, on: connection)
        switch try await connection.flight([.register(call)], timeout: timeout).first {
        case .register(let registration): return self.wallet(enrollment, platform, attempt: 0, registration)
        case .refused(let refusal): throw .refused(refusal.reason)
        default: throw .unexpectedAnswer
        }
    }

    static func enrollment(_ answer: CallResult?) throws(FleetFailure) -> Enrollment {
        switch answer {
        case .beginEnrollment(let enrollment): return enrollment
        case .refused(let refusal): throw .refused(refusal.reason)
        default: throw .unexpectedAnswer
        }
    }

    /// Creates the wallet that results from registering an enrollment.
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

    /// Creates a complete Register call with its own evidence.
    ///
    /// - Parameter attempt: The number of earlier calls for this enrollment. Each call has a different PIN key id. If a
    ///   call that seemed lost arrives last, the server's state then shows which of the calls it executed.
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
            pinSignature: pinKey.sign(statement(.registerPIN)),
            deviceProof: FleetWallet.proof(
                by: self.keys.hardwareKey(of: walletID),
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
