package import WalletFlows
package import SimulatedPhone
import Foundation
import LabFiles
package import Secrets
package import Statements
import Synchronization
import HostSystem
package import Transport
package import Vocabulary
package import Wire

/// The address and trust of a server, for tests that speak the protocol directly.
package struct TestServer: Sendable {
    package let host: String
    package let port: Int
    package let tls: TLSClientContext
    package let authorityFolder: String
    package let clock: any WallClock

    package init(host: String, port: Int, tls: TLSClientContext, authorityFolder: String, clock: any WallClock) {
        self.host = host
        self.port = port
        self.tls = tls
        self.authorityFolder = authorityFolder
        self.clock = clock
    }

    /// The server of a lab, as `lab.yaml` describes it.
    package init(lab folder: String) throws {
        let lab = try LabFile(of: LabFolder(folder))
        let pem = try DurableFile.read(lab.caFile, atMost: 1 << 20)
        self.init(
            host: lab.host,
            port: lab.port,
            tls: try TLSClientContext(trust: .authority(pem: pem), serverName: lab.serverName),
            authorityFolder: lab.authority,
            clock: try FollowedLabClock(file: lab.clockFile)
        )
    }

    /// A new connection without any messages yet.
    package func connect() async throws -> ClientConnection {
        try await ClientConnection.connect(
            host: self.host,
            port: self.port,
            tls: self.tls,
            timeout: TestWallet.patience
        )
    }

    /// A new connection that has said hello.
    package func greet(
        _ platform: Platform = .android,
        appVersion: String = "1.0.0"
    ) async throws -> ClientConnection {
        let connection = try await self.connect()
        try await connection.greet(platform, appVersion: appVersion)
        return connection
    }
}

extension ClientConnection {
    /// Makes the first call, as a wallet does.
    package func greet(_ platform: Platform = .android, appVersion: String = "1.0.0") async throws {
        let hello = Hello(
            appVersion: try AppVersion(appVersion).orThrow(),
            platform: platform,
            osVersion: try DeviceText("16").orThrow()
        )
        guard case .hello = try await self.call(.hello(hello), timeout: TestWallet.patience) else {
            throw UnexpectedAnswer()
        }
    }
}

/// The server gave another answer than the step needs.
package struct UnexpectedAnswer: Error, CustomStringConvertible {
    package var refusal: Refusal.Reason?

    package init(_ result: CallResult? = nil) {
        if case .refused(let refusal) = result { self.refusal = refusal.reason }
    }

    package var description: String {
        self.refusal.map { "the server refused: \($0)" } ?? "the server gave another answer than the step needs"
    }
}

extension Optional where Wrapped: ~Copyable {
    /// The value, or an error if it is nil.
    public consuming func orThrow() throws -> Wrapped {
        switch consume self {
        case .some(let value): return value
        case .none: throw UnexpectedAnswer()
        }
    }
}

