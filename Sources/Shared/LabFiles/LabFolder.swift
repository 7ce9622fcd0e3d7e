internal import ConfigText
package import HostSystem
internal import Yams

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

/// The contents of `lab.yaml`: everything a wallet needs in order to use a lab.
///
/// Paths are made absolute when the file is read.
package struct LabFile: Hashable, Sendable {
    /// The numeric address to connect to.
    package var host: String
    /// The port.
    ///
    /// It is 0 until the lab's server has been started for the first time, and does not change after that.
    package var port: Int
    /// The name in the server's certificate.
    package var serverName: String
    /// The PEM file of the authority pinned by wallets.
    package var caFile: String
    /// The folder of the test authority that simulated devices use to attest their keys.
    package var authority: String
    /// The file that contains the offset of the lab's clock.
    package var clockFile: String
    /// The server's folder, for programs that start and stop the server.
    package var server: String

    package init(
        host: String,
        port: Int,
        serverName: String,
        caFile: String,
        authority: String,
        clockFile: String,
        server: String
    ) {
        self.host = host
        self.port = port
        self.serverName = serverName
        self.caFile = caFile
        self.authority = authority
        self.clockFile = clockFile
        self.server = server
    }

    /// Reads a lab's file.
    ///
    /// Relative paths are resolved against the lab's folder, so that a lab can be moved.
    package init(of lab: LabFolder) throws(LabError) {
        let text = try mapError(DurableFile.readText(lab.labFile, atMost: 65_536), to: LabError.file)
        guard let values = (try? Yams.compose(yaml: text))?.mapping else {
            throw .notAsWritten(path: lab.labFile, what: "not a lab's file")
        }
        func value(_ key: String) throws(LabError) -> String {
            guard let value = values[key]?.scalar?.string, !value.isEmpty else {
                throw .notAsWritten(path: lab.labFile, what: "`\(key)` is missing")
            }
            return value
        }
        func path(_ key: String) throws(LabError) -> String {
            let path = try value(key)
            return path.hasPrefix("/") ? path : "\(lab.path)/\(path)"
        }
        guard let address = HostAndPort(try value("address")) else {
            throw .notAsWritten(path: lab.labFile, what: "`address` must be HOST:PORT")
        }
        self.init(
            host: address.host,
            port: address.port,
            serverName: try value("server_name"),
            caFile: try path("ca_file"),
            authority: try path("authority"),
            clockFile: try path("clock_file"),
            server: try path("server")
        )
    }

    /// Writes the file.
    ///
    /// Paths inside the lab's folder are made relative. Several servers of one lab may write at the same time.
    package func write(to lab: LabFolder) throws(LabError) {
        let lock = try mapError(FileLock(waitingFor: lab.labFile + ".lock"), to: LabError.file)
        defer { withExtendedLifetime(lock) {} }
        func relative(_ path: String) -> String {
            path.hasPrefix("\(lab.path)/") ? String(path.dropFirst(lab.path.count + 1)) : path
        }
        let lines: [(String, String)] = [
            ("address", "\(HostAndPort(host: self.host, port: self.port))"), ("server_name", self.serverName),
            ("ca_file", relative(self.caFile)),
            ("authority", relative(self.authority)), ("clock_file", relative(self.clockFile)),
            ("server", relative(self.server)),
        ]
        var text = "# A lab for tests, created by `remote-pin-server init --lab`; wallets use it with `--lab`.\n"
        for (key, value) in lines { text += "\(key): \(Self.quoted(value))\n" }
        try mapError(DurableFile.write(Array(text.utf8), to: lab.labFile, mode: 0o644), to: LabError.file)
    }

    private static func quoted(_ text: String) -> String {
        "'" + text.map { $0 == "'" ? "''" : String($0) }.joined() + "'"
    }
}

extension LabFolder {
    /// Returns the path of the lab server's admin socket, as given in the server's configuration.
    package func adminSocket() throws(LabError) -> String {
        let text = try mapError(DurableFile.readText(self.configurationFile, atMost: 1 << 20), to: LabError.file)
        let admin = (try? Yams.compose(yaml: text))?.mapping?["admin"]?.mapping
        guard let path = admin?["socket"]?.scalar?.string, !path.isEmpty else {
            throw .notAsWritten(path: self.configurationFile, what: "`admin.socket` is missing")
        }
        return path.hasPrefix("/") ? path : "\(self.serverFolder)/\(path)"
    }
}
