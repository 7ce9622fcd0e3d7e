internal import HostSystem
internal import ConfigText
internal import Vocabulary
internal import WalletCore
internal import WalletFlows
internal import Yams

/// A home's wallet.yaml; one that is not there says nothing.
///
///     server: pin.example.org:7443    # HOST:PORT
///     server_name: pin.example.org    # what its certificate must be for; the host where it is left out
///     ca_file: /etc/wallet/ca.pem     # the authority that signed it, or
///     public_keys: [6f3a…]            # SHA-256 of its SubjectPublicKeyInfo, hex, one or more
///     authority: /srv/lab/authority   # with which a simulated device attests its key
///     language: en                    # or nl
///     product: NL Wallet              # what the app is called in its texts
///     link_base: https://wallet.example.org/link    # links below it are the wallet's own
///     lock_after_background: 5m       # so long out of sight, and it locks
///     lock_after_inactivity: 5m       # so long without a touch, and it locks
///     lock_warning_after: 4m          # so long without a touch, and it warns; less than the one before
///
/// A path that does not begin with / starts at the file's own folder, wherever the program was started.
struct SettingsFile {
    private let path: String
    private let values: [String: Node]

    private static let keys = [
        "server", "server_name", "ca_file", "public_keys", "authority", "language", "product", "link_base",
        "lock_after_background", "lock_after_inactivity", "lock_warning_after",
    ]

    init(_ path: String) throws(PhoneError) {
        self.path = path
        self.values = try Self.values(in: path)
    }

    func text(_ key: String) -> String? { self.values[key]?.scalar?.string }

    /// A path as the file means it: seen from its own folder.
    func absolutePath(_ key: String) -> String? {
        guard let path = self.text(key), !path.hasPrefix("/") else { return self.text(key) }
        let folder = self.path[..<(self.path.lastIndex(of: "/") ?? self.path.startIndex)]
        return "\(folder)/\(path)"
    }

    func server() throws(PhoneError) -> TLSDialer.Server {
        guard let address = self.text("server") else {
            throw .usage("no server is named: use --lab DIR, or `server: HOST:PORT` in \(self.path)")
        }
        guard let colon = address.lastIndex(of: ":"), let port = Int(address[address.index(after: colon)...]),
            (1...65_535).contains(port)
        else { throw .usage("\(self.path): `server` must be HOST:PORT") }
        var host = address[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        return TLSDialer.Server(
            host: String(host),
            port: port,
            name: self.text("server_name") ?? String(host),
            trust: try self.trust()
        )
    }

    func wording() throws(PhoneError) -> Wording {
        var wording = Wording()
        if let name = self.text("language") {
            guard let language = Wording.Language(rawValue: name) else {
                let known = Wording.Language.allCases.map(\.rawValue).joined(separator: ", ")
                throw .usage("\(self.path): `language` must be one of \(known)")
            }
            wording.language = language
        }
        if let product = self.text("product") { wording.product = product }
        return wording
    }

    func lockTimes() throws(PhoneError) -> LockTimes {
        var times = LockTimes()
        if let time = try self.duration("lock_after_background") { times.background = time }
        if let time = try self.duration("lock_after_inactivity") { times.inactivity = time }
        // Where only the end is named, the warning keeps its share of the time.
        times.warning = try self.duration("lock_warning_after") ?? times.inactivity * 4 / 5
        guard times.warning < times.inactivity else {
            throw .usage("\(self.path): `lock_warning_after` must be less than `lock_after_inactivity`")
        }
        return times
    }

    private func duration(_ key: String) throws(PhoneError) -> Duration? {
        guard let value = self.values[key] else { return nil }
        guard let duration = value.scalar.flatMap({ DurationText.read($0.string) }), duration > .zero,
            duration <= .seconds(86_400)
        else { throw .usage("\(self.path): `\(key)` must be a time such as 30s or 5m, and at most a day") }
        return duration
    }

    private func trust() throws(PhoneError) -> TLSDialer.Server.Trust {
        if let named = self.values["public_keys"] {
            guard self.values["ca_file"] == nil else {
                throw .usage("\(self.path): either `ca_file` or `public_keys` says whom to trust, not both")
            }
            guard let keys = named.sequence, !keys.isEmpty else {
                throw .usage("\(self.path): `public_keys` must be a list, as in [6f3a…]")
            }
            var digests: [SHA256Digest] = []
            for key in keys {
                guard let digest = SHA256Digest(hex: key.scalar?.string ?? "") else {
                    throw .usage("\(self.path): each of `public_keys` must be 64 hexadecimal digits")
                }
                digests.append(digest)
            }
            return .publicKeys(digests)
        }
        guard let file = self.absolutePath("ca_file") else {
            throw .usage("\(self.path): `ca_file` or `public_keys` must say whom to trust")
        }
        return .authority(pem: try WalletSettings.contents(of: file))
    }

    private static func values(in path: String) throws(PhoneError) -> [String: Node] {
        let text: String
        do throws(FileError) {
            text = String(decoding: try DurableFile.read(path, atMost: 65_536), as: UTF8.self)
        } catch .notFound(_) {
            return [:]
        } catch {
            throw .storage("\(error)")
        }
        let root: Node?
        do throws(YAMLFault) {
            root = try YAMLText.compose(text)
        } catch {
            throw .usage("\(path):\(error.line.map { "\($0):" } ?? "") \(error.message)")
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
}