/// A wallet of keys alone, without screens and storage; it sends the messages that a test wants, valid or not.
package final class TestWallet: Sendable {
    /// The timeout of a call, far above any real duration.
    package static let patience: Duration = .seconds(60)

    package let server: TestServer
    package let device: SimulatedDevice
    package let walletID: WalletID
    package let token: [UInt8]
    /// The code from the last registration.
    package let deletionCode: DeletionCode?
    package let unlockShare: Share

    /// The current pair, as far as this wallet knows.
    private let pair: Mutex<PINPair>

    /// The device's stored data for a PIN: its key's id and its salt.
    package struct PINPair: Sendable {
        package let id: PINKeyID
        let salt: [UInt8]

        package init(id: PINKeyID = .random()) {
            self.id = id
            self.salt = SecretBytes.random(count: PINKey.saltByteCount).exposedBytes()
        }

        /// The key derived from a PIN with this salt.
        package func key(for pin: String) throws -> PINKey {
            PINKey(pin: try PIN(copying: Array(pin.utf8)).orThrow(), salt: SecretBytes(copying: self.salt))
        }
    }

    private init(
        server: TestServer,
        device: SimulatedDevice,
        enrollment: Enrollment,
        registration: Registration,
        pair: PINPair
    ) {
        self.server = server
        self.device = device
        self.walletID = enrollment.walletID
        self.token = enrollment.token
        self.deletionCode = registration.deletionCode
        self.unlockShare = registration.unlockShare
        self.pair = Mutex(pair)
    }

    package var pinPair: PINPair {
        get { self.pair.withLock { $0 } }
        set { self.pair.withLock { $0 = newValue } }
    }

    /// Registers a new wallet with a separate device below `folder`.
    package static func register(
        at server: TestServer,
        folder: String,
        profile: DeviceProfile = DeviceProfile(.android),
        pin: String
    ) async throws -> TestWallet {
        let device = try SimulatedDevice(
            folder: folder + "/" + UUID().uuidString,
            authorityFolder: server.authorityFolder,
            clock: server.clock,
            new: profile
        )
        let connection = try await server.greet(profile.platform, appVersion: profile.appVersion)
        defer { connection.close() }
        let began = try await connection.call(.beginEnrollment, timeout: self.patience)
        guard case .beginEnrollment(let enrollment) = began else { throw UnexpectedAnswer(began) }
        let pair = PINPair()
        let call = try await self.registration(of: device, enrollment, pair: pair, pin: pin, on: connection)
        let result = try await connection.call(.register(call), timeout: self.patience)
        guard case .register(let registration) = result else { throw UnexpectedAnswer(result) }
        return TestWallet(
            server: server,
            device: device,
            enrollment: enrollment,
            registration: registration,
            pair: pair
        )
    }

    /// A complete Register call for an enrollment; creates a new hardware key and evidence unless they are
    /// given.
    package static func registration(
        of device: SimulatedDevice,
        _ enrollment: Enrollment,
        pair: PINPair,
        pin: String,
        on connection: ClientConnection,
        evidence: DeviceEvidence? = nil
    ) async throws -> Register {
        let challenge = Vocabulary.SHA256Digest.of(enrollment.token)
        let attestation: Attestation
        let made: DeviceEvidence
        if let evidence { made = evidence } else { made = try await device.createKey(challenge: challenge) }
        switch made {
        case .android(let chain): attestation = .android(certificates: chain)
        case .apple(let object, let keyID):
            attestation = .apple(object: object, keyID: try Vocabulary.SHA256Digest(keyID).orThrow())
        }
        let key = try pair.key(for: pin)
        let body = RegisterBody(
            pinPublicKey: key.publicKey,
            pinKeyID: pair.id,
            attestation: attestation,
            device: DeviceFacts(
                appVersion: try AppVersion(device.appVersion).orThrow(),
                osVersion: try DeviceText(device.osVersion).orThrow(),
                model: DeviceText(device.model)
            )
        ).encoded()
        func statement(_ purpose: Purpose) -> Statement {
            Statement(
                purpose,
                channelBinding: connection.channelBinding,
                walletID: enrollment.walletID,
                body: body
            )
        }
        return Register(
            token: enrollment.token,
            body: body,
            pinSignature: key.sign(statement(.registerPIN)),
            deviceProof: try DeviceProof(await device.prove(statement: statement(.registerDevice).bytes)).orThrow()
        )
    }

    /// A complete OpenSession call for a connection.
    package func sessionCall(on connection: ClientConnection) async throws -> OpenSession {
        try await Self.sessionCall(of: self.device, self.walletID, on: connection)
    }

    /// The call that any device may make for any wallet.
    package static func sessionCall(
        of device: any Device,
        _ walletID: WalletID,
        on connection: ClientConnection
    ) async throws -> OpenSession {
        let body = OpenSessionBody(
            appVersion: try AppVersion(device.appVersion).orThrow(),
            osVersion: try DeviceText(device.osVersion).orThrow()
        ).encoded()
        let statement = Statement(.session, channelBinding: connection.channelBinding, walletID: walletID, body: body)
        return OpenSession(
            walletID: walletID,
            body: body,
            deviceProof: try DeviceProof(await device.prove(statement: statement.bytes)).orThrow()
        )
    }

    /// Connects, says hello and opens a session.
    package func openSession() async throws -> TestSession {
        let connection = try await self.server.greet(
            self.device.platform,
            appVersion: self.device.appVersion
        )
        let result = try await connection.call(
            .openSession(await self.sessionCall(on: connection)),
            timeout: Self.patience
        )
        guard case .openSession(let opening) = result else { throw UnexpectedAnswer(result) }
        return TestSession(wallet: self, connection: connection, opening: opening)
    }
}

