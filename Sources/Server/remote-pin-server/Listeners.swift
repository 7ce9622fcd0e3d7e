internal import Administration
internal import ConfigText
internal import LabFiles
internal import Telemetry
internal import Logging
internal import RemotePINServer
internal import ServerSettings
internal import HostSystem
internal import Transport

/// The sockets on which a server can be reached.
struct Listeners: Sendable {
    let wallets: RPCListener
    let admin: LocalSocket
    /// The deletion portal's socket, or nil if none is configured.
    let portal: LocalSocket?
    private let files: ServerFiles
    private let log: Logger

    /// Listens for wallets, admin commands and the deletion portal.
    init(
        _ files: ServerFiles,
        _ inForce: SettingsInForce,
        connections: Int,
        for server: RemotePINServer,
        log: Logger
    ) async throws {
        (self.files, self.log) = (files, log)
        let settings = files.settings
        let observer = Self.observer(events: server.listenerEvents, log: log)
        self.wallets = try await Self.listen(files, inForce, connections: connections, observer)
        self.admin = try await LocalSocket(
            "admin",
            at: settings[SettingTable.adminSocket],
            group: settings[SettingTable.adminGroup],
            limits: .admin,
            busyAnswer: { AdminService.busyAnswer($0) },
            log: log
        )
        guard let path = settings[SettingTable.portalSocket] else {
            self.portal = nil
            return
        }
        let group = settings[SettingTable.portalGroup]
        self.portal = try await LocalSocket("portal", at: path, group: group, limits: .portal, log: log)
    }

    /// Listens for wallets.
    ///
    /// A lab keeps using the port from its first start.
    private static func listen(
        _ files: ServerFiles,
        _ inForce: SettingsInForce,
        connections: Int,
        _ observer: ListenerObserver
    ) async throws -> RPCListener {
        let settings = files.settings
        var address = settings[SettingTable.listenAddress]
        if address.port == 0, let lab = files.lab { address.port = try Self.file(of: lab).port }
        var limits = TransportLimits()
        limits.handshake = settings[SettingTable.handshakeLimit]
        limits.frame = settings[SettingTable.frameLimit]
        limits.idleWithoutSession = settings[SettingTable.idleWithoutSession]
        limits.idleInEnrollment = settings[SettingTable.idleInEnrollment]
        limits.idleWithSession = settings[SettingTable.idleWithSession]
        limits.connections = connections
        limits.connectionsPerSource = settings[SettingTable.connectionsPerSource]
        limits.handshakes = settings[SettingTable.handshakes]
        limits.longFrames = settings[SettingTable.longFrames]
        var ports = [address.port]
        if address.port == 0, files.lab != nil { ports = Self.lastingPorts() + ports }
        while true {
            do throws(ListenError) {
                return try await RPCListener.bind(
                    host: address.host,
                    port: ports.removeFirst(),
                    tls: files.tls,
                    limits: limits,
                    isBalancer: { inForce.isBalancer($0) },
                    observer: observer
                )
            } catch {
                if case .addressInUse = error, !ports.isEmpty { continue }
                throw StartFailure(.unavailable, "`listen.address`: \(error)")
            }
        }
    }

    /// Returns candidate ports for a new lab, in random order.
    ///
    /// Ports that Linux assigns for port 0 are also used for outgoing connections, so a restarted lab could find its
    /// port taken. The candidates are below that range (`ip_local_port_range`, from 32768 by default).
    private static func lastingPorts() -> [Int] {
        (0..<16).map { _ in .random(in: 20_000..<32_768) }
    }

    /// Logs failed and rejected connections at a limited rate.
    ///
    /// Metrics count all of them.
    private static func observer(events: @escaping @Sendable (ListenerEvent) -> Void, log: Logger) -> ListenerObserver {
        let lines = LogRateLimiter(burst: 20, each: .seconds(10))
        var observer = ListenerObserver()
        observer.event = events
        observer.failure = { peer, failure in
            guard let metadata = lines.allow(["peer": "\(peer)", "reason": "\(failure)"]) else { return }
            log.info("no TLS connection", metadata: metadata)
        }
        observer.refusal = { refused in
            log.warning(
                "too many connections",
                metadata: [
                    "limit": "\(refused.reason.rawValue)", "source": "\(refused.source)",
                    "refused": "\(refused.count)",
                ]
            )
        }
        observer.acceptFailure = log.acceptFailures("listen.address")
        return observer
    }

    /// Whether clients can reach both local sockets.
    var areInPlace: Bool { self.admin.listener.isInPlace && self.portal?.listener.isInPlace ?? true }

    /// Makes the local sockets again whose files were removed, and returns one part for each of these.
    func renew() async -> [ReloadedPart] {
        [await self.admin.renew(), await self.portal?.renew()].compactMap(\.self)
    }

