internal import Administration
internal import Glibc
internal import ConfigText
internal import LabFiles
internal import LogLines
internal import Logging
internal import RemotePINServer
internal import ServerCommandLine
internal import ServerSettings
internal import HostSystem
internal import Transport

extension RunningServer {
    /// Listens for wallets.
    ///
    /// A lab keeps using the port from its first start.
    static func listen(
        _ files: ServerFiles,
        _ inForce: SettingsInForce,
        connections: Int,
        for server: RemotePINServer,
        log: Logger
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
                    observer: Self.observer(events: server.listenerEvents, log: log)
                )
            } catch {
                if case .addressInUse = error, !ports.isEmpty { continue }
                throw StartFailure(.unavailable, "`listen.address`: " + Self.text(of: error))
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
    private static func observer(
        events: @escaping @Sendable (ListenerEvent) -> Void,
        log: Logger
    ) -> ListenerObserver {
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
        observer.acceptFailure = Self.acceptFailureLog("listen.address", log)
        return observer
    }

    /// Logs connections to a Unix-domain socket that were rejected because of its connection limit.
    private static func localObserver(_ setting: String, log: Logger) -> ListenerObserver {
        var observer = ListenerObserver()
        observer.refusal = { refused in
            log.warning(
                "too many connections",
                metadata: ["socket": "\(setting)", "source": "\(refused.source)", "refused": "\(refused.count)"]
            )
        }
        observer.acceptFailure = Self.acceptFailureLog(setting, log)
        return observer
    }

    /// Returns a function that logs failures to accept connections, once per minute.
    private static func acceptFailureLog(_ setting: String, _ log: Logger) -> @Sendable (String) -> Void {
        let lines = LogRateLimiter(burst: 1, each: .seconds(60))
        return { reason in
            guard let metadata = lines.allow(["socket": "\(setting)", "reason": "\(reason)"]) else { return }
            log.error("no connection can be accepted", metadata: metadata)
        }
    }

    /// Listens for admin commands.
    static func listenForAdmin(_ settings: ServerSettings, log: Logger) async throws -> LocalListener {
        let path = settings[SettingTable.adminSocket]
        let group = try Self.group(settings[SettingTable.adminGroup], setting: "admin.group")
        try Self.makeFolder(of: path, for: group, setting: "admin.socket")
        do throws(ListenError) {
            let observer = Self.localObserver("admin.socket", log: log)
            return try await LocalListener.bind(
                path: path,
                group: group,
                limits: .admin,
                observer: observer,
                busyAnswer: { AdminService.busyAnswer($0) }
            )
        } catch {
            throw StartFailure(.unavailable, "`admin.socket`: " + Self.text(of: error))
        }
    }

    /// Returns the roles of the users who can open the admin socket.
    static func adminRoles(_ settings: ServerSettings) throws -> AdminRoles {
        var groups: [AdminRole: UInt32] = [:]
        for (role, setting) in [
            (AdminRole.observer, SettingTable.observerGroup), (.support, SettingTable.supportGroup),
            (.security, SettingTable.securityGroup),
        ] {
            groups[role] = try Self.group(settings[setting], setting: setting.name)
        }
        // Without `admin.group`, only root and the server's user could open the socket.
        guard settings[SettingTable.adminGroup] != nil || groups.isEmpty else {
            let text = "role groups need it, since only its members can open the socket"
            throw StartFailure(.configuration, "`admin.group` is not set: \(text)")
        }
        return AdminRoles(groups: groups, owner: Accounts.currentUser)
    }

    /// Listens for the deletion portal.
    ///
    /// Returns nil if no socket is configured.
    static func listenForPortal(_ settings: ServerSettings, log: Logger) async throws -> LocalListener? {
        guard let path = settings[SettingTable.portalSocket] else { return nil }
        let group = try Self.group(settings[SettingTable.portalGroup], setting: "portal.group")
        try Self.makeFolder(of: path, for: group, setting: "portal.socket")
        do throws(ListenError) {
            let observer = Self.localObserver("portal.socket", log: log)
            return try await LocalListener.bind(path: path, group: group, limits: .portal, observer: observer)
        } catch {
            throw StartFailure(.unavailable, "`portal.socket`: " + Self.text(of: error))
        }
    }

    /// Makes the local sockets again whose files were removed, and returns one part for each of these.
    static func renew(
        _ admin: LocalListener,
        _ portal: LocalListener?,
        _ settings: ServerSettings,
        log: Logger
    ) async -> [ReloadedPart] {
        let group = settings[SettingTable.adminGroup]
        var parts = [await Self.renew(admin, at: settings[SettingTable.adminSocket], group, "admin.socket", log: log)]
        if let portal, let path = settings[SettingTable.portalSocket] {
            let group = settings[SettingTable.portalGroup]
            parts.append(await Self.renew(portal, at: path, group, "portal.socket", log: log))
        }
        return parts.compactMap(\.self)
    }

    private static func renew(
        _ listener: LocalListener,
        at path: String,
        _ group: String?,
        _ setting: String,
        log: Logger
    ) async -> ReloadedPart? {
        guard !listener.isInPlace else { return nil }
        let problem: String
        do {
            // Programs that clean a runtime folder remove the folder, too.
            try Self.makeFolder(of: path, for: try Self.group(group, setting: setting), setting: setting)
            try await listener.renew()
            log.notice("the socket's file was missing and was made again", metadata: ["socket": "\(path)"])
            return ReloadedPart(setting)
        } catch let error as ListenError {
            problem = Self.text(of: error)
        } catch {
            problem = "\(error)"
        }
        log.error("the socket's file is missing", metadata: ["setting": "\(setting)", "reason": "\(problem)"])
        return ReloadedPart(setting, problem: problem)
    }

    private static func group(_ name: String?, setting: String) throws -> UInt32? {
        guard let name else { return nil }
        guard let group = Accounts.groupID(of: name) else {
            throw StartFailure(.configuration, "`\(setting)`: this machine has no group `\(name)`")
        }
        return group
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

    /// Records the lab's port, reports that wallets can connect, and returns the server's address.
    static func announce(_ listener: RPCListener, of files: ServerFiles, log: Logger) throws -> String {
        var address = files.settings[SettingTable.listenAddress]
        address.port = listener.port
        if let lab = files.lab {
            var file = try Self.file(of: lab)
            // A server that listens on all addresses is also reachable on the loopback address.
            if ["0.0.0.0", "::"].contains(address.host) { address.host = "127.0.0.1" }
            if file.host != address.host || file.port != address.port {
                (file.host, file.port) = (address.host, address.port)
                try explaining(.files, "cannot record the lab's port") { try file.write(to: lab) }
            }
        }
        log.notice(
            "ready",
            metadata: ["address": "\(address)", "version": "\(Version.number)", "git": "\(BuildID.git ?? "unknown")"]
        )
        StandardStreams.writeOutput("ready on \(address)\(files.lab == nil ? "" : " (lab)")\n")
        return "\(address)"
    }

    private static func file(of lab: LabFolder) throws -> LabFile {
        try explaining(.configuration) { try LabFile(of: lab) }
    }

    private static func text(of error: ListenError) -> String {
        switch error {
        case .addressInUse(let address): "another process listens on \(address)"
        case .served(let path, getpid()):
            "this server listens on \(path) already, for another setting: name another path"
        case .foreignSocket(let path, let owner):
            "\(path) was left by \(Accounts.userName(of: owner) ?? "user \(owner)"), and this user may not see whether "
                + "a process listens on it: stop that process, then remove the file"
        case .served(let path, let process):
            "another process\(process.map { " (\($0))" } ?? "") listens on \(path): stop it, or name another path"
        case .notASocket(let path): "\(path) is not a socket: move it away, or name another path"
        case .notAllowed(let address): "this user may not listen on \(address)"
        case .pathTooLong(let path): "\(path) is too long for a socket"
        case .other(let text): text
        }
    }
}
