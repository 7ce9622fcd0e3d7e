package import HostSystem
internal import Secrets
internal import Vocabulary

/// The text format of a key file, with a readable line for each key and the format version in the first line.
///
///     remote-pin vault keys 2
///     # comments
///     index <64 digits> <8 digits>
///     key 1 <64 digits> <8 digits>
///     history 1 <64 digits> <8 digits>
///     receipt-key <266 digits>
///     active 1
///
/// A new file has format 1 and no `history` lines: the keys for the audit log and the epochs are derived from `index`.
/// The first rotation adds a line, and the format becomes 2.
///
/// A `receipt-key` is public. Starting with the second key version, a file in format 2 has one for every version,
/// including those that have been removed. Format 1 does not need any: while a file has this format, the active key is
/// the only one that has signed receipts.
///
/// The eight digits are derived from the key before them. A damaged key is thus detected when the server starts, rather
/// than when the first wallet fails to open.
enum KeyFile {
    /// Room for more than two thousand rotations, each of which adds about 450 bytes.
    static let sizeLimit = 1_048_576
    private static let heading = "remote-pin vault keys"
    private static let formatVersions = 1...2
    private static let comment = """
        # Any holder of this file can open every value that the server sealed; without it nobody can. Keep it secret,
        # and a copy of it apart from the database.

        """

    static func read(_ path: String) throws(KeyFileError) -> KeyRing {
        var contents: [UInt8]
        let mode: UInt32
        do throws(FileError) {
            (contents, mode) = try DurableFile.readWithMode(path, atMost: self.sizeLimit)
        } catch {
            throw .file(error)
        }
        let text = SecretBytes(wiping: &contents)
        guard mode == 0o600 else { throw .mode(path, mode) }
        return try KeyFileReader(path: path).ring(from: text)
    }

    static func text(of ring: KeyRing) -> SecretBytes {
        let history = ring.history.dropFirst()
        let format = history.isEmpty ? self.formatVersions.lowerBound : self.formatVersions.upperBound
        var text = SecretBytes(copying: Array("\(self.heading) \(format)\n\(self.comment)".utf8))
        text = text.concatenated(with: self.line("index", ring.indexHexadecimal(), check: ring.indexCheck))
        for version in ring.versions {
            let line = self.line("key \(version.number)", version.hexadecimal(), check: version.check)
            text = text.concatenated(with: line)
        }
        for keys in history {
            text = text.concatenated(with: self.line("history \(keys.number)", keys.hexadecimal(), check: keys.check))
        }
        let links = history.isEmpty || ring.receiptKeys.count == 1 ? [] : ring.receiptKeys
        for link in links {
            text = text.concatenated(with: SecretBytes(copying: Array("receipt-key \(link.bytes.hex)\n".utf8)))
        }
        return text.concatenated(with: SecretBytes(copying: Array("active \(ring.active.number)\n".utf8)))
    }

    private static func line(_ name: String, _ key: borrowing SecretBytes, check: [UInt8]) -> SecretBytes {
        SecretBytes(copying: Array("\(name) ".utf8))
            .concatenated(with: key)
            .concatenated(with: SecretBytes(copying: Array(" \(check.hex)\n".utf8)))
    }

    /// Returns the format version given in the first line, or nil if this is not a key file.
    static func formatVersion(of line: String) -> Int? {
        guard line.hasPrefix(self.heading + " ") else { return nil }
        return Int(line.dropFirst(self.heading.utf8.count + 1))
    }

    static func isReadable(formatVersion: Int) -> Bool { self.formatVersions.contains(formatVersion) }

    /// Returns whether files of this format have `history` lines.
    ///
    /// A missing line is then not mistaken for a file that was never rotated.
    static func hasHistory(formatVersion: Int) -> Bool { formatVersion > self.formatVersions.lowerBound }
}

/// A parser for the lines of a key file.
///
/// Keys are copied from the text directly into secrets, and only public words are turned into a `String`.
private struct KeyFileReader {
    let path: String

    func ring(from text: borrowing SecretBytes) throws(KeyFileError) -> KeyRing {
        let lines = text.withBytes { span in Self.lines(of: span) }
        guard let first = lines.first,
            let format = KeyFile.formatVersion(of: text.withBytes { Self.string($0, first) })
        else { throw self.damage(line: 1, of: text, lines) }
        guard KeyFile.isReadable(formatVersion: format) else { throw .newerFormat(self.path) }
        var versions: [KeyVersion] = []
        var history: [HistoryKeys] = []
        var active: UInt32?
        var index: Share?
        var links: [ReceiptKeyLink] = []
        for (number, line) in lines.enumerated().dropFirst() {
            let understood = text.withBytes { span in
                switch Self.entry(span, line) {
                case .ignored:
                    return true
                case .key(let version):
                    versions.append(version)
                    return true
                case .history(let keys):
                    history.append(keys)
                    return true
                case .receiptKey(let link):
                    links.append(link)
                    return true
                case .index(let key) where index == nil:
                    index = key
                    return true
                case .active(let version) where active == nil:
                    active = version
                    return true
                case .index, .active, .unknown:
                    return false
                }
            }
            if !understood { throw self.damage(line: number + 1, of: text, lines) }
        }
        guard let active, let index, KeyFile.hasHistory(formatVersion: format) == !history.isEmpty,
            let ring = KeyRing(versions: versions, active: active, index: index.copy(), history: history, links: links)
        else {
            throw .damaged(self.path, line: lines.count)
        }
        return ring
    }

