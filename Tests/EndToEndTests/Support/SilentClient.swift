import Dispatch
import Foundation
import Glibc
import LabFiles

/// A client that connects, sends nothing and records the bytes that it receives: `openssl s_client`.
final class SilentClient: Sendable {
    private let process: Process
    private let output: Pipe

    init(to lab: LabFolder) throws {
        let file = try LabFile(of: lab)
        self.process = Process()
        self.output = Pipe()
        self.process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        self.process.arguments = [
            "s_client", "-quiet", "-connect", "\(file.host):\(file.port)", "-servername", file.serverName,
            "-alpn", "remote-pin/1", "-CAfile", file.caFile, "-verify_return_error",
        ]
        self.process.standardInput = FileHandle.nullDevice
        self.process.standardOutput = self.output
        self.process.standardError = FileHandle.nullDevice
        try self.process.run()
    }

    deinit { kill(self.process.processIdentifier, SIGKILL) }

    /// Stops the client: it no longer reads and does not close its connection.
    func freeze() { kill(self.process.processIdentifier, SIGSTOP) }

    /// The frames received until the server closed the connection.
    func frames() async -> [[UInt8]] {
        let bytes: [UInt8] = await withCheckedContinuation { ended in
            DispatchQueue.global().async {
                ended.resume(returning: Array(self.output.fileHandleForReading.readDataToEndOfFile()))
            }
        }
        var rest = bytes[...]
        var frames: [[UInt8]] = []
        while rest.count >= 4 {
            let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            frames.append(Array(rest.dropFirst(4).prefix(length)))
            rest = rest.dropFirst(4 + length)
        }
        return frames
    }
}
