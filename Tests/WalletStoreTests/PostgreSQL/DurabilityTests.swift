import PostgreSQLClient
import Testing
import Vocabulary

@testable import PostgreSQLStore
@testable import WalletStore

@Suite("Settings of the database that lose commits")
struct DurabilityTests {
    @Test(
        "each unsafe setting is named; a single machine needs no standby but must write to its disk",
        arguments: [
            ("on|on|on|notice|f|one", nil, nil),
            ("remote_apply|on|on|warning|f|ANY 1 (one, two)", nil, nil),
            ("local|on|on|notice|f|one", "synchronous_commit", nil),
            ("remote_write|on|on|notice|f|one", "synchronous_commit", nil),
            ("off|on|on|notice|f|one", "synchronous_commit", "synchronous_commit"),
            ("on|on|on|notice|f|", "synchronous_standby_names", nil),
            ("on|on|on|notice|f| * ", "synchronous_standby_names", nil),
            ("on|on|on|notice|f|ANY 1 (*)", "synchronous_standby_names", nil),
            ("on|off|on|notice|f|one", "fsync", "fsync"),
            ("on|on|off|notice|f|one", "full_page_writes", "full_page_writes"),
            ("on|on|on|error|f|one", "client_min_messages", "client_min_messages"),
            ("on|on|on|notice|t|one", "standby", "standby"),
        ] as [(String, String?, String?)]
    )
    func settings(text: String, replicated: String?, local: String?) throws {
        let settings = try #require(DurabilitySettings(text))
        for (durability, part) in [(Durability.replicated, replicated), (.local, local)] {
            let problem = settings.problem(for: durability)
            if let part { #expect(problem?.contains(part) == true) } else { #expect(problem == nil) }
        }
    }

    @Test(
        "the number of standbys that a commit waits for",
        arguments: [
            ("", 0), ("one", 1), ("one, two", 1), ("ANY 2 (one, two, three)", 2), ("FIRST 3 (a, b, c)", 3),
            ("2 (a, b)", 2),
        ]
    )
    func standbyCount(names: String, count: Int) throws {
        let settings = try #require(DurabilitySettings("on|on|on|notice|f|\(names)"))
        #expect(settings.standbyCount == count)
    }

    @Test("a store is not opened on a database that does not wait for a standby")
    func opening() async throws {
        let place = try await PostgreSQLPlace()
        let error = await #expect(throws: PostgreSQLStoreOpenError.self) {
            _ = try await PostgreSQLWalletStore.open(place.parts(.replicated))
        }
        guard case .losesCommits? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("a store is opened only with its own key and version, and created once")
    func openings() async throws {
        let place = try await PostgreSQLPlace()
        await #expect(throws: PostgreSQLStoreOpenError.exists) {
            try await PostgreSQLWalletStore.create(place.parts())
        }
        var parts = place.parts()
        parts.key = .other
        await #expect(throws: PostgreSQLStoreOpenError.otherKey) { _ = try await PostgreSQLWalletStore.open(parts) }
        _ = try place.connect().run("update facts set schema_version = 9")
        await #expect(throws: PostgreSQLStoreOpenError.otherVersion(found: 9, known: DatabaseReport.knownSchemaVersion))
        {
            _ = try await PostgreSQLWalletStore.open(place.parts())
        }
        _ = try place.connect().run("drop schema remote_pin cascade")
        await #expect(throws: PostgreSQLStoreOpenError.missing) {
            _ = try await PostgreSQLWalletStore.open(place.parts())
        }
    }
}
