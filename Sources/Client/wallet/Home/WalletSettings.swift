internal import Lab
internal import HostSystem
internal import Vocabulary
internal import WalletCore
internal import WalletFlows
internal import Yams

/// Which server, whom to trust, which language: from a lab, or from the home's wallet.yaml.
///
///     server: pin.example.org:7443    # HOST:PORT
///     server_name: pin.example.org    # what its certificate must be for; the host where it is left out
///     ca_file: /etc/wallet/ca.pem     # the authority that signed it, or
///     public_keys: [6f3a…]            # SHA-256 of its SubjectPublicKeyInfo, hex, one or more
///     authority: /srv/lab/authority   # with which a simulated device attests its key
///     language: en
///     product: NL Wallet              # what the app is called in its texts
struct WalletSettings {
    var server: TLSDialer.Server
    /// Nil where simulated devices cannot be attested.
    var authorityFolder: String?
    /// The file with a lab clock's offset; nil for the system's time.
    var clockFile: String?
    var wording = Wording()

    private static let keys = [
        "server", "server_name", "ca_file", "public_keys", "authority", "language", "product",
    ]

    /// `lab` wins for server, trust, authority and clock; language and product are the home's.
    init(home: WalletHome, lab: String?) throws(CommandFailure) {
        let values = try Self.values(in: home.settingsFile)
        if let lab {
            let file: LabFile
            do throws(LabError) {
                file = try LabFile(of: LabFolder(WalletHome.absolute(lab)))
            } catch {
                throw .usage("the lab cannot be used: \(error)")
            }
            self.server = TLSDialer.Server(
                host: file.host,
                port: file.port,
                name: file.serverName,
                trust: .authority(pem: try Self.contents(of: file.caFile))
            )
            self.authorityFolder = file.authority
            self.clockFile = file.clockFile
        } else {
            self.server = try Self.server(values, home.settingsFile)
            self.authorityFolder = values["authority"]?.scalar?.string
        }
        self.wording = try Self.wording(values, home.settingsFile)
    }

    private static func values(in path: String) throws(CommandFailure) -> [String: Node] {
        let text: String
        do throws(FileError) {
            text = String(decoding: try DurableFile.read(path, atMost: 65_536), as: UTF8.self)
        } catch .notFound(_) {
            return [:]
        } catch {
            throw .failed("\(error)")
        }
        let root: Node?
        do {
            root = try Yams.compose(yaml: text)
        } catch {
            throw .usage("\(path): \(error)")
        }
        guard let root else { return [:] }
        guard let mapping = root.mapping else { throw .usage("\(path): keys with values are expected") }
        var values: [String: Node] = [:]
        for (key, value) in mapping {
            guard let name = key.scalar?.string, Self.keys.contains(name) else {
                let line = key.mark.map { "\($0.line): " } ?? " "
                let name = key.scalar?.string ?? "?"
                throw .usage("\(path):\(line)unknown setting `\(name)`; there are \(Self.keys.joined(separator: ", "))")
            }
            values[name] = value
        }
        return values
    }

    private static func server(_ values: [String: Node], _ path: String) throws(CommandFailure) -> TLSDialer.Server {
        guard let address = values["server"]?.scalar?.string else {
            throw .usage("no server is named: use --lab DIR, or `server: HOST:PORT` in \(path)")
        }
        guard let colon = address.lastIndex(of: ":"), let port = Int(address[address.index(after: colon)...]),
            (1...65_535).contains(port)
        else { throw .usage("\(path): `server` must be HOST:PORT") }
        var host = address[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        return TLSDialer.Server(
            host: String(host),
            port: port,
            name: values["server_name"]?.scalar?.string ?? String(host),
            trust: try Self.trust(values, path)
        )
    }

    private static func trust(
        _ values: [String: Node],
        _ path: String
    ) throws(CommandFailure) -> TLSDialer.Server.Trust {
        if let keys = values["public_keys"]?.sequence {
            var digests: [SHA256Digest] = []
            for key in keys {
                guard let digest = SHA256Digest(hex: key.scalar?.string ?? "") else {
                    throw .usage("\(path): each of `public_keys` must be 64 hexadecimal digits")
                }
                digests.append(digest)
            }
            return .publicKeys(digests)
        }
        guard let file = values["ca_file"]?.scalar?.string else {
            throw .usage("\(path): `ca_file` or `public_keys` must say whom to trust")
        }
        return .authority(pem: try Self.contents(of: file))
    }

    private static func wording(_ values: [String: Node], _ path: String) throws(CommandFailure) -> Wording {
        var wording = Wording()
        if let name = values["language"]?.scalar?.string {
            guard let language = Wording.Language(rawValue: name) else {
                let known = Wording.Language.allCases.map(\.rawValue).joined(separator: ", ")
                throw .usage("\(path): `language` must be one of \(known)")
            }
            wording.language = language
        }
        if let product = values["product"]?.scalar?.string { wording.product = product }
        return wording
    }

    private static func contents(of path: String) throws(CommandFailure) -> [UInt8] {
        do throws(FileError) {
            return try DurableFile.read(path, atMost: 1 << 20)
        } catch {
            throw .usage("\(error)")
        }
    }
}
