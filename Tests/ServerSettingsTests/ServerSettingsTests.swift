import Foundation
import ServerSettings
import ConfigText
import Testing
import Vocabulary

/// The settings of a file in /etc/pin: the required settings, followed by `yaml`.
private func settings(
    _ yaml: String = "",
    environment: [String: String] = [:],
    flags: [(name: String, value: String)] = []
) throws(ConfigError) -> ServerSettings {
    let complete = """
        tls: {certificate: server.pem, key: server.key}
        ios: {apps: [ABCDE12345.org.example.wallet]}
        \(yaml)
        """
    let file = ConfigFile(path: "server.yaml", folder: "/etc/pin", text: complete)
    return try ServerSettings(file: file, environment: environment, flags: flags, currentFolder: "/home/op")
}

private func problems(of make: () throws(ConfigError) -> ServerSettings) -> [String] {
    do throws(ConfigError) {
        _ = try make()
        return []
    } catch {
        return error.problems.map(\.description)
    }
}

@Suite("Server settings")
struct ServerSettingsTests {
    @Test("settings that no source sets have their defaults, which include the standard policy")
    func standards() throws {
        let settings = try settings()
        #expect(settings[SettingTable.sessionLifetime] == .seconds(900))
        #expect(settings[SettingTable.handshakeLimit] == .seconds(10))
        #expect(settings.attemptPolicy == .standard)
        #expect(settings[SettingTable.labFolder] == nil)
        #expect(settings.origin(of: "pin.rounds") == .standard)
    }

    @Test("the file overrides defaults, the environment overrides the file, and flags override the environment")
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

    @Test("outside a lab, Android apps need a status list or an explicit none")
    func statusList() throws {
        let apps = "apps: ['org.example.wallet:\(String(repeating: "0a", count: 32))']"
        let found = problems { () throws(ConfigError) in try settings("android: {\(apps)}") }
        #expect(found.count == 1 && found[0].contains("`android.status-list` must be set"), "\(found)")
        for list in ["none", "list.json"] { _ = try settings("android: {\(apps), status-list: \(list)}") }
        _ = try settings("android: {\(apps)}\nlab: {folder: /lab}")
    }

    @Test("relative paths start at the folder of their file, or at the current folder")
    func paths() throws {
        let settings = try settings("log: {file: /var/log/pin}", flags: [("data.folder", "here")])
        #expect(settings[SettingTable.tlsKey] == "/etc/pin/server.key")
        #expect(settings[SettingTable.vaultKeyFile] == "/etc/pin/vault.key")
        #expect(settings[SettingTable.logFile] == "/var/log/pin")
        #expect(settings[SettingTable.dataFolder] == "/home/op/here")
    }

