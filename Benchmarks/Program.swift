import ArgumentParser
import Foundation
import Secrets
import Statements
import TestSupport
import Vocabulary

/// Measures a real server over real connections, beside the bare signature verification that it cannot do without.
@main
struct Program: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remote-pin-bench",
        abstract: "PIN checks, unlocks and signature verifications per second, from one run.",
        discussion: """
            Starts the server beside this program on a lab in a temporary folder, with its database on disk and every \
            attempt counted durably. What counts is the ratio at the end: how much of the server's CPU time for a PIN \
            check is the one signature verification that a check needs. Absolute numbers depend on the machine and on \
            this program, which runs beside the server.
            """
    )

    @Option(help: ArgumentHelp("Connections, each with a wallet of its own.", valueName: "n"))
    var connections = 64

    @Option(help: ArgumentHelp("PIN checks on each connection and pass.", valueName: "n"))
    var checks = 480

    @Option(help: ArgumentHelp("Unlocks over a new connection each.", valueName: "n"))
    var unlocks = 2000

    @Option(help: ArgumentHelp("Idle connections with a session whose memory is measured; 0 for none.", valueName: "n"))
    var idle = 1000

    @Flag(inversion: .prefixedNo, help: "Measure the verification of evidence as well.")
    var attestation = true

    @Option(help: ArgumentHelp("Passes; the middle one of each figure is printed.", valueName: "n"))
    var passes = 3

    @Option(help: ArgumentHelp("Where the lab is made; its disk is what counts are synced to.", valueName: "dir"))
    var folder = NSTemporaryDirectory()

    func validate() throws {
        guard (1...1000).contains(self.connections), (1...100_000).contains(self.checks),
            (1...1_000_000).contains(self.unlocks), (1...99).contains(self.passes), (0...9000).contains(self.idle)
        else { throw ValidationError("1 … 1000 connections, at least one check, unlock and pass") }
    }

    func run() async throws {
        if self.attestation { AttestationBench.run(progress: Self.progress) }
        let bench = try await Bench.start(folder: self.folder, connections: self.connections, progress: Self.progress)
        do {
            let idle = self.idle > 0 ? try await bench.idleCost(self.idle) : nil
            let right = try await self.middle("all right") { try await bench.checkAll(self.checks, right: true) }
            let wrong = try await self.middle("all wrong") { try await bench.checkAll(self.checks, right: false) }
            let unlocks = try await self.middle("unlocks") {
                try await bench.unlockAll(self.unlocks, resuming: false)
            }
            let resumed = try await self.middle("unlocks, resumed") {
                try await bench.unlockAll(self.unlocks, resuming: true)
            }
            let handshake = try await self.bareHandshake(bench)
            Self.progress("")
            let verification = Self.middle(right.verifications + wrong.verifications)
            print(
                String(
                    format: "P-256 verification      %8.1f µs CPU  %9.0f /s on one core",
                    verification,
                    1e6 / verification
                )
            )
            Self.show("PIN checks, all right", right.figure)
            Self.show("PIN checks, all wrong", wrong.figure)
            Self.show("unlocks, new connection", unlocks.figure)
            Self.show("unlocks, TLS resumed", resumed.figure)
            if let handshake { print(String(format: "bare TLS handshake      %8.1f µs CPU", handshake)) }
            if let idle { print(String(format: "idle connection         %8.1f KiB", idle)) }
            print(String(format: "ratio, all right        %8.2f", verification / right.figure.serverMicroseconds))
            print(String(format: "ratio, all wrong        %8.2f", verification / wrong.figure.serverMicroseconds))
            if let handshake {
                let needed = handshake + 2 * verification
                print(String(format: "ratio, unlocks          %8.2f", needed / unlocks.figure.serverMicroseconds))
            }
        } catch {
            await bench.stop()
            throw error
        }
        await bench.stop()
    }

    /// The pass in the middle by the server's CPU time, and what a verification cost before each pass.
    ///
    /// Both are measured in turn, so that a machine that is slower for a while is slower for both.
    private func middle(
        _ name: String,
        _ pass: () async throws -> Bench.Figure
    ) async throws -> (figure: Bench.Figure, verifications: [Double]) {
        var figures: [Bench.Figure] = []
        var verifications: [Double] = []
        for number in 1...self.passes {
            Self.progress("\(name), pass \(number) of \(self.passes)")
            verifications.append(Verification.cost())
            figures.append(try await pass())
        }
        figures.sort { $0.serverMicroseconds < $1.serverMicroseconds }
        return (figures[figures.count / 2], verifications)
    }

    /// What libssl alone spends on a handshake, before and after which nothing else of this program runs.
    private func bareHandshake(_ bench: Bench) async throws -> Double? {
        Self.progress("bare handshakes")
        guard let server = try await BareHandshake.start(lab: bench.lab) else { return nil }
        defer { server.stop() }
        var costs: [Double] = []
        for _ in 0..<self.passes { costs.append(try await server.cost(300)) }
        return Self.middle(costs)
    }

    private static func middle(_ figures: [Double]) -> Double {
        figures.sorted()[figures.count / 2]
    }

    private static func show(_ name: String, _ figure: Bench.Figure) {
        let label = name.padding(toLength: 23, withPad: " ", startingAt: 0)
        print(
            String(
                format: "%@ %8.1f µs CPU  %9.0f /s  (%d done)",
                label,
                figure.serverMicroseconds,
                figure.perSecond,
                figure.count
            )
        )
    }

    /// One line on a terminal's standard error, overwritten by the next.
    private static func progress(_ text: String) {
        guard isatty(STDERR_FILENO) == 1 else { return }
        FileHandle.standardError.write(Data("\r\u{1B}[K\(text)".utf8))
    }
}