    /// Records the lab's port, reports that wallets can connect, and returns the server's address.
    func announce() throws -> String {
        var address = self.files.settings[SettingTable.listenAddress]
        address.port = self.wallets.port
        if let lab = self.files.lab {
            var file = try Self.file(of: lab)
            // A server that listens on all addresses is also reachable on the loopback address.
            if ["0.0.0.0", "::"].contains(address.host) { address.host = "127.0.0.1" }
            if file.host != address.host || file.port != address.port {
                (file.host, file.port) = (address.host, address.port)
                try explaining(.files, "cannot record the lab's port") { try file.write(to: lab) }
            }
        }
        self.log.notice(
            "ready",
            metadata: ["address": "\(address)", "version": "\(Version.number)", "git": "\(BuildID.git ?? "unknown")"]
        )
        StandardStreams.writeOutput("ready on \(address)\(self.files.lab == nil ? "" : " (lab)")\n")
        return "\(address)"
    }

    private static func file(of lab: LabFolder) throws -> LabFile {
        try explaining(.configuration) { try LabFile(of: lab) }
    }
}

/// A Unix socket with the settings `SECTION.socket` and `SECTION.group`.
struct LocalSocket: Sendable {
    let listener: LocalListener
    private let section: String
    private let path: String
    private let group: String?
    private let log: Logger

    /// Listens at `path`.
    init(
        _ section: String,
        at path: String,
        group: String?,
        limits: TransportLimits,
        busyAnswer: LocalListener.BusyAnswer? = nil,
        log: Logger
    ) async throws {
        (self.section, self.path, self.group, self.log) = (section, path, group, log)
        let setting = "\(section).socket"
        let groupID = try Accounts.groupID(named: group, by: "\(section).group")
        try Self.makeFolder(of: path, for: groupID, setting: setting)
        var observer = ListenerObserver()
        observer.refusal = { refused in
            log.warning(
                "too many connections",
                metadata: ["socket": "\(setting)", "source": "\(refused.source)", "refused": "\(refused.count)"]
            )
        }
        observer.acceptFailure = log.acceptFailures(setting)
        self.listener = try await mapError(
            of: await .bind(path: path, group: groupID, limits: limits, observer: observer, busyAnswer: busyAnswer)
        ) { (error: ListenError) in StartFailure(.unavailable, "`\(setting)`: \(error)") }
    }

    /// Makes the socket again if its file was removed; returns nil if there was nothing to do.
    func renew() async -> ReloadedPart? {
        guard !self.listener.isInPlace else { return nil }
        let setting = "\(self.section).socket"
        let problem: String
        do {
            // Programs that clean a runtime folder remove the folder, too.
            let group = try Accounts.groupID(named: self.group, by: "\(self.section).group")
            try Self.makeFolder(of: self.path, for: group, setting: setting)
            try await self.listener.renew()
            self.log.notice("the socket's file was missing and was made again", metadata: ["socket": "\(self.path)"])
            return ReloadedPart(setting)
        } catch {
            problem = "\(error)"
        }
        self.log.error("the socket's file is missing", metadata: ["setting": "\(setting)", "reason": "\(problem)"])
        return ReloadedPart(setting, problem: problem)
    }

    /// Creates the folder for a socket if it is missing.
    ///
    /// Runtime folders disappear when the machine restarts.
    private static func makeFolder(of path: String, for group: UInt32?, setting: String) throws {
        try explaining(.files, "`\(setting)`") {
            let folder = ConfigurationOptions.folder(of: path)
            guard !DurableFile.exists(folder) else { return }
            try DurableFile.makeFolder(folder)
            // The group needs access to the new folder to reach the socket.
            if let group { try Accounts.give(folder, toGroup: group, mode: 0o750) }
        }
    }
}

extension Logger {
    /// Returns a function that logs failures to accept connections, once per minute.
    fileprivate func acceptFailures(_ setting: String) -> @Sendable (String) -> Void {
        let lines = LogRateLimiter(burst: 1, each: .seconds(60))
        return { reason in
            guard let metadata = lines.allow(["socket": "\(setting)", "reason": "\(reason)"]) else { return }
            self.error("no connection can be accepted", metadata: metadata)
        }
    }
}

extension Accounts {
    /// The id of the group in a setting, or nil if the setting names none.
    fileprivate static func groupID(named name: String?, by setting: String) throws -> UInt32? {
        guard let name else { return nil }
        guard let group = Self.groupID(of: name) else {
            throw StartFailure(.configuration, "`\(setting)`: this machine has no group `\(name)`")
        }
        return group
    }
}

extension AdminRoles {
    /// The roles of the users who can open the admin socket.
    init(_ settings: ServerSettings) throws {
        var groups: [AdminRole: UInt32] = [:]
        for (role, setting) in [
            (AdminRole.observer, SettingTable.observerGroup), (.support, SettingTable.supportGroup),
            (.security, SettingTable.securityGroup),
        ] {
            groups[role] = try Accounts.groupID(named: settings[setting], by: setting.name)
        }
        // Without `admin.group`, only root and the server's user could open the socket.
        guard settings[SettingTable.adminGroup] != nil || groups.isEmpty else {
            let text = "role groups need it, since only its members can open the socket"
            throw StartFailure(.configuration, "`admin.group` is not set: \(text)")
        }
        self.init(groups: groups, owner: Accounts.currentUser)
    }
}
