package import HostSystem
internal import Secrets
internal import Vocabulary

/// The text format of a key file, with a readable line for each root and the format version in the first line.
///
///     remote-pin vault keys 3
///     # comments
///     index <64 digits> <8 digits>
///     key 1 <64 digits> <8 digits>
///     history 1 <64 digits> <8 digits>
///     receipt-key <266 digits>
///     active 1
///
/// The word `module` instead of the 64 digits means that the root is in the module behind `vault.socket`.
///
/// A `receipt-key` is public. Starting with the second key version, a file has one for every version, including those
/// that have been removed.
///
/// The eight digits are derived from the root before them. A damaged root, or a module with another one, is thus
/// detected when the server starts, rather than when the first wallet fails to open.
enum KeyFile {
    /// Room for more than two thousand rotations, each of which adds about 450 bytes.
    static let sizeLimit = 1_048_576
    private static let heading = "remote-pin vault keys"
    static let formatVersion = 3
    private static let comment = """
        # Any holder of this file can open every value that the server sealed, except under roots in a module; without
        # the file no value opens. Keep it secret, and a copy of it apart from the database.

        """

    /// - Parameter module: The module for the roots that are not in the file.
    static func read(_ path: String, _ module: ModuleKeys?) throws(KeyFileError) -> KeyFileLines {
        var contents: [UInt8]
        let mode: UInt32
        do throws(FileError) {
            (contents, mode) = try DurableFile.readWithMode(path, atMost: self.sizeLimit)
        } catch {
            throw .file(error)
        }
        let text = SecretBytes(wiping: &contents)
        guard mode == 0o600 else { throw .mode(path, mode) }
        return try KeyFileReader(path: path, module: module).lines(from: text)
    }

    static func text(of lines: KeyFileLines) -> SecretBytes {
        var text = SecretBytes(copying: Array("\(self.heading) \(self.formatVersion)\n\(self.comment)".utf8))
        for root in lines.roots { text = text.concatenated(with: self.line(root)) }
        for link in lines.links.count == 1 ? [] : lines.links {
            text = text.concatenated(with: SecretBytes(copying: Array("receipt-key \(link.bytes.hex)\n".utf8)))
        }
        return text.concatenated(with: SecretBytes(copying: Array("active \(lines.active)\n".utf8)))
    }

    private static func line(_ root: KeyRoot) -> SecretBytes {
        let word =
            switch root.source {
            case .memory(let root): root.secret.hexadecimal()
            case .module: SecretBytes(copying: Array(KeyFileReader.module.utf8))
            }
        return SecretBytes(copying: Array("\(root.name.words.joined(separator: " ")) ".utf8))
            .concatenated(with: word)
            .concatenated(with: SecretBytes(copying: Array(" \(root.check.hex)\n".utf8)))
    }

    /// Returns the format version given in the first line, or nil if this is not a key file.
    static func formatVersion(of line: String) -> Int? {
        guard line.hasPrefix(self.heading + " ") else { return nil }
        return Int(line.dropFirst(self.heading.utf8.count + 1))
    }
}

/// The lines of a key file.
struct KeyFileLines: Sendable {
    let path: String
    /// The module behind `vault.socket`, if one is set.
    let module: ModuleKeys?
    let index: KeyRoot
    /// The roots of the sealing keys, in ascending order of their versions.
    var versions: [KeyRoot]
    /// The roots of the history keys.
    ///
    /// All are kept, because old audit log entries must still be verifiable.
    var history: [KeyRoot]
    var links: [ReceiptKeyLink] = []
    var active: UInt32
    /// The number of lines in the file.
    var count = 1

    var roots: [KeyRoot] { [self.index] + self.versions + self.history }

    /// Whether the numbers ascend, and each version has its history keys.
    var areInOrder: Bool {
        let (versions, history) = (self.versions.map(\.name.number), self.history.map(\.name.number))
        return zip(versions, versions.dropFirst()).allSatisfy(<) && zip(history, history.dropFirst()).allSatisfy(<)
            && history.last == versions.last && Set(history).isSuperset(of: versions)
    }

