import AttestationVerifier
import Foundation
import Logging
import HostSystem
import ServerTestSupport
import TestSupport
import Testing
import Vocabulary

@testable import RemotePINServer

@Suite("The status list's file")
struct StatusListTests {
    private let folder = TemporaryFolder()
    private let log = RecordedLog()
    private let clock = ManualClock()
    private var path: String { "\(self.folder.path)/status.json" }
    private var logger: Logger {
        let handler = self.log.handler
        return Logger(label: "test") { _ in handler }
    }

    private static func json(_ entries: [String: String]) -> String {
        let list = entries.map { "\"\($0.key)\": {\"status\": \"\($0.value)\"}" }.joined(separator: ",")
        return "{\"entries\": {\(list)}}"
    }

    /// Writes the file with the modification time `time`.
    private func write(_ text: String, at time: Timestamp) throws {
        try DurableFile.write(Array(text.utf8), to: self.path)
        let date = Date(timeIntervalSince1970: Double(time.milliseconds) / 1000)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: self.path)
    }

    private func attestations(acceptsStale: Bool = false) throws -> Attestations {
        var android = AndroidPolicy(apps: nil)
        android.statusList = StatusListPolicy(maximumAge: .seconds(7 * 86_400), acceptsStale: acceptsStale)
        let policy = AttestationPolicy(android: android, apple: ApplePolicy(apps: []))
        return Attestations(EvidenceVerifier(policy: policy), statusList: try StatusListFile(path: self.path))
    }

    private func refresh(_ attestations: Attestations, forced: Bool = false) {
        attestations.refresh(at: self.clock.now(), forced: forced, log: self.logger)
    }

    @Test("a changed list applies from the next refresh, an unchanged one is not read again")
    func changed() throws {
        try self.write(Self.json(["0A1": "REVOKED"]), at: self.clock.now())
        let attestations = try self.attestations()
        #expect(attestations.verifier.statusList?.status(of: "a1") == .revoked)
        self.refresh(attestations)
        #expect(self.log.lines.isEmpty)
        self.clock.advance(by: .seconds(60))
        try self.write(Self.json(["b2": "SUSPENDED"]), at: self.clock.now())
        self.refresh(attestations)
        #expect(attestations.verifier.statusList?.status(of: "a1") == nil)
        #expect(attestations.verifier.statusList?.status(of: "b2") == .suspended)
        #expect(self.log.lines == ["notice status list loaded entries=1"])
        self.refresh(attestations, forced: true)
        #expect(self.log.lines.count == 2)
    }

    @Test(
        "an unreadable file never replaces a list and is logged once",
        arguments: [
            "", "{", "[]", "{\"entries\": []}", "{\"entries\": {\"a1\": {}}}", "{\"entries\": {\"a1\": \"REVOKED\"}}",
        ]
    )
    func unreadable(text: String) throws {
        try self.write(Self.json(["a1": "REVOKED"]), at: self.clock.now())
        let attestations = try self.attestations()
        self.clock.advance(by: .seconds(60))
        try self.write(text, at: self.clock.now())
        for _ in 0..<3 { self.refresh(attestations) }
        #expect(attestations.verifier.statusList?.status(of: "a1") == .revoked)
        #expect(self.log.lines.count == 1)
        #expect(self.log.lines.first?.hasPrefix("error the old status list stays") == true)
        self.clock.advance(by: .seconds(60))
        try self.write(Self.json(["c3": "REVOKED"]), at: self.clock.now())
        self.refresh(attestations)
        #expect(attestations.verifier.statusList?.status(of: "c3") == .revoked)
    }

    @Test("a missing list is logged once, and the old one stays")
    func missing() throws {
        try self.write(Self.json(["a1": "REVOKED"]), at: self.clock.now())
        let attestations = try self.attestations()
        try DurableFile.remove(self.path)
        for _ in 0..<3 { self.refresh(attestations) }
        #expect(attestations.verifier.statusList?.status(of: "a1") == .revoked)
        #expect(self.log.lines.count == 1)
    }

    @Test("a stale list is logged once, and again after a newer one", arguments: [true, false])
    func stale(acceptsStale: Bool) throws {
        try self.write(Self.json([:]), at: self.clock.now())
        let attestations = try self.attestations(acceptsStale: acceptsStale)
        self.clock.advance(by: .seconds(7 * 86_400))
        self.refresh(attestations)
        #expect(self.log.lines.isEmpty)
        self.clock.advance(by: .milliseconds(1))
        for _ in 0..<3 { self.refresh(attestations) }
        let consequence = acceptsStale ? "registrations go on" : "Android registrations are refused"
        let warning = "warning the status list is stale consequence=\(consequence) fetched=168 h ago"
        #expect(self.log.lines == [warning])
        try self.write(Self.json([:]), at: self.clock.now())
        self.refresh(attestations)
        #expect(self.log.lines.count == 2)
        self.clock.advance(by: .seconds(8 * 86_400))
        self.refresh(attestations)
        #expect(self.log.lines.count == 3)
    }
}
