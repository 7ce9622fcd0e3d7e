import Foundation
import Testing

/// The targets of Package.swift with their dependencies, read from the text of the manifest.
///
/// `swift package dump-package` waits for the lock that `swift test` holds on the build folder.
private struct Manifest {
    /// The direct dependencies of each target: targets by name, products by the name of their
    /// constant in the manifest.
    private var dependencies: [String: Set<String>] = [:]

    init(_ text: String) {
        let declaration =
            /(?:target|executableTarget|testTarget)\(\s*name: "([^"]+)"(?:,\s*dependencies: \[([^\]]*)\])?/
        for match in text.matches(of: declaration) {
            let names = (match.output.2 ?? "").split(whereSeparator: { " ,\"\n".contains($0) })
            self.dependencies[String(match.output.1)] = Set(names.map(String.init))
        }
    }

    /// The direct and transitive dependencies of `target`.
    func closure(of target: String) -> Set<String> {
        var found: Set<String> = []
        var pending = Array(self.dependencies[target] ?? [])
        while let next = pending.popLast() {
            if found.insert(next).inserted { pending += self.dependencies[next] ?? [] }
        }
        return found
    }
}

@Suite("Dependencies declared in the manifest")
struct ManifestTests {
    private let manifest: Manifest

    init() throws {
        let file = SourceTree().root.appendingPathComponent("Package.swift")
        self.manifest = Manifest(try String(contentsOf: file, encoding: .utf8))
    }

    @Test("the library for host applications links no simulator, no test authority and no tool")
    func walletCore() {
        let linked = self.manifest.closure(of: "WalletCore")
        #expect(linked.isSuperset(of: ["DeviceInterface", "WalletFlows", "Transport", "COpenSSL", "nioCore"]))
        #expect(
            linked.isDisjoint(with: ["Lab", "SimulatedPhone", "subprocess", "yams", "ConfigText", "argumentParser"])
        )
    }

    @Test("the simulated phone links the test authority")
    func simulatedPhone() {
        // The names that the test above forbids are those that the manifest uses.
        let linked = self.manifest.closure(of: "SimulatedPhone")
        #expect(linked.isSuperset(of: ["Lab", "subprocess", "yams", "ConfigText"]))
        #expect(self.manifest.closure(of: "wallet").contains("argumentParser"))
    }
}
