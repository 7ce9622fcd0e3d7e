import Foundation
import Testing

@testable import WalletFlows

@Suite("The list of steps")
struct StepListTests {
    private let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    @Test("docs/steps.txt is the list of documented steps")
    func document() throws {
        let text = try String(contentsOf: self.root.appending(path: "docs/steps.txt"), encoding: .utf8)
        let list = StepID.documented.map { "\($0)\n" }.joined()
        #expect(text == list, "copy StepID.documented to docs/steps.txt, one step per line")
        #expect(Set(StepID.all).count == StepID.all.count)
        #expect(StepID.documented.count > 250)
    }

    @Test("the flows name every step of the list and no other")
    func flows() throws {
        let named = try self.literals()
        let listed = Set(StepID.all.map(\.description))
        #expect(listed.subtracting(named).isEmpty, "in no flow")
        #expect(named.subtracting(listed).isEmpty, "not in the list")
    }

    /// Every literal in the sources that has the form of a step; the list itself has no such literal but the errors'.
    private func literals() throws -> Set<String> {
        let folder = self.root.appending(path: "Sources/Client/Wallet/WalletFlows/Flows")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        let launch: Set = ["LOCK/1.1"]
        return try files.reduce(into: launch) { found, file in
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                guard !line.drop(while: { $0 == " " }).hasPrefix("//") else { continue }
                for match in line.matches(of: #/"((?:UC|PF|LOCK)[0-9.]*/[0-9.]+[a-z]?)"/#) {
                    found.insert(String(match.1))
                }
            }
        }
    }
}
