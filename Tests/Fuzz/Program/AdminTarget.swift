internal import Administration
internal import EmbeddedServer
internal import Logging
internal import RemotePINServer
internal import StoreMaintenance
internal import TestSupport
internal import Transport
internal import Vault
internal import Vocabulary
internal import Wire

/// The requests of operators and of the portal to a running server, over their sockets.
final class AdminTarget: FuzzTarget {
    private let queue = JobQueue()
    private var live: LiveServer
    private var service: AdminService
    private static let peer = LocalPeer(userID: 4711, processID: 1)

    init(folder: String) throws {
        self.live = try LiveServer.start(in: "\(folder)/server", self.queue)
        self.service = Self.service(of: self.live)
    }

    private static func service(of live: LiveServer) -> AdminService {
        let (server, clock, vault) = (live.server, live.clock, live.vault)
        // Its tasks are never run, so a backup is requested but never made.
        let maintenance = Maintenance(
            Maintenance.Parts(
                store: live.store,
                vault: vault,
                clock: clock,
                audit: live.audit,
                epoch: 1,
                tokenLifetime: .seconds(300),
                sessionLifetime: .seconds(900),
                log: Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() }
            )
        )
        return AdminService(
            of: server,
            advance: { duration in
                clock.advance(by: duration)
                return clock.now()
            },
            operations: ServerOperations(
                version: "fuzz",
                reload: { await server.reload() },
                logLevel: { SetLogLevel.Reply(level: $0 ?? .info, changed: $0 != nil) },
                certificateExpiry: { nil },
                keyVersions: { (vault.versions, vault.activeVersion) },
                maintenance: maintenance
            )
        )
    }

    var format: InputFormat? { .json }

    func run(_ input: [UInt8]) {
        if self.live.isWornOut {
            self.live = self.live.replaced()
            self.service = Self.service(of: self.live)
        }
        let address = self.live.beginInput()
        let (service, portal) = (self.service, PortalCalls(of: self.live.server))
        let request = (try? PortalRequest(decoding: input)).map { request in
            PortalRequest(id: request.id, code: request.code, source: request.source.isEmpty ? address : request.source)
        }
        let length = self.queue.value {
            if let request { _ = await portal.carryOut(request) }
            return await service.answer(input, from: Self.peer).frame.count
        }
        require((1...LocalListener.longestAnswer).contains(length), "an answer does not fit into a frame")
    }

    private static let wallet = String(repeating: "0a", count: 16)

    var words: [String] {
        AdminCalls.all.map { "\"command\":\"\($0.name)\"" } + [
            "\"arguments\":{", "\"wallet\":\"\(Self.wallet)\"", "\"wallets\":[", "\"limit\":1", "\"after\":",
            "\"code\":\"0a\"",
            "\"flag\":", "\"rollout\":{\"state\":\"on\"}", "\"percentage\":10", "\"state\":\"list\"",
            "\"platform\":\"android\"",
            "\"rules\":[", "\"below\":\"1.4\"", "\"word\":\"warn\"", "\"until\":\"2026-12-24\"", "\"level\":\"debug\"",
            "\"byMs\":60000",
        ]
    }

    var seeds: [[UInt8]] {
        let arguments = [
            "{}", "{\"wallet\":\"\(Self.wallet)\"}", "{\"wallets\":[\"\(Self.wallet)\"]}", "{\"limit\":10}",
            "{\"code\":\"0a0b\"}",
            "{\"flag\":\"safe-biometric-unlock\",\"rollout\":{\"state\":\"on\"}}", "{\"path\":\"/nonexistent/b\"}",
            "{\"platform\":\"android\",\"rules\":[{\"below\":\"1.4\",\"word\":\"block\"}]}", "{\"byMs\":60000}",
            "{\"level\":\"debug\"}",
        ]
        let commands = AdminCalls.all.flatMap { call in
            arguments.map { "{\"arguments\":\($0),\"command\":\"\(call.name)\",\"id\":1,\"version\":1}" }
        }
        let portal = PortalRequest(id: 1, code: "0123456789ABCDEFGH", source: "192.0.2.1").encoded()
        return commands.map { Array($0.utf8) } + [portal]
    }
}
