import Testing
import Vault
import Vocabulary
import WalletStore

@testable import RemotePINServer

private let start = Timestamp(milliseconds: 1_000_000)

private func key(_ byte: UInt8) throws -> P256PublicKey {
    try #require(P256PublicKey([0x04] + Array(repeating: byte, count: 64)))
}

private func identity(pin: UInt8 = 1) throws -> OpenedIdentity {
    let record = try #require(
        IdentityRecord(
            platform: .iOS,
            hardwareKey: key(9),
            appID: "ABCDE12345.org.example.wallet",
            environment: "production"
        )
    )
    return OpenedIdentity(record: record, pinKey: try key(pin), sealedPINKey: [], sealed: [pin])
}

/// A machine with a session that ends a minute after `start`.
private func inSession(servesVersion: Bool = true) throws -> ConnectionStateMachine {
    var machine = ConnectionStateMachine()
    try machine.receiveHello(servesVersion: servesVersion)
    _ = try machine.receiveOpenSession()
    machine.sessionOpened(
        ConnectionStateMachine.Session(identity: try identity(), keys: .decoy(), endsAt: start + .seconds(60))
    )
    return machine
}

@Suite("The order of calls on one connection")
struct ConnectionStateMachineTests {
    @Test("before Hello every other call is rejected")
    func helloFirst() {
        var machine = ConnectionStateMachine()
        #expect(throws: OrderViolation.notAllowed(.beforeHello)) { try machine.receiveEnrollment() }
        #expect(throws: OrderViolation.notAllowed(.beforeHello)) { try machine.receiveOpenSession() }
        #expect(throws: OrderViolation.notAllowed(.beforeHello)) { try machine.receiveInstruct(counter: 1, at: start) }
        #expect(throws: OrderViolation.notAllowed(.beforeHello)) { try machine.receiveReportWipe(at: start) }
    }

    @Test("a second Hello is rejected")
    func helloOnce() throws {
        var machine = ConnectionStateMachine()
        try machine.receiveHello(servesVersion: true)
        #expect(throws: OrderViolation.notAllowed(.secondHello)) { try machine.receiveHello(servesVersion: true) }
    }

    @Test("without a session, instructions and wipe reports are rejected")
    func sessionRequired() throws {
        var machine = ConnectionStateMachine()
        try machine.receiveHello(servesVersion: true)
        #expect(throws: OrderViolation.sessionRequired) { try machine.receiveInstruct(counter: 1, at: start) }
        #expect(throws: OrderViolation.sessionRequired) { try machine.receiveReportWipe(at: start) }
    }

    @Test("a connection has one session, even after that session's end")
    func oneSession() throws {
        var machine = try inSession()
        #expect(throws: OrderViolation.notAllowed(.secondSession)) { try machine.receiveOpenSession() }
        let late = start + .seconds(60)
        #expect(throws: OrderViolation.sessionRequired) { try machine.receiveInstruct(counter: 1, at: late) }
        #expect(throws: OrderViolation.notAllowed(.secondSession)) { try machine.receiveOpenSession() }
        #expect(throws: OrderViolation.sessionRequired) { try machine.receiveInstruct(counter: 1, at: start) }
    }