    func isSame(as other: KeyFileLines) -> Bool {
        self.active == other.active && self.links == other.links
            && self.roots.elementsEqual(other.roots) { $0.name == $1.name && $0.isSame(as: $1) }
    }

    /// Compares the roots in the module with the check values in the file.
    func compareWithModule() async throws(KeyFileError) {
        guard let module else { return }
        for root in self.roots where root.isInModule {
            let found = try await self.find(root.name, in: module)
            // rule: vault-other-module-accepted
            guard found?.check == root.check else {
                throw .notInModule(self.path, "\(root.name)", check: root.check.hex)
            }
        }
    }

    /// Returns the roots of the next version in the module, or nil if they belong in the file: there is no module, or
    /// it has neither and the newest version is in the file.
    ///
    /// Threat: an operator who moves the roots to the module and misnames one of the two would leave them in the file
    /// without notice. After the move, a rotation without keys in the module would put a root back into the file, and
    /// each copy of the disks would open the store again.
    func findInModule(_ key: RootName, _ history: RootName) async throws(KeyFileError) -> (KeyRoot, KeyRoot)? {
        guard let module else { return nil }
        return switch (try await self.find(key, in: module), try await self.find(history, in: module)) {
        case (let key?, let history?): (key, history)
        // rule: vault-root-back-in-file
        case (nil, nil) where self.versions.last?.isInModule == true:
            throw .nextNotInModule(self.path, "\(key)", "\(history)")
        case (nil, nil): nil
        case (nil, _): throw .halfInModule(self.path, has: "\(history)", lacks: "\(key)")
        case (_, nil): throw .halfInModule(self.path, has: "\(key)", lacks: "\(history)")
        }
    }

    private func find(_ name: RootName, in module: ModuleKeys) async throws(KeyFileError) -> KeyRoot? {
        do throws(ModuleFailure) { return try await .find(name, in: module) } catch { throw self.unreachable }
    }

    var unreachable: KeyFileError {
        .unreachable(self.path, socket: self.module?.socket ?? "", reason: self.module?.problem ?? "no answer")
    }
}

/// A parser for the lines of a key file.
///
/// Keys are copied from the text directly into secrets, and only public words are turned into a `String`.
private struct KeyFileReader {
    static let module = "module"

    let path: String
    let module: ModuleKeys?

    func lines(from text: borrowing SecretBytes) throws(KeyFileError) -> KeyFileLines {
        let lines = text.withBytes { span in Self.lines(of: span) }
        guard let first = lines.first,
            let format = KeyFile.formatVersion(of: text.withBytes { Self.string($0, first) })
        else { throw self.damage(line: 1, of: text, lines) }
        guard format == KeyFile.formatVersion else { throw .otherFormat(self.path) }
        var roots: [RootName.Kind: [KeyRoot]] = [:]
        var active: UInt32?
        var links: [ReceiptKeyLink] = []
        for (number, line) in lines.enumerated().dropFirst() {
            switch text.withBytes({ span in self.entry(span, line) }) {
            case .ignored: break
            case .root(let root): roots[root.name.kind, default: []].append(root)
            case .receiptKey(let link): links.append(link)
            case .active(let version) where active == nil: active = version
            case .rootWithoutModule(let name): throw .noModule(self.path, "\(name)")
            case .active, .unknown: throw self.damage(line: number + 1, of: text, lines)
            }
        }
        guard let active, let index = roots[.index], index.count == 1 else {
            throw .damaged(self.path, line: lines.count)
        }
        return KeyFileLines(
            path: self.path,
            module: self.module,
            index: index[0],
            versions: roots[.key] ?? [],
            history: roots[.history] ?? [],
            links: links,
            active: active,
            count: lines.count
        )
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
        case root(KeyRoot)
        /// A root in a module, although none is set.
        case rootWithoutModule(RootName)
        case receiptKey(ReceiptKeyLink)
        case active(UInt32)
        case unknown
    }

