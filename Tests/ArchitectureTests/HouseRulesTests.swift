import Foundation
import Testing

@Suite("House rules that the compiler cannot enforce")
struct HouseRulesTests {
    let tree = SourceTree()

    /// The only targets that may touch memory by address: thin wrappers around C.
    static let wrappers: Set<String> = [
        "HostSystem", "PKCS11", "PostgreSQLClient", "SQLiteClient", "Secrets", "Transport", "Wire",
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

    @Test("no source file is longer than 600 lines")
    func length() async throws {
        for folder in ["Sources", "Tests", "Benchmarks"] {
            for file in try self.tree.files(below: folder) {
                await Task.yield()
                #expect(file.lines.count <= 600, "\(file.path) has \(file.lines.count) lines")
            }
        }
    }

    @Test("no source holds a page, a style or a template, which are files in Resources")
    func markup() async throws {
        for file in try self.tree.files(below: "Sources") {
            await Task.yield()
            for word in ["<html", "<style", "<script", "<svg", "{{", "font-size"] {
                #expect(!file.text.contains(word), "\(file.path) has \(word)")
            }
        }
    }

    @Test("no engine of the store names a case of an outcome, which only the steps and their rules decide")
    func outcomes() async throws {
        var cases: Set<Substring> = []
        for file in try self.tree.files(below: "Sources/Server/WalletStore/Steps") {
            await Task.yield()
            for outcome in file.text.matches(of: /enum \w+Outcome\b[^{]*\{((?:.|\n)*?)\n\}/) {
                cases.formUnion(outcome.output.1.matches(of: /\n    case (\w+\(?)/).map(\.output.1))
            }
        }
        #expect(cases.isSuperset(of: ["tokenUsed", "active(", "notValid(", "identityChanged", "unknown("]))
        for folder in ["Sources/Server/WalletStore/SQLite", "Sources/Server/PostgreSQLStore"] {
            for file in try self.tree.files(below: folder) {
                await Task.yield()
                for line in file.lines where !line.trimmingPrefix(/\s*/).hasPrefix("//") {
                    // A dot at the beginning of an expression, and not one after a value.
                    let names = line.matches(of: /(?:^|[^\w\])?!`])\.(\w+\(?)/).map(\.output.1)
                    #expect(cases.isDisjoint(with: names), "\(file.path): \(line)")
                }
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
            "COpenSSL": ["Secrets", "Transport"], "CPKCS11": ["PKCS11"],
            "CSQLite": ["SQLiteClient"], "Hummingbird": ["DeletionPortal"],
            "HummingbirdCore": ["DeletionPortal"], "Mustache": ["DeletionPortal", "LoadEngine", "Scenarios"],
        ]
        for file in try self.tree.files(below: "Sources") {
            await Task.yield()
            for (library, targets) in owners where Self.imports(of: file).contains(library) {
                #expect(targets.contains(file.target), "\(file.path) imports \(library)")
            }
        }
    }

    @Test("no two targets export a type of the same name")
    func names() async throws {
        let declaration =
            /^(?:public|package) (?:final |indirect )?(?:struct|class|enum|actor|protocol|typealias) (\w+)/
            .anchorsMatchLineEndings()
        var targets: [Substring: Set<String>] = [:]
        for file in try self.tree.files(below: "Sources") {
            await Task.yield()
            for match in file.text.matches(of: declaration) { targets[match.output.1, default: []].insert(file.target) }
        }
        #expect(targets.count > 500)
        for (name, owners) in targets where owners.count > 1 {
            Issue.record("\(name) is exported by \(owners.sorted().joined(separator: ", "))")
        }
    }

    @Test("a flow names each state and event that it handles, so that the compiler reports a new one")
    func flows() async throws {
        let files = try self.tree.files(below: "Sources/Client/Wallet/WalletFlows/Flows")
        #expect(!files.isEmpty)
        for file in files {
            for wildcard in ["(_, _)", "case _", "default:"] {
                #expect(!file.text.contains(wildcard), "\(file.path) has \(wildcard)")
            }
        }
    }

    @Test("an operator's command is one file, and one word in the list of commands")
    func commands() async throws {
        let folder = "Sources/Server/Administration"
        let files = try self.tree.files(below: "Sources/Server")
        let list = try #require(files.first { $0.path == "\(folder)/AdminCalls.swift" })
        let commands = list.text.matches(of: /(\w+)\.self/).map(\.output.1)
        #expect(commands.count > 20)
        // The default command of a group; a command for stopped servers too; the function that sets the level.
        let others = [
            "BackupCommand.swift", "AdminService.swift", "LogOutput+LogLevel.swift",
        ]
        for file in files where file.path != list.path {
            await Task.yield()
            let words = Set(file.text.split { !$0.isLetter && !$0.isNumber })
            for command in commands where words.contains(command) {
                let mayNameIt =
                    file.path.hasPrefix("\(folder)/Commands/") || others.contains { file.path.hasSuffix("/\($0)") }
                #expect(mayNameIt, "\(file.path) names \(command)")
            }
        }
    }

    @Test("no test waits for real time, or for ever")
    func sleeps() async throws {
        for file in try self.tree.files(below: "Tests") where !file.path.hasPrefix("Tests/ArchitectureTests/") {
            await Task.yield()
            for word in ["Task.sleep", "usleep(", "Thread.sleep", " sleep("] {
                #expect(!file.text.contains(word), "\(file.path) uses \(word)")
            }
            let polls = file.lines.contains { $0.contains("while ") && $0.hasSuffix("{ await Task.yield() }") }
            #expect(!polls || file.path.hasSuffix("Deadline.swift"), "\(file.path) polls without a limit")
        }
    }

    @Test("each test of a suite has a function of its own")
    func functions() async throws {
        for file in try self.tree.files(below: "Tests") {
            for suite in file.text.split(separator: "\n@Suite") {
                await Task.yield()
                // Of two functions that differ only in `async`, both tests call the same one.
                let functions = suite.matches(of: /@Test[^{]*?\n    func (\w+\([^)]*\))/).map(\.output.1)
                let repeated = Dictionary(grouping: functions) { $0 }.filter { $1.count > 1 }.keys
                #expect(repeated.isEmpty, "\(file.path)")
            }
        }
    }

    @Test("a folder whose code knows less than the rest of its target imports no more")
    func folders() throws {
        for (folder, known) in [
            ("Sources/Client/Load/LoadEngine/Plan", ["ConfigText", "Glibc"]),
            ("Sources/Client/Load/LoadEngine/Flood", ["NIOCore", "NIOPosix", "Synchronization"]),
            (
                "Sources/Client/Load/LoadEngine/Report",
                ["ConfigText", "Foundation", "FoundationEssentials", "Histogram", "Mustache", "Synchronization"]
            ),
            (
                "Sources/Client/Wallet/SimulatedPhone/Terminal",
                ["HostSystem", "Synchronization", "Vocabulary", "WalletCore", "WalletFlows"]
            ),
            ("Sources/Client/Wallet/WalletFlows/Device", ["Secrets", "Vocabulary"]),
        ] {
            let files = try self.tree.files(below: folder)
            #expect(!files.isEmpty)
            for file in files { #expect(Self.imports(of: file).isSubset(of: known), "\(file.path)") }
        }
        let whole = try self.tree.files(below: "Sources/Server/StoreMaintenance")
        let epochs = whole.filter { Self.imports(of: $0).contains("PostgreSQLStore") }.map(\.path)
        #expect(epochs == ["Sources/Server/StoreMaintenance/Epochs/EpochOpening.swift"])
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
