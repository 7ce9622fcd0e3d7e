import Evidence
import Foundation
import Lab
import LabFiles
import HostSystem
import TestSupport
import Testing
import Vocabulary

/// Runs the program with these arguments.
private func server(_ arguments: [String]) async throws -> ProgramRun {
    try await ServerProcess.run("remote-pin-server", arguments)
}

@Suite("Evidence judged from files")
struct CheckAttestationTests {
    private let folder = TemporaryFolder()
    private static let time = Timestamp(milliseconds: 1_795_000_000_000)
    private static let challenge = Array(repeating: 7 as UInt8, count: 32)

    /// The chain of a valid device of the lab, or of one with an unlocked bootloader.
    private func chain(_ authority: LabAuthority, isLocked: Bool = true) -> [[UInt8]] {
        let root = RootOfTrust(
            verifiedBootKey: [1],
            isDeviceLocked: isLocked,
            verifiedBootState: .verified,
            verifiedBootHash: [2]
        )
        let app = ApplicationID(
            packages: [ApplicationID.Package(name: LabApp.androidPackage, version: 5)],
            signatureDigests: [LabApp.androidSigningDigest]
        )
        let description = KeyDescription(
            version: 300,
            securityLevel: .trustedEnvironment,
            challenge: Self.challenge,
            softwareEnforced: AuthorizationList([.init(709, .application(app))]),
            hardwareEnforced: AuthorizationList([
                .init(1, .integers([2])), .init(5, .integers([4])), .init(702, .integer(0)),
                .init(704, .rootOfTrust(root)), .init(706, .integer(202_610)), .init(718, .integer(20_261_001)),
                .init(719, .integer(20_261_001)),
            ])
        )
        return authority.androidChain(for: SigningKey().publicKey, description: description, at: Self.time)
    }

    private func lab() async throws -> LabFolder {
        let path = "\(self.folder.path)/lab"
        let run = try await server(["init", "--lab", path])
        try #require(run.exitCode == 0, "\(run.output)")
        return LabFolder(path)
    }

