import Foundation
import ServerSettings
import ConfigText
import Testing
import Vocabulary

/// Settings as a file of `yaml` in /etc/pin, with what is needed to be complete in front.
private func settings(
    _ yaml: String = "",
    environment: [String: String] = [:],
    flags: [(name: String, value: String)] = []
) throws(SettingsError) -> ServerSettings {
    let complete = """
        tls: {certificate: server.pem, key: server.key}
        ios: {apps: [ABCDE12345.org.example.wallet]}
        \(yaml)
        """
    let file = ServerSettings.File(path: "server.yaml", folder: "/etc/pin", text: complete)
    return try ServerSettings(file: file, environment: environment, flags: flags, currentFolder: "/home/op")
}

private func problems(of make: () throws(SettingsError) -> ServerSettings) -> [String] {
    do throws(SettingsError) {
        _ = try make()
        return []
    } catch {
        return error.problems.map(\.description)
    }
}

@Suite("Server settings")
struct ServerSettingsTests {
    @Test("what nobody sets has its default, and the standard policy is one")
    func standards() throws {
        let settings = try settings()
        #expect(settings[SettingTable.sessionLifetime] == .seconds(900))
        #expect(settings[SettingTable.handshakeLimit] == .seconds(10))
        #expect(settings.attemptPolicy == .standard)
        #expect(settings[SettingTable.labFolder] == nil)
        #expect(settings.origin(of: "pin.rounds") == .standard)
    }

    @Test("the file outranks defaults, the environment the file and flags all of them")
    func precedence() throws {
        let file = "session: {lifetime: 1m}\nlimits: {frame: 2s, handshake: 3s}"
        let environment = ["REMOTE_PIN_LIMITS_FRAME": "4s", "REMOTE_PIN_LIMITS_HANDSHAKE": "5s"]
        let settings = try settings(file, environment: environment, flags: [("limits.handshake", "6s")])
        #expect(settings[SettingTable.sessionLifetime] == .seconds(60))
        #expect(settings[SettingTable.frameLimit] == .seconds(4))
        #expect(settings[SettingTable.handshakeLimit] == .seconds(6))
        #expect(settings.origin(of: "session.lifetime") == .file("server.yaml", line: 3))
        #expect(settings.origin(of: "limits.frame") == .environment("REMOTE_PIN_LIMITS_FRAME"))
        #expect(settings.origin(of: "limits.handshake") == .flag("limits.handshake"))
    }

    @Test("paths in the file are relative to its folder, all others to where the program was started")
    func paths() throws {
        let settings = try settings("log: {file: /var/log/pin}", flags: [("data.folder", "here")])
        #expect(settings[SettingTable.tlsKey] == "/etc/pin/server.key")
        #expect(settings[SettingTable.vaultKeyFile] == "/etc/pin/vault.key")
        #expect(settings[SettingTable.logFile] == "/var/log/pin")
        #expect(settings[SettingTable.dataFolder] == "/home/op/here")
    }

