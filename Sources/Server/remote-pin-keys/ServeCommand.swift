internal import ArgumentParser
internal import ConfigText
internal import CoreMetrics
internal import Dispatch
internal import Foundation
internal import HostSystem
internal import Logging
internal import MetricsEndpoint
internal import NIOPosix
internal import PKCS11
internal import ServerSettings
internal import Telemetry
internal import Transport
internal import Vocabulary

/// Serves a token's keys until stopped by a signal.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve HMAC-SHA256 under the token's keys on a Unix socket.",
        discussion: """
            A request is one line, and so is the answer. A connection has one request at a time:

              mac LABEL HEX     LABEL: index, key-N or history-N; HEX: 1 to 128 bytes

              ok HEX            the 32 bytes of the code
              unknown           the token has no such key
              busy MS           the limit is reached; ask again after MS milliseconds
              failed WORD       request, key or module; the log has the reason

            The limit is the only defense against an attacker who controls the server: set it above the highest number \
            of unlocks in a second. A burst of ten seconds passes. SIGHUP checks all keys again and reads the PIN's \
            file again. SIGTERM and SIGINT stop the service.

            Exit status: 69 if the socket cannot be used or the module does not return for 10 s; 78 if an option, the \
            PIN or a key is wrong. The service makes one attempt with a PIN and must not be restarted after status 78.
            """
    )

    @OptionGroup var token: TokenOptions

    @Option(help: ArgumentHelp("The Unix socket.", valueName: "path"), completion: .file())
    var socket = "/run/remote-pin-keys/keys.sock"

    @Option(help: ArgumentHelp("The group whose members may connect, besides this user.", valueName: "name"))
    var group: String?

    @Option(help: ArgumentHelp("The number of sessions, each with a thread.", valueName: "number"))
    var sessions = 4

    @Option(help: ArgumentHelp("The codes per second.", valueName: "number"))
    var limit = 2000

    @Option(help: ArgumentHelp("The address for metrics and probes, such as 127.0.0.1:9466.", valueName: "address"))
    var observation: String?

    func validate() throws {
        guard (1...256).contains(self.sessions) else { throw ValidationError("--sessions is from 1 to 256.") }
        guard (1...1_000_000).contains(self.limit) else { throw ValidationError("--limit is from 1 to 1000000.") }
    }

    func run() async throws {
        // A service must not wait until something reads its output.
        StandardStreams.queueAll()
        let handler = try LogOutput(path: nil).handler(.text, level: .info)
        let log = Logger(label: KeysProgram.name) { _ in handler }
        await KeysProgram.ending(self.token) { module in
            Self.watch(module, log)
            let keys = TokenKeys(self.token, module, sessions: self.sessions, log: log)
            try await Self.open(keys)
            let requests = KeyRequests(keys, threads: self.sessions, limit: self.limit, log: log)
            let observed = try await self.observe(requests, log)
            try await self.serve(requests, log)
            await observed?.close()
        }
    }

    /// Serves until SIGTERM or SIGINT, and returns when no thread is inside the module.
    private func serve(_ requests: KeyRequests, _ log: Logger) async throws {
        let (signals, source) = AsyncStream<Int32>.makeStream()
        let lines = LogRateLimiter(burst: 1, each: .seconds(60))
        let listener = try await self.listen(requests) { reason in
            guard let metadata = lines.allow(["reason": "\(reason)"]) else { return }
            log.error("no connection can be accepted", metadata: metadata)
        }
        ProcessEnd.limitStop(to: .seconds(15)) { _ in log.warning("ending at once, at a second signal") }
        ProcessEnd.onSignals([SIGTERM, SIGINT, SIGHUP]) { source.yield($0) }
        let manager = ServiceManager(environment: ProcessInfo.processInfo.environment)
        log.notice("ready", metadata: ["socket": "\(self.socket)"])
        StandardStreams.writeOutput("ready on \(self.socket)\n")
        manager?.tell(.ready, .status("serving the keys of the token \(self.token.token)"))
        for await signal in signals {
            guard signal == SIGHUP else { break }
            manager?.tell(.reloading)
            do { try requests.keys.open() } catch { requests.keys.note(error) }
            manager?.tell(.ready)
        }
        await listener.stop()
        try await requests.stop()
        log.notice("stopped")
    }

    private func listen(
        _ requests: KeyRequests,
        acceptFailure: @escaping @Sendable (String) -> Void
    ) async throws -> LineListener {
        let group = try self.group.map { name in
            guard let id = Accounts.groupID(of: name) else {
                throw StartFailure(.configuration, "--group: this machine has no group `\(name)`")
            }
            return id
        }
        do throws(ListenError) {
            return try await LineListener.bind(
                path: self.socket,
                group: group,
                limits: LineListener.Limits(connections: 256, lineByteCount: 300),
                acceptFailure: acceptFailure,
                answer: { requests.answer($0, $1) }
            )
        } catch {
            throw StartFailure(.unavailable, "--socket: \(error)")
        }
    }

    /// Opens the token, however long it is away; every key must be sound.
    private static func open(_ keys: TokenKeys) async throws {
        while true {
            do {
                let faults = try keys.open().compactMap(\.fault)
                guard faults.isEmpty else { throw StartFailure(.configuration, faults.joined(separator: "\n")) }
                return
            } catch let failure as StartFailure where failure.kind == .unavailable {
                keys.note(failure)
                try await Task.sleep(for: keys.wait)
            }
        }
    }

    /// Ends the process if a call of the module does not return, which no other thread can end.
    private static func watch(_ module: TokenModule, _ log: Logger) {
        let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "watchdog"))
        timer.setEventHandler {
            withExtendedLifetime(timer) {}
            guard module.longestCall > Self.longestCall else { return }
            log.critical("ending", metadata: ["reason": "a call of the module does not return"])
            ProcessEnd.atOnce(status: StartFailure.Kind.unavailable.rawValue)
        }
        timer.schedule(deadline: .now(), repeating: .seconds(1))
        timer.resume()
    }

    private static let longestCall: Duration = .seconds(10)

    private func observe(_ requests: KeyRequests, _ log: Logger) async throws -> ObservationListener? {
        guard let text = self.observation else { return nil }
        guard let address = HostAndPort(text, ports: 0...65_535) else {
            throw StartFailure(.configuration, "--observation: HOST:PORT is needed, not `\(text)`")
        }
        do throws(ObservationListenError) {
            let listener = try await ObservationListener.bind(
                host: address.host,
                port: address.port,
                answers: ObservationSources(
                    metrics: { Exposition.text(of: requests.registry) },
                    failures: { [] },
                    readiness: { requests.keys.isOpen ? .ready : .starting }
                )
            )
            let actual = HostAndPort(host: address.host, port: listener.port)
            log.notice("observed", metadata: ["address": "\(actual)"])
            return listener
        } catch {
            throw StartFailure(.unavailable, "--observation: cannot listen on \(text): \(error.reason)")
        }
    }
}