    private func damage(line: Int, of text: borrowing SecretBytes, _ lines: [Range<Int>]) -> KeyFileError {
        let conversion = text.withBytes { span in
            // The whole line may contain a key.
            let (start, end) = (lines[line - 1].lowerBound, lines[line - 1].upperBound)
            return TextConversion(of: Self.string(span, start..<min(start + 3, end)).utf8)
                ?? TextConversion(of: Self.string(span, max(start, end - 1)..<end).utf8)
        }
        return conversion.map { .converted(self.path, line: line, $0) } ?? .damaged(self.path, line: line)
    }

    private enum Entry {
        case ignored
        case key(KeyVersion)
        case history(HistoryKeys)
        case receiptKey(ReceiptKeyLink)
        /// This is a `Share` because an enum case cannot hold a noncopyable secret.
        case index(Share)
        case active(UInt32)
        case unknown
    }

    private static func entry(_ span: RawSpan, _ line: Range<Int>) -> Entry {
        if line.isEmpty || span.byte(at: line.lowerBound) == UInt8(ascii: "#") { return .ignored }
        let words = self.words(of: span, line)
        switch (self.string(span, words[0]), words.count) {
        case ("active", 2):
            return UInt32(self.string(span, words[1])).map(Entry.active) ?? .unknown
        case ("receipt-key", 2):
            guard let bytes = [UInt8](hex: self.string(span, words[1])),
                let link = ReceiptKeyLink(decoding: bytes)
            else { return .unknown }
            return .receiptKey(link)
        case ("index", 3):
            guard let root = SecretBytes(hexadecimal: span.extracting(words[1])),
                KeyRing.check(of: root).hex == self.string(span, words[2]), let key = Share(root)
            else { return .unknown }
            return .index(key)
        case ("history", 4):
            guard let number = UInt32(self.string(span, words[1])), number > 0,
                let root = SecretBytes(hexadecimal: span.extracting(words[2])),
                let keys = HistoryKeys(number: number, root: root), keys.check.hex == self.string(span, words[3])
            else { return .unknown }
            return .history(keys)
        case ("key", 4):
            guard let number = UInt32(self.string(span, words[1])), number > 0,
                let root = SecretBytes(hexadecimal: span.extracting(words[2])),
                let version = KeyVersion(number: number, root: root), version.check.hex == self.string(span, words[3])
            else { return .unknown }
            return .key(version)
        default:
            return .unknown
        }
    }

    private static func lines(of span: RawSpan) -> [Range<Int>] {
        self.parts(of: span, 0..<span.byteCount, at: 0x0A)
    }

    /// Returns the words of a line.
    ///
    /// The result is never empty.
    private static func words(of span: RawSpan, _ line: Range<Int>) -> [Range<Int>] {
        self.parts(of: span, line, at: 0x20)
    }

    private static func parts(of span: RawSpan, _ range: Range<Int>, at separator: UInt8) -> [Range<Int>] {
        var parts: [Range<Int>] = []
        var start = range.lowerBound
        for index in range where span.byte(at: index) == separator {
            parts.append(start..<index)
            start = index + 1
        }
        parts.append(start..<range.upperBound)
        return parts
    }

    /// Returns a word or number as a string.
    ///
    /// Must never be used for a key.
    private static func string(_ span: RawSpan, _ range: Range<Int>) -> String {
        String(decoding: range.map { span.byte(at: $0) }, as: UTF8.self)
    }
}

/// The reason a key file cannot be used, and what the operator should do about it.
///
/// It never contains a key.
package enum KeyFileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file cannot be read or written.
    case file(FileError)
    /// Other users can read or write it.
    ///
    /// Change its mode, and rotate the keys if another user may have done so.
    case mode(String, UInt32)
    /// A line does not have the expected format.
    ///
    /// Restore the file from a backup.
    case damaged(String, line: Int)
    /// A line does not have the expected format, because a program that handles text converted the file.
    ///
    /// Undo the conversion, or restore the file from a backup.
    case converted(String, line: Int, TextConversion)
    /// The file was written by a newer version of this program.
    ///
    /// Use that version.
    case newerFormat(String)
    /// The file belongs to another vault or is older than the keys in use.
    ///
    /// Put the right file back.
    case otherKeys(String)

    package var description: String {
        switch self {
        case .file(let error): "vault key file: \(error)"
        case .mode(let path, let mode):
            "vault key file: \(path) has mode 0\(String(mode, radix: 8)); it must be 0600 (chmod 600 \(path))"
        case .damaged(let path, let line):
            "vault key file: \(path), line \(line): invalid form; restore the file from a backup"
        case .converted(let path, let line, let conversion):
            "vault key file: \(path), line \(line) \(conversion); or restore the file from a backup"
        case .newerFormat(let path): "vault key file: \(path) was written by a newer version; use that one"
        case .otherKeys(let path):
            "vault key file: \(path) belongs to another vault or predates a rotation; put the newest key file back"
        }
    }
}