    @Test(
        "each wrong setting is rejected with its line, its name and the allowed values",
        arguments: [
            ("sesion: {lifetime: 1m}", "server.yaml:3: `sesion` is not a known key; did you mean `session`?"),
            (
                "session: {liftime: 1m}",
                "server.yaml:3: `session.liftime` is not a known key; did you mean `lifetime`?"
            ),
            (
                "session:\n  lifetime: 15",
                "server.yaml:4: `session.lifetime` must be a duration, 1s … 1d, with a unit (ms, s, m, h or d), not "
                    + "`15`"
            ),
            (
                "cluster: {lease: 5s}",
                "server.yaml:3: `cluster.lease` must be a duration, 6s … 1m, with a unit (ms, s, m, h or d), not `5s`"
            ),
            ("pin: {rounds: 17}", "server.yaml:3: `pin.rounds` must be a number, 1 … 16, not `17`"),
            ("pin: {blocks: 1m}", "server.yaml:3: `pin.blocks` must be a list in brackets"),
            ("pin: {rounds: [4]}", "server.yaml:3: `pin.rounds` must be a number"),
            ("log: {level: loud}", "must be debug, info, notice, warning or error, not `loud`"),
            ("pin: {rounds: 2}", "has 3 blocks, but 2 rounds (`pin.rounds`) have at most 1"),
            (
                "enrollment: {token-lifetime: 1h, unopened-lifetime: 1m}",
                "must not be shorter than `enrollment.token-lifetime`"
            ),
            ("pin: [", "not YAML"),
            ("pin: {rounds: 3, rounds: 4}", "server.yaml:3: `rounds` is set twice"),
            (
                "pin:\n  rounds: 3\nlog:\n  level: info\n# mine\npin:\n  attempts: 3",
                "server.yaml:8: `pin` is set twice"
            ),
            (
                "pin:\n  rounds: 3\n  attempts: 3\n  rounds: 4",
                "server.yaml:6: `rounds` is set twice, first in line 4"
            ), ("pin: {rounds: 3,\n  rounds: 4}\nlog: {}\nrounds: 5", "server.yaml:3: `rounds` is set twice"),
            ("pin: {rounds: &three 3, attempts: *three}", "`*three` is an alias"),
            ("pin: 4", "`pin` must be a mapping with the keys rounds, attempts-per-round, blocks"),
            ("android: {apps: ['org.example:12']}", "PACKAGE:DIGEST"),
            ("portal: {socket: admin.sock}", "the portal must not be able to give admin commands"),
            (
                "listen: {address: '127.0.0.1:9400'}\nobservation: {listen: '127.0.0.1:9400'}",
                "`observation.listen` is the address of `listen.address` too; only one of them can listen on it"
            ),
            (
                "portal: {listen: '127.0.0.1:9500', observation: '0.0.0.0:9500'}",
                "is the address of `portal.listen` too"
            ),
            ("portal: {trusted-proxies: [10.0.0.1/8]}", "10.0.0.0/8"),
            ("proxy-protocol: {from: [10.0.0.1/8]}", "10.0.0.0/8"),
            ("proxy-protocol: {from: 10.0.0.0/8}", "`proxy-protocol.from` must be a list in brackets"),
            ("limits: {handshakes: 0}", "10 … 1000000"), ("limits: {frames-per-source: -1}", "0 … 1000000"),
            ("limits: {enrollment-burst-per-source: 1}", "2 … 1000000"),
            ("portal: {product: ''}", "1 to 60 characters"), ("portal: {help-link: 'http://x'}", "an https address"),
            ("android: {boot-states: []}", "must not be empty"),
            ("android: {boot-states: [verified, self-signed]}", "`android.boot-keys` is empty"),
            ("android: {boot-keys: [ab]}", "SHA-256 of a boot key, 64 hexadecimal digits"),
            ("android: {boot-keys: ['\(String(repeating: "ab", count: 33))']}", "SHA-256 of a boot key"),
            ("android: {boot-keys: ['\(String(repeating: "0", count: 64))']}", "SHA-256 of a boot key"),
            ("android: {vendor-patch-level: 2025-06-31}", "must be YYYY-MM or YYYY-MM-DD, or none"),
            ("store: {kind: mysql}", "must be sqlite or postgresql, not `mysql`"),
            ("store: {kind: postgresql}", "or `store.service` must name the PostgreSQL database"),
            (
                "store: {kind: postgresql, address: 'host=db', service: pin, service-file: x}",
                "set one of them, not both"
            ),
            ("store: {kind: postgresql, service: pin}", "and `store.service-file` must be set together"),
            ("store: {address: 'host=db'}", "is set, but `store.kind` is sqlite"),
            ("cluster: {durability: local}", "is set, but `store.kind` is sqlite"),
            (
                "store: {kind: postgresql, address: 'host=db'}\nwitness: {socket: w}",
                "remove it for `store.kind: postgresql`"
            ),
        ]
    )
    func wrongSetting(yaml: String, message: String) {
        let found = problems { () throws(ConfigError) in try settings(yaml) }
        #expect(found.count == 1)
        #expect(found.first?.contains(message) == true, "\(found)")
    }

    @Test(
        "a path that is too long for a socket is rejected when the settings are read, not when the socket is opened",
        arguments: [
            "admin.socket", "audit.export-socket", "hook.socket", "portal.socket", "witness.socket",
        ]
    )
    func longSocketPath(name: String) throws {
        let longest = "/" + String(repeating: "s", count: 99)
        _ = try settings("", flags: [(name, longest)])
        let found = problems { () throws(ConfigError) in try settings("", flags: [(name, longest + "s")]) }
        #expect(found.count == 1)
        #expect(found.first?.contains("`\(name)` must be at most 100 bytes long") == true, "\(found)")
    }

