import Foundation
import Scenarios
import Testing

@Suite("Scenario files")
struct ScenarioFilesTests {
    private static var folder: URL {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appending(path: "Scenarios")
    }

    @Test("every file is valid, and its name is its case")
    func files() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
            .filter { $0.hasSuffix(".yaml") }
        #expect(names.count > 50)
        for name in names.sorted() {
            let scenario = try Scenario(file: Self.folder.appending(path: name).path)
            #expect(name.hasPrefix(scenario.caseID), "\(name)")
        }
    }
}
