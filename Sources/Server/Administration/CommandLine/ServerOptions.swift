internal import AdminProtocol
internal import ArgumentParser
internal import HostSystem
package import ServerSettings
internal import Transport

/// Options that select a running server.
package struct ServerOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A lab's folder.", valueName: "dir"), completion: .directory)
    var lab: String?

    @Option(
        help: ArgumentHelp("The server's configuration.", valueName: "file"),
        completion: .file(extensions: ["yaml"])
    )
    var config: String?

    @Option(help: ArgumentHelp("The server's socket.", valueName: "path"), completion: .file())
    var socket: String?

    package init() {}

    private func path() throws -> String {
        if let socket, self.lab == nil, self.config == nil { return socket }
        guard self.socket == nil, self.lab == nil || self.config == nil else {
            throw ValidationError("Use only one of --lab, --config and --socket.")
        }
        if self.lab == nil, self.config == nil, !DurableFile.exists(ConfigurationOptions.absolute("server.yaml")) {
            throw ValidationError("Which server? Select it with --lab DIR, --config FILE or --socket PATH.")
        }
        return try ConfigurationOptions.settings(of: self.lab, config: self.config).settings[SettingTable.adminSocket]
    }

    /// Loads the selected configuration, or returns nil if a socket was selected instead.
    package func loaded() throws -> LoadedSettings? {
        if self.socket != nil { return nil }
        return try ConfigurationOptions.settings(of: self.lab, config: self.config)
    }

    /// Returns whether a server is accepting connections.
    package func isReachable() async throws -> Bool {
        let path = try self.path()
        do throws(ConnectError) {
            try await AdminConnection.connect(path: path, timeout: OperatorConnection.connectTimeout).close()
            return true
        } catch {
            return false
        }
    }

    /// Connects to the server for the duration of `body`.
    package func connected<Result>(_ body: (OperatorConnection) async throws -> Result) async throws -> Result {
        let path = try self.path()
        let connection = try await mapError(
            of: await AdminConnection.connect(path: path, timeout: OperatorConnection.connectTimeout)
        ) { (_: ConnectError) in Self.failure(to: path) }
        defer { connection.close() }
        return try await body(OperatorConnection(connection: connection))
    }
}

extension ServerOptions {
    /// Explains why the connection to this socket failed.
    private static func failure(to path: String) -> StartFailure {
        do throws(FileError) {
            try DurableFile.requireWritable(path)
        } catch .notAllowed {
            return StartFailure(
                .notAllowed,
                "this user may not open \(path): run the command with sudo, or become a member of the group in "
                    + "`admin.group` and log in again"
            )
        } catch {}
        return StartFailure(.unavailable, "no server answers on \(path); is it running?")
    }
}

/// A connection from a command to a running server.
package struct OperatorConnection: Sendable {
    fileprivate static let connectTimeout: Duration = .seconds(5)
    /// Allows for the slowest command, which ends many sessions.
    private static let timeout: Duration = .seconds(60)

    fileprivate let connection: AdminConnection

    /// The name of the server, if several servers share its store and it has answered.
    package var server: String? { self.connection.server }

    /// Makes a call and returns its reply.
    package func call<Call: AdminCall>(_ call: Call) async throws -> Call.Reply {
        do throws(AdminCallError) {
            return try await self.connection.call(Call.name, call, timeout: Self.timeout)
        } catch {
            switch error {
            case .refused(let failure): throw StartFailure(failure)
            case .unexpectedReply:
                throw StartFailure(
                    .protocol,
                    "the reply is not one of `\(Call.name)`; do the server and this program have the same version?"
                )
            case .connection:
                throw StartFailure(
                    .unavailable,
                    "the server did not answer, so it is unknown whether the command was carried out; repeating it is "
                        + "safe"
                )
            }
        }
    }
}

extension StartFailure {
    /// Reports a command that the server did not carry out.
    init(_ failure: AdminFailure) {
        let kind: Kind =
            switch failure.kind {
            case .unknownWallet: .unknownWallet
            case .notAllowed: .notAllowed
            case .unavailable: .unavailable
            case .unsupported, .malformed: .protocol
            case .internal: .damaged
            }
        self.init(kind, failure.message)
    }
}
