internal import ArgumentParser
internal import HostSystem
internal import ServerSettings
internal import Transport
internal import Wire

/// Which server is meant.
struct ServerOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A lab's folder.", valueName: "dir"), completion: .directory)
    var lab: String?

    @Option(
        help: ArgumentHelp("The server's configuration.", valueName: "file"),
        completion: .file(extensions: ["yaml"])
    )
    var config: String?

    @Option(help: ArgumentHelp("The server's socket.", valueName: "path"), completion: .file())
    var socket: String?

    /// Time for a command, the largest of which ends many sessions.
    private static let patience: Duration = .seconds(60)

    private func path() throws -> String {
        if let socket, self.lab == nil, self.config == nil { return socket }
        guard self.socket == nil, self.lab == nil || self.config == nil else {
            throw ValidationError("Name one of --lab, --config and --socket.")
        }
        if self.lab == nil, self.config == nil, !DurableFile.exists(ConfigurationOptions.absolute("server.yaml")) {
            throw ValidationError("Which server? Name it with --lab DIR, --config FILE or --socket PATH.")
        }
        return try ConfigurationOptions.settings(of: self.lab, config: self.config).settings[SettingTable.adminSocket]
    }

    /// The configuration that is named; nil where it is the socket.
    func loaded() throws -> LoadedSettings? {
        if self.socket != nil { return nil }
        return try ConfigurationOptions.settings(of: self.lab, config: self.config)
    }

    /// Whether a server answers.
    func isReachable() async throws -> Bool {
        let path = try self.path()
        do throws(ConnectError) {
            try await AdminConnection.connect(path: path, timeout: .seconds(5)).close()
            return true
        } catch {
            return false
        }
    }

    /// Gives one command and returns its result.
    func call(_ command: Wire.AdminCommand) async throws -> AdminResult {
        try await self.connected { try await $0(command) }
    }

    /// Gives several commands over one connection.
    func connected<Result>(
        _ body: ((Wire.AdminCommand) async throws -> AdminResult) async throws -> Result
    ) async throws -> Result {
        let path = try self.path()
        let connection: AdminConnection
        do throws(ConnectError) {
            connection = try await AdminConnection.connect(path: path, timeout: .seconds(5))
        } catch {
            throw StartFailure(.unavailable, "no server answers on \(path); is it running, and is it yours?")
        }
        defer { connection.close() }
        return try await body { command in
            let result: AdminResult
            do throws(CallError) {
                result = try await connection.call(command, timeout: Self.patience)
            } catch {
                throw StartFailure(
                    .unavailable,
                    "the server did not answer; whether the command was done is not known, giving it again is safe"
                )
            }
            if case .failed(let failure) = result { throw StartFailure(failure) }
            return result
        }
    }
}

extension StartFailure {
    /// A server of another version answered.
    static var unexpectedAnswer: StartFailure {
        StartFailure(.protocol, "the server answered something else; is it of this program's version?")
    }

    /// What a server said of a command that it did not do.
    init(_ failure: AdminFailure) {
        let kind: Kind =
            switch failure.kind {
            case .unknownWallet: .unknownWallet
            case .notAllowed: .notAllowed
            case .unavailable: .unavailable
            case .unsupported, .malformed: .protocol
            case .internal: .damaged
            }
        self.init(kind, failure.sentence)
    }
}