    @Test(
        "each wrong setting is refused with its line, its name and what is allowed",
        arguments: [
            ("sesion: {lifetime: 1m}", "server.yaml:3: unknown section `sesion`; did you mean `session`?"),
            (
                "session: {liftime: 1m}",
                "server.yaml:3: unknown setting `session.liftime`; did you mean `session.lifetime`?"
            ),
            (
                "session:\n  lifetime: 15",
                "server.yaml:4: `session.lifetime` cannot be `15`; allowed: 1s … 1d, as 250ms, 61s, 5m, 1h, 2d"
            ),
            ("pin: {rounds: 17}", "server.yaml:3: `pin.rounds` cannot be `17`; allowed: 1 … 16"),
            ("pin: {blocks: 1m}", "server.yaml:3: `pin.blocks` takes a list in brackets"),
            ("pin: {rounds: [4]}", "server.yaml:3: `pin.rounds` cannot be `4`"),
            ("log: {level: loud}", "allowed: debug or info or notice or warning or error"),
            ("pin: {rounds: 2}", "has 3 blocks; 2 rounds (`pin.rounds`) have at most 1"),
            (
                "enrollment: {token-lifetime: 1h, unopened-lifetime: 1m}",
                "must not be shorter than `enrollment.token-lifetime`"
            ),
            ("pin: [", "not YAML"),
            ("pin: {rounds: 3, rounds: 4}", "server.yaml:3: `rounds` stands there twice"),
            (
                "pin:\n  rounds: 3\nlog:\n  level: info\n# mine\npin:\n  attempts: 3",
                "server.yaml:8: `pin` stands there twice"
            ),
            (
                "pin:\n  rounds: 3\n  attempts: 3\n  rounds: 4",
                "server.yaml:6: `rounds` stands there twice, first in line 4"
            ), ("pin: {rounds: 3,\n  rounds: 4}\nlog: {}\nrounds: 5", "server.yaml:3: `rounds` stands there twice"),
            ("pin: {rounds: &three 3, attempts: *three}", "`*three` stands for something else"),
            ("pin: 4", "`pin` is a section; its settings stand under it"),
            ("android: {apps: ['org.example:12']}", "PACKAGE:DIGEST"),
            ("portal: {socket: admin.sock}", "over which nobody commands the server"),
            ("portal: {trusted-proxies: [10.0.0.1/8]}", "10.0.0.0/8"),
            ("proxy-protocol: {from: [10.0.0.1/8]}", "10.0.0.0/8"),
            ("proxy-protocol: {from: 10.0.0.0/8}", "`proxy-protocol.from` takes a list in brackets"),
            ("limits: {handshakes: 0}", "10 … 1000000"), ("limits: {frames-per-source: -1}", "0 … 1000000"),
            ("limits: {enrollment-burst-per-source: 1}", "2 … 1000000"),
            ("portal: {product: ''}", "1 to 60 characters"), ("portal: {help-link: 'http://x'}", "an https address"),
            ("android: {boot-states: []}", "must not be empty"),
        ]
    )
    func refused(yaml: String, message: String) {
        let found = problems { () throws(SettingsError) in try settings(yaml) }
        #expect(found.count == 1)
        #expect(found.first?.contains(message) == true, "\(found)")
    }

