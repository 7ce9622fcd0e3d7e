internal import Foundation
package import Vocabulary

/// A record of an action or event in the audit log.
///
/// No member can hold a deletion code or a recovery code: the log identifies wallets by their ids, and recovery codes
/// by the vault's MACs.
package struct AuditRecord: Hashable, Sendable {
    package var at: Timestamp
    /// The store's epoch, which increases with every restore.
    package var epoch: Int
    package var actor: AuditActor
    package var event: AuditEvent
    package var subject = AuditSubject()
    package var phase: AuditPhase
    /// The command's arguments other than its subject, in a word or two, for example `percent 10`.
    package var detail: String?
    /// The store's generation when the entry was written, or nil if the writer did not know it.
    package var generation: UInt64?
    /// The name of the server, if several servers share the store.
    package var server: String?
    /// The names of all servers that the shared store knew.
    ///
    /// Only in entries for starts and stops.
    package var servers: [String]?
}

/// An entry in the log: a record together with its number.
package struct AuditEntry: Hashable, Sendable {
    /// The number of the entry.
    ///
    /// Numbers start at 1 and have no gaps.
    package var number: UInt64
    package var record: AuditRecord
}

/// The party that caused an event.
package struct AuditActor: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    /// A user of this machine, identified by the user id that the kernel reports for the peer of the admin socket.
    package static func user(_ id: UInt32, name: String?) -> AuditActor {
        AuditActor(rawValue: "uid \(id)" + (name.map { " (\($0))" } ?? ""))
    }

    /// An authenticated wallet.
    package static let wallet = AuditActor(rawValue: "wallet")
    /// A client that presented a wallet's deletion code.
    package static let deletionCode = AuditActor(rawValue: "deletion code")
    /// A browser that presented a wallet's deletion code on the portal.
    package static let portal = AuditActor(rawValue: "portal")
    /// The server itself.
    package static let server = AuditActor(rawValue: "server")
}

/// The name of an event.
///
/// For commands, it is the name that operators type. The constants here are for commands that a restore replays and for
/// commands that also work while the server is stopped. The others are named in Administration.
package struct AuditEvent: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    /// A server started serving the store.
    ///
    /// The detail contains its version, its attempt policy and a digest of its settings.
    package static let started = AuditEvent(rawValue: "started")
    /// A server shut down cleanly.
    package static let stopped = AuditEvent(rawValue: "stopped")
    /// The first entry in a log.
    package static let logBegun = AuditEvent(rawValue: "log begun")
    /// A crash left the beginning of an entry in the file.
    ///
    /// This entry follows those bytes and describes them.
    package static let tornTail = AuditEvent(rawValue: "torn tail")
    /// A user revoked a wallet with its deletion code.
    package static let deletionCode = AuditEvent(rawValue: "deletion code")
    /// A wallet reported that it had wiped itself.
    package static let wipe = AuditEvent(rawValue: "wipe")
    /// A wallet asked to be linked to a recovery code on the deny list, and was revoked because of it.
    package static let deniedLink = AuditEvent(rawValue: "link to a denied recovery code")
    /// A wrong PIN permanently blocked wallets.
    ///
    /// This entry follows the commit that counted the PIN.
    package static let blockedPermanently = AuditEvent(rawValue: "blocked permanently")
    /// An operator revoked wallets.
    package static let revokeWallets = AuditEvent(rawValue: "revoke wallet")
    /// An operator added a recovery code to the deny list and revoked its wallets.
    package static let revokeRecoveryCode = AuditEvent(rawValue: "revoke recovery-code")
    /// An operator revoked the wallet solution.
    package static let revokeSolution = AuditEvent(rawValue: "revoke solution")
    /// An operator reversed the revocation of the wallet solution.
    package static let restoreSolution = AuditEvent(rawValue: "restore solution")
    /// An operator removed a recovery code from the deny list.
    package static let removeDenied = AuditEvent(rawValue: "deny-list remove")
    /// An operator replaced the update rules of platforms.
    ///
    /// The detail contains the platforms and the rules.
    package static let setUpdatePolicy = AuditEvent(rawValue: "update-policy set")
    /// An operator removed the update rules of platforms, so that those in the settings apply.
    package static let clearUpdatePolicy = AuditEvent(rawValue: "update-policy clear")
    /// A backup of the store was made.
    package static let backup = AuditEvent(rawValue: "backup")
    /// The store was replaced with a backup, which opened a new epoch.
    package static let restore = AuditEvent(rawValue: "restore")
    /// Revoked and wiped wallets were removed after their retention time.
    package static let purge = AuditEvent(rawValue: "purge")
    /// The vault got a new key version.
    package static let rotateVault = AuditEvent(rawValue: "vault rotate")
    /// All values are now sealed with the vault's active key version.
    package static let resealed = AuditEvent(rawValue: "vault resealed")
    /// A refresh has offered next shares to every wallet.
    package static let sharesOffered = AuditEvent(rawValue: "vault shares offered")
    /// The embedded store was copied into a shared database, which is used from then on.
    package static let storeCopied = AuditEvent(rawValue: "store copy")
    /// An operator replaced the policy of all servers sharing a database.
    ///
    /// The detail contains each changed setting.
    package static let storePolicy = AuditEvent(rawValue: "store policy set")
    /// An operator opened an epoch in a database shared by several servers.
    ///
    /// The detail contains its number and rule.
    package static let storeEpoch = AuditEvent(rawValue: "store epoch")
    /// Key versions that no longer seal any value were removed.
    package static let retireVault = AuditEvent(rawValue: "vault retire")
    /// A command unknown to this version.
    package static let unknown = AuditEvent(rawValue: "unknown")

    /// The events other than commands to a running server.
    package static let others: [AuditEvent] = [
        .restore, .deletionCode, .wipe, .deniedLink, .blockedPermanently, .purge, .resealed, .sharesOffered,
        .storeCopied, .storePolicy, .storeEpoch, .started, .stopped, .logBegun, .tornTail, .unknown,
    ]
}

