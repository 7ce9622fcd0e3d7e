import PostgreSQLClient
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import PostgreSQLStore
@testable import WalletStore

@Suite("A database whose schema another program changed")
struct ChangedDatabaseTests {
    private let place: PostgreSQLPlace
    private let connection: PostgreSQLConnection

    init() async throws {
        self.place = try await PostgreSQLPlace()
        self.connection = try self.place.connect()
    }

    private static let oldRow = """
        create function public.old_row() returns trigger language plpgsql as $$ begin return old; end $$
        """
    private static let noRow = """
        create function public.no_row() returns trigger language plpgsql as $$ begin return null; end $$
        """

    /// Changes of a table, which are found by the next batch even if it does not use that table.
    static let ofTables: [SchemaChange] =
        [
            SchemaChange(
                oldRow,
                "create trigger undo before update on wallets for each row execute function public.old_row()",
                undo: "drop trigger undo on wallets",
                named: "trigger undo on wallets is unknown"
            ),
            SchemaChange(
                """
                create function public.undo() returns trigger language plpgsql as $$ begin
                    update remote_pin.wallets set record = old.record where id = new.id; return null;
                end $$
                """,
                """
                create trigger undo after update on wallets for each row when (pg_trigger_depth() = 0)
                execute function public.undo()
                """,
                undo: "drop trigger undo on wallets",
                named: "trigger undo on wallets is unknown"
            ),
            SchemaChange(
                noRow,
                """
                create constraint trigger later after update on wallets deferrable initially deferred
                for each row execute function public.no_row()
                """,
                undo: "drop trigger later on wallets",
                named: "trigger later on wallets is unknown"
            ),
            SchemaChange(
                noRow,
                "create trigger all_rows after truncate on leases for each statement execute function public.no_row()",
                "alter table leases disable trigger all_rows",
                undo: "drop trigger all_rows on leases",
                named: "trigger all_rows on leases is unknown"
            ),
            SchemaChange(
                "create rule lose as on update to wallets do instead nothing",
                undo: "drop rule lose on wallets",
                named: "rule lose on wallets is unknown"
            ),
            SchemaChange(
                "create policy hide on wallets using (false)",
                "alter table wallets enable row level security, force row level security",
                undo: "drop policy hide on wallets",
                "alter table wallets disable row level security, no force row level security",
                named: "policy hide on wallets is unknown; row security of wallets is unknown"
            ),
            SchemaChange(
                "alter table leases alter acknowledged set default 9000",
                undo: "alter table leases alter acknowledged set default 0",
                named: "column leases.acknowledged is changed"
            ),
            SchemaChange(
                "alter table wallets add copy bytea generated always as (record) stored",
                undo: "alter table wallets drop copy",
                named: "column wallets.copy is unknown"
            ),
            SchemaChange(
                "create table public.more () inherits (wallets)",
                undo: "drop table public.more",
                named: "inheritance of wallets by public.more is unknown"
            ),
            SchemaChange(
                "alter table wallets rename to kept",
                "create view wallets as select * from kept",
                undo: "drop view wallets",
                "alter table kept rename to wallets",
                named: "table kept is unknown"
            ),
            SchemaChange(
                "alter table wallets add constraint short check (length(record) < 1000)",
                undo: "alter table wallets drop constraint short",
                named: "constraint short on wallets is unknown"
            ),
            SchemaChange(
                "create table public.guests (id bytea references wallets on update cascade)",
                undo: "drop table public.guests",
                named: " on wallets is unknown"
            ),
            SchemaChange(
                "create index by_record on wallets ((record || id))",
                undo: "drop index by_record",
                named: "index by_record on wallets is unknown"
            ),
            SchemaChange(
                "create index by_record on wallets ((record || id))",
                "update pg_index set indisvalid = false where indexrelid = 'by_record'::regclass",
                undo: "drop index by_record",
                named: "unfinished index by_record on wallets is unknown"
            ),
            SchemaChange(
                "create index wallets_pkey_ccnew on wallets ((id || record))",
                "update pg_index set indisvalid = false where indexrelid = 'wallets_pkey_ccnew'::regclass",
                undo: "drop index wallets_pkey_ccnew",
                named: "unfinished index wallets_pkey_ccnew on wallets is unknown"
            ),
            SchemaChange(
                "create schema other",
                "create statistics other.usual on (record || id) from wallets",
                undo: "drop statistics other.usual",
                "drop schema other",
                named: "statistics usual on wallets is unknown"
            ),
            // Attack: with the line end in its name, the object would be two that are accepted.
            SchemaChange(
                """
                alter table commit_numbers add constraint "facts_id_check on facts\tCHECK (id)\nsequence x"
                check (number >= 0)
                """,
                undo: "alter table commit_numbers drop constraint \"facts_id_check on facts\tCHECK (id)\nsequence x\"",
                named: "constraint facts_id_check on facts\tCHECK (id)\nsequence x on commit_numbers is unknown"
            ),
            SchemaChange(
                "create sequence \"numbers\r\"",
                "create index by_record on wallets ((record || id))",
                undo: "drop index by_record",
                "drop sequence \"numbers\r\"",
                named: "index by_record on wallets is unknown"
            ),
            SchemaChange(
                "alter table recorded_blocks drop constraint recorded_blocks_pkey",
                undo: "alter table recorded_blocks add primary key (id)",
                named: "index recorded_blocks_pkey on recorded_blocks is missing"
            ),
            SchemaChange(
                "alter table audit_marks alter mac type text collate \"C\"",
                undo: "alter table audit_marks alter mac type text collate \"default\"",
                named: "column audit_marks.mac is changed"
            ),
            SchemaChange(
                "alter table epochs alter mac drop not null",
                undo: "alter table epochs alter mac set not null",
                named: "column epochs.mac is changed"
            ),
        ]
        + PostgreSQLStore.Schema.current.tables(in: DatabaseReport.knownSchemaVersion).map {
            SchemaChange(
                "alter table \($0) set unlogged",
                undo: "alter table \($0) set logged",
                named: "unlogged table \($0) is unknown"
            )
        }

