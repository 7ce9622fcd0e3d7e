package import HostSystem
package import Vault
package import Vocabulary

/// The result of verifying a whole log.
package struct AuditVerification: Hashable, Sendable {
    /// The newest entry of the intact part, which begins with the first entry.
    package var newest: AuditMark?
    /// The epoch of that entry.
    ///
    /// It is the latest one in the intact part, because epochs never decrease.
    package var newestEpoch: Int?
    /// The name of the server in that entry, if it shares its store with others.
    package var server: String?
    /// The numbers of the entries that record bytes left behind by a crash.
    package var tornBefore: [UInt64] = []
    /// The first deviation from the log as it was written, or nil if the log is intact.
    package var problem: AuditProblem?
    /// Whether the announced entry is present, even if something after it was changed; true if no entry was given.
    package var hasMark = true
    /// The entry after which the requested epoch begins, or nil if the log begins later or no epoch was requested.
    ///
    /// It is the last entry of an earlier epoch or the first entry in the log.
    package var beginning: AuditMark?
    /// The time at which the first epoch after the requested one began, or nil if there is none.
    package var supersededAt: Timestamp?
    /// The offset at which the intact part of the file ends.
    var intactByteCount = 0

    package init() {}
}

/// A way in which a log deviates from what was written.
package enum AuditProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The log is empty, although every log has a first entry.
    case empty
    /// A line was changed, or was not written by a server with this vault.
    case changed(line: Int, after: UInt64)
    /// A line is not as it was written, because a program that handles text converted the file.
    case converted(line: Int, after: UInt64, TextConversion)
    /// An entry made with this vault is in the wrong position.
    ///
    /// Others were removed, swapped or repeated, or it belongs to another log.
    case misplaced(line: Int, number: UInt64, expected: UInt64)
    /// The last line is incomplete: the server crashed while writing it, or the file was truncated.
    ///
    /// The server records it the next time it starts.
    case tornTail(line: Int, after: UInt64, byteCount: Int)
    /// The log ends before the announced entry.
    case cut(newest: UInt64, expected: UInt64)
    /// The entry with this number has a different MAC than the announced one, so this is another log.
    case replaced(number: UInt64)

    package var description: String {
        switch self {
        case .empty: "the log is empty; every log has a first entry"
        case .changed(let line, let after): "line \(line) was changed; the entries up to \(after) are intact"
        case .converted(let line, let after, let conversion):
            "line \(line) \(conversion); the entries up to \(after) are intact"
        case .misplaced(let line, let number, let expected):
            "line \(line) holds entry \(number) instead of entry \(expected): entries were removed, "
                + "swapped or repeated, or come from another log; those up to \(expected - 1) are intact"
        case .tornTail(let line, let after, let byteCount):
            "line \(line), the last one, is incomplete after \(byteCount) bytes: a crash while it was written, "
                + "or a cut; the entries up to \(after) are intact"
        case .cut(let newest, let expected):
            "the log ends with entry \(newest), but entry \(expected) was written; the log was cut"
        case .replaced(let number): "entry \(number) has another MAC than the written one; it was replaced"
        }
    }
}

/// Reads a log from the beginning and determines how far it is intact.
///
/// This works whether or not a server is running. It requires access to the file and the vault.
package struct AuditReader {
    private static let chunk = 1 << 18
    /// The maximum length of a line.
    ///
    /// No longer line is ever written. An entry with ``AuditSubject/walletsInEntry`` wallets is far shorter.
    static let longestLine = 1 << 22

    private let file: AppendFile
    private let vault: any Vault

    package init(_ path: String, vault: any Vault) throws(FileError) {
        try self.init(AppendFile(reading: path), vault: vault)
    }

    /// Opens a log that is only read, also one that a killed restore was setting aside and that still has two names.
    package init(setAside path: String, vault: any Vault) throws(FileError) {
        try self.init(AppendFile(readingAuthenticated: path), vault: vault)
    }

    init(_ file: AppendFile, vault: any Vault) {
        self.file = file
        self.vault = vault
    }

    /// Verifies every entry and passes each intact one to `read`, in order.
    ///
    /// - Parameters:
    ///   - last: An announced entry, which the log must still contain.
    ///   - epoch: The epoch whose beginning to look for.
    package func verify(
        last: AuditMark? = nil,
        beginningOf epoch: Int? = nil,
        read: ((AuditEntry) -> Void)? = nil
    ) async throws(FileError) -> AuditVerification {
        var scan = AuditScan(vault: self.vault, last: last, epoch: epoch)
        var pending: [UInt8] = []
        var offset = 0
        scanning: while true {
            let bytes = try self.file.read(at: offset, atMost: Self.chunk)
            if bytes.isEmpty { break }
            offset += bytes.count
            pending += bytes
            var start = 0
            while let end = pending[start...].firstIndex(of: 0x0A) {
                guard scan.take(pending[start..<end], read) else { break scanning }
                start = end + 1
            }
            pending.removeFirst(start)
            // A crash never leaves this much of an entry.
            if pending.count > Self.longestLine {
                scan.isTooLong()
                break
            }
        }
        return scan.finish(rest: pending)
    }
}

