package import HostSystem
package import Vault
package import Vocabulary

/// What a look at a whole log found.
package struct AuditVerification: Hashable, Sendable {
    /// The newest of the entries that are as they were written, all from the first one on.
    package var newest: AuditMark?
    /// The epoch of that entry; epochs only rise, so it is the latest of which the log tells.
    package var newestEpoch: Int?
    /// Remains of crashes that entries tell of, each before the entry of this number.
    package var tornBefore: [UInt64] = []
    /// The first thing that is not as it was written; nil for an intact log.
    package var problem: AuditProblem?
    /// Whether the entry that the log stream told of is there, also where something behind it is not as it was written;
    /// true where none was named.
    package var hasMark = true
    /// The entry behind which the epoch begins that was asked for: the last one of an earlier epoch, or the log's first
    /// one; nil where the log begins later, or no epoch was asked for.
    package var beginning: AuditMark?
    /// When the first later one began than the epoch that was asked for; nil where none did.
    package var supersededAt: Timestamp?
    /// Where the entries that are as they were written end in the file.
    var intactByteCount = 0

    package init() {}
}

/// How a log is not what was written.
package enum AuditProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// There is nothing in it, not even the first entry that every log has.
    case empty
    /// A line was changed, or is none that the server of this vault wrote.
    case changed(line: Int, after: UInt64)
    /// An entry of this vault that does not belong here: others were removed, swapped, repeated, or it is another log's.
    case misplaced(line: Int, number: UInt64, expected: UInt64)
    /// The last line is not whole: a crash while it was written, or a cut. The server's next start records it.
    case tornTail(line: Int, after: UInt64, byteCount: Int)
    /// The log ends before the entry that the log stream told of.
    case cut(newest: UInt64, expected: UInt64)
    /// The entry of this number has another MAC than the log stream told: it is not the same log any more.
    case replaced(number: UInt64)

    package var description: String {
        switch self {
        case .empty: "the log is empty; every log has a first entry"
        case .changed(let line, let after):
            "line \(line) is not as it was written; the entries up to \(after) are intact"
        case .misplaced(let line, let number, let expected):
            "line \(line) holds entry \(number) and not the entry \(expected) that follows: entries were removed, "
                + "swapped or repeated, or come from another log; those up to \(expected - 1) are intact"
        case .tornTail(let line, let after, let byteCount):
            "line \(line), the last one, is torn after \(byteCount) bytes: a crash while it was written, or a cut; "
                + "the entries up to \(after) are intact"
        case .cut(let newest, let expected):
            "the log ends with entry \(newest); entry \(expected) was written and is gone"
        case .replaced(let number): "entry \(number) is not the one that was written: its MAC is another one"
        }
    }
}

/// Reads a log from its beginning and says how far it is as it was written.
///
/// Works beside a running server and without one; who has the file and the vault can do it.
package struct AuditReader {
    private static let chunk = 1 << 18
    /// Far more than the longest entry has (``AuditSubject/walletsInEntry``); none that is longer is written.
    static let longestLine = 1 << 22

    private let file: AppendFile
    private let vault: any Vault

    package init(_ path: String, vault: any Vault) throws(FileError) {
        try self.init(AppendFile(reading: path), vault: vault)
    }

    init(_ file: AppendFile, vault: any Vault) {
        self.file = file
        self.vault = vault
    }

    /// Looks at every entry; `read` gets each one that is as it was written, in order, where it is given.
    ///
    /// - Parameters:
    ///   - last: what the log stream said of the newest entry, or of any: the log must still have it.
    ///   - epoch: whose beginning is looked for.
    package func verify(
        last: AuditMark? = nil,
        beginningOf epoch: Int? = nil,
        read: ((AuditEntry) -> Void)? = nil
    ) async throws -> AuditVerification {
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
                guard try await scan.take(pending[start..<end], read) else { break scanning }
                start = end + 1
            }
            pending.removeFirst(start)
            // No crash leaves as much of an entry.
            if pending.count > Self.longestLine {
                scan.isTooLong()
                break
            }
        }
        return scan.finish(rest: pending)
    }
}

/// A reader's place in the chain.
private struct AuditScan {
    let vault: any Vault
    /// The mark that must be met.
    let last: AuditMark?
    /// The epoch whose beginning is looked for.
    let epoch: Int?
    var beginning: AuditMark?
    var supersededAt: Timestamp?
    var line = 0
    var newest: AuditMark?
    private var newestLine: ArraySlice<UInt8> = []
    /// Lines behind the newest entry that are none: remains of a crash, if the next entry says so.
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

    /// Takes one line; false where nothing behind it can be intact.
    mutating func take(_ line: ArraySlice<UInt8>, _ read: ((AuditEntry) -> Void)?) async throws -> Bool {
        self.line += 1
        guard let parts = AuditLine.parts(of: line),
            try await self.vault.isMAC(parts.mac, of: Array(parts.message), for: .auditLog)
        else {
            if self.torn.isEmpty { self.tornLine = self.line }
            self.torn += line + [0x0A]
            // What has the form of an entry was written whole: no crash, which leaves no end, made it what it is.
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
        let mark = AuditMark(number: self.count + 1, mac: AuditLine.mac(parts.mac))
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

    /// What comes next is no entry, nor a part of one.
    mutating func isTooLong() {
        self.problem = .changed(line: self.torn.isEmpty ? self.line + 1 : self.tornLine, after: self.count)
    }

    /// What was found in all; `rest` has no line's end.
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
        found.newestEpoch = AuditLine.entry(in: self.newestLine)?.record.epoch
        found.tornBefore = self.tornBefore
        found.hasMark = self.last == nil || self.metMark
        found.beginning = self.beginning
        found.supersededAt = self.supersededAt
        found.problem = self.problem
        found.intactByteCount = self.intactByteCount
        return found
    }
}
