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
        let names = try FileManager.default.subpathsOfDirectory(atPath: Self.folder.path)
            .filter { Scenario.isScenario(file: "/\($0)") }
        #expect(names.count > 50)
        for name in names.sorted() {
            let scenario = try Scenario(file: Self.folder.appending(path: name).path)
            #expect(name.split(separator: "/").last?.hasPrefix(scenario.caseID) == true, "\(name)")
        }
    }
}
