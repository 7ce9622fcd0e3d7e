import Foundation
import Secrets
import Statements
import TestSupport
import Transport
import Vocabulary
import Wire

/// A server in a process of its own, with wallets that are registered and connected.
struct Bench {
    /// What one pass measured.
    struct Figure {
        let count: Int
        let perSecond: Double
        /// CPU time of the server's process for each, user and system.
        let serverMicroseconds: Double
    }

    private static let rightPIN = "024791"
    private static let wrongPINs = ("135790", "246801")

    /// Sixteen rounds of sixteen without blocks, the most wrong PINs that a policy allows in a row, and sessions that
    /// outlive the run.
    private static let settings = [
        "REMOTE_PIN_PIN_ROUNDS": "16",
        "REMOTE_PIN_PIN_ATTEMPTS_PER_ROUND": "16",
        "REMOTE_PIN_PIN_BLOCKS": "[]",
        "REMOTE_PIN_SESSION_LIFETIME": "1d",
        "REMOTE_PIN_LOG_LEVEL": "notice",
        "REMOTE_PIN_LIMITS_CONNECTIONS_PER_SOURCE": "0",
    ]

    let lab: String
    private let server: ServerProcess
    private let wallets: [TestWallet]
    private let sessions: [TestSession]
    private let target: TestServer

    /// Makes a lab and its wallets and opens a session for each.
    static func start(folder: String, connections: Int, progress: (String) -> Void) async throws -> Bench {
        let lab = folder + "/remote-pin-bench-\(ProcessInfo.processInfo.processIdentifier)"
        let made = try await ServerProcess.run("remote-pin-server", ["init", "--lab", lab])
        guard made.exitCode == 0 else { throw BenchFailure(what: made.output) }
        let server = try await ServerProcess.start(["lab", "up", lab], environment: self.settings)
        do {
            let target = try TestServer(lab: lab)
            var wallets: [TestWallet] = []
            var sessions: [TestSession] = []
            for number in 1...connections {
                progress("registering wallet \(number) of \(connections)")
                let wallet = try await TestWallet.register(at: target, folder: lab + "/phones", pin: self.rightPIN)
                wallets.append(wallet)
                sessions.append(try await wallet.openSession())
            }
            return Bench(lab: lab, server: server, wallets: wallets, sessions: sessions, target: target)
        } catch {
            await server.kill()
            throw error
        }
    }

    /// Checks PINs on all connections at once, `count` on each one after the other.
    ///
    /// At the end of a pass with wrong PINs, which is not measured, a right one starts every count anew.
    func checkAll(_ count: Int, right: Bool) async throws -> Figure {
        var figures: [Figure] = []
        var left = count
        while left > 0 {
            // Fewer than the allowance, so that no wallet is ever blocked.
            let some = right ? left : min(left, 240)
            figures.append(
                try await self.measure(some * self.sessions.count) {
                    try await self.onEach { try await Self.check(some, right: right, on: $0) }
                }
            )
            if !right { try await self.onEach { try await Self.check(1, right: true, on: $0) } }
            left -= some
        }
        let total = figures.reduce(0) { $0 + $1.count }
        let seconds = figures.reduce(0) { $0 + Double($1.count) / $1.perSecond }
        let cpu = figures.reduce(0) { $0 + Double($1.count) * $1.serverMicroseconds }
        return Figure(count: total, perSecond: Double(total) / seconds, serverMicroseconds: cpu / Double(total))
    }

    /// Unlocks with a new connection each: TLS, hello, session and PIN check, on as many lanes as there are wallets.
    ///
    /// - Parameter resuming: whether TLS goes on from a ticket, where there is one.
    func unlockAll(_ count: Int, resuming: Bool) async throws -> Figure {
        let share = max(1, count / self.wallets.count)
        return try await self.measure(share * self.wallets.count) {
            try await withThrowingTaskGroup { lanes in
                for wallet in self.wallets {
                    lanes.addTask {
                        for _ in 0..<share {
                            let session = try await self.session(of: wallet, resuming: resuming)
                            try await Self.check(1, right: true, on: session)
                            session.connection.close()
                        }
                    }
                }
                try await lanes.waitForAll()
            }
        }
    }

    private func session(of wallet: TestWallet, resuming: Bool) async throws -> TestSession {
        if resuming { return try await wallet.openSession() }
        // Tickets belong to a context, so a new one has none.
        let connection = try await TestServer(lab: self.lab).greet()
        let result = try await connection.call(
            .openSession(wallet.sessionCall(on: connection)),
            timeout: TestWallet.patience
        )
        guard case .openSession(let opening) = result else { throw UnexpectedAnswer(result) }
        return TestSession(wallet: wallet, connection: connection, opening: opening)
    }