    @Test("counters rise from 1 by one; any other is rejected and consumes nothing")
    func counters() throws {
        var machine = try inSession()
        for wrong: UInt64 in [0, 2, .max] {
            #expect(throws: OrderViolation.outOfOrder(expected: 1)) {
                try machine.receiveInstruct(counter: wrong, at: start)
            }
        }
        for counter: UInt64 in 1...5 { _ = try machine.receiveInstruct(counter: counter, at: start) }
        #expect(throws: OrderViolation.outOfOrder(expected: 6)) { try machine.receiveInstruct(counter: 5, at: start) }
    }

    @Test("a session is open before its end and not from its end on")
    func lifetime() throws {
        var machine = try inSession()
        _ = try machine.receiveInstruct(counter: 1, at: start + .milliseconds(59_999))
        #expect(throws: OrderViolation.sessionRequired) {
            try machine.receiveInstruct(counter: 2, at: start + .milliseconds(60_000))
        }
    }

    @Test("a blocked version may open a session without a share, only to report its wipe")
    func blockedVersion() throws {
        var machine = ConnectionStateMachine()
        try machine.receiveHello(servesVersion: false)
        #expect(throws: OrderViolation.notAllowed(.blockedVersion)) { try machine.receiveEnrollment() }
        #expect(try machine.receiveOpenSession() == .withheld)
        machine = try inSession(servesVersion: false)
        #expect(throws: OrderViolation.notAllowed(.blockedVersion)) {
            try machine.receiveInstruct(counter: 1, at: start)
        }
        _ = try machine.receiveReportWipe(at: start)
        // The end of its session allows it nothing more.
        #expect(throws: OrderViolation.sessionRequired) { try machine.receiveReportWipe(at: start + .seconds(60)) }
        #expect(throws: OrderViolation.notAllowed(.blockedVersion)) { try machine.receiveEnrollment() }
    }

    @Test("a replaced identity applies to the next instruction")
    func identityReplaced() throws {
        var machine = try inSession()
        let newer = try identity(pin: 2)
        machine.identityReplaced(by: newer)
        #expect(try machine.receiveInstruct(counter: 1, at: start).identity === newer)
    }

    @Test("shares are confirmed only after a valid PIN on the same connection")
    func confirmShares() throws {
        var machine = try inSession()
        #expect(throws: OrderViolation.notAllowed(.noValidPIN)) { try machine.receiveConfirmShares(at: start) }
        machine.unlockShareSent(next: [7])
        #expect(try machine.receiveConfirmShares(at: start).offered.unlock == [7])
        // Another connection changed the PIN: its slot is not sealed with the offered share.
        machine.identityReplaced(by: try identity(pin: 2), elsewhere: true)
        #expect(throws: OrderViolation.notAllowed(.noValidPIN)) { try machine.receiveConfirmShares(at: start) }
        machine.unlockShareSent(next: [8])
        #expect(try machine.receiveConfirmShares(at: start).offered.unlock == [8])
        #expect(throws: OrderViolation.sessionRequired) {
            try machine.receiveConfirmShares(at: start + .seconds(60))
        }
    }
}

@Suite("The identity record")
struct IdentityRecordTests {
    @Test("a record decodes to the encoded one, and all records have one length")
    func roundTrip() throws {
        for appID in ["a.b", String(repeating: "x", count: 223)] {
            for (platform, environment) in [(Platform.android, ""), (.iOS, "development")] {
                let record = try #require(
                    IdentityRecord(
                        platform: platform,
                        hardwareKey: key(1),
                        appID: appID,
                        environment: environment
                    )
                )
                #expect(record.bytes.count == IdentityRecord.byteCount)
                #expect(IdentityRecord(record.bytes) == record)
            }
        }
    }

    @Test("texts longer than their fields are rejected")
    func tooLong() throws {
        let record = IdentityRecord(
            platform: .android,
            hardwareKey: try key(1),
            appID: String(repeating: "x", count: 224),
            environment: ""
        )
        #expect(record == nil)
    }

    @Test("malformed bytes are rejected", arguments: [0, 1, 2, 67, 291, 322])
    func damaged(position: Int) throws {
        var bytes = try identity().record.bytes
        bytes[position] = 0xFF
        #expect(IdentityRecord(bytes) == nil)
        #expect(IdentityRecord(Array(bytes.dropLast())) == nil)
    }
}

@Suite("The update policy")
struct UpdatePolicyTests {
    @Test(
        "lower versions are blocked or notified, by the rules of each platform",
        arguments: [
            ("1.9", Platform.android, UpdateVerdict.block(updateAvailable: true)), ("2.0", .android, .notify),
            ("2.4.9", .android, .notify), ("2.5", .android, .ok), ("0.1", .iOS, .ok),
        ]
    )
    func verdicts(version: String, platform: Platform, verdict: UpdateVerdict) throws {
        let policy = UpdatePolicy(
            android: UpdatePolicy.Versions(minimum: AppVersion("2"), notify: AppVersion("2.5"))
        )
        #expect(policy.verdict(on: try #require(AppVersion(version)), platform: platform, at: start) == verdict)
    }
}