/// The state of a verification: the position in the chain of entries and the findings so far.
private struct AuditScan {
    let vault: any Vault
    /// The entry that the log must contain.
    let last: AuditMark?
    /// The epoch whose beginning to look for.
    let epoch: Int?
    var beginning: AuditMark?
    var supersededAt: Timestamp?
    var line = 0
    var newest: AuditMark?
    private var newestLine: ArraySlice<UInt8> = []
    /// The MAC of the newest entry.
    ///
    /// No later entry may have a MAC made with an older key.
    private var newestMAC: VersionedMAC?
    /// The bytes after the newest entry that are not entries.
    ///
    /// If the next entry describes them, they were left by a crash.
    var torn: [UInt8] = []
    var tornLine = 0
    var tornBefore: [UInt64] = []
    var intactByteCount = 0
    var metMark = false
    var problem: AuditProblem?

    init(vault: any Vault, last: AuditMark?, epoch: Int?) {
        self.vault = vault
        self.last = last
        self.epoch = epoch
    }

    private var count: UInt64 { self.newest?.number ?? 0 }

    /// Processes one line; returns false if nothing after it can be intact.
    mutating func take(_ line: ArraySlice<UInt8>, _ read: ((AuditEntry) -> Void)?) -> Bool {
        self.line += 1
        guard let parts = AuditLine.parts(of: line),
            self.vault.isMAC(parts.mac.bytes, of: Array(parts.message), for: .auditLog),
            parts.mac.continues(self.newestMAC)
        else {
            if self.torn.isEmpty { self.tornLine = self.line }
            self.torn += line + [0x0A]
            if let conversion = TextConversion(of: line), self.torn.count == line.count + 1 {
                self.problem = .converted(line: self.line, after: self.count, conversion)
                return false
            }
            // A line in the format of an entry was written completely. A crash does not leave a MAC behind, so the line
            // was changed.
            guard AuditLine.parts(of: line) == nil else {
                self.problem = .changed(line: self.line, after: self.count)
                return false
            }
            return true
        }
        guard parts.message.starts(with: AuditLine.beginning(after: self.newest, torn: self.torn)) else {
            let number = AuditLine.entry(in: line)?.number ?? 0
            self.problem =
                self.torn.isEmpty
                ? .misplaced(line: self.line, number: number, expected: self.count + 1)
                : .changed(line: self.tornLine, after: self.count)
            return false
        }
        let mark = AuditMark(number: self.count + 1, mac: parts.mac.description)
        self.newestMAC = parts.mac
        if !self.torn.isEmpty { self.tornBefore.append(mark.number) }
        self.intactByteCount += self.torn.count + line.count + 1
        self.torn = []
        self.newest = mark
        self.newestLine = line
        if let last, last.number == mark.number {
            guard last.mac == mark.mac else {
                self.problem = .replaced(number: mark.number)
                return false
            }
            self.metMark = true
        }
        if let epoch, let record = AuditLine.entry(in: line)?.record {
            if record.epoch < epoch || (record.epoch == epoch && mark.number == 1) { self.beginning = mark }
            if record.epoch > epoch, self.supersededAt == nil { self.supersededAt = record.at }
        }
        if let read {
            guard let entry = AuditLine.entry(in: line) else {
                self.problem = .changed(line: self.line, after: self.count - 1)
                return false
            }
            read(entry)
        }
        return true
    }

    /// Records that the following bytes are neither an entry nor part of one.
    mutating func isTooLong() {
        self.problem = .changed(line: self.torn.isEmpty ? self.line + 1 : self.tornLine, after: self.count)
    }

    /// Returns the overall result, given the bytes after the last line feed.
    mutating func finish(rest: [UInt8]) -> AuditVerification {
        if self.problem == nil {
            let remains = self.torn.count + rest.count
            if self.newest == nil, remains == 0 {
                self.problem = .empty
            } else if remains > 0 {
                let line = self.torn.isEmpty ? self.line + 1 : self.tornLine
                self.problem = .tornTail(line: line, after: self.count, byteCount: remains)
            } else if let last, !self.metMark {
                self.problem = .cut(newest: self.count, expected: last.number)
            }
        }
        var found = AuditVerification()
        found.newest = self.newest
        let newest = AuditLine.entry(in: self.newestLine)?.record
        (found.newestEpoch, found.server) = (newest?.epoch, newest?.server)
        found.tornBefore = self.tornBefore
        found.hasMark = self.last == nil || self.metMark
        found.beginning = self.beginning
        found.supersededAt = self.supersededAt
        found.problem = self.problem
        found.intactByteCount = self.intactByteCount
        return found
    }
}

// The time of the last verification by an operator or a timer. It is kept outside the log, which is append-only.
extension AuditLog {
    private static func recordPath(of path: String) -> String { path + ".verified" }

    /// Records that the log at this path was just verified and is intact.
    package static func recordVerification(of path: String) throws(FileError) {
        try DurableFile.write([], to: self.recordPath(of: path))
    }

    /// Returns the time of the last recorded verification of the log at this path, or nil if there is none.
    package static func lastVerification(of path: String) -> Timestamp? {
        (try? DurableFile.changeTime(of: self.recordPath(of: path))).map { Timestamp(milliseconds: $0 / 1_000_000) }
    }
}
