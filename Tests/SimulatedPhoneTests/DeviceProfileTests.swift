import ConfigText
import WalletFlows
import SimulatedPhone
import FoundationEssentials
import TestSupport
import Testing
import Vocabulary
import Wire

@Suite("Device profiles")
struct DeviceProfileTests {
    private func problems(_ text: String) -> [String] {
        do {
            _ = try DeviceProfile(yaml: text, source: "phone.yaml")
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    @Test("a profile states the differences from a healthy phone")
    func reading() throws {
        let profile = try DeviceProfile(
            yaml: """
                platform: ios
                os_version: 18.10
                biometrics: face
                sensor: {reject: 2}
                passcode: yes
                screen_locked: false
                network: on
                conditions:
                  - lose-next-reply: instruct
                  - delay:250
                issuer: cancels
                recovery_code: jan
                """,
            source: "phone.yaml"
        )
        var expected = DeviceProfile(.iOS)
        expected.osVersion = "18.10"
        expected.biometrics = .face
        expected.sensor = .reject(2)
        expected.conditions = [.loseReply(to: .instruct), .delay(milliseconds: 250)]
        expected.issuer = .cancels
        expected.recoveryCode = "jan"
        #expect(profile == expected)
        #expect(try DeviceProfile(yaml: "{platform: android}", source: "x") == DeviceProfile(.android))
    }

    @Test("a written profile is read as the same profile, with absent values")
    func roundTrip() throws {
        var profile = DeviceProfile(.android)
        #expect(try DeviceProfile(yaml: profile.yaml, source: "x") == profile)
        profile.vendorPatchLevel = nil
        profile.fault = .otherApp
        profile.model = "No: 5 # \"best\""
        profile.osVersion = "yes"
        profile.network = .off
        profile.sensor = .reject(3)
        profile.conditions = [.cut(afterByteCount: 0), .loseReply(to: nil), .delay(milliseconds: 1)]
        profile.recoveryCode = "koeln-5"
        #expect(try DeviceProfile(yaml: profile.yaml, source: "x") == profile)
        profile.conditions = []
        #expect(try DeviceProfile(yaml: profile.yaml, source: "x") == profile)
    }

    @Test(
        "a wrong profile is rejected with its line, key and the nearest valid name",
        arguments: [
            ("platform: android\nsensr: match", "phone.yaml:2: `sensr` is not a known key; did you mean `sensor`?"),
            (
                "platform: android\n\nbiometrics: fingr",
                "phone.yaml:3: `biometrics` must be none, not-enrolled, face or fingerprint, not `fingr`"
            ),
            (
                "platform: android\nbiometrics: fingerprnt",
                "phone.yaml:2: `biometrics` must be none, not-enrolled, face or fingerprint, not `fingerprnt`; did you "
                    + "mean `fingerprint`?"
            ),
            ("biometrics: face", "phone.yaml:1: `platform` must be set: android or ios"),
            (
                "platform: androd",
                "phone.yaml:1: `platform` must be android or ios, not `androd`; did you mean `android`?"
            ),
            ("platform: ios\nrooted: maybe", "phone.yaml:2: `rooted` must be true or false, not `maybe`"),
            (
                "platform: ios\nrecovery_code: José-1",
                "phone.yaml:2: `recovery_code` must be 1 to 128 visible ASCII characters, or none, not `José-1`"
            ),
            ("platform: ios\nmodel: [a]", "phone.yaml:2: `model` must be 1 to 64 characters of printable ASCII"),
            (
                "platform: ios\napp_version: 1.4.0-rc1",
                "phone.yaml:2: `app_version` must be a version of one to four numbers of at most six digits, such as "
                    + "1.4.0, not `1.4.0-rc1`"
            ),
            (
                "platform: ios\nos_patch_level: 2026",
                "phone.yaml:2: `os_patch_level` must be a date as yyyymm or yyyymmdd, not `2026`"
            ),
            (
                "platform: ios\nsensor: reject:0",
                "phone.yaml:2: `sensor` must be match, reject:N, cancel, lockout, ask, not `reject:0`; did you mean "
                    + "`reject:N`?"
            ),
            (
                "platform: ios\npasscode: no\nbiometrics: face",
                "phone.yaml:3: `biometrics` cannot be enrolled on a phone without a passcode"
            ),
            ("platform: ios\nplatform: ios", "phone.yaml:2: `platform` is set twice, first in line 1"),
            (
                "- platform",
                """
                phone.yaml:1: the file must be a mapping with the keys platform, os_version, brand, model, app_id, \
                app_version, app_version_code, rooted, os_patch_level, vendor_patch_level, boot_patch_level, \
                strongbox, remote_provisioning, development_service, fault, biometrics, sensor, passcode, \
                screen_locked, issuer, recovery_code, network, conditions
                """
            ),
            ("", "phone.yaml: `platform` must be set: android or ios"),
        ]
    )
    func wrongProfile(text: String, problem: String) {
        #expect(self.problems(text) == [problem])
    }

    @Test("all problems are reported at once, and a text that is not YAML with its line")
    func several() throws {
        #expect(self.problems("platform: ios\nnetwrk: on\nconditions: [delay, cut-after:x]\nfault: x").count == 4)
        let broken = self.problems("platform: ios\nmodel: \"x\nos_version: [")
        #expect(broken.count == 1)
        #expect(try #require(broken.first).hasPrefix("phone.yaml:"))
    }

    @Test("aliases, by which a few lines can exceed any memory, are rejected before they are resolved")
    func aliases() throws {
        for text in BillionLaughs.texts {
            let problems = self.problems("platform: ios\n" + text)
            try #require(problems.count == 1, "\(problems)")
            #expect(problems[0].hasPrefix("phone.yaml:3: ") && problems[0].contains("`*a0`"), "\(problems)")
        }
        var profile = DeviceProfile(.android)
        #expect(throws: ConfigError.self) { try profile.set("model", to: "[&a x, *a]") }
    }

    @Test("a text that only looks like an alias is accepted")
    func noAliases() throws {
        for model in ["a & b * c", "*b &a", "5*4&3", "&", "*"] {
            #expect(try DeviceProfile(yaml: "platform: ios\nmodel: '\(model)'", source: "x").model == model)
        }
    }

    @Test("a wrong change has no effect, and a key can be set by its name")
    func changes() throws {
        var profile = DeviceProfile(.android)
        #expect(throws: ConfigError.self) { try profile.set("sensor", to: "reject") }
        #expect(throws: ConfigError.self) { try profile.set("sensors", to: "match") }
        #expect(profile == DeviceProfile(.android))
        try profile.set("sensor", to: "reject:2")
        try profile.set("conditions", to: "[lose-next-reply, cut-after:10]")
        try profile.set("network", to: "unreachable")
        try profile.set("vendor_patch_level", to: "none")
        #expect(profile.sensor == .reject(2))
        #expect(profile.conditions == [.loseReply(to: nil), .cut(afterByteCount: 10)])
        #expect(profile.network == .unreachable)
        #expect(profile.vendorPatchLevel == nil)
    }

    @Test("a version or model that the protocol cannot carry is rejected, and the profile stays")
    func carried() throws {
        var profile = DeviceProfile(.iOS)
        for (key, values) in [
            ("app_version", ["1.4.0-rc1", "1.4.0+5", "v1.4", "1.2.3.4.5", "2147483648", "1.4.", "", "1,4"]),
            ("os_version", ["16 QPR2 β", "", String(repeating: "1", count: 65)]),
            ("model", ["Pixel™", "\"a\\tb\"", String(repeating: "x", count: 65)]),
        ] {
            for value in values {
                #expect(throws: ConfigError.self, "\(key) \(value)") { try profile.set(key, to: value) }
            }
        }
        #expect(profile == DeviceProfile(.iOS))
        for (key, value) in [
            ("app_version", "999999.1.0.0"), ("os_version", "16 QPR2"), ("model", String(repeating: "x", count: 64)),
        ] {
            try profile.set(key, to: value)
        }
    }

    @Test("a byte order mark before the profile is ignored")
    func byteOrderMark() throws {
        let text = "platform: ios\nmodel: Phone\n"
        #expect(try DeviceProfile(yaml: "\u{FEFF}" + text, source: "x").model == "Phone")
        #expect(self.problems("\u{FEFF}platform: ios\nsensr: match").first?.hasPrefix("phone.yaml:2: `sensr`") == true)
    }

    @Test("a profile is read from a file, and a missing file is reported by its path")
    func files() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "profile-\(WalletID.random()).yaml")
        defer { try? FileManager.default.removeItem(at: path) }
        #expect(throws: ConfigError.self) { try DeviceProfile(file: path.path) }
        try Data("platform: ios\nbiometrics: face\n".utf8).write(to: path)
        #expect(try DeviceProfile(file: path.path).biometrics == .face)
    }

    @Test("a phone's platform never changes")
    func platform() throws {
        let bench = try LabBench()
        let device = try bench.device(DeviceProfile(.android))
        #expect(throws: DeviceError.self) { try device.update { $0 = DeviceProfile(.iOS) } }
        #expect(device.platform == .android)
    }
}
