internal import ArgumentParser
internal import HostSystem
internal import PKCS11
internal import ServerSettings
internal import Vocabulary

extension TokenModule {
    /// The `info` of a root's check digits.
    static let checkInfo = "remote-pin/1 vault check"

    /// Returns the eight check digits of a key, the same ones as in a key file with this root.
    func check(of key: TokenKey, in session: UInt) throws(TokenError) -> String {
        let code = try self.code(of: Array("\(Self.checkInfo)\u{1}".utf8), key: key.handle, in: session)
        return Array(code.prefix(4)).hex
    }
}

/// Makes a key in the token.
struct MakeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "make",
        abstract: "Make a random key in the token, which never leaves it.",
        discussion: "Prints the key's check digits. Status 74 if the token has a key with this label."
    )

    @Argument(help: "index, key-N or history-N.")
    var label: KeyLabel

    @OptionGroup var token: TokenOptions

    func run() async throws {
        await KeysProgram.ending(self.token) { module in
            let token = try self.token.open(module, self.token.pin(), canWrite: true)
            guard try module.keys(self.label.inToken, in: token.sessions[0]).isEmpty else {
                throw StartFailure(.files, "the token has a key \(self.label.inToken) already; nothing was made")
            }
            let isLimited = try module.makeKey(self.label.inToken, in: token.sessions[0])
            let made = try module.keys(self.label.inToken, in: token.sessions[0])
            guard !made.isEmpty else { throw StartFailure(.unavailable, "the token has not kept the key") }
            let key = FoundKey(made)
            if let fault = key.fault { throw StartFailure(.configuration, fault) }
            if !isLimited { StandardStreams.writeError("this token does not limit a key to one mechanism\n") }
            StandardStreams.writeOutput("\(self.label) \(try module.check(of: key.key, in: token.sessions[0]))\n")
        }
    }
}

/// Lists the keys in the token.
struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the keys in the token with their check digits, as in the vault's key file."
    )

    @OptionGroup var token: TokenOptions

    func run() async throws {
        await KeysProgram.ending(self.token) { module in
            let token = try self.token.open(module, self.token.pin())
            for found in token.found where found.fault == nil {
                let check = try module.check(of: found.key, in: token.sessions[0])
                StandardStreams.writeOutput("\(found.key.label.dropFirst(KeyLabel.prefix.count)) \(check)\n")
            }
        }
    }
}

/// Examines the token and its keys.
struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Examine the token's mechanism and the attributes of all keys, and measure a derivation.",
        discussion: "Status 78 if the token computes no HMAC-SHA256, or if a key must not be used."
    )

    @OptionGroup var token: TokenOptions

    /// The number of codes of which the time is the mean.
    private static let rounds = 100

    func run() async throws {
        await KeysProgram.ending(self.token) { module in
            let token = try self.token.open(module, self.token.pin())
            var page = Page()
            page.facts([("token", token.token.label), ("serial", token.token.serial)])
            guard try module.hasHMAC(token.token.slot) else {
                throw StartFailure(.configuration, "the token does not compute HMAC-SHA256 (CKM_SHA256_HMAC)")
            }
            page.table(
                ["KEY", "STATE", "LIMIT", "ORIGIN"],
                token.found.map { found in
                    [
                        found.key.label, found.fault == nil ? page.good("sound") : page.bad("not used"),
                        found.key.isLimited ? "HMAC-SHA256 only" : "none", found.key.wasOutside ? "imported" : "token",
                    ]
                }
            )
            if let key = token.found.first(where: { $0.fault == nil })?.key {
                let start = ContinuousClock.now
                for _ in 0..<Self.rounds { _ = try module.check(of: key, in: token.sessions[0]) }
                page.line("one code takes \(((ContinuousClock.now - start) / Self.rounds).microseconds) µs")
            }
            StandardStreams.writeOutput(page.text)
            let faults = token.found.compactMap(\.fault)
            guard faults.isEmpty else { throw StartFailure(.configuration, faults.joined(separator: "\n")) }
        }
    }
}
