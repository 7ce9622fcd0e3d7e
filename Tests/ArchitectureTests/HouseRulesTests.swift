import Foundation
import Testing

@Suite("House rules that the compiler cannot enforce")
struct HouseRulesTests {
    let tree = SourceTree()

    /// The only targets that may touch memory by address: thin wrappers around C.
    static let wrappers: Set<String> = [
        "CurveArithmetic", "HostSystem", "PostgreSQLClient", "PreparedSQL", "Secrets", "Transport", "Wire",
    ]

    @Test("unsafe code appears only in the wrappers around C")
    func unsafeCode() async throws {
        for file in try self.tree.files(below: "Sources") where !Self.wrappers.contains(file.target) {
            await Task.yield()
            Self.expectNoUnsafeCode(in: file)
        }
    }

    @Test("in Wire, only the arena, the reader and the writer of C messages use unsafe code")
    func unsafeCodeInWire() async throws {
        let owners = ["Arena", "MessageReader", "MessageWriter"].map { "Sources/Shared/Wire/\($0).swift" }
        for file in try self.tree.files(below: "Sources/Shared/Wire") where !owners.contains(file.path) {
            await Task.yield()
            Self.expectNoUnsafeCode(in: file)
        }
    }

    private static func expectNoUnsafeCode(in file: SourceTree.File) {
        for (number, line) in file.lines.enumerated() {
            let code = line.split(separator: "//", maxSplits: 1, omittingEmptySubsequences: false).first ?? ""
            // A keyword of Content-Security-Policy, not Swift's.
            let swift = code.replacingOccurrences(of: "'unsafe-inline'", with: "")
            #expect(
                !swift.split(whereSeparator: { !$0.isLetter && $0 != "_" }).contains("unsafe"),
                "\(file.path):\(number + 1)"
            )
        }
    }

    @Test("no source file is longer than 400 lines")
    func length() async throws {
        for folder in ["Sources", "Tests", "Benchmarks"] {
            for file in try self.tree.files(below: folder) {
                await Task.yield()
                #expect(file.lines.count <= 400, "\(file.path) has \(file.lines.count) lines")
            }
        }
    }

    @Test("server and client never import each other")
    func layers() async throws {
        let serverTargets = try Set(self.tree.files(below: "Sources/Server").map(\.target))
        let clientTargets = try Set(self.tree.files(below: "Sources/Client").map(\.target))
        #expect(!serverTargets.isEmpty && !clientTargets.isEmpty)
        for (folder, forbidden) in [
            ("Sources/Server", clientTargets), ("Sources/Client", serverTargets),
            ("Sources/Shared", serverTargets.union(clientTargets)),
        ] {
            for file in try self.tree.files(below: folder) {
                await Task.yield()
                #expect(Self.imports(of: file).isDisjoint(with: forbidden), "\(file.path)")
            }
        }
    }

    @Test("only the wrapper of a library sees it, and only the portal sees a web server")
    func libraries() async throws {
        let owners = [
            "CPostgreSQL": ["PostgreSQLClient"], "CProtobufC": ["Wire"], "RemotePINProto": ["Wire"],
            "COpenSSL": ["CurveArithmetic", "Secrets", "Transport"],
            "GRDB": ["PreparedSQL", "WalletStore"], "GRDBSQLite": ["PreparedSQL"], "Hummingbird": ["DeletionPortal"],
            "HummingbirdCore": ["DeletionPortal"], "Mustache": ["DeletionPortal", "LoadReport", "Scenarios"],
        ]
        for file in try self.tree.files(below: "Sources") {
            await Task.yield()
            for (library, targets) in owners where Self.imports(of: file).contains(library) {
                #expect(targets.contains(file.target), "\(file.path) imports \(library)")
            }
        }
    }

    /// Fast signatures leave copies of their key in memory and take a time that depends on it.
    @Test("no test waits for real time")
    func sleeps() async throws {
        for file in try self.tree.files(below: "Tests") where !file.path.hasPrefix("Tests/ArchitectureTests/") {
            await Task.yield()
            for word in ["Task.sleep", "usleep(", "Thread.sleep", " sleep("] {
                #expect(!file.text.contains(word), "\(file.path) uses \(word)")
            }
        }
    }

    private static func imports(of file: SourceTree.File) -> Set<String> {
        var modules: Set<String> = []
        for line in file.lines {
            let words = line.split(separator: " ")
            guard let at = words.firstIndex(of: "import"), at <= 2, at + 1 < words.count else { continue }
            modules.insert(String(words[at + 1]))
        }
        return modules
    }
}