    @Test("unknown variables and flags are rejected with the nearest name; variables of other programs are ignored")
    func unknownNames() {
        let environment = ["REMOTE_PIN_PIN_ROUND": "4", "REMOTE_PIN_VECTORS": "/x", "HOME": "/root"]
        let found = problems { () throws(ConfigError) in
            try settings(environment: environment, flags: [("pin.round", "4")])
        }
        #expect(
            found == [
                "REMOTE_PIN_PIN_ROUND: unknown variable `REMOTE_PIN_PIN_ROUND`; did you mean `REMOTE_PIN_PIN_ROUNDS`?",
                "--pin.round: unknown setting `pin.round`; did you mean `pin.rounds`?",
            ]
        )
    }

    @Test("a program that needs some sections accepts incomplete others, but not wrong values in them")
    func sections() throws {
        func read(_ yaml: String) throws(ConfigError) -> ServerSettings {
            let file = ConfigFile(path: "s.yaml", folder: "/etc/pin", text: yaml)
            return try ServerSettings(file: file, currentFolder: "/", sections: ["portal", "log"])
        }
        let settings = try read("portal: {socket: portal.sock}")
        #expect(settings[SettingTable.portalSocket] == "/etc/pin/portal.sock")
        #expect(settings[SettingTable.portalTrustedProxies].map(\.description) == ["127.0.0.1", "::1"])
        #expect(problems { () throws(ConfigError) in try read("pin: {rounds: 99}") }.count == 1)
    }

    @Test("a changed setting is noticed in any value, and the manual says which settings a reload applies")
    func changes() throws {
        func changed(_ old: String, _ new: String) throws -> [String] {
            try settings(new).changes(since: try settings(old)).map(\.name)
        }
        #expect(try changed("", "").isEmpty)
        #expect(try changed("session: {lifetime: 60m}", "session: {lifetime: 1h}").isEmpty)
        #expect(try changed("", "limits: {handshake: 9s}\nlog: {level: debug}") == ["limits.handshake", "log.level"])
        let hook = "hook: {program: /bin/cat, arguments: "
        #expect(try changed("\(hook)['a, b']}", "\(hook)[a, b]}") == ["hook.arguments"])
        let live = SettingTable.all.filter(\.isLive)
        #expect(
            live.map(\.name) == [
                "proxy-protocol.from", "limits.connections-per-source", "limits.frames-per-source",
                "limits.frame-burst-per-source", "limits.enrollments-per-source", "limits.enrollment-burst-per-source",
                "hook.program", "hook.arguments", "hook.socket", "hook.queue", "log.level",
            ]
        )
        #expect(live.allSatisfy { $0.text.hasSuffix("A reload applies a change.") })
    }

    @Test("the list of load balancers is empty by default, and takes addresses and networks of both families")
    func balancers() throws {
        #expect(try settings("")[SettingTable.balancers].isEmpty)
        let named = try settings("proxy-protocol: {from: [10.0.0.0/24, 'fd00:5::/64', 192.0.2.1]}")
        let ranges = named[SettingTable.balancers]
        #expect(ranges.map(\.description) == ["10.0.0.0/24", "fd00:5::/64", "192.0.2.1"])
        func isBalancer(_ address: String) -> Bool { ranges.contains { $0.contains(address) } }
        #expect(["10.0.0.9", "fd00:5::1", "192.0.2.1", "::ffff:10.0.0.9"].allSatisfy(isBalancer))
        #expect(!["10.0.1.9", "fd00:6::1", "192.0.2.2", "127.0.0.1"].contains(where: isBalancer))
    }

    @Test("all problems of all sources are reported at once, with missing settings")
    func allAtOnce() {
        let file = ConfigFile(path: "s.yaml", folder: "/", text: "pin: {rounds: no}\nfoo: {bar: 1}")
        let found = problems { () throws(ConfigError) in
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

    @Test("a value that may be a secret appears neither in listings nor in problems")
    func secrets() throws {
        let yaml = "hook: {program: /bin/cat, arguments: [--token, abc123]}"
        let shown = try settings(yaml).rows.map { "\($0)" }
        #expect(!shown.contains { $0.contains("abc123") } && shown.contains { $0.contains(SettingRow.hidden) })
        #expect(try settings(yaml)[SettingTable.hookArguments] == ["--token", "abc123"])
        let long = String(repeating: "abc123", count: 1000)
        let found = problems { () throws(ConfigError) in try settings("hook: {program: /x, arguments: [\(long)]}") }
        #expect(found.count == 1 && !found.contains { $0.contains("abc123") } && found[0].contains("hook.arguments"))
        // The default is not a secret.
        #expect(try settings().rows.first { $0.name == "hook.arguments" }?.value == "[]")
    }

    @Test("a report with problems shows the other settings; a rejected one has neither a value nor an origin")
    func report() throws {
        let text = "tls: {certificate: a}\npin: {rounds: 99, attempts-per-round: 3}"
        let file = ConfigFile(path: "s.yaml", folder: "/etc/pin", text: text)
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

    @Test("lists in the environment are separated by commas")
    func lists() throws {
        let settings = try settings(environment: [
            "REMOTE_PIN_PIN_BLOCKS": "1s, 2s", "REMOTE_PIN_PIN_ROUNDS": "3", "REMOTE_PIN_ANDROID_ROOTS": "a.pem,/b.pem",
        ])
        #expect(settings.attemptPolicy.blocks == [.seconds(1), .seconds(2)])
        #expect(settings[SettingTable.androidRoots] == ["/home/op/a.pem", "/b.pem"])
    }

    @Test("an empty variable or flag is not an empty list, which needs brackets", arguments: ["", " "])
    func emptyList(text: String) throws {
        for (name, variable) in [
            ("pin.blocks", "REMOTE_PIN_PIN_BLOCKS"), ("proxy-protocol.from", "REMOTE_PIN_PROXY_PROTOCOL_FROM"),
            ("android.roots", "REMOTE_PIN_ANDROID_ROOTS"), ("hook.arguments", "REMOTE_PIN_HOOK_ARGUMENTS"),
        ] {
            let found = problems { () throws(ConfigError) in try settings(environment: [variable: text]) }
            #expect(found.count == 1, "\(name): \(found)")
            #expect(problems { () throws(ConfigError) in try settings(flags: [(name, text)]) }.count == 1, "\(name)")
        }
        let read = try settings(
            environment: ["REMOTE_PIN_PROXY_PROTOCOL_FROM": "[]"],
            flags: [("hook.arguments", "[]")]
        )
        #expect(read[SettingTable.balancers].isEmpty)
        #expect(read[SettingTable.hookArguments].isEmpty)
    }

    @Test("an empty text or `none` removes the value of an optional setting")
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

@Suite("Generated configuration file")
struct ConfigurationFileTests {
    @Test("the file names every setting, and with the required settings it is valid and contains the defaults")
    func roundTrip() throws {
        let text = ConfigurationFile.text(
            setting: ["tls.certificate": "c.pem", "tls.key": "k.pem", "ios.apps": "[ABCDE12345.org.example.wallet]"],
            heading: "A test's."
        )
        for declaration in SettingTable.all { #expect(text.contains("\(declaration.key):"), "\(declaration.name)") }
        let file = ConfigFile(path: "s", folder: "/", text: text)
        let settings = try ServerSettings(file: file, currentFolder: "/")
        #expect(settings.rows.filter { $0.origin != .standard }.count == 3)
    }

    @Test("each default in a comment is valid when uncommented")
    func standardsAreValid() throws {
        for declaration in SettingTable.all {
            guard let standard = declaration.standardText else { continue }
            let group = "\(declaration.section):\n  \(declaration.key): \(standard)\n"
            let needed = ["tls.certificate": "c", "tls.key": "k", "ios.apps": "ABCDE12345.org.example.wallet"]
            let file = ConfigFile(path: "s", folder: "/", text: group)
            let flags = needed.filter { $0.key != declaration.name }.map { (name: $0.key, value: $0.value) }
            let found = problems { () throws(ConfigError) in
                try ServerSettings(file: file, flags: flags, currentFolder: "/")
            }
            #expect(found.allSatisfy { $0.contains("both empty") }, "\(declaration.name): \(found)")
        }
    }

    @Test("every setting is in the help, and names and variables are unique")
    func consistent() {
        let names = SettingTable.all.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(Set(SettingTable.all.map(SettingTable.catalog.variable(of:))).count == names.count)
        for name in names { #expect(ConfigurationFile.help().contains("--\(name) <")) }
    }
}

@Suite("Settings page")
struct SettingsPageTests {
    @Test("docs/settings.md is the output of `remote-pin-server settings --markdown`")
    func upToDate() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appendingPathComponent("docs/settings.md"), encoding: .utf8)
        #expect(page == ConfigurationFile.markdown())
    }
}

@Suite("Duration texts")
struct DurationTextTests {
    @Test(
        "a whole number with a unit is read and written as the same text",
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

    @Test("any other text is not a duration", arguments: ["", "5", "m", "-1s", "1.5h", "1h30m", "99999999999999999d"])
    func notDurations(text: String) { #expect(DurationText.read(text) == nil) }
}

@Suite("Setting values")
struct SettingValuesTests {
    @Test(
        "an address needs a port",
        arguments: [("0.0.0.0:0", true), ("[::1]:7400", true), ("::1", false), ("h", false)]
    )
    func address(text: String, isValid: Bool) { #expect((HostAndPort(text) != nil) == isValid) }
}
