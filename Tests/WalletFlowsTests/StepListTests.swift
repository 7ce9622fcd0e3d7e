import Foundation
import Testing

@testable import WalletFlows

/// docs/steps.txt and the steps that the sources name.
enum StepList {
    private static var root: URL {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    }

    /// flows.md's step ids, in its order.
    static let steps: [String] = {
        let text = (try? String(contentsOf: Self.root.appending(path: "docs/steps.txt"), encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map(String.init)
    }()

    /// Every literal in the sources that has the form of a step, with the line that it stands in.
    static func literals() throws -> [(step: String, line: String)] {
        let folder = Self.root.appending(path: "Sources/Client/Wallet/WalletFlows")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.allObjects ?? []
        var found: [(String, String)] = []
        for case let file as URL in files where file.pathExtension == "swift" {
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                guard !line.drop(while: { $0 == " " }).hasPrefix("//") else { continue }
                for match in line.matches(of: #/"((?:UC|PF|LOCK)[0-9.]*/[0-9.]+[a-z]?)"/#) {
                    found.append((String(match.1), String(line)))
                }
            }
        }
        return found
    }

    /// `PF2.8/1.1` of `PF2.8/1.1c`.
    static func withoutCase(_ step: String) -> String {
        step.last?.isLetter == true ? String(step.dropLast()) : step
    }
}

@Suite("docs/steps.txt")
struct StepListTests {
    @Test("every listed step is one that the sources take")
    func listedIsTaken() throws {
        let taken = Set(try StepList.literals().map(\.step))
        #expect(StepList.steps.count > 250)
        #expect(Set(StepList.steps).count == StepList.steps.count)
        let missing = StepList.steps.filter { !taken.contains($0) }
        #expect(missing.isEmpty, "in no source: \(missing.joined(separator: " "))")
    }

    @Test("every step in the sources is listed, but for errors without a case of their own")
    func takenIsListed() throws {
        let listed = Set(StepList.steps)
        let parents = Set(StepList.steps.map(StepList.withoutCase))
        for literal in try StepList.literals() where !listed.contains(literal.step) {
            // Such an error is shown at the step that failed, which has cases but no screen of its own.
            #expect(literal.line.contains("ErrorScreen("), "not listed: \(literal.step)")
            #expect(parents.contains(literal.step), "the step of no flow: \(literal.step)")
        }
    }
}
