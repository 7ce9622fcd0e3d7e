internal import AttestationVerifier
internal import AuditLog
internal import EmbeddedServer
internal import HostSystem
internal import Logging
internal import NIOEmbedded
@testable import RemotePINServer
internal import Secrets
internal import Statements
internal import Vault
internal import Vocabulary
internal import WalletStore
internal import Wire

/// An input of a connection, with the time at which it arrives.
struct Input: Hashable {
    enum Event: Hashable {
        case message(Message)
        case reply(Reply)
        /// The client's side of the connection ends.
        case cut
    }

    var event: Event
    var time: Int8
}

/// The state of a connection after its inputs, as far as the outside can see it.
struct Finding {
    /// The step whose reply the call waits for.
    var operation: Operation?
    /// The answer to the last call, sent since the last input.
    var answer: Answer?
    /// The server has closed the connection.
    var isClosed = false
    /// The connection is registered for its wallet, so that a revocation closes it.
    var isJoined = false
    /// The server has closed the wallet's other connections since the last input.
    var closesOthers = false
    /// The server has entered something in the audit log since the last input.
    var isRecorded = false
    /// The server has read its clock since the last input.
    var readsClock = false
}

/// Runs the production server with one connection, from its inputs.
///
/// A run is a function of its inputs: the executor is serial, and clock, store, vault and messages give the same
/// values each time. The transport is the production one above TLS, on an embedded channel.
final class ServerRun {
    let phone: Phone
    private let queue = JobQueue()
    private let vault: RepeatableVault
    private let clock: SetClock
    private let audit: AuditLog
    private let policy: AttemptPolicy
    private let admin: OperatorCommand
    private(set) var count = 0

    /// A clock that the explorer sets.
    final class SetClock: WallClock {
        let time = Box(Timestamp(milliseconds: 0))
        /// Whether the time was read since this was last set to false.
        let isRead = Box(false)

        func now() -> Timestamp {
            self.isRead.value = true
            return self.time.value
        }
    }

    /// - Parameter folder: An existing empty folder for the audit log.
    init(_ phone: Phone, policy: AttemptPolicy, folder: String) throws {
        self.phone = phone
        self.policy = policy
        try KeyFileVault.create(at: folder + "/vault.key")
        let vault = RepeatableVault(try self.queue.result { try await KeyFileVault(folder + "/vault.key") })
        let clock = SetClock()
        (self.vault, self.clock) = (vault, clock)
        self.audit = try self.queue.result {
            let parts = AuditLog.Parts(path: folder + "/audit.log", vault: vault, clock: clock)
            try await AuditLog.create(parts)
            return try await AuditLog.open(parts)
        }
        self.admin = try OperatorCommand(vault: vault.file, clock: clock, audit: self.audit, folder: folder)
    }

    /// The registration of the phone's wallet.
    func registration() throws -> NewRegistration {
        let (phone, vault) = (self.phone, self.vault)
        let record = IdentityRecord(
            platform: .android,
            hardwareKey: phone.hardware.publicKey,
            appID: "explorer",
            environment: ""
        )
        guard let record else { preconditionFailure("the id of the app is short") }
        let (wallet, code) = (phone.walletID, phone.deletionCode)
        let derived: Result<WalletKeys, VaultError> = self.queue.value {
            do throws(VaultError) {
                return .success(try await vault.keys(of: wallet, opening: []))
            } catch {
                return .failure(error)
            }
        }
        let keys = try derived.get()
        func sealed(_ bytes: [UInt8], _ field: VaultField) throws -> Sealed {
            try keys.seal(.init(copying: bytes), as: field)
        }
        let pinKey = try sealed(phone.first.publicKey.bytes, .pin)
        return NewRegistration(
            walletID: wallet,
            hardwareKeyDigest: .of(phone.hardware.publicKey.bytes),
            identity: try vault.sealIdentity(LayeredIdentity(pinKey: pinKey, facts: record.bytes), of: wallet),
            pinKeyID: phone.firstID,
            unlockShare: try sealed([UInt8](repeating: 1, count: 32), .unlockShare),
            presenceShare: try sealed([UInt8](repeating: 2, count: 32), .presenceShare),
            deletionCode: (try sealed(Array(code.characters.utf8), .deletionCode), code.lookupDigest),
            assertionCounter: nil,
            attested: "{}",
            now: Timestamp(milliseconds: 0)
        )
    }

