import DeviceInterface
import SimulatedPhone
import FoundationEssentials
import TestSupport
import Testing
import Vocabulary

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

    @Test("a profile states what differs from a healthy phone")
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

    @Test("what is written is read as the same, absent values too")
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
        profile.recoveryCode = "köln 5"
        #expect(try DeviceProfile(yaml: profile.yaml, source: "x") == profile)
        profile.conditions = []
        #expect(try DeviceProfile(yaml: profile.yaml, source: "x") == profile)
    }

    @Test(
        "a wrong profile is refused with line, key and the nearest valid name",
        arguments: [
            ("platform: android\nsensr: match", "phone.yaml:2: `sensr`: there is no such key; did you mean `sensor`?"),
            (
                "platform: android\n\nbiometrics: fingr",
                "phone.yaml:3: `biometrics`: `fingr` is not one of none, not-enrolled, face, fingerprint"
            ),
            (
                "platform: android\nbiometrics: fingerprnt",
                "phone.yaml:2: `biometrics`: `fingerprnt` is not one of none, not-enrolled, face, fingerprint; did you mean `fingerprint`?"
            ),
            ("biometrics: face", "phone.yaml:1: `platform`: it must be set: android or ios"),
            (
                "platform: androd",
                "phone.yaml:1: `platform`: `androd` is not one of android, ios; did you mean `android`?"
            ),
            ("platform: ios\nrooted: maybe", "phone.yaml:2: `rooted`: true or false is expected"),
            ("platform: ios\nmodel: [a]", "phone.yaml:2: `model`: 1 to 100 characters are expected"),
            (
                "platform: ios\nos_patch_level: 2026",
                "phone.yaml:2: `os_patch_level`: a number from 200001 to 209912 is expected"
            ),
            (
                "platform: ios\nsensor: reject:0",
                "phone.yaml:2: `sensor`: `reject:0` is not one of match, reject:N, cancel, lockout, ask; did you mean `reject:N`?"
            ),
            (
                "platform: ios\npasscode: no\nbiometrics: face",
                "phone.yaml:3: `biometrics`: nobody can be enrolled on a phone without a passcode"
            ),
            ("platform: ios\nplatform: ios", "phone.yaml:2: `platform` stands there twice, first in line 1"),
            ("- platform", "phone.yaml:1: keys with values are expected"),
            ("", "phone.yaml: it is empty"),
        ]
    )
    func refusals(text: String, problem: String) {
        #expect(self.problems(text) == [problem])
    }

    @Test("all problems are told at once, and text that is no YAML with its line")
    func several() throws {
        #expect(self.problems("platform: ios\nnetwrk: on\nconditions: [delay, cut-after:x]\nfault: x").count == 3)
        let broken = self.problems("platform: ios\nmodel: \"x\nos_version: [")
        #expect(broken.count == 1)
        #expect(try #require(broken.first).hasPrefix("phone.yaml:"))
    }

    @Test("aliases, with which few lines stand for more than memory holds, are refused before they are followed")
    func aliases() throws {
        for text in ManyLaughs.texts {
            let problems = self.problems("platform: ios\n" + text)
            try #require(problems.count == 1, "\(problems)")
            #expect(problems[0].hasPrefix("phone.yaml:3: ") && problems[0].contains("`*a0`"), "\(problems)")
        }
        var profile = DeviceProfile(.android)
        #expect(throws: ProfileError.self) { try profile.set("model", to: "[&a x, *a]") }
    }

    @Test("what only looks like an alias is a text")
    func noAliases() throws {
        for model in ["a & b * c", "*b &a", "5*4&3", "&", "*"] {
            #expect(try DeviceProfile(yaml: "platform: ios\nmodel: '\(model)'", source: "x").model == model)
        }
    }

    @Test("a change with a problem changes nothing, and one key can be set by its name")
    func changes() throws {
        var profile = DeviceProfile(.android)
        #expect(throws: ProfileError.self) { try profile.set("sensor", to: "reject") }
        #expect(throws: ProfileError.self) { try profile.set("sensors", to: "match") }
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

    @Test("a profile's file is read by its path, and one that is missing is told by it")
    func files() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "profile-\(WalletID.random()).yaml")
        defer { try? FileManager.default.removeItem(at: path) }
        #expect(throws: ProfileError.self) { try DeviceProfile(file: path.path) }
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