    /// Objects that no statement of a connected server uses.
    static let apart: [SchemaChange] = [
        SchemaChange("create table notes (id bigint)", undo: "drop table notes", named: "table notes is unknown"),
        SchemaChange(
            "create function string_agg(bytea, text) returns bytea language sql as $$ select ''::bytea $$",
            undo: "drop function string_agg(bytea, text)",
            named: "function string_agg(bytea,text) is unknown"
        ),
        SchemaChange(
            "create operator + (leftarg = bytea, rightarg = bytea, function = byteacat)",
            undo: "drop operator + (bytea, bytea)",
            named: "operator +(bytea,bytea) is unknown"
        ),
    ]

    private func differences() async throws -> String {
        let parts = self.place.parts()
        let report = try await DatabaseReport.read(of: parts.target, for: parts.durability, within: parts.timeLimit)
        return report.schemaDifferences.joined(separator: "; ")
    }

    private func run(_ statements: [String]) throws {
        for statement in statements { try self.connection.run(statement) }
    }

    private func expectNotOpened(_ change: SchemaChange) async throws {
        let error = await #expect(throws: PostgreSQLStoreOpenError.self) { _ = try await self.place.open() }
        guard case .otherSchema(let differences)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(differences.joined(separator: "; ").contains(change.named), "\(differences)")
        #expect(try await self.differences() == differences.joined(separator: "; "))
    }

    @Test("the statements that make the schema make the objects that this program expects")
    func expected() async throws {
        let text = try #require(try self.connection.run(SchemaObjects.statement).text(0, 0))
        #expect(try #require(SchemaObjects(text)).differences(from: .current) == [])
    }

