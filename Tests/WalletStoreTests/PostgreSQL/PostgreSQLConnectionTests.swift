import Foundation
import Glibc
@testable import PostgreSQLClient
import Testing

@Suite("Connections to PostgreSQL")
struct PostgreSQLConnectionTests {
    private let cluster: PostgreSQLCluster
    private let connection: PostgreSQLConnection

    init() throws {
        self.cluster = try #require(PostgreSQLCluster.shared)
        self.connection = try self.cluster.connect()
    }

    @Test("values of all types arrive unchanged, empty ones and NULL too")
    func values() throws {
        let bytes: [[UInt8]] = [[0, 255, 92, 39], [], [UInt8](repeating: 7, count: 5000)]
        let rows = try self.connection.run(
            "select $1::bytea, $2::text, $3::bigint, $4::boolean, $5::bytea, $6::bytea, $7::bigint",
            [.bytes(bytes[0]), .text("ü'"), .number(.min), .flag(true), .bytes([]), .null, .number(.max)]
        )
        #expect(rows.bytes(0, 0) == bytes[0])
        #expect(rows.text(0, 1) == "ü'")
        #expect(rows.number(0, 2) == .min && rows.number(0, 6) == .max)
        #expect(rows.flag(0, 3) == true)
        #expect(rows.bytes(0, 4) == [])
        #expect(rows.bytes(0, 5) == nil)
        let unnested = try self.connection.run("select * from unnest($1::bytea[])", [.byteArrays(bytes)])
        #expect((0..<unnested.count).map { unnested.bytes($0, 0) } == bytes)
        try #expect(self.connection.run("select * from unnest($1::bytea[])", [.byteArrays([])]).count == 0)
    }

    @Test("a connection that another process answers than the one that accepted it is refused")
    func pooler() throws {
        let pooler = try Pooler(before: self.cluster)
        #expect {
            _ = try PostgreSQLConnection(to: pooler.target, within: PostgreSQLCluster.longest)
        } throws: { error in
            guard case .disconnected(let reason) = error as? PostgreSQLFailure else { return false }
            return reason.hasPrefix(PostgreSQLConnection.pooler)
        }
    }

    @Test("libpq looks for no file in the user's home, unless the address names one")
    func noFiles() throws {
        let parameters = PostgreSQLTarget(address: "host=db1 sslrootcert=/etc/ca.pem").hosts.parameters[0]
        let names = parameters.map(\.keyword)
        let address = try #require(names.firstIndex(of: "dbname"))
        for name in ["sslcert", "sslkey", "sslrootcert", "sslcrl", "passfile"] {
            let place = try #require(names.firstIndex(of: name))
            // libpq takes the last value, so the address overrides it.
            #expect(place < address && parameters[place].value.hasPrefix("/dev/null/"), "\(name)")
        }
        #expect(parameters[address].value.contains("sslrootcert='/etc/ca.pem'"))
    }

    @Test("a rejected statement names its SQLSTATE, and the connection stays usable")
    func rejected() throws {
        let error = #expect(throws: PostgreSQLFailure.self) {
            try self.connection.run("select 1 / $1::bigint", [.number(0)])
        }
        guard case .rejected(state: "22012", _)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        try #expect(self.connection.run("select 1::bigint").number(0, 0) == 1)
    }

    @Test("a statement that takes too long closes its connection; its outcome is unknown only if it commits")
    func late() throws {
        for commits in [false, true] {
            let connection = try self.cluster.connect()
            let error = #expect(throws: PostgreSQLFailure.self) {
                try connection.run("select pg_sleep(600)", commits: commits, within: .milliseconds(50))
            }
            if case .outcomeUnknown? = error { #expect(commits) } else { #expect(!commits) }
            #expect(!connection.isOpen)
            #expect(throws: PostgreSQLFailure.disconnected("the connection is closed")) {
                try connection.run("select 1", within: .seconds(1))
            }
        }
    }

    @Test("a notice makes the outcome of a commit unknown, and no other statement's")
    func notices() throws {
        let warn = "do $$ begin raise warning 'x'; end $$"
        _ = try self.connection.run(warn)
        let error = #expect(throws: PostgreSQLFailure.self) {
            try self.connection.run(warn, commits: true, within: PostgreSQLCluster.longest)
        }
        guard case .outcomeUnknown? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(!self.connection.isOpen)
    }

    @Test("a change whose commit fails is rejected, although its rows arrive before")
    func failedCommit() throws {
        let connection = try self.cluster.connect(to: self.cluster.database())
        _ = try connection.run(
            """
            do $body$ begin
            create table counted (number bigint);
            create function reject() returns trigger language plpgsql as
                $$ begin raise exception 'rejected' using errcode = '40001'; end $$;
            create constraint trigger reject after insert on counted deferrable initially deferred
                for each row execute function reject();
            end $body$
            """
        )
        #expect(throws: PostgreSQLFailure.rejected(state: "40001", message: "rejected")) {
            try connection.run(
                "insert into counted values (1) returning number",
                commits: true,
                within: PostgreSQLCluster.longest
            )
        }
        try #expect(connection.run("select count(*) from counted").number(0, 0) == 0)
    }

    @Test("the next host is tried if one is frozen: it takes a connection and never answers")
    func frozenHost() throws {
        let frozen = try FrozenHost()
        var target = try self.cluster.target(self.cluster.database())
        target.address = target.address.replacing("host=", with: "connect_timeout=1 host=\(frozen.folder),")
        let connection = try PostgreSQLConnection(to: target, within: PostgreSQLCluster.longest)
        try #expect(connection.run("select 1::bigint").number(0, 0) == 1)
    }

    /// A socket in the place of PostgreSQL's that nobody reads from.
    private final class FrozenHost {
        let folder = "/tmp/remote-pin-frozen-\(UInt32.random(in: .min ... .max))"
        private let descriptor: Int32

        struct NoSocket: Error {}

        init() throws {
            try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: false)
            self.descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let path = "\(self.folder)/.s.PGSQL.5432"
            unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
            let bound = unsafe withUnsafeBytes(of: &address) { bytes in
                let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
                return unsafe bind(self.descriptor, start, socklen_t(bytes.count))
            }
            guard bound == 0, listen(self.descriptor, 8) == 0 else { throw NoSocket() }
        }

        deinit {
            close(self.descriptor)
            try? FileManager.default.removeItem(atPath: self.folder)
        }
    }

    @Test("a server that cannot be reached is named as such")
    func unreachable() {
        let error = #expect(throws: PostgreSQLFailure.self) {
            _ = try PostgreSQLConnection(
                to: PostgreSQLTarget(address: "host=/tmp/remote-pin-no-such-folder dbname=x"),
                within: .seconds(5)
            )
        }
        guard case .disconnected? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }
}
