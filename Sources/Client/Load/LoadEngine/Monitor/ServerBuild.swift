internal import Foundation

/// Determines the version of a running server.
package enum ServerBuild {
    /// Returns the first line of its `--version` output, or nil if the process is not this project's server or belongs
    /// to another user.
    package static func of(pid: Int32) -> String? {
        let link = "/proc/\(pid)/exe"
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: link),
            path.split(separator: "/").last?.hasPrefix("remote-pin-server") == true
        else { return nil }
        let process = Process()
        // The link refers to the running program even if its file has been replaced since.
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