    /// Runs a connection from its first input to its last and returns its state.
    ///
    /// The wallet has another open connection if the inputs revoke the wallet.
    func finding(after inputs: [Input], place: Int, identity: StoredIdentity) throws -> Finding {
        self.count += 1
        let store = PausedStore(wallet: self.phone.walletID)
        let server = try self.server(with: store)
        self.vault.begin(UInt8(place + 1))
        let isCommand = inputs.first?.event == .message(.command)
        let result = Box<Answer?>(nil)
        let revokes = isCommand || inputs.contains { $0.event == .message(.revoke) }
        var other: ServedConnection?
        var parked: CheckedContinuation<Reply, Never>?
        if revokes {
            let connection = try ServedConnection(server, binding: Phone.channelBinding(of: place + 16), self.queue)
            // Its call waits for the store, past the point at which it is registered for the wallet.
            connection.send(self.phone.frames(.openSession, on: place + 16))
            self.settle([connection]) { store.operation != nil }
            store.take()?.resume(returning: .identity(identity))
            self.settle([connection]) { store.operation != nil }
            parked = store.take()
            other = connection
        }
        let connection = try ServedConnection(server, binding: Phone.channelBinding(of: place), self.queue)
        let all = [connection, other].compactMap(\.self)
        var finding = Finding()
        for input in inputs {
            let (entries, wasOpen) = (self.audit.newest.number, other?.isOpen ?? false)
            self.clock.time.value = Self.time(input.time)
            self.clock.isRead.value = false
            _ = connection.takeAnswers()
            switch input.event {
            case .message(.command): self.admin.revoke(self.phone.walletID, at: server, self.queue, result)
            case .cut: connection.abort()
            case .message(let message): connection.send(self.phone.frames(message, on: place))
            case .reply(let reply): store.take()?.resume(returning: reply)
            }
            self.settle(all) {
                store.operation != nil || (isCommand ? result.value != nil : connection.isAnswered || connection.isDone)
            }
            let answer = isCommand ? result.value : connection.takeAnswers().last.flatMap(Answer.init)
            finding = Finding(
                operation: store.operation,
                answer: answer,
                isClosed: isCommand ? answer != nil : connection.isDone || !connection.isOpen,
                isJoined: other == nil && server.connectionCount(of: self.phone.walletID) > 0,
                closesOthers: wasOpen && other?.isOpen == false,
                isRecorded: self.audit.newest.number > entries,
                readsClock: self.clock.isRead.value
            )
        }
        self.end(all, [parked, store.take()])
        if isCommand { self.settle(all) { result.value != nil } }
        return finding
    }

    /// The time that a place of the clock stands for.
    static func time(_ place: Int8) -> Timestamp {
        Timestamp(milliseconds: 1_795_000_000_000).adding(milliseconds: Int64(place) * 60_000)
    }

    private func settle(_ connections: [ServedConnection], until isDone: () -> Bool) {
        let loops = connections.map(\.loop)
        self.queue.run(loops, until: isDone)
        self.queue.runReady(loops)
    }

    /// Ends the run, so that no task of it is left.
    private func end(_ connections: [ServedConnection], _ waiting: [CheckedContinuation<Reply, Never>?]) {
        for connection in connections { connection.abort() }
        for continuation in waiting { continuation?.resume(returning: .failed(.unavailable)) }
        self.settle(connections) { connections.allSatisfy(\.isDone) }
    }

    private func server(with store: PausedStore) throws -> RemotePINServer {
        let android = AndroidPolicy(apps: [AndroidApp(package: "explorer", signatureDigests: [])])
        let policy = AttestationPolicy(android: android, apple: ApplePolicy(apps: []))
        let parts = RemotePINServer.Parts(
            rules: ServiceRules(attempts: self.policy),
            clock: self.clock,
            store: store,
            vault: self.vault,
            attestations: EvidenceVerifier(policy: policy, androidAnchors: [], appleAnchors: []),
            audit: self.audit,
            log: Logger(label: "explorer") { _ in SwiftLogNoOpLogHandler() }
        )
        self.vault.begin(0)
        let server: Result<RemotePINServer, any Error> = self.queue.value {
            do { return .success(try await RemotePINServer(parts)) } catch { return .failure(error) }
        }
        return try server.get()
    }
}
