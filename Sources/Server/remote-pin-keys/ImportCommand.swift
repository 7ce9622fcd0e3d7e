internal import ArgumentParser
internal import Glibc
internal import HostSystem
internal import PKCS11
internal import Secrets
internal import ServerSettings
internal import Vocabulary

/// Moves the root `index` from a key file of the vault into the token.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Move the root `index` from the vault's key file into the token.",
        discussion: """
            Stores the key of the root in the token, then replaces the root in the file with the word `module`. The \
            file's owner must run the command, once more after an interruption. Older copies of the file still have \
            the root: destroy them. The file's other roots are those of versions: make `key-N` and `history-N` for \
            the next version instead, and rotate.

            Status 78 if the token refuses the key, or has another one with this label. The file then stays as it is.
            """
    )

    @Argument(help: ArgumentHelp("The vault's key file.", valueName: "path"), completion: .file())
    var keyFile: String

    @Argument(help: "index.")
    var label: KeyLabel

    @OptionGroup var token: TokenOptions

    func validate() throws {
        guard self.label.description == "index" else {
            throw ValidationError("Only `index` moves. Make \(self.label) in the token, and rotate the vault's keys.")
        }
    }

    func run() async throws {
        await KeysProgram.ending(self.token) { module in
            let file = try IndexRoot(in: self.keyFile)
            let token = try self.token.open(module, self.token.pin(), canWrite: true)
            let session = token.sessions[0]
            if try module.keys(self.label.inToken, in: session).isEmpty { try self.store(file, module, session) }
            let found = try module.keys(self.label.inToken, in: session)
            guard !found.isEmpty else { throw StartFailure(.unavailable, "the token has not kept the key") }
            let key = FoundKey(found)
            if let fault = key.fault { throw StartFailure(.configuration, fault) }
            let check = try module.check(of: key.key, in: session)
            guard check == file.check else {
                let text = "the token has another \(self.label): its check digits are \(check), and not \(file.check)"
                throw StartFailure(.configuration, "\(self.keyFile): \(text)")
            }
            try self.moveToModule(check)
            StandardStreams.writeOutput("\(self.label) \(check)\n")
        }
    }

    /// Reads the file again, since the server may have changed it while the token was used.
    ///
    /// The lock is not held meanwhile, because the server waits for it.
    private func moveToModule(_ check: String) throws {
        let lock = try explaining(.files, "the key file") { try FileLock(waitingFor: self.keyFile + ".lock") }
        defer { withExtendedLifetime(lock) {} }
        let file = try IndexRoot(in: self.keyFile)
        guard file.check == check else { throw StartFailure(.files, "\(self.keyFile) has another `index` now") }
        try explaining(.files, "the key file") { try file.moveToModule() }
    }

    private func store(_ file: borrowing IndexRoot, _ module: TokenModule, _ session: UInt) throws {
        guard !file.isInModule else {
            throw StartFailure(
                .configuration,
                "\(self.keyFile): `index` is in another token; this one does not have it"
            )
        }
        do throws(TokenError) {
            let isLimited = try module.storeKey(file.root().hkdfExtractSHA256(), self.label.inToken, in: session)
            if !isLimited { StandardStreams.writeError("this token does not limit a key to one mechanism\n") }
        } catch {
            throw StartFailure(
                .configuration,
                "the token did not take the key, and \(self.keyFile) stays as it is (\(error)). A token in a FIPS mode "
                    + "refuses every key from outside: then `index` stays in the file, and an attacker with the file "
                    + "can search for recovery codes, and forge attempt records and the labels of backups, but opens "
                    + "no share whose root is in the token"
            )
        }
    }
}

/// The root `index` in a key file of the vault.
///
/// The server reads and writes all lines. This program changes one word, so that a file stays as it is otherwise.
struct IndexRoot: ~Copyable {
    /// The eight check digits of the root.
    let check: String
    private let path: String
    private let text: SecretBytes
    /// The place of the root's digits, or of the word `module`.
    private let word: Range<Int>

    private static let module = "module"
    private static let prefix = "index "

    /// Reads the file; throws a ``StartFailure``.
    init(in path: String) throws {
        var (bytes, mode) = try explaining(.files, "the key file") {
            try DurableFile.readWithMode(path, atMost: 1_048_576)
        }
        let text = SecretBytes(wiping: &bytes)
        let owner = try explaining(.files, "the key file") { try DurableFile.owner(of: path) }
        guard mode == 0o600, owner == geteuid() else {
            throw StartFailure(.configuration, "\(path) must have the mode 0600 and belong to the user of this command")
        }
        let place = text.withBytes { Self.place(in: $0) }
        guard let (word, check) = place else {
            throw StartFailure(.data, "\(path): not a key file of the vault, or its line `index` is damaged")
        }
        (self.path, self.word, self.check) = (path, word, check)
        self.text = text
    }

    /// Whether the word `module` is in the place of the root.
    var isInModule: Bool { self.word.count == Self.module.utf8.count }

    /// The root.
    ///
    /// - Precondition: It is in the file.
    func root() -> SecretBytes {
        guard let root = self.text.withBytes({ SecretBytes(hexadecimal: $0.extracting(self.word)) }) else {
            preconditionFailure("the digits were read before")
        }
        return root
    }

    /// Writes `module` in the place of the root, durably.
    func moveToModule() throws(FileError) {
        guard !self.isInModule else { return }
        var bytes = self.text.exposedBytes()
        bytes.replaceSubrange(self.word, with: Self.module.utf8)
        defer { bytes.wipe() }
        try DurableFile.write(bytes, to: self.path)
    }

    /// Finds the root's place in the only line `index ROOT CHECK`, and its check digits, which must be right.
    private static func place(in span: RawSpan) -> (word: Range<Int>, check: String)? {
        var found: (Range<Int>, String)?
        var start = 0
        while start < span.byteCount {
            let end = (start..<span.byteCount).first { span.byte(at: $0) == UInt8(ascii: "\n") } ?? span.byteCount
            defer { start = end + 1 }
            guard Self.text(span, start..<min(start + Self.prefix.utf8.count, end)) == Self.prefix else { continue }
            let first = start + Self.prefix.utf8.count
            let space = (first..<end).first { span.byte(at: $0) == UInt8(ascii: " ") } ?? end
            let check = Self.text(span, min(space + 1, end)..<end)
            guard found == nil, check.utf8.count == 8, Self.isRight(check, of: span.extracting(first..<space)) else {
                return nil
            }
            found = (first..<space, check)
        }
        return found
    }

    private static func isRight(_ check: String, of word: RawSpan) -> Bool {
        if word.byteCount == Self.module.utf8.count {
            return Self.text(word, 0..<word.byteCount) == Self.module
        }
        guard let root = SecretBytes(hexadecimal: word), root.count == 32 else { return false }
        return root.hkdfSHA256(info: Array(TokenModule.checkInfo.utf8), count: 4).exposedBytes().hex == check
    }

    /// Returns public text.
    private static func text(_ span: RawSpan, _ range: Range<Int>) -> String {
        String(decoding: range.map { span.byte(at: $0) }, as: UTF8.self)
    }
}
