internal import Foundation
internal import HostSystem

/// Finds the process listening on a port of this machine.
package enum ListeningProcess {
    /// Returns the process id, or nil if no process listens on the port or the process belongs to another user.
    package static func pid(onPort port: Int) -> Int32? {
        let inodes = ["/proc/net/tcp", "/proc/net/tcp6"].flatMap { path -> [String] in
            guard let table = try? DurableFile.readText(path, atMost: 64 << 20) else { return [] }
            return Self.inodes(listeningOn: port, in: table)
        }
        guard !inodes.isEmpty, let processes = try? DurableFile.names(in: "/proc") else { return nil }
        let sockets = Set(inodes.map { "socket:[\($0)]" })
        return processes.lazy.compactMap { Int32($0) }.first { Self.has(sockets, open: $0) }
    }

    /// Returns the inodes of the sockets in state LISTEN, from a table in the format of proc(5).
    static func inodes(listeningOn port: Int, in table: String) -> [String] {
        let suffix =
            ":" + String(repeating: "0", count: max(0, 4 - String(port, radix: 16).count))
            + String(port, radix: 16, uppercase: true)
        return table.split(separator: "\n").dropFirst().compactMap { line in
            let words = line.split(separator: " ")
            guard words.count > 9, words[1].hasSuffix(suffix), words[3] == "0A" else { return nil }
            return String(words[9])
        }
    }

    private static func has(_ sockets: Set<String>, open pid: Int32) -> Bool {
        let folder = "/proc/\(pid)/fd"
        guard let files = try? DurableFile.names(in: folder) else { return false }
        return files.contains { file in
            let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(file)")
            return link.map(sockets.contains) ?? false
        }
    }
}
