package import HostSystem
package import Lab
internal import Statements
package import Transport
package import Vocabulary

/// The server that the load goes to, and what a client needs to know of it.
package struct Target: Sendable {
    package let host: String
    package let port: Int
    /// What its certificate must be for.
    package let serverName: String
    /// The lab whose server it is, where it is one's.
    package let lab: LabFolder?
    /// With which phones attest their keys; nil where no wallet can be registered.
    package let authorityFolder: String?
    /// By which evidence is dated.
    package let clock: any WallClock

    private let trusted: [UInt8]

    /// Why a target cannot be used; the person names another, or does what the sentence says.
    package enum Problem: Error, Hashable, CustomStringConvertible {
        case file(FileError)
        case lab(LabError)
        /// Nothing at that path is a lab.
        case noLab(path: String)
        /// The lab has no address yet.
        case neverServed(path: String)
        /// Not HOST:PORT.
        case address(String)
        case tls(TLSContextError)
        /// Wallets are to be registered and nothing says with which authority.
        case noAuthority
        case authority(LabAuthorityError)

        package var description: String {
            switch self {
            case .file(let error): error.description
            case .lab(let error): error.description
            case .noLab(let path):
                "\(path): no lab. `remote-pin-server lab up \(path)` makes one and serves it."
            case .neverServed(let path):
                "\(path): the lab was never served. In another terminal: remote-pin-server lab up \(path)"
            case .address(let text): "\(text): an address is HOST:PORT, as in 127.0.0.1:7443 or [::1]:7443"
            case .tls(.trust): "the CA file holds no certificate that can be read"
            case .tls(let error): "the CA file or the server's name cannot be used: \(error)"
            case .noAuthority:
                "registering wallets needs the test authority that the server trusts: --lab DIR, or --authority DIR"
            case .authority(let error): error.description
            }
        }
    }

    /// The server of a lab, as its `lab.yaml` says.
    package init(lab path: String) throws(Problem) {
        let folder = LabFolder(path)
        guard folder.isLab else { throw .noLab(path: path) }
        let lab: LabFile
        do throws(LabError) {
            lab = try LabFile(of: folder)
            self.clock = try FollowedLabClock(file: lab.clockFile)
        } catch {
            throw .lab(error)
        }
        guard lab.port > 0 else { throw .neverServed(path: path) }
        self.host = lab.host
        self.port = lab.port
        self.serverName = lab.serverName
        self.lab = folder
        self.authorityFolder = lab.authority
        self.trusted = try Self.read(lab.caFile)
    }

    /// Any server, by its address and the authority that signed its certificate.
    ///
    /// - Parameter serverName: what the certificate is for; the host where it is left out.
    package init(
        address: String,
        caFile: String,
        serverName: String? = nil,
        authorityFolder: String? = nil
    ) throws(Problem) {
        guard let (host, port) = Self.parse(address) else { throw .address(address) }
        self.host = host
        self.port = port
        self.serverName = serverName ?? host
        self.lab = nil
        self.authorityFolder = authorityFolder
        self.clock = SystemClock()
        self.trusted = try Self.read(caFile)
    }

    /// Whether the load stays on this machine.
    package var isLoopback: Bool {
        if self.host == "localhost" || self.host == "::1" { return true }
        let octets = self.host.split(separator: ".", omittingEmptySubsequences: false)
        return octets.count == 4 && octets[0] == "127" && octets.allSatisfy { UInt8($0) != nil }
    }

    /// As it is written in an address.
    package var address: String {
        self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
    }

    /// What tells servers apart: the SHA-256 of the authority that vouches for this one.
    package var fingerprint: SHA256Digest { .of(self.trusted) }

    /// A new context for connections; its tickets are its own, so that lanes which resume need one each.
    package func tls(resuming: Bool) throws(Problem) -> TLSClientContext {
        do throws(TLSContextError) {
            return try TLSClientContext(
                trust: .authority(pem: self.trusted),
                serverName: self.serverName,
                resumes: resuming
            )
        } catch {
            throw .tls(error)
        }
    }

    /// A new connection on which nothing was said yet.
    ///
    /// - Parameter source: the address of this machine that it comes from; nil for the system's choice.
    package func connect(
        tls: TLSClientContext,
        timeout: Duration,
        from source: String? = nil
    ) async throws(FleetFailure) -> ClientConnection {
        do throws(ConnectError) {
            return try await ClientConnection.connect(
                host: self.host,
                port: self.port,
                tls: tls,
                timeout: timeout,
                from: source
            )
        } catch {
            throw .connect(error)
        }
    }

    /// Throws where no wallet can be registered for want of an authority.
    package func requireAuthority() throws(Problem) { _ = try self.authority() }

    /// The authority that phones' evidence is signed with.
    func authority() throws(Problem) -> LabAuthority {
        guard let folder = self.authorityFolder else { throw .noAuthority }
        do throws(LabAuthorityError) {
            return try LabAuthority.load(from: folder)
        } catch {
            throw .authority(error)
        }
    }

    /// Host and port; an IPv6 address stands in brackets.
    static func parse(_ address: String) -> (host: String, port: Int)? {
        guard let colon = address.lastIndex(of: ":"), let port = Int(address[address.index(after: colon)...]),
            (1...65_535).contains(port)
        else { return nil }
        var host = address[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        return host.isEmpty ? nil : (String(host), port)
    }

    private static func read(_ path: String) throws(Problem) -> [UInt8] {
        do throws(FileError) {
            return try DurableFile.read(path, atMost: 1 << 20)
        } catch {
            throw .file(error)
        }
    }
}
