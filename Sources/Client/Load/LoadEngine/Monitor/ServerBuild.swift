internal import Foundation

/// What a server's program says of itself.
package enum ServerBuild {
    /// The first line of its `--version`; nil where the process is no server of this project, or another user's.
    package static func of(pid: Int32) -> String? {
        let link = "/proc/\(pid)/exe"
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: link),
            path.split(separator: "/").last?.hasPrefix("remote-pin-server") == true
        else { return nil }
        let process = Process()
        // Through the link, which leads to the running program even when its file was replaced since.
        process.executableURL = URL(fileURLWithPath: link)
        process.arguments = ["--version"]
        process.standardInput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let output = Pipe()
        process.standardOutput = output
        guard (try? process.run()) != nil else { return nil }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return text.split(separator: "\n").first.map(String.init)
    }
}