/// The wallets or the recovery code that an event concerns.
package struct AuditSubject: Hashable, Sendable {
    package var wallets: [WalletID]
    package var recoveryCode: RecoveryCodeMAC?

    package init(wallets: [WalletID] = [], recoveryCode: RecoveryCodeMAC? = nil) {
        self.wallets = wallets
        self.recoveryCode = recoveryCode
    }

    /// The maximum number of wallets in one entry.
    ///
    /// Such an entry is about 400 KB long, a tenth of the longest entry that a reader accepts.
    package static let walletsInEntry = 10_000

    /// Splits the subject into as few entries as ``walletsInEntry`` allows, nearly always one.
    package var inParts: [AuditSubject] {
        guard self.wallets.count > Self.walletsInEntry else { return [self] }
        return stride(from: 0, to: self.wallets.count, by: Self.walletsInEntry).map { start in
            AuditSubject(
                wallets: Array(self.wallets[start...].prefix(Self.walletsInEntry)),
                recoveryCode: self.recoveryCode
            )
        }
    }
}

/// The progress of a change when the entry was written.
///
/// A restore treats a `begun` entry as done unless a `failed` entry refers to it. The commit may have been the last
/// action before a crash, or the store may have committed without answering.
package enum AuditPhase: Hashable, Sendable {
    /// The change is about to be committed.
    case begun
    /// The change was made, with this result.
    ///
    /// `of` is the number of the `begun` entry, or nil if there is none.
    case done(of: UInt64?, result: String)
    /// The change was not made, not even in part.
    case failed(of: UInt64?, reason: String)
    /// The change may have been made: the store did not answer, and the caller was asked to repeat the command.
    case unclear(of: UInt64, reason: String)

    /// The name of the phase, used in the file and shown to operators.
    package var name: String {
        switch self {
        case .begun: "begun"
        case .done: "done"
        case .failed: "failed"
        case .unclear: "unclear"
        }
    }
}

/// The number and MAC of an entry.
///
/// Together, they authenticate all entries up to it.
package struct AuditMark: Hashable, Sendable, CustomStringConvertible {
    package var number: UInt64
    package var mac: String

    package init(number: UInt64, mac: String) {
        self.number = number
        self.mac = mac
    }

    /// Parses `NUMBER:MAC`, the format used in the server's log and by `audit verify`.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, let number = UInt64(parts[0]), number > 0, AuditLine.isMAC(parts[1].utf8) else {
            return nil
        }
        self.init(number: number, mac: String(parts[1]))
    }

    package var description: String { "\(self.number):\(self.mac)" }
}

extension AuditMark {
    /// Finds the newest mark in a server's log, in either format.
    ///
    /// Returns nil if there is none. Skips a last line that is incomplete.
    ///
    /// Threat: an attacker cuts the audit log and damages the lines of the later marks. A line that announces a mark
    /// but has none is therefore an error.
    ///
    /// Threat: a client puts the text of a mark into a value that the server logs. Such a value is quoted, so text
    /// lines with quotation marks are skipped, and in JSON the mark must be a member of the object. The message must be
    /// the one that announces marks.
    package init?(newestIn log: [UInt8]) throws(UnreadableMark) {
        let lines = log.split(separator: 0x0A, omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated().reversed() {
            guard let text = Self.announced(in: line.last == 0x0D ? line.dropLast() : line) else { continue }
            guard let mark = AuditMark(text) else {
                // Behind the last line feed, the server may be writing a line.
                guard index < lines.count - 1 else { continue }
                throw UnreadableMark(line: index + 1)
            }
            self = mark
            return
        }
        return nil
    }

    private struct Line: Decodable {
        let message: String
        let newest: String?
    }

    /// Returns the text of the mark that a line announces, or nil for any other line.
    private static func announced(in line: ArraySlice<UInt8>) -> String? {
        if line.first == UInt8(ascii: "{") {
            guard let line = try? JSONDecoder().decode(Line.self, from: Data(line)), line.message == "audit log" else {
                return nil
            }
            return line.newest ?? ""
        }
        let text = String(decoding: line, as: UTF8.self)
        guard !text.contains("\""), let start = text.firstRange(of: " notice audit log ") else { return nil }
        let word = text[start.upperBound...].split(separator: " ").last { $0.hasPrefix("newest=") }
        return word.map { String($0.dropFirst("newest=".count)) } ?? ""
    }
}

/// A line of a server's log announces a mark of the audit log, but the mark is damaged.
package struct UnreadableMark: Error, Hashable, CustomStringConvertible {
    /// The number of the line, starting at 1.
    package let line: Int

    package var description: String { "line \(self.line) of the server's log announces a mark that cannot be read" }
}
