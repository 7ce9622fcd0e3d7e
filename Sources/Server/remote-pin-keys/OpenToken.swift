internal import ArgumentParser
internal import Foundation
internal import HostSystem
internal import PKCS11
internal import Secrets
internal import ServerSettings

/// The name of a key, `index`, `key-N` or `history-N`.
///
/// Its label in the token begins with `remote-pin-`.
struct KeyLabel: Hashable, Sendable, ExpressibleByArgument, CustomStringConvertible {
    static let prefix = "remote-pin-"
    let description: String

    init?(argument text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        let isVersion = parts.count == 2 && ["key", "history"].contains(parts[0])
        guard text == "index" || (isVersion && UInt32(parts[1]).map { $0 > 0 && "\($0)" == parts[1] } == true) else {
            return nil
        }
        self.description = text
    }

    /// Reads the label of a key in the token.
    init?(inToken text: String) {
        guard text.hasPrefix(Self.prefix) else { return nil }
        self.init(argument: String(text.dropFirst(Self.prefix.count)))
    }

    var inToken: String { "\(Self.prefix)\(self)" }
}

/// The keys of a token that have one label, which must be a single sound one.
struct FoundKey: Sendable {
    let key: TokenKey
    /// The reason for not using the key, or nil.
    let fault: String?

    /// - Precondition: There is at least one key.
    init(_ keys: [TokenKey]) {
        self.key = keys[0]
        if keys.count > 1 {
            self.fault = "\(keys.count) keys have the label \(self.key.label): destroy the wrong ones"
        } else if let attribute = self.key.fault {
            self.fault = "\(self.key.label) has the wrong \(attribute): make it with `remote-pin-keys make`"
        } else if self.key.wasOutside, self.key.label != "\(KeyLabel.prefix)index" {
            // The root of the index may come from a key file. Another key that was outside may be known to an attacker.
            self.fault = "\(self.key.label) has been outside the token (CKA_NEVER_EXTRACTABLE): make a new version"
        } else {
            self.fault = nil
        }
    }

    /// Groups all keys of the token by label.
    static func all(_ keys: [TokenKey]) -> [FoundKey] {
        Dictionary(grouping: keys, by: \.label).sorted { $0.key < $1.key }.map { FoundKey($1) }
    }
}

/// The options that name a token and its PIN.
struct TokenOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The module's library.", valueName: "path"), completion: .file(extensions: ["so"]))
    var module: String

    @Option(help: "The token's label.")
    var token = "remote-pin"

    @Option(help: ArgumentHelp("The token's serial number, if several have this label.", valueName: "number"))
    var serial: String?

    @Option(
        help: ArgumentHelp("A file with the token's user PIN, readable only by its owner.", valueName: "path"),
        completion: .file()
    )
    var pinFile = "/etc/remote-pin-keys/pin"

    /// Loads the module.
    func load() throws -> TokenModule {
        try mapError(TokenModule(loading: self.module)) { (error: TokenLoadError) in
            StartFailure(.configuration, "--module: \(error.reason)")
        }
    }

    /// Initializes the module, opens the token, logs in with a single attempt, and finds the keys.
    ///
    /// - Parameter serial: The serial number of the token to prefer if several are named by the options.
    /// - Throws: A ``StartFailure`` of the kind `unavailable` if a later attempt may succeed, otherwise another kind.
    func open(
        _ module: TokenModule,
        _ pin: borrowing SecretBytes,
        sessions count: Int = 1,
        canWrite: Bool = false,
        preferring serial: String? = nil
    ) throws -> OpenToken {
        do {
            try module.initialize()
            let (present, failures) = try module.tokens()
            var tokens = present.filter { $0.label == self.token && $0.serial == self.serial ?? $0.serial }
            if let same = tokens.first(where: { $0.serial == serial }) { tokens = [same] }
            guard let token = tokens.first else {
                let names = (present.map { "`\($0.label)` (\($0.serial))" } + failures.map(\.description))
                    .joined(separator: ", ")
                throw StartFailure(.unavailable, "no token is `\(self.token)`; present are: \(names)")
            }
            guard tokens.count == 1 else {
                let serials = tokens.map(\.serial).joined(separator: ", ")
                let text = "\(tokens.count) tokens are `\(self.token)`: name one with --serial: \(serials)"
                throw StartFailure(.configuration, text)
            }
            let sessions = try module.openSessions(count, token.slot, canWrite: canWrite)
            try module.login(sessions[0], pin)
            let found = FoundKey.all(try module.keys(prefix: KeyLabel.prefix, in: sessions[0]))
            return OpenToken(token: token, sessions: sessions, found: found)
        } catch let error as TokenError {
            throw self.failure(error)
        }
    }

    /// Returns the failure that a module's error means for this process.
    ///
    /// Invariant: after a rejected PIN the process ends and is not restarted, so that no further attempt locks the
    /// token.
    func failure(_ error: TokenError) -> StartFailure {
        // rule: vault-daemon-second-login
        guard error.reaction == .endProcess else { return StartFailure(.unavailable, "\(self.module): \(error)") }
        return StartFailure(
            .configuration,
            "\(self.pinFile): the token rejected this PIN, and no further attempt was made, because modules lock after "
                + "a few: correct the file, or unlock the token (\(error))"
        )
    }

    /// Reads the PIN's file.
    func pin() throws -> SecretBytes {
        var (bytes, mode) = try explaining(.configuration, "--pin-file") {
            try DurableFile.readWithMode(self.pinFile, atMost: 256)
        }
        defer { bytes.wipe() }
        guard mode & 0o077 == 0 else {
            throw StartFailure(.configuration, "\(self.pinFile): others can read it; run chmod 600 \(self.pinFile)")
        }
        return SecretBytes(copying: bytes.prefix { $0 != UInt8(ascii: "\n") })
    }
}

/// A token with a login, its sessions and keys.
struct OpenToken {
    let token: TokenModule.Token
    let sessions: [UInt]
    let found: [FoundKey]
}