    @Test("unknown variables and flags are refused with the nearest name, foreign variables are left alone")
    func unknownElsewhere() {
        let environment = ["REMOTE_PIN_PIN_ROUND": "4", "REMOTE_PIN_VECTORS": "/x", "HOME": "/root"]
        let found = problems { () throws(SettingsError) in
            try settings(environment: environment, flags: [("pin.round", "4")])
        }
        #expect(
            found == [
                "REMOTE_PIN_PIN_ROUND: unknown variable `REMOTE_PIN_PIN_ROUND`; did you mean `REMOTE_PIN_PIN_ROUNDS`?",
                "--pin.round: unknown setting `pin.round`; did you mean `pin.rounds`?",
            ]
        )
    }

    @Test("a program that needs some sections does not ask for the others, and still finds what is wrong with them")
    func sections() throws {
        func read(_ yaml: String) throws(SettingsError) -> ServerSettings {
            let file = ServerSettings.File(path: "s.yaml", folder: "/etc/pin", text: yaml)
            return try ServerSettings(file: file, currentFolder: "/", sections: ["portal", "log"])
        }
        let settings = try read("portal: {socket: portal.sock}")
        #expect(settings[SettingTable.portalSocket] == "/etc/pin/portal.sock")
        #expect(settings[SettingTable.portalTrustedProxies].map(\.description) == ["127.0.0.1", "::1"])
        #expect(problems { () throws(SettingsError) in try read("pin: {rounds: 99}") }.count == 1)
    }

    @Test("balancers are none unless they are named, as addresses or networks of both families")
    func balancers() throws {
        #expect(try settings("")[SettingTable.balancers].isEmpty)
        let named = try settings("proxy-protocol: {from: [10.0.0.0/24, 'fd00:5::/64', 192.0.2.1]}")
        let ranges = named[SettingTable.balancers]
        #expect(ranges.map(\.description) == ["10.0.0.0/24", "fd00:5::/64", "192.0.2.1"])
        func isBalancer(_ address: String) -> Bool { ranges.contains { $0.contains(address) } }
        #expect(["10.0.0.9", "fd00:5::1", "192.0.2.1", "::ffff:10.0.0.9"].allSatisfy(isBalancer))
        #expect(!["10.0.1.9", "fd00:6::1", "192.0.2.2", "127.0.0.1"].contains(where: isBalancer))
    }

    @Test("all problems of all sources are said at once, missing settings too")
    func allAtOnce() {
        let file = ServerSettings.File(path: "s.yaml", folder: "/", text: "pin: {rounds: no}\nfoo: {bar: 1}")
        let found = problems { () throws(SettingsError) in
            try ServerSettings(
                file: file,
                environment: ["REMOTE_PIN_SESSION_LIFETIME": "soon"],
                flags: [("log.level", "shout")],
                currentFolder: "/"
            )
        }
        #expect(found.count == 7)
        #expect(found.contains { $0.contains("`tls.certificate` must be set") })
        #expect(found.contains { $0.contains("`tls.key` must be set") })
        #expect(!found.contains { $0.contains("`pin.rounds` must be set") })
    }

    @Test("what may be a secret is shown to nobody, neither as a value nor with what is wrong")
    func secrets() throws {
        let yaml = "hook: {program: /bin/cat, arguments: [--token, abc123]}"
        let shown = try settings(yaml).rows.map { "\($0)" }
        #expect(!shown.contains { $0.contains("abc123") } && shown.contains { $0.contains(SettingRow.hidden) })
        #expect(try settings(yaml)[SettingTable.hookArguments] == ["--token", "abc123"])
        let long = String(repeating: "abc123", count: 1000)
        let found = problems { () throws(SettingsError) in try settings("hook: {program: /x, arguments: [\(long)]}") }
        #expect(found.count == 1 && !found.contains { $0.contains("abc123") } && found[0].contains("hook.arguments"))
        // What stands for nothing is no secret.
        #expect(try settings().rows.first { $0.name == "hook.arguments" }?.value == "[]")
    }

    @Test("beside what is wrong the rest is reported, and what was refused has neither a value nor an origin")
    func report() throws {
        let text = "tls: {certificate: a}\npin: {rounds: 99, attempts-per-round: 3}"
        let file = ServerSettings.File(path: "s.yaml", folder: "/etc/pin", text: text)
        let report = SettingsReport(reading: SettingsSources(file: file, currentFolder: "/"))
        #expect(report.settings == nil)
        let rows = Dictionary(grouping: report.rows, by: \.name).compactMapValues(\.first)
        for name in ["pin.rounds", "tls.key"] {
            #expect(rows[name] != nil && rows[name]?.value == nil && rows[name]?.origin == nil, "\(name)")
        }
        #expect(rows["pin.attempts-per-round"]?.value == "3")
        #expect(rows["pin.attempts-per-round"]?.origin == .file("s.yaml", line: 2))
        #expect(report.problems.count == 3, "\(report.problems)")
    }

    @Test("lists in the environment are written with commas")
    func lists() throws {
        let settings = try settings(environment: [
            "REMOTE_PIN_PIN_BLOCKS": "1s, 2s", "REMOTE_PIN_PIN_ROUNDS": "3", "REMOTE_PIN_ANDROID_ROOTS": "a.pem,/b.pem",
        ])
        #expect(settings.attemptPolicy.blocks == [.seconds(1), .seconds(2)])
        #expect(settings[SettingTable.androidRoots] == ["/home/op/a.pem", "/b.pem"])
    }

    @Test("an empty variable or flag is no empty list, which is written in brackets", arguments: ["", " "])
    func emptyList(text: String) throws {
        for (name, variable) in [
            ("pin.blocks", "REMOTE_PIN_PIN_BLOCKS"), ("proxy-protocol.from", "REMOTE_PIN_PROXY_PROTOCOL_FROM"),
            ("android.roots", "REMOTE_PIN_ANDROID_ROOTS"), ("hook.arguments", "REMOTE_PIN_HOOK_ARGUMENTS"),
        ] {
            let found = problems { () throws(SettingsError) in try settings(environment: [variable: text]) }
            #expect(found.count == 1, "\(name): \(found)")
            #expect(problems { () throws(SettingsError) in try settings(flags: [(name, text)]) }.count == 1, "\(name)")
        }
        let read = try settings(
            environment: ["REMOTE_PIN_PROXY_PROTOCOL_FROM": "[]"],
            flags: [("hook.arguments", "[]")]
        )
        #expect(read[SettingTable.balancers].isEmpty)
        #expect(read[SettingTable.hookArguments].isEmpty)
    }

    @Test("an empty text or `none` unsets what may be unset")
    func unset() throws {
        let settings = try settings(
            "lab: {folder: /lab}\nandroid: {patch-level: 2025-06}",
            environment: ["REMOTE_PIN_LAB_FOLDER": ""],
            flags: [("android.patch-level", "none")]
        )
        #expect(settings[SettingTable.labFolder] == nil)
        #expect(settings[SettingTable.androidPatchLevel] == nil)
    }
}