    /// KiB of the server's own memory that each of so many further connections takes while it is idle with a session.
    func idleCost(_ count: Int) async throws -> Double {
        let before = try ProcessMemory.kibibytes(of: self.server.processID)
        var connections: [ClientConnection] = []
        for number in 0..<count {
            let wallet = self.wallets[number % self.wallets.count]
            connections.append(try await self.session(of: wallet, resuming: false).connection)
        }
        let after = try ProcessMemory.kibibytes(of: self.server.processID)
        for connection in connections { connection.close() }
        for connection in connections { await connection.closed() }
        return Double(after - before) / Double(count)
    }

    func stop() async {
        for session in self.sessions { session.connection.close() }
        await self.server.terminate()
        try? FileManager.default.removeItem(atPath: self.lab)
    }

    private func onEach(_ body: @escaping @Sendable (TestSession) async throws -> Void) async throws {
        try await withThrowingTaskGroup { lanes in
            for session in self.sessions {
                // On the connection's own loop, so that this program leaves the server as much of the machine as it can.
                lanes.addTask(executorPreference: session.connection.executor) { try await body(session) }
            }
            try await lanes.waitForAll()
        }
    }

    /// Checks PINs one after the other, wrong ones in turn: a server that decoded the last one's key decodes the next.
    private static func check(_ count: Int, right: Bool, on session: TestSession) async throws {
        let pair = session.wallet.pinPair
        let first = try pair.key(for: right ? self.rightPIN : self.wrongPINs.0)
        let second = try pair.key(for: right ? self.rightPIN : self.wrongPINs.1)
        for number in 0..<count {
            let result = try await number.isMultiple(of: 2) ? session.check(with: first) : session.check(with: second)
            switch (result, right) {
            case (.instruct(.pinValid), true), (.instruct(.wrong), false): break
            case (_, _): throw BenchFailure(what: "unexpected verdict: \(UnexpectedAnswer(result))")
            }
        }
    }

    private func measure(_ count: Int, _ body: () async throws -> Void) async throws -> Figure {
        let clock = ContinuousClock()
        let before = try ProcessTime.cpu(of: self.server.processID)
        let start = clock.now
        try await body()
        let elapsed = clock.now - start
        let cpu = try ProcessTime.cpu(of: self.server.processID) - before
        return Figure(
            count: count,
            perSecond: Double(count) / (elapsed / .seconds(1)),
            serverMicroseconds: (cpu / .microseconds(1)) / Double(count)
        )
    }
}

/// Why there is no figure.
struct BenchFailure: Error, CustomStringConvertible {
    let what: String
    var description: String { self.what }
}

/// CPU time of another process.
enum ProcessTime {
    /// Time that all threads of the process have run, user and system, to the nanosecond (proc(5), schedstat).
    static func cpu(of process: Int32) throws -> Duration {
        let tasks = "/proc/\(process)/task"
        var total: Int64 = 0
        for task in try FileManager.default.contentsOfDirectory(atPath: tasks) {
            guard let text = try? String(contentsOfFile: "\(tasks)/\(task)/schedstat", encoding: .utf8),
                let first = text.split(separator: " ").first, let nanoseconds = Int64(first)
            else { continue }
            total += nanoseconds
        }
        return .nanoseconds(total)
    }
}

/// Memory of another process.
enum ProcessMemory {
    /// What is in memory and of the process's own, not of files (proc(5), RssAnon).
    static func kibibytes(of process: Int32) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
        guard let number = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) }) else {
            throw BenchFailure(what: "no RssAnon in /proc/\(process)/status")
        }
        return number
    }
}

/// One ECDSA verification with the library that the server uses.
enum Verification {
    /// Microseconds of CPU time, the middle one of some rounds.
    static func cost() -> Double {
        guard let pin = PIN(copying: Array("024791".utf8)),
            let binding = ChannelBinding([UInt8](repeating: 7, count: 32))
        else { preconditionFailure("six digits are a PIN, 32 bytes a channel binding") }
        let key = PINKey(pin: pin, salt: SecretBytes.random(count: PINKey.saltByteCount))
        let statement = Statement(
            .instructPIN,
            channelBinding: binding,
            walletID: .random(),
            counter: 1,
            body: [UInt8](repeating: 1, count: 110)
        )
        let signature = key.sign(statement)
        guard let verifier = VerifyingKey(key.publicKey) else { preconditionFailure("a PIN key is a point") }
        let rounds = 1000
        let figures = (0..<5).map { _ in
            let before = clock()
            for _ in 0..<rounds { precondition(verifier.isValid(signature, for: statement)) }
            return Double(clock() - before) / Double(CLOCKS_PER_SEC) * 1e6 / Double(rounds)
        }
        return figures.sorted()[figures.count / 2]
    }
}