    private func entry(_ span: RawSpan, _ line: Range<Int>) -> Entry {
        if line.isEmpty || span.byte(at: line.lowerBound) == UInt8(ascii: "#") { return .ignored }
        let words = Self.words(of: span, line)
        switch (Self.string(span, words[0]), words.count) {
        case ("active", 2):
            return UInt32(Self.string(span, words[1])).map(Entry.active) ?? .unknown
        case ("receipt-key", 2):
            guard let bytes = [UInt8](hex: Self.string(span, words[1])),
                let link = ReceiptKeyLink(decoding: bytes)
            else { return .unknown }
            return .receiptKey(link)
        case ("index", 3): return self.root(.index, span, words[1], words[2])
        case ("key", 4), ("history", 4):
            guard let kind = RootName.Kind(rawValue: Self.string(span, words[0])),
                let number = UInt32(Self.string(span, words[1])), number > 0
            else { return .unknown }
            return self.root(RootName(kind: kind, number: number), span, words[2], words[3])
        default:
            return .unknown
        }
    }

    private func root(_ name: RootName, _ span: RawSpan, _ word: Range<Int>, _ check: Range<Int>) -> Entry {
        let check = Self.string(span, check)
        guard word.count != Self.module.utf8.count || Self.string(span, word) != Self.module else {
            guard let bytes = [UInt8](hex: check), bytes.count == KeyRoot.checkByteCount, bytes.hex == check else {
                return .unknown
            }
            guard let module else { return .rootWithoutModule(name) }
            return .root(KeyRoot(name, check: bytes, in: module))
        }
        guard let secret = SecretBytes(hexadecimal: span.extracting(word)), let root = KeyRoot(name, secret),
            root.check.hex == check
        else { return .unknown }
        return .root(root)
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
    /// The file was written by another version of this program.
    ///
    /// Use that version.
    case otherFormat(String)
    /// A root is in a module, and `vault.socket` is not set; contains the root's name.
    ///
    /// Set the socket.
    case noModule(String, String)
    /// The module lacks a root, or has another one under its name.
    ///
    /// Use the right module, or the key file that belongs to it.
    case notInModule(String, String, check: String)
    /// The module has only one of the two keys of a new version.
    ///
    /// Make the other one.
    case halfInModule(String, has: String, lacks: String)
    /// The newest version is in the module, which has neither key of the next one.
    ///
    /// Make both.
    case nextNotInModule(String, String, String)
    /// The daemon of the module gave no answer.
    ///
    /// Start it, or ask again later.
    case unreachable(String, socket: String, reason: String)
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
        case .otherFormat(let path): "vault key file: \(path) was written by another version; use that one"
        case .noModule(let path, let name):
            "vault key file: the root `\(name)` of \(path) is in a module, and `vault.socket` is not set; set it to "
                + "the socket of remote-pin-keys (docs/keys.md)"
        case .notInModule(let path, let name, let check):
            "vault key file: the module has no key `\(name)` with the check digits \(check), which \(path) names; use "
                + "the token with this key, or the key file that belongs to the token (remote-pin-keys list)"
        case .halfInModule(let path, let has, let lacks):
            "vault key file: the module has the key `\(has)`, but no `\(lacks)`; a new version in \(path) needs both "
                + "(remote-pin-keys make \(lacks))"
        case .nextNotInModule(let path, let key, let history):
            "vault key file: the newest version in \(path) is in the module, which has no `\(key)` and no `\(history)` "
                + "for the next one; make both first (remote-pin-keys make \(key), make \(history))"
        case .unreachable(let path, let socket, let reason):
            "vault key file: the roots of \(path) are in a module, and its daemon at \(socket) cannot be used: "
                + "\(reason); start remote-pin-keys, or see its log"
        case .otherKeys(let path):
            "vault key file: \(path) belongs to another vault or predates a rotation; put the newest key file back"
        }
    }
}
