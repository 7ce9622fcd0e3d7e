import Testing
import Vault

@testable import AuditLog

@Suite("Events of the audit log that have a new name")
struct RenamedEventTests {
    @Test(
        "entries with an event's former name are read under its present name",
        arguments: [
            ("upkeep show", "maintenance show"), ("vault sealed anew", "vault resealed"), ("other", "other"),
        ]
    )
    func renamed(former: String, present: String) async throws {
        let log = try LogUnderTest()
        _ = try await log.filled()
        let opened = try await log.open()
        try await opened.append(AuditEvent(rawValue: former), by: .server, .done(of: nil, result: ""))
        await opened.close()
        var names: [String] = []
        let reader = try AuditReader(log.path, vault: KeyFileVault(log.keyFile))
        let found = try await reader.verify { names.append($0.record.event.rawValue) }
        #expect(found.problem == nil && names.last == present)
    }
}
