package import HostSystem

/// The folder of a lab, which contains a test server, its authority, and what wallets need to know about both.
///
///     DIR/lab.yaml     data for wallets: address, name, CA file, authority, clock
///     DIR/clock        offset of the lab's clock from the system's, in milliseconds
///     DIR/authority/   the test authority's keys and roots
///     DIR/server/      the server's configuration, store, vault key, certificate and log
package struct LabFolder: Hashable, Sendable {
    /// The folder's absolute path, without a trailing slash.
    package let path: String

    package init(_ path: String) {
        var path = path[...]
        while path.count > 1, path.last == "/" { path = path.dropLast() }
        self.path = String(path)
    }

    package var labFile: String { "\(self.path)/lab.yaml" }
    package var clockFile: String { "\(self.path)/clock" }
    package var authorityFolder: String { "\(self.path)/authority" }
    package var serverFolder: String { "\(self.path)/server" }
    package var configurationFile: String { "\(self.serverFolder)/server.yaml" }
    package var dataFolder: String { "\(self.serverFolder)/data" }
    package var vaultKeyFile: String { "\(self.serverFolder)/vault.key" }
    package var certificateFile: String { "\(self.serverFolder)/tls.pem" }
    package var certificateKeyFile: String { "\(self.serverFolder)/tls.key" }
    package var logFile: String { "\(self.serverFolder)/server.log" }

    /// Whether the folder contains a lab.
    package var isLab: Bool { DurableFile.exists(self.labFile) }

    /// The maximum length of the path of a Unix socket in a lab.
    ///
    /// The kernel's own limit is 107.
    package static let longestSocketPath = 99

    /// Returns a path for the server's socket that is short enough wherever the lab is located.
    ///
    /// The socket is in the server's folder if possible. Otherwise, it is in a new, randomly named folder inside
    /// `runtimeFolder`, so that two labs never share one. The path is chosen only once and then stored in the
    /// configuration.
    package func socketPath(runtimeFolder: String?) -> String {
        let inside = "\(self.serverFolder)/admin.sock"
        if inside.utf8.count <= Self.longestSocketPath { return inside }
        let name = String(UInt64.random(in: .min ... .max), radix: 36)
        for folder in [runtimeFolder, "/tmp"].compactMap({ $0 }) {
            let path = "\(folder)/remote-pin-\(name)/admin.sock"
            if path.utf8.count <= Self.longestSocketPath { return path }
        }
        preconditionFailure("/tmp is short enough")
    }
}

/// An error that prevents a lab from being used.
package enum LabError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A file or folder cannot be used.
    ///
    /// Report the error, which contains the path.
    case file(FileError)
    /// A file's contents are wrong.
    ///
    /// Report the path and the missing part.
    case notAsWritten(path: String, what: String)

    package var description: String {
        switch self {
        case .file(let error): "\(error)"
        case .notAsWritten(let path, let what): "\(path): \(what)"
        }
    }
}
