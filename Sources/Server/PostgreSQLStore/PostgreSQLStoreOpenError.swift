/// The reason why a store cannot be used.
package enum PostgreSQLStoreOpenError: Error, Hashable, Sendable {
    /// The database does not answer, or rejects the connection.
    case unreachable(String)
    /// A setting that could cause a commit to be lost, with its remedy.
    case losesCommits(String)
    /// The database has no store tables.
    ///
    /// Create them.
    case missing
    /// The database already has store tables.
    case exists
    case otherVersion(found: Int64, known: Int64)
    /// The attempt records of this store were made with another vault key.
    case otherKey
    /// The database lacks commits that it has confirmed.
    ///
    /// Open an epoch.
    case lostCommits
    /// The database was restored from a dump, or is a copy, so it may lack commits.
    ///
    /// Open an epoch.
    case restored
    /// Another epoch was opened in the database while this server was connected or cut off.
    ///
    /// Start the server again.
    case epochEnded
    /// The mark of the last confirmed commits belongs to another server.
    ///
    /// Correct the name.
    case markOfAnotherServer(String, path: String)
    /// The mark of the last confirmed commits cannot be read or written.
    case files(String)
    /// These settings differ from the store's policy, which applies to all servers.
    ///
    /// Correct them or the policy.
    case otherPolicy([PolicyDifference])
    /// Another process serves under this server's name.
    ///
    /// Give each server a separate name.
    case nameInUse(server: String, instance: String)
    /// This server's key file lacks the version of the vault's keys, given with the check value of its key, that the
    /// store seals and signs with.
    ///
    /// Install the newest copy.
    case lacksVaultKey(String)
    /// The schema has objects that this program does not make, or lacks some that it makes.
    ///
    /// Remove or restore them.
    case otherSchema([String])
    /// The database contains only part of the store that is being copied into it.
    ///
    /// Finish the copy.
    case unfinishedCopy
}

extension PostgreSQLStoreOpenError: CustomStringConvertible {
    /// Returns a text in which the name of an object has no effect on a terminal and begins no line.
    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            guard scalar.properties.generalCategory == .control else { return String(scalar) }
            let digits = String(scalar.value, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }

    /// The number of differences that are named.
    private static let mostDifferences = 8

    package var description: String {
        switch self {
        case .unreachable(let reason): "the database cannot be used: \(reason)"
        case .losesCommits(let problem): "the database may lose commits: \(problem)"
        case .missing: "the database has no store; create one"
        case .exists: "the database has a store already"
        case .otherVersion(let found, let known):
            "the store has schema version \(found), and this program knows version \(known)"
        case .otherKey: "the store's attempt records were made with the key of another vault"
        case .lostCommits:
            "the database lacks commits that it has confirmed, after a restore or a failover to a member that was not "
                + "synchronous"
        case .restored:
            "the database was restored from a dump, or is a copy of another one, so it may lack guesses and "
                + "revocations"
        case .epochEnded: "another epoch was opened in the database since this server started"
        case .markOfAnotherServer(let name, let path):
            "\(path) has the last commits of a server named \(name); a server keeps its name, since the database "
                + "keeps its commits under it"
        case .files(let reason): "the mark of the last commits cannot be used: \(reason)"
        case .otherPolicy(let differences):
            "settings differ from the policy that the store keeps for all servers: "
                + differences.map(\.description).joined(separator: "; ")
        case .nameInUse(let server, let instance):
            "another process renews the lease of server \(server) (instance \(instance))"
        case .lacksVaultKey(let name):
            "the store seals and signs with version \(name) of the vault's keys (number and check value), which this "
                + "server's key file lacks"
        case .otherSchema(let differences):
            "the schema remote_pin is not the one that this program makes, so attempts may not be counted: "
                + Self.escaped(differences.prefix(Self.mostDifferences).joined(separator: "; "))
                + (differences.count > Self.mostDifferences ? "; and others" : "")
        case .unfinishedCopy:
            "the database cannot be used: the copy of an embedded store into it is unfinished, so wallets may be "
                + "missing"
        }
    }
}
