package import HostSystem

/// Where everything of a lab lies: a server for tests, its authority, and what wallets need to know of both.
///
///     DIR/lab.yaml     what wallets need: address, name, CA file, authority, clock
///     DIR/clock        how far the lab's clock is ahead of the system's, in milliseconds
///     DIR/authority/   the test authority's keys and roots
///     DIR/server/      the server's configuration, store, vault key, certificate and log
package struct LabFolder: Hashable, Sendable {
    /// The folder's absolute path, without a slash at its end.
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

    /// Whether a lab was made here.
    package var isLab: Bool { DurableFile.exists(self.labFile) }

    /// The longest path that a Unix-domain socket may have here; the kernel's own limit is 107.
    package static let longestSocketPath = 99

    /// A path for the server's socket that is short enough wherever the lab lies.
    ///
    /// In the server's folder where that is possible, otherwise in a folder of its own under `runtimeFolder`, named by
    /// chance so that two labs never share one. The choice is made once and kept in the configuration.
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

/// Why a lab cannot be used.
package enum LabError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Say so; the folder or file is named.
    case file(FileError)
    /// The file does not say what it should: name it, with what is missing.
    case notAsWritten(path: String, what: String)

    package var description: String {
        switch self {
        case .file(let error): "\(error)"
        case .notAsWritten(let path, let what): "\(path): \(what)"
        }
    }
}
