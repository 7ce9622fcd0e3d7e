package import ConfigText
internal import Foundation

// Settings for the wallet database, which is either embedded or PostgreSQL.
extension SettingTable {
    static let store: [any SettingDeclaration] = [
        Self.storeKind, Self.storeAddress, Self.storeService, Self.storeServiceFile, Self.storePasswordFile,
        Self.storeTLS, Self.storeTimeLimit, Self.storeScanLimit, Self.clusterName, Self.clusterServer,
        Self.clusterLease, Self.durability,
    ]

    package static let storeKind = Setting(
        "store.kind",
        .choice,
        standard: StoreKindSetting.sqlite,
        "Database of wallets: `sqlite` is embedded, in `data.folder`, for one server. `postgresql` is a database that "
            + "several servers share (docs/cluster.md); it needs `store.address` or `store.service`."
    )
    package static let storeAddress = Setting(
        optional: "store.address",
        Kind<String>.text("URI or words", "a connection URI or a string of keywords and values, as libpq reads them") {
            !$0.isEmpty && $0 != "none" && $0.utf8.count <= 4096 && !$0.utf8.contains(0)
        }
        .hiding { Self.mayContainPassword($0) },
        "Address of the PostgreSQL database, without its password. It is a URI such as "
            + "postgresql://remote_pin@db1,db2,db3/remote_pin, or a string of keywords and values. The server uses the "
            + "host that accepts writes."
    )
    package static let storeService = Setting(
        optional: "store.service",
        .text("name", "the name of a section in `store.service-file`") {
            (1...63).contains($0.utf8.count) && $0 != "none" && !$0.contains { $0.isNewline || $0 == "]" }
        },
        "Section of `store.service-file` with the address, instead of `store.address`."
    )
    package static let storeServiceFile = Setting(
        optional: "store.service-file",
        .path,
        "libpq's connection service file, which has the addresses of databases by name."
    )
    package static let storePasswordFile = Setting(
        optional: "store.password-file",
        .path,
        "File that contains only the database's password, in visible ASCII characters without blanks. The server "
            + "rejects a file that other users can read."
    )
    package static let storeTLS = Setting(
        "store.tls",
        .choice,
        standard: StoreTLSSetting.verifyFull,
        "Security of connections to another machine. `verify-full` requires TLS and a certificate for the host's name; "
            + "the address names its authority in sslrootcert. With `address` the address decides: only for a "
            + "network that is protected otherwise."
    )
    package static let storeTimeLimit = Setting(
        "store.time-limit",
        .duration(.milliseconds(200) ... .seconds(60)),
        standard: .seconds(5),
        "Longest time for a statement of PostgreSQL, with its wait for a standby. Afterwards the server closes the "
            + "connection, and clients repeat their calls."
    )
    package static let storeScanLimit = Setting(
        "store.scan-limit",
        .duration(.seconds(1) ... .seconds(86_400)),
        standard: .seconds(600),
        "Longest time for a statement of PostgreSQL that reads every wallet, such as a count."
    )
    package static let clusterName = Setting(
        optional: "cluster.name",
        .text("name", "a name, 1 to 63 letters, digits, dots and hyphens") { Self.isServerName($0) },
        "Name of the cluster, part of the policy that the database keeps (`store init`, `store policy set`). A server "
            + "with another name, or with none, does not start on it, so that it cannot serve the wallets of another "
            + "cluster whose address it was given by mistake."
    )
    package static let clusterServer = Setting(
        optional: "cluster.server",
        .text("name", "a name, 1 to 63 letters, digits, dots and hyphens") { Self.isServerName($0) },
        "Name of this server, unique among those of the database and the same after a restart: the database keeps the "
            + "newest entry of each server's audit log under it. With none, the name of the machine."
    )
    package static let clusterLease = Setting(
        "cluster.lease",
        .duration(.seconds(6) ... .seconds(60)),
        standard: .seconds(6),
        "Time that this server's lease on a PostgreSQL store lasts. The server renews it each second. If it cannot do "
            + "that for two thirds of this time, it judges no PIN and releases no share until it can, and cuts off "
            + "what it has sent in the last third. A revocation waits for a server that has died until its lease has "
            + "ended."
    )
    package static let durability = Setting(
        "cluster.durability",
        .choice,
        standard: DurabilitySetting.replicated,
        "Losses that a committed change in PostgreSQL must survive. With `replicated`, the server serves only while "
            + "each commit waits for a standby that `synchronous_standby_names` names. With `local`, one machine is "
            + "enough: if it is lost, so are counted attempts and revocations."
    )
}

extension SettingTable {
    fileprivate static func isServerName(_ name: String) -> Bool {
        (1...63).contains(name.utf8.count) && name != "none"
            && name.utf8.allSatisfy { byte in
                let character = Character(UnicodeScalar(byte))
                return byte < 0x80 && (character.isLetter || character.isNumber || ".-".contains(character))
            }
    }

    /// Returns whether a database's address may contain a password, however it is written.
    ///
    /// Threat: the server rejects such an address, but `config show` and messages about it would print the password.
    private static func mayContainPassword(_ address: String) -> Bool {
        // Keywords in a URI may be percent-encoded. libpq's keywords for passwords are `password` and `sslpassword`.
        guard let decoded = address.removingPercentEncoding, !decoded.lowercased().contains("pass") else { return true }
        // In a URI the password follows the user's name; if it is not encoded, it may contain any character.
        guard let scheme = decoded.range(of: "://") else {
            return decoded.lastIndex(of: "@").map { decoded[..<$0].contains(":") } ?? false
        }
        let rest = decoded[scheme.upperBound...]
        if let at = rest.lastIndex(of: "@") { return rest[..<at].contains(":") }
        // Without a host, a user's name and password look like a host and its port.
        return rest.prefix { !"/?".contains($0) }.split(separator: ",").contains { host in
            let end = host.split(separator: "]").last ?? ""
            return end.lastIndex(of: ":").map { !end[end.index(after: $0)...].allSatisfy(\.isNumber) } ?? false
        }
    }
}

extension ServerSettings {
    /// The name of this server among those of the database: `cluster.server`, or else the name of the machine.
    ///
    /// The machine's name must satisfy the same rule, because files that contain the name separate words by spaces.
    ///
    /// Returns nil if the machine's name is needed but does not satisfy the rule.
    package func serverName(ofMachine machine: String) -> String? {
        self[SettingTable.clusterServer] ?? (SettingTable.isServerName(machine) ? machine : nil)
    }
}

/// The kind of wallet database.
package enum StoreKindSetting: String, Hashable, Sendable, CaseIterable {
    case sqlite
    case postgreSQL = "postgresql"
}

/// The security of connections to a database on another machine.
package enum StoreTLSSetting: String, Hashable, Sendable, CaseIterable {
    case verifyFull = "verify-full"
    case address
}

/// The failures that a committed change must survive.
package enum DurabilitySetting: String, Hashable, Sendable, CaseIterable {
    case replicated
    case local
}