    private func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        let path = "\(self.folder.path)/\(name)"
        try DurableFile.write(bytes, to: path)
        return path
    }

    @Test("a phone's chain is explained, from one PEM file or from DER files, and the exit status states the result")
    func evidence() async throws {
        let lab = try await self.lab()
        let authority = try LabAuthority.load(from: lab.authorityFolder)
        let good = self.chain(authority)
        let pem = try self.file("good.pem", Array(PEM.certificates(good).utf8))
        let options = ["--lab", lab.path, "--time", Self.time.iso8601, "--challenge", Self.challenge.hex]
        let accepted = try await server(["check-attestation", "--evidence", pem] + options)
        #expect(accepted.exitCode == 0, "\(accepted.output)")
        #expect(accepted.output.contains("pass  the app is configured"))
        let files = try good.enumerated().map { try self.file("cert\($0.offset).der", $0.element) }
        #expect(try await server(["check-attestation", "--evidence"] + files + options).exitCode == 0)

        let open = PEM.certificates(self.chain(authority, isLocked: false))
        let path = try self.file("open.pem", Array(open.utf8))
        let refused = try await server(["check-attestation", "--evidence", path] + options)
        #expect(refused.exitCode == 1)
        #expect(refused.output.contains("refused: device_unlocked"), "\(refused.output)")
        #expect(refused.output.contains("-     the app is configured"))

        let elsewhere = try await server(["check-attestation", "--evidence", pem])
        #expect(elsewhere.exitCode == 1)
        #expect(elsewhere.output.contains("refused: untrusted_root"))
    }

    @Test("missing and contradictory arguments are named")
    func usage() async throws {
        let junk = try self.file("junk", Array("hello".utf8))
        let map = try self.file("map.cbor", [0xA0])
        let cases: [([String], Int32, String)] = [
            ([], 64, "either files"), (["--status-list", junk, "--evidence", junk], 64, "either files"),
            (["--status-list", junk, "--challenge", "00"], 64, "The other options need --evidence"),
            (["--evidence", junk], 65, "holds neither certificates"),
            (["--evidence", "\(self.folder.path)/none"], 74, "none"),
            (["--evidence", map], 64, "without --challenge"),
            (["--evidence", map, "--challenge", "0g"], 64, "hexadecimal"),
            (["--evidence", map, "--challenge", "00"], 64, "--app TEAM.BUNDLE"),
            (["--evidence", map, "--time", "noon"], 64, "2026-01-31T12:00:00Z"),
            (["--evidence", map, "--challenge", "00", "--app", "ABCDE12345.a.b"], 1, "refused: malformed_cbor"),
        ]
        for (arguments, status, text) in cases {
            let run = try await server(["check-attestation"] + arguments)
            #expect(run.exitCode == status, "\(arguments): \(run.output)")
            #expect(run.output.contains(text), "\(arguments): \(run.output)")
        }
    }

    private static func judge(_ manifest: String) async throws -> ProgramRun {
        try await ServerProcess.run("remote-pin-lab", ["check-attestation", manifest])
    }

    /// A manifest of one good chain that expects `outcome`.
    private func manifest(expecting outcome: String) throws -> String {
        let authority = LabAuthority()
        let chain = self.chain(authority)
        _ = try self.file("root.der", authority.androidRootCertificate)
        for (index, certificate) in chain.enumerated() { _ = try self.file("c\(index).der", certificate) }
        let files = chain.indices.map { "\"c\($0).der\"" }.joined(separator: ",")
        let policy = """
            {"validity": "google", "min_attestation_security_level": "TrustedEnvironment",
             "min_keymint_security_level": "TrustedEnvironment", "require_device_locked": true,
             "require_origin_generated": true}
            """
        let text = """
            {"format": "attestation-vectors/1", "trust_anchor_sets": {"lab": ["lab"]},
             "roots": {"lab": {"file": "root.der"}},
             "cases": [{"id": "lab/good", "kind": "android-key", "files": {"chain": [\(files)]},
               "inputs": {"challenge_hex": "\(Self.challenge.hex)", "verify_time": "\(Self.time.iso8601)",
                 "trust_anchors": ["lab"], "policy": \(policy)},
               "expected": \(outcome)}]}
            """
        return try self.file("manifest.json", Array(text.utf8))
    }

    @Test("a manifest's cases are listed, and the status is 0 only if all agree")
    func manifests() async throws {
        let good = try await Self.judge(try self.manifest(expecting: #"{"outcome": "accept"}"#))
        #expect(good.output == "ok    lab/good: accepted (expected accepted)\n1 of 1 cases agree\n")
        #expect(good.exitCode == 0)
        let other = #"{"outcome": "reject", "reason": "revoked"}"#
        let wrong = try await Self.judge(try self.manifest(expecting: other))
        #expect(wrong.exitCode == 1)
        #expect(wrong.output.contains("WRONG lab/good: accepted (expected revoked)"))
        #expect(wrong.output.hasSuffix("0 of 1 cases agree, 1 do not\n"))
        let junk = try await Self.judge(try self.file("junk", Array("hello".utf8)))
        #expect(junk.exitCode == 65 && junk.output.contains("not a manifest"), "\(junk.output)")
        let missing = try await Self.judge("\(self.folder.path)/none")
        #expect(missing.exitCode == 74 && missing.output.contains("none"), "\(missing.output)")
    }

    @Test("check-config describes apps, roots and the age of the status list in sentences")
    func configuration() async throws {
        let lab = try await self.lab()
        let run = try await server(["check-config", lab.path])
        #expect(run.exitCode == 0)
        for part in [
            "Android devices may register with the app org.example.wallet, version code 2 or later",
            "a lab's root (SHA-256",
            "The status list names 2 certificates and is 0 h old", "iOS devices may register with the app EXAMPLE123",
        ] {
            #expect(run.output.contains(part), "\(part)")
        }
    }

    @Test("boot keys, validation categories and bundle versions of the settings are required")
    func requirements() async throws {
        let lab = try await self.lab()
        let key = String(repeating: "ab", count: 32)
        let selfSigned = ["check-config", lab.path, "--android.boot-states", "[verified, self-signed]"]
        let keyless = try await server(selfSigned)
        #expect(keyless.exitCode == 78)
        #expect(keyless.output.contains("`android.boot-keys` is empty"), "\(keyless.output)")
        let run = try await server(
            selfSigned + [
                "--android.boot-keys", "[\(key)]", "--ios.validation-categories", "[app-store, testflight]",
                "--ios.apps", "[\(LabApp.iOSAppID):1314]", "--ios.missing-extensions", "accept",
            ]
        )
        #expect(run.exitCode == 0)
        for part in [
            "A self-signed system must be signed with \(key).", "bundle version 1314 or later",
            "The validation category of an iOS app must be app-store or testflight.",
            "iOS evidence that does not state what is required, as before iOS 27, is accepted.",
        ] {
            #expect(run.output.contains(part), "\(run.output)")
        }
    }

    @Test("SIGHUP loads a valid status list; an invalid one is named and the old one stays in use")
    func statusList() async throws {
        let lab = try await self.lab()
        let running = try await ServerProcess.start(["serve", lab.path, "--log.file", "none"])
        let path = "\(lab.authorityFolder)/\(LabAuthority.File.statusList)"
        try DurableFile.write(Array("{".utf8), to: path)
        running.send(SIGHUP)
        #expect(await running.writes("the old status list stays"))
        try DurableFile.write(Array(#"{"entries": {"a1": {"status": "REVOKED"}}}"#.utf8), to: path)
        running.send(SIGHUP)
        #expect(await running.writes("status list loaded entries=1"))
        #expect(await running.terminate() == 0)
    }
}
