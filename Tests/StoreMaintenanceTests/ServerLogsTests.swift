import AuditLog
import TestSupport
import Testing
import Vault
import Vocabulary

@testable import StoreMaintenance

@Suite("The audit logs of all servers")
struct ServerLogsTests {
    private let folder = TemporaryFolder()
    private let clock = ManualClock()
    private let vault: KeyFileVault
    private let code: RecoveryCodeMAC

    init() async throws {
        try KeyFileVault.create(at: self.folder.file("vault.key"))
        self.vault = try await KeyFileVault(self.folder.file("vault.key"))
        self.code = try #require(RecoveryCodeMAC([UInt8](repeating: 7, count: 32)))
    }

    private func path(_ name: String) -> String { self.folder.file("\(name).audit") }

    private func open(_ name: String, of server: String? = nil) async throws -> AuditLog {
        var parts = AuditLog.Parts(path: self.path(name), vault: self.vault, clock: self.clock)
        parts.server = server ?? name
        if !AuditLog.exists(at: parts.path) { try await AuditLog.create(parts) }
        return try await AuditLog.open(parts)
    }

    /// Records a change as done and returns its last entry.
    @discardableResult
    private func change(_ event: AuditEvent, in log: AuditLog) async throws -> AuditMark {
        let subject = AuditSubject(recoveryCode: self.code)
        let begun = try await log.append(event, by: .server, on: subject, .begun)
        return try await log.append(event, by: .server, on: subject, .done(of: begun.number, result: ""))
    }

    private func read(_ known: [String: AuditMark?] = ["a": nil, "b": nil]) async throws -> ServerLogs {
        try await ServerLogs(at: [self.path("a"), self.path("b")], known: known, vault: self.vault)
    }

    @Test("changes of several servers are repeated in the order of their times, and those of one in the log's order")
    func order() async throws {
        let (a, b) = (try await self.open("a"), try await self.open("b"))
        try await self.change(.revokeRecoveryCode, in: a)
        self.clock.advance(by: .seconds(5))
        try await self.change(.removeDenied, in: b)
        self.clock.advance(by: .seconds(5))
        try await self.change(.revokeSolution, in: a)
        try await self.change(.restoreSolution, in: a)
        let steps = try await self.read().steps
        guard case .deny = steps.first else {
            Issue.record("\(steps)")
            return
        }
        #expect(Array(steps.dropFirst()) == [.allow(self.code), .setSolutionRevoked(true), .setSolutionRevoked(false)])
    }

    @Test("if the clocks of two servers leave the order open, a code stays denied and the solution revoked")
    func doubt() async throws {
        let (a, b) = (try await self.open("a"), try await self.open("b"))
        try await self.change(.revokeRecoveryCode, in: a)
        try await self.change(.revokeSolution, in: a)
        self.clock.advance(by: .seconds(1))
        try await self.change(.removeDenied, in: b)
        try await self.change(.restoreSolution, in: b)
        let steps = try await self.read().steps
        #expect(Array(steps.prefix(2)) == [.allow(self.code), .setSolutionRevoked(false)])
        #expect(steps.last == .setSolutionRevoked(true))
    }

    @Test("a revocation that began while another server restored the solution is repeated after the restoration")
    func overlapping() async throws {
        let (a, b) = (try await self.open("a"), try await self.open("b"))
        try await self.change(.revokeSolution, in: a)
        self.clock.advance(by: .seconds(10))
        let begun = try await a.append(.restoreSolution, by: .server, .begun)
        self.clock.advance(by: .milliseconds(500))
        let revoked = try await b.append(.revokeSolution, by: .server, .begun)
        self.clock.advance(by: .seconds(5))
        try await a.append(.restoreSolution, by: .server, .done(of: begun.number, result: ""))
        try await b.append(.revokeSolution, by: .server, .done(of: revoked.number, result: ""))
        #expect(try await self.read().steps.last == .setSolutionRevoked(true))
    }

    @Test("changes up to the entry that the store names are not repeated; those of a server that it does not know are")
    func marks() async throws {
        let (a, b) = (try await self.open("a"), try await self.open("b"))
        let mark = try await self.change(.revokeSolution, in: a)
        try await self.change(.revokeRecoveryCode, in: b)
        let steps = try await self.read(["a": mark]).steps
        guard steps.count == 1, case .deny = steps[0] else {
            Issue.record("\(steps)")
            return
        }
        let other = AuditMark(number: mark.number, mac: "1-" + String(repeating: "0", count: 64))
        let logs = try await self.read(["a": other])
        #expect(logs.servers.first { $0.name == "a" }?.problem != nil, "it is not the log that the store names")
        #expect(logs.servers.first { $0.name == "b" }?.problem == nil)
    }

    @Test("if the store names no entry of a server, the changes in all of its logs are repeated")
    func severalLogs() async throws {
        try await self.change(.revokeSolution, in: try await self.open("a"))
        self.clock.advance(by: .seconds(5))
        try await self.change(.revokeRecoveryCode, in: try await self.open("b", of: "a"))
        #expect(try await self.read(["a": nil]).steps.count == 2)
    }

    @Test("each log names the servers that its server knew")
    func names() async throws {
        let a = try await self.open("a")
        try await a.append(.started, by: .server, .done(of: nil, result: ""), servers: ["a", "c"])
        let logs = try await ServerLogs(at: [self.path("a")], known: ["b": nil], vault: self.vault)
        #expect(logs.names == ["a", "b", "c"])
        #expect(logs.servers.first?.endsWithStop == false)
    }
}
