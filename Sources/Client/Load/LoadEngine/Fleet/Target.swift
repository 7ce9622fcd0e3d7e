internal import ConfigText
package import HostSystem
package import Lab
package import LabFiles
internal import Statements
package import Transport
package import Vocabulary

/// The server under load, with the information that a client needs about it.
package struct Target: Sendable {
    package private(set) var host: String
    package private(set) var port: Int
    /// The name required in the server's certificate.
    package private(set) var serverName: String
    /// The lab that the server belongs to, if any.
    package let lab: LabFolder?
    /// The folder of the authority that attests the phones' keys.
    ///
    /// If nil, no wallets can be registered.
    package let authorityFolder: String?
    /// The clock used to date evidence.
    package let clock: any WallClock

    private let trusted: [UInt8]

    /// A reason why a target cannot be used.
    ///
    /// Each description says how to fix it.
    package enum Problem: Error, Hashable, CustomStringConvertible {
        case file(FileError)
        case lab(LabError)
        case noLab(path: String)
        case neverServed(path: String)
        case address(String)
        case tls(TLSContextError)
        case noAuthority
        case authority(LabAuthorityError)

        package var description: String {
            switch self {
            case .file(let error): error.description
            case .lab(let error): error.description
            case .noLab(let path):
                "\(path): not a lab. `remote-pin-server lab up \(path)` creates one and serves it."
            case .neverServed(let path):
                "\(path): the lab was never served. Run in another terminal: remote-pin-server lab up \(path)"
            case .address(let text): "\(text): an address is HOST:PORT, as in 127.0.0.1:7443 or [::1]:7443"
            case .tls(.trust): "the CA file contains no readable certificate"
            case .tls(let error): "the CA file or the server's name cannot be used: \(error)"
            case .noAuthority:
                "registering wallets needs the test authority that the server trusts: --lab DIR, or --authority DIR"
            case .authority(let error): error.description
            }
        }
    }

    /// Reads a lab's server from its `lab.yaml`.
    package init(lab path: String) throws(Problem) {
        let folder = LabFolder(path)
        guard folder.isLab else { throw .noLab(path: path) }
        let lab = try mapError(LabFile(of: folder), to: Problem.lab)
        self.clock = try mapError(FollowedLabClock(file: lab.clockFile), to: Problem.lab)
        guard lab.port > 0 else { throw .neverServed(path: path) }
        self.host = lab.host
        self.port = lab.port
        self.serverName = lab.serverName
        self.lab = folder
        self.authorityFolder = lab.authority
        self.trusted = try Self.read(lab.caFile)
    }

    /// Creates a target from the server's address and the authority that signed its certificate.
    ///
    /// - Parameter serverName: The name in the certificate. If nil, the host is used.
    package init(
        address: String,
        caFile: String,
        serverName: String? = nil,
        authorityFolder: String? = nil
    ) throws(Problem) {
        guard let parsed = HostAndPort(address, ports: 1...65_535) else { throw .address(address) }
        self.host = parsed.host
        self.port = parsed.port
        self.serverName = serverName ?? parsed.host
        self.lab = nil
        self.authorityFolder = authorityFolder
        self.clock = SystemClock()
        self.trusted = try Self.read(caFile)
    }

    /// Returns another server on the same store, with a certificate from the same authority.
    ///
    /// If the certificate's name differs from the host, the other server's certificate must have the same name.
    package func sibling(at address: String) throws(Problem) -> Target {
        guard let parsed = HostAndPort(address, ports: 1...65_535) else { throw .address(address) }
        var sibling = self
        if self.serverName == self.host { sibling.serverName = parsed.host }
        sibling.host = parsed.host
        sibling.port = parsed.port
        return sibling
    }

    /// Whether the load stays on this machine.
    package var isLoopback: Bool {
        if self.host == "localhost" || self.host == "::1" { return true }
        let octets = self.host.split(separator: ".", omittingEmptySubsequences: false)
        return octets.count == 4 && octets[0] == "127" && octets.allSatisfy { UInt8($0) != nil }
    }

    /// The address as HOST:PORT.
    package var address: String { "\(HostAndPort(host: self.host, port: self.port))" }

    /// The SHA-256 digest of the certificate authority, which is used to tell servers apart.
    package var fingerprint: SHA256Digest { .of(self.trusted) }

    /// Creates a TLS context for connections.
    ///
    /// It stores the session tickets, so each lane that resumes sessions needs its own context.
    package func tls(resuming: Bool) throws(Problem) -> TLSClientContext {
        do throws(TLSContextError) {
            return try TLSClientContext(
                trust: .authority(pem: self.trusted),
                serverName: self.serverName,
                resumes: resuming,
                verifiesOnce: true
            )
        } catch {
            throw .tls(error)
        }
    }

    /// Connects without sending a request.
    ///
    /// - Parameter source: The local address to connect from. If nil, the system chooses one.
    package func connect(
        tls: TLSClientContext,
        timeout: Duration,
        from source: String? = nil
    ) async throws(FleetFailure) -> ClientConnection {
        try await mapError(
            of: await .connect(host: self.host, port: self.port, tls: tls, timeout: timeout, from: source),
            to: FleetFailure.connect
        )
    }

    /// Throws if no wallets can be registered because no authority was given.
    package func requireAuthority() throws(Problem) { _ = try self.authority() }

    /// Returns the authority that signs the phones' evidence.
    func authority() throws(Problem) -> LabAuthority {
        guard let folder = self.authorityFolder else { throw .noAuthority }
        return try mapError(LabAuthority.load(from: folder), to: Problem.authority)
    }

    private static func read(_ path: String) throws(Problem) -> [UInt8] {
        try mapError(DurableFile.read(path, atMost: 1 << 20), to: Problem.file)
    }
}