/// A session of a ``TestWallet``; counts its instructions.
package final class TestSession: Sendable {
    package let wallet: TestWallet
    package let connection: ClientConnection
    package let opening: SessionOpening
    private let counter = Mutex<UInt64>(0)

    package init(wallet: TestWallet, connection: ClientConnection, opening: SessionOpening) {
        self.wallet = wallet
        self.connection = connection
        self.opening = opening
    }

    /// The PIN state when the session was opened; nil if the wallet is revoked.
    package var pinState: PINState? {
        guard case .active(let wallet) = self.opening else { return nil }
        return wallet.pinState
    }

    /// A complete Instruct call, by default with the next counter, a new attempt and the wallet's present pair.
    package func instructCall(
        _ instruction: Instruction = .checkPIN,
        pin: String,
        attemptID: AttemptID = .random(),
        counter: UInt64? = nil,
        pair: TestWallet.PINPair? = nil,
        newPIN: (pair: TestWallet.PINPair, pin: String)? = nil
    ) throws -> Instruct {
        let counter =
            counter
            ?? self.counter.withLock { last in
                last += 1
                return last
            }
        let pair = pair ?? self.wallet.pinPair
        let key = try pair.key(for: pin)
        let body = InstructBody(
            attemptID: attemptID,
            pinKeyID: pair.id,
            candidate: key.publicKey,
            instruction: instruction
        ).encoded()
        var newSignature: P256Signature?
        if let newPIN {
            newSignature = try newPIN.pair.key(for: newPIN.pin).sign(self.statement(.newPIN, counter, body))
        }
        return Instruct(
            counter: counter,
            body: body,
            pinSignature: key.sign(self.statement(.instructPIN, counter, body)),
            newPINSignature: newSignature
        )
    }

    private func statement(_ purpose: Purpose, _ counter: UInt64, _ body: [UInt8]) -> Statement {
        Statement(
            purpose,
            channelBinding: self.connection.channelBinding,
            walletID: self.wallet.walletID,
            counter: counter,
            body: body
        )
    }

    /// Checks a PIN whose key was derived in advance, so that a load test measures the server and not the
    /// derivation.
    package func check(with key: borrowing PINKey) async throws -> CallResult {
        let counter = self.counter.withLock { last in
            last += 1
            return last
        }
        let body = InstructBody(
            attemptID: .random(),
            pinKeyID: self.wallet.pinPair.id,
            candidate: key.publicKey,
            instruction: .checkPIN
        ).encoded()
        let signature = key.sign(self.statement(.instructPIN, counter, body))
        let call = Instruct(counter: counter, body: body, pinSignature: signature)
        return try await self.connection.call(.instruct(call), timeout: TestWallet.patience).withoutReceipt
    }

    /// Checks a PIN, or carries out an instruction that needs a right one.
    package func instruct(
        _ instruction: Instruction = .checkPIN,
        pin: String,
        attemptID: AttemptID = .random()
    ) async throws -> CallResult {
        let call = try self.instructCall(instruction, pin: pin, attemptID: attemptID)
        return try await self.connection.call(.instruct(call), timeout: TestWallet.patience).withoutReceipt
    }

    /// Changes the PIN; the wallet uses the new one afterwards if the server accepted it.
    ///
    /// - Parameter id: The id of the new pair; a new one unless the test reuses another.
    package func changePIN(from old: String, to new: String, id: PINKeyID = .random()) async throws -> CallResult {
        let pair = TestWallet.PINPair(id: id)
        let key = try pair.key(for: new).publicKey
        let call = try self.instructCall(
            .changePIN(newKey: key, newKeyID: pair.id),
            pin: old,
            newPIN: (pair, new)
        )
        let result = try await self.connection.call(.instruct(call), timeout: TestWallet.patience).withoutReceipt
        if case .instruct(.pinChanged) = result { self.wallet.pinPair = pair }
        return result
    }
}