@Suite("The explained configuration file")
struct ConfigurationFileTests {
    @Test("it names every setting, and with what must be set it is a configuration of defaults")
    func roundTrip() throws {
        let text = ConfigurationFile.text(
            setting: ["tls.certificate": "c.pem", "tls.key": "k.pem", "ios.apps": "[ABCDE12345.org.example.wallet]"],
            heading: "A test's."
        )
        for declaration in SettingTable.all { #expect(text.contains("\(declaration.key):"), "\(declaration.name)") }
        let file = ServerSettings.File(path: "s", folder: "/", text: text)
        let settings = try ServerSettings(file: file, currentFolder: "/")
        #expect(settings.rows.filter { $0.origin != .standard }.count == 3)
    }

    @Test("each commented default, uncommented, reads as the default")
    func standardsAreValid() throws {
        for declaration in SettingTable.all {
            guard let standard = declaration.standardText else { continue }
            let group = "\(declaration.group):\n  \(declaration.key): \(standard)\n"
            let needed = ["tls.certificate": "c", "tls.key": "k", "ios.apps": "ABCDE12345.org.example.wallet"]
            let file = ServerSettings.File(path: "s", folder: "/", text: group)
            let flags = needed.filter { $0.key != declaration.name }.map { (name: $0.key, value: $0.value) }
            let found = problems { () throws(SettingsError) in
                try ServerSettings(file: file, flags: flags, currentFolder: "/")
            }
            #expect(found.allSatisfy { $0.contains("both empty") }, "\(declaration.name): \(found)")
        }
    }

    @Test("every setting's section is explained, and no two share a name or a variable")
    func consistent() {
        let names = SettingTable.all.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(Set(SettingTable.all.map(\.environmentName)).count == names.count)
        for name in names { #expect(ConfigurationFile.help().contains("--\(name) <")) }
    }
}

@Suite("The manual's page of settings")
struct SettingsPageTests {
    @Test("docs/settings.md is what the table says; `remote-pin-server settings --markdown` writes it anew")
    func upToDate() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appendingPathComponent("docs/settings.md"), encoding: .utf8)
        #expect(page == ConfigurationFile.markdown())
    }
}

@Suite("Durations as operators write them")
struct DurationTextTests {
    @Test(
        "a whole number and a unit are read and written back",
        arguments: [
            ("250ms", 250), ("61s", 61_000), ("5m", 300_000), ("1h", 3_600_000), ("2d", 172_800_000), ("0s", 0),
        ]
            as [(String, Int64)]
    )
    func reads(text: String, milliseconds: Int64) throws {
        let duration = try #require(DurationText.read(text))
        #expect(duration.milliseconds == milliseconds)
        #expect(DurationText.write(duration) == text)
    }

    @Test("anything else is not a duration", arguments: ["", "5", "m", "-1s", "1.5h", "1h30m", "99999999999999999d"])
    func refuses(text: String) { #expect(DurationText.read(text) == nil) }
}

@Suite("Values with a form of their own")
struct SettingValuesTests {
    @Test(
        "addresses need a port",
        arguments: [("0.0.0.0:0", true), ("[::1]:7400", true), ("::1", false), ("h", false)]
    )
    func address(text: String, isOne: Bool) { #expect((ListenAddress(text) != nil) == isOne) }

    @Test("an Android app is a package, a digest and perhaps a version")
    func app() throws {
        let digest = String(repeating: "a1", count: 32)
        let app = try #require(AndroidAppSetting("org.example.wallet:\(digest):12"))
        #expect(app.minimumVersion == 12)
        #expect(app.description == "org.example.wallet:\(digest):12")
        #expect(AndroidAppSetting("wallet:\(digest)") == nil)
        #expect(AndroidAppSetting("org.example.wallet:a1") == nil)
    }

    @Test("a patch level is a month or a day", arguments: ["2025-06", "2025-06-05"])
    func patchLevel(text: String) { #expect(PatchLevelSetting(text)?.description == text) }
}
