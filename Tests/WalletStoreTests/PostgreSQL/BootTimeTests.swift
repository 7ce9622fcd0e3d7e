import Foundation
import PostgreSQLClient
import PostgreSQLStore
import TestSupport
import Testing
import WalletStore

@Suite("The clock of leases")
struct BootTimeTests {
    /// Set in the environment of a process that only prints the time.
    private static let variable = "REMOTE_PIN_PRINTS_TIME_OF_LEASES"
    private static let isInside = ProcessInfo.processInfo.environment[Self.variable] != nil
    private static let suspension = 1_000_000

    /// The time of leases and the time that is added to the database's clock, whichever is earlier.
    private static var time: Duration {
        let parts = StoreParts(target: PostgreSQLTarget(address: ""), server: "test", key: .test)
        return min(parts.elapsed(), parts.uptime())
    }

    /// Runs a program whose CLOCK_BOOTTIME is ahead and whose CLOCK_MONOTONIC is not, as after a suspension of the
    /// machine (time_namespaces(7)).
    private static func afterSuspension(_ program: String...) async throws -> ProgramRun {
        let namespace = ["--user", "--map-root-user", "--time", "--boottime", "\(Self.suspension)"]
        return try await ServerProcess.run("/usr/bin/unshare", namespace + program)
    }

    @Test(
        "a lease's time includes that for which the machine was suspended",
        .enabled("namespaces are permitted here") {
            if Self.isInside { true } else { try await Self.afterSuspension("true").exitCode == 0 }
        }
    )
    func suspended() async throws {
        guard !Self.isInside else { return print("\(Self.variable)=\(Self.time / .seconds(1))") }
        let before = Self.time
        let run = try await Self.afterSuspension(
            "/usr/bin/env",
            "\(Self.variable)=1",
            FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"),
            "--testing-library",
            "swift-testing",
            "--filter",
            "BootTimeTests"
        )
        let line = run.output.split(separator: "\n").first { $0.hasPrefix("\(Self.variable)=") }
        let time = try Double(line?.dropFirst(Self.variable.count + 1) ?? "").orThrow()
        #expect(.seconds(time) >= before + .seconds(Self.suspension), "\(run.output)")
    }
}
