internal import Foundation
internal import HostSystem

/// A folder for one test, removed with the value.
package final class TemporaryFolder: Sendable {
    package let path: String

    package init() {
        self.path = "/tmp/remote-pin-test-\(UInt64.random(in: .min ... .max))"
        guard (try? DurableFile.makeFolder(self.path)) != nil else { preconditionFailure("/tmp can be written") }
    }

    deinit {
        try? FileManager.default.removeItem(atPath: self.path)
    }

    /// The path of a file in the folder.
    package func file(_ name: String) -> String { "\(self.path)/\(name)" }

    /// Writes a text and returns its path.
    package func write(_ text: String, to name: String) throws -> String {
        let path = self.file(name)
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }
}
