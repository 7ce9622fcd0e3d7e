package import Administration
package import AttestationVerifier
package import AuditLog
package import SimulatedPhone
internal import Evidence
internal import Lab
internal import Logging
package import RemotePINServer
package import Statements
package import StoreMaintenance
package import MetricsEndpoint
internal import Telemetry
internal import HostSystem
package import TestSupport
package import Transport
package import Vault
package import Vocabulary
package import WalletStore

/// A real server in this process: a listener on loopback, SQLite in a temporary folder, a key-file
/// vault and a lab authority, with a manual clock.
package final class InProcessServer: Sendable {
    package let folder = TemporaryFolder()
    package let clock = ManualClock()
    package let store: SQLiteWalletStore
    package let server: RemotePINServer
    package let listener: RPCListener
    /// A second listener of the same server, for misbehaving peers.
    package let impatient: RPCListener
    package let log = RecordedLog()
    /// The metrics of the server.
    package let metrics = MetricRegistry()
    package let audit: AuditLog
    package let vault: KeyFileVault
    package let maintenance: Maintenance
    /// Carries out the commands of operators; their clock is the test's.
    package let commands: AdminService
    /// The address and trust for clients.
    package let endpoint: TestServer

    /// The settings that a test may change.
    package struct Options {
        /// Without the pause after rate-limited calls, which would slow tests down.
        package var rules = ServiceRules(sources: SourceLimits(pause: .zero))
        package var android: (inout AndroidPolicy) -> Void = { _ in }
        /// Whether the lab's list of revoked certificates is used.
        package var usesStatusList = false
        /// The limits for peers on ``InProcessServer/impatient``; a test's own wallets have the
        /// default ones, so that a busy machine does not disturb them.
        package var limits = TransportLimits()
        /// Wraps the store for the server.
        package var wrapping: (any WalletStore) -> any WalletStore = { $0 }
        /// The server's lease, as if others used the store.
        package var lease: (any ServerLease)?
        /// Opens the vault of a new key file.
        package var openingVault: @Sendable (_ path: String) async throws -> KeyFileVault = {
            try await KeyFileVault($0)
        }
        /// Wraps the vault for the server.
        package var wrappingVault: (any Vault) -> any Vault = { $0 }
        /// Replaces the signer of receipts.
        package var receiptSigner: (KeyFileVault) -> any ReceiptSigner = { $0.receiptSigner }
        /// The time of the server's pauses and timers.
        package var time = PassingTime()

        package init() {}
    }

    private init(_ options: Options) async throws {
        let path = self.folder.path
        let authority = try LabAuthority.create(in: "\(path)/authority")
        let (chain, key) = authority.issueTLSServerCertificate(names: ["localhost", "127.0.0.1"])
        try DurableFile.write(Array(chain.utf8), to: "\(path)/tls.pem")
        try DurableFile.write(Array(key.utf8), to: "\(path)/tls.key")
        try KeyFileVault.create(at: "\(path)/vault.key")
        try DurableFile.makeFolder("\(path)/data")
        self.vault = try await options.openingVault("\(path)/vault.key")
        self.store = try SQLiteWalletStore.open(
            folder: "\(path)/data",
            key: RecordKey.derived(by: self.vault),
            creating: true,
            receipts: options.receiptSigner(self.vault),
            metrics: self.metrics
        )
        let audit = AuditLog.Parts(path: "\(path)/audit.log", vault: self.vault, clock: self.clock)
        try await AuditLog.create(audit)
        self.audit = try await AuditLog.open(audit)
        let handler = self.log.handler
        self.maintenance = Maintenance(
            Maintenance.Parts(
                store: self.store,
                lease: options.lease,
                vault: self.vault,
                clock: self.clock,
                audit: self.audit,
                epoch: 1,
                purgeAfter: .seconds(365 * 86_400),
                tokenLifetime: ServiceRules().tokenLifetime,
                sessionLifetime: ServiceRules().sessionLifetime,
                log: Logger(label: "test") { _ in handler }
            )
        )
        var parts = RemotePINServer.Parts(
            rules: options.rules,
            clock: self.clock,
            store: options.wrapping(self.store),
            lease: options.lease,
            vault: options.wrappingVault(self.vault),
            attestations: try Self.verifier(authority, options),
            audit: self.audit,
            log: Logger(label: "test") { _ in handler },
            receiptKeys: { [vault = self.vault] in vault.receiptKeys(upTo: $0) },
            metrics: self.metrics
        )
        parts.time = options.time
        self.server = try await RemotePINServer(parts)
        let (server, clock, vault) = (self.server, self.clock, self.vault)
        self.commands = AdminService(
            of: server,
            advance: { duration in
                clock.advance(by: duration)
                return clock.now()
            },
            operations: ServerOperations(
                version: "test",
                reload: { await server.reload() },
                logLevel: { SetLogLevel.Reply(level: $0 ?? .info, changed: $0 != nil) },
                certificateExpiry: { Timestamp(milliseconds: 9_000_000_000_000) },
                keyVersions: { (vault.versions, vault.activeVersion) },
                maintenance: self.maintenance
            )
        )
        let tls = try TLSServerContext(certificateFile: "\(path)/tls.pem", keyFile: "\(path)/tls.key")
        self.listener = try await RPCListener.bind(host: "127.0.0.1", port: 0, tls: tls)
        self.impatient = try await RPCListener.bind(host: "127.0.0.1", port: 0, tls: tls, limits: options.limits)
        self.endpoint = TestServer(
            host: "127.0.0.1",
            port: self.listener.port,
            tls: try TLSClientContext(
                trust: .authority(pem: Array(authority.tlsAuthorityPEM.utf8)),
                serverName: "localhost"
            ),
            authorityFolder: "\(path)/authority",
            clock: self.clock
        )
    }

    private static func verifier(_ authority: LabAuthority, _ options: Options) throws -> EvidenceVerifier {
        var android = AndroidPolicy(
            apps: [AndroidApp(package: LabApp.androidPackage, signatureDigests: [LabApp.androidSigningDigest])]
        )
        options.android(&android)
        let apple = ApplePolicy(apps: [AppleApp(id: "\(LabApp.iOSTeam).\(LabApp.iOSBundle)")])
        let anchors = [
            TrustAnchor(certificate: authority.androidRootCertificate),
            TrustAnchor(certificate: authority.appleRootCertificate),
        ].compactMap(\.self)
        guard anchors.count == 2 else { preconditionFailure("a lab's roots can be read") }
        return EvidenceVerifier(
            policy: AttestationPolicy(android: android, apple: apple),
            androidAnchors: [anchors[0]],
            appleAnchors: [anchors[1]],
            statusList: options.usesStatusList
                ? StatusList(json: Array(LabAuthority.statusList.utf8), fetched: Timestamp(milliseconds: 0)) : nil
        )
    }

    /// Runs a server for the duration of `body`.
    package static func run(_ options: Options = Options(), _ body: (InProcessServer) async throws -> Void) async throws
    {
        let server = try await InProcessServer(options)
        async let _: Void = server.maintenance.run()
        try await withThrowingTaskGroup { group in
            let listeners = [server.listener, server.impatient]
            for listener in listeners { group.addTask { await server.server.serve(listener) } }
            do {
                try await body(server)
            } catch {
                for listener in listeners { listener.stop() }
                throw error
            }
            for listener in listeners { listener.stop() }
            try await group.waitForAll()
        }
        await server.store.close()
    }

    /// The audit records so far.
    package func record() async throws -> [AuditRecord] {
        var records: [AuditRecord] = []
        let found = try await AuditReader("\(self.folder.path)/audit.log", vault: self.vault)
            .verify { records.append($0.record) }
        guard found.problem == nil else { throw UnexpectedAnswer() }
        return records
    }

    /// Creates a phone.
    package func device(_ profile: DeviceProfile) throws -> SimulatedDevice {
        try SimulatedDevice(
            folder: "\(self.folder.path)/device-\(UInt64.random(in: .min ... .max))",
            authorityFolder: self.endpoint.authorityFolder,
            clock: self.clock,
            new: profile
        )
    }

    /// Registers a wallet.
    package func wallet(_ platform: Platform = .android, pin: String = "135790") async throws -> TestWallet {
        try await TestWallet.register(
            at: self.endpoint,
            folder: self.folder.path,
            profile: DeviceProfile(platform),
            pin: pin
        )
    }

    /// Opens a new session and returns the state of the wallet's PIN.
    package func pinState(_ wallet: TestWallet) async throws -> PINState? {
        let session = try await wallet.openSession()
        session.connection.close()
        return session.pinState
    }
}