    @Test(
        "a change of a table is found by the next batch, which gets no verdict; nothing is judged until it is undone",
        arguments: Self.ofTables
    )
    func found(change: SchemaChange) async throws {
        let store = try await self.place.open()
        let wallet = try await TestWallet(in: store)
        let left = { (count: Int) in AttemptOutcome.notValid(.wrong(.open(attemptsLeft: count, finalRound: false))) }
        for count in [3, 2] { #expect(try await store.outcome(of: wallet.attempt(right: false)) == left(count)) }
        try self.run(change.make)
        for _ in 0..<3 {
            await #expect(throws: StoreError.self) { try await store.outcome(of: wallet.attempt(right: true)) }
        }
        await #expect(throws: StoreError.unavailable) {
            try await store.recordWipe(of: wallet.id, at: TestWallet.start)
        }
        // With some of these changes, the statements cannot be parsed.
        if !change.named.hasPrefix("table kept") { try await self.expectNotOpened(change) }
        #expect(try await self.differences().contains(change.named))
        try self.run(change.undo)
        #expect(try await self.differences() == "")
        #expect(
            await eventually {
                if case .valid? = try? await store.outcome(of: wallet.attempt(right: true)) { return true }
                return false
            }
        )
        await store.close()
    }

    @Test(
        "an object beside the tables is found at a start, in a report, and by a connected server within an hour",
        arguments: Self.apart
    )
    func beside(change: SchemaChange) async throws {
        let passed = Mutex(Duration.zero)
        var parts = self.place.parts()
        parts.machine.now = { .now + passed.withLock(\.self) }
        let store = try await PostgreSQLWalletStore.open(parts)
        let wallet = try await TestWallet(in: store)
        _ = try await store.outcome(of: wallet.attempt(right: true))
        try self.run(change.make)
        try await self.expectNotOpened(change)
        passed.withLock { $0 = .seconds(3600) }
        await #expect(throws: StoreError.outcomeUnknown) { try await store.outcome(of: wallet.attempt(right: true)) }
        await #expect(throws: StoreError.unavailable) { try await store.outcome(of: wallet.attempt(right: true)) }
        try self.run(change.undo)
        #expect(await eventually { (try? await store.outcome(of: wallet.attempt(right: true))) != nil })
        await store.close()
    }

    @Test("a trigger that is committed while a transaction waits for the table's lock ends that transaction")
    func duringTransaction() async throws {
        let store = try await self.place.open()
        let wallet = try await TestWallet(in: store)
        let effect = Attempt.Effect.replacePINKey(identity: TestWallet.bytes(300), newKeyID: .random())
        _ = try await store.isSolutionRevoked()
        try self.run([Self.oldRow, "begin"])
        try self.run([
            "create trigger undo before update on wallet_values for each row execute function public.old_row()"
        ])
        let change = Task { try await store.outcome(of: wallet.attempt(right: true, effect: effect)) }
        let waiting = "select from pg_stat_activity where wait_event_type = 'Lock' and datname = $1"
        let other = try self.place.connect()
        try await poll { try other.run(waiting, [.text(self.place.database)]).count > 0 }
        try self.connection.run("commit")
        await #expect(throws: StoreError.unavailable) { _ = try await change.value }
        try self.run(["drop trigger undo on wallet_values"])
        #expect(
            await eventually {
                (try? await store.outcome(of: wallet.attempt(right: false)))
                    == .notValid(.wrong(.open(attemptsLeft: 3, finalRound: false)))
            },
            "the attempt before was rolled back"
        )
        await store.close()
    }

    @Test("code that runs in a statement of the store cannot record that statement as checked")
    func forgedCheck() async throws {
        let store = try await self.place.open()
        let wallet = try await TestWallet(in: store)
        _ = try await store.judge(wallet.attempt(right: true))
        // As a row security policy does for a role that is no superuser.
        try self.run([
            """
            create function public.pass() returns boolean language plpgsql as $$ begin
                perform set_config('remote_pin.parsed', string_agg((now() - n * interval '1 us')::text, '|'),
                    false) from generate_series(0, 8000) n;
                return true;
            end $$
            """,
            "alter table facts rename to kept", "create view facts as select * from kept where public.pass()",
        ])
        for _ in 0..<3 {
            await #expect(throws: StoreError.self) { try await store.judge(wallet.attempt(right: true)) }
        }
        await #expect(throws: PostgreSQLStoreOpenError.self) { _ = try await self.place.open() }
        await store.close()
    }

    @Test("an operator of the schema that fits better than a built-in one does not hide an object")
    func shadowed() async throws {
        try self.run([
            "create function public.hide(text, name) returns text language sql as $$ select 'sequence x'::text $$",
            "create operator || (leftarg = text, rightarg = name, function = public.hide)",
            "create rule lose as on update to wallets do instead nothing",
        ])
        let found = try await self.differences()
        #expect(
            found.contains("rule lose on wallets is unknown") && found.contains("operator ||(text,name) is unknown")
        )
    }

    @Test("names are compared without quotes, whatever the role's settings say")
    func quotes() async throws {
        try self.run(["alter database \(self.place.database) set quote_all_identifiers = on"])
        await (try self.place.open()).close()
        #expect(try await self.differences() == "")
    }

    @Test("a row that the database did not store as it was sent gets no verdict")
    func otherRow() throws {
        let (wallet, row) = (WalletID.random(), [UInt8](repeating: 7, count: 126))
        #expect(try JudgingWorker.written(wallet.bytes + row, of: [wallet: row]) == [wallet])
        #expect(try JudgingWorker.written([], of: [wallet: row]) == [])
        var changed = row
        changed[3] ^= 1
        let other = WalletID.random()
        for returned in [wallet.bytes + changed, wallet.bytes + row.dropLast(), other.bytes + row] {
            #expect(throws: PostgreSQLFailure.self) { try JudgingWorker.written(returned, of: [wallet: row]) }
        }
    }

    @Test("work on the database that can change no result stops no server, within an hour and at a start")
    func maintenance() async throws {
        let passed = Mutex(Duration.zero)
        var parts = self.place.parts()
        parts.machine.now = { .now + passed.withLock(\.self) }
        let store = try await PostgreSQLWalletStore.open(parts)
        let wallet = try await TestWallet(in: store)
        _ = try await store.outcome(of: wallet.attempt(right: true))
        for statement in [
            "analyze", "vacuum", "vacuum full", "reindex table wallets", "reindex table concurrently wallets",
            "cluster wallets using wallets_pkey", "alter table wallets set (fillfactor = 60)",
            "create publication p for table wallets", "grant select on wallets to public",
            "comment on table wallets is 'x'", "create statistics pairs on id, record from wallets",
            "create view ids as select id from wallets",
            "create materialized view counts as select count(*) as number from wallets",
            "create unique index by_number on counts (number)", "create type kind as enum ('a')",
            "create type pair as (a int, b int)", "create domain short as bytea check (length(value) < 9)",
            "create sequence numbers", "create text search configuration simplest (copy = pg_catalog.simple)",
            "create collation c (locale = 'C')", "create publication q for tables in schema remote_pin",
            "alter default privileges in schema remote_pin grant select on tables to public",
        ] {
            try self.connection.run(statement)
            try await #expect(store.outcome(of: wallet.attempt(right: true)).isValid, "\(statement)")
            #expect(try await self.differences() == "", "\(statement)")
        }
        passed.withLock { $0 = .seconds(3600) }
        try await #expect(store.outcome(of: wallet.attempt(right: true)).isValid)
        await (try PostgreSQLWalletStore.open(self.place.parts(as: "other"))).close()
        await store.close()
    }
}

extension AttemptOutcome {
    fileprivate var isValid: Bool {
        if case .valid = self { true } else { false }
    }
}

/// A change of a schema by another program, and its opposite.
struct SchemaChange: Sendable, CustomTestStringConvertible {
    let make: [String]
    let undo: [String]
    /// The object, as the differences name it.
    let named: String

    init(_ make: String..., undo: String..., named: String) {
        (self.make, self.undo, self.named) = (make, undo, named)
    }

    var testDescription: String { self.named }
}
