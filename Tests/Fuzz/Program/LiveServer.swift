internal import AttestationVerifier
internal import AuditLog
internal import EmbeddedServer
internal import Foundation
internal import HostSystem
internal import Lab
internal import Logging
internal import RemotePINServer
internal import StoreMaintenance
internal import Synchronization
internal import TestSupport
internal import Vault
internal import Vocabulary
internal import WalletStore

/// A production server with its store, vault and audit log in a folder, whose tasks run on the calling thread.
///
/// It serves many inputs, each with wallets and a client address that no other input uses.
final class LiveServer: Sendable {
    let queue: JobQueue
    private let folder: String
    let clock: ManualClock
    let vault: KeyFileVault
    let store: SQLiteWalletStore
    let audit: AuditLog
    let server: RemotePINServer
    /// The authority of the devices that may register.
    let authority = LabAuthority()
    /// The number of inputs so far.
    private let count = Mutex<UInt32>(0)

    /// A policy with so few attempts that a short input reaches both blocks.
    static let policy = AttemptPolicy(rounds: 2, attemptsPerRound: 2, blocks: [.seconds(60)])
    /// The time between two inputs, after which no limit on a source is in effect.
    private static let pause: Duration = .seconds(3_600)
    private static let mostInputs = 20_000

    static func start(in folder: String, _ queue: JobQueue) throws -> LiveServer {
        if DurableFile.exists(folder) { try FileManager.default.removeItem(atPath: folder) }
        try DurableFile.makeFolder(folder)
        try DurableFile.makeFolder("\(folder)/data")
        try KeyFileVault.create(at: "\(folder)/vault.key")
        let started: Result<LiveServer, any Error> = queue.value {
            do { return .success(try await LiveServer(in: folder, queue)) } catch { return .failure(error) }
        }
        return try started.get()
    }

    private init(in folder: String, _ queue: JobQueue) async throws {
        (self.folder, self.queue) = (folder, queue)
        self.clock = ManualClock()
        self.vault = try await KeyFileVault("\(folder)/vault.key")
        self.store = try SQLiteWalletStore.open(
            folder: "\(folder)/data",
            key: RecordKey.derived(by: self.vault),
            creating: true,
            receipts: self.vault.receiptSigner
        )
        let log = AuditLog.Parts(path: "\(folder)/audit.log", vault: self.vault, clock: self.clock)
        try await AuditLog.create(log)
        self.audit = try await AuditLog.open(log)
        let vault = self.vault
        var rules = ServiceRules(sources: SourceLimits(pause: .zero))
        if let policy = Self.policy { rules.attempts = policy }
        var parts = RemotePINServer.Parts(
            rules: rules,
            clock: self.clock,
            store: self.store,
            vault: self.vault,
            attestations: EvidenceVerifier(
                policy: AndroidTarget.policy,
                androidAnchors: [TrustAnchor(certificate: self.authority.androidRootCertificate)].compactMap(\.self),
                appleAnchors: []
            ),
            audit: self.audit,
            log: Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() },
            receiptKeys: { vault.receiptKeys(upTo: $0) }
        )
        // No task waits for real time.
        parts.time.sleepUntil = { _ in }
        self.server = try await RemotePINServer(parts)
    }

    /// Whether another server should take its place, so that the store stays small.
    var isWornOut: Bool { self.count.withLock { $0 } >= Self.mostInputs }

    /// Begins an input and returns its client's address.
    func beginInput() -> String {
        let number = self.count.withLock { count in
            count += 1
            return count
        }
        self.clock.advance(by: Self.pause)
        return "10.\(number >> 16 & 255).\(number >> 8 & 255).\(number & 255)"
    }

    /// Closes the files, and starts another server in the same folder.
    func replaced() -> LiveServer {
        let (audit, store) = (self.audit, self.store)
        self.queue.value {
            await audit.close()
            await store.close()
        }
        do {
            return try Self.start(in: self.folder, self.queue)
        } catch {
            fatalError("the server does not start: \(error)")
        }
    }
}
