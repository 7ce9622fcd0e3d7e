import Testing
import Vault
import WalletStore
import Wire

@testable import RemotePINServer

@Suite("The refusals that peers receive")
struct RefusalTests {
    @Test(
        "an unknown wallet and every invalid proof get the same refusal and end the connection",
        arguments: [
            CallFailure.AuthenticationFault.unknownWallet, .deviceProof, .assertionCounter, .pinSignature,
            .newPINSignature,
        ]
    )
    func authentication(fault: CallFailure.AuthenticationFault) {
        #expect(CallFailure.authentication(fault).refusal == .authenticationFailed)
        #expect(CallFailure.authentication(fault).endsConnection)
    }

    @Test("every fault of a token gets the same refusal", arguments: [CallFailure.TokenFault.notOurs, .expired, .used])
    func token(fault: CallFailure.TokenFault) {
        #expect(CallFailure.challengeInvalid(fault).refusal == .challengeInvalid)
    }

    @Test("a failure of the store or the vault is never a verdict, and the connection stays open")
    func failures() {
        let failures: [(CallFailure, isInternal: Bool)] = [
            (.store(.unavailable), false), (.vault(.unreachable), false), (.contended, false), (.noLease, false),
            (.store(.corrupt), true), (.vault(.notOurs), true),
        ]
        for (failure, isInternal) in failures {
            #expect(!failure.endsConnection)
            if isInternal {
                #expect(failure.refusal == .internal)
            } else {
                guard case .unavailable(let retryAfter) = failure.refusal else {
                    Issue.record("\(failure.logged) is refused as \(failure.refusal)")
                    continue
                }
                #expect(retryAfter > .zero)
            }
        }
    }

    @Test("calls out of order get the protocol's errors")
    func order() {
        #expect(CallFailure.order(.sessionRequired).refusal == .sessionRequired)
        #expect(CallFailure.order(.outOfOrder(expected: 1)).refusal == .outOfOrder)
        #expect(CallFailure.order(.notAllowed(.secondSession)).refusal == .notAllowed)
        #expect(CallFailure.malformed(.unknownInstruction).refusal == .unsupported)
        #expect(CallFailure.malformed(.unknownField).refusal == .malformed)
    }

    @Test("correlation ids are short, differ from connection to connection, and end with the call's own")
    func correlation() {
        let ids = Set((0..<1000).map { _ in CorrelationID.random() })
        #expect(ids.count == 1000)
        #expect(ids.allSatisfy { $0.description.count == 16 && $0.description.hasSuffix("000000") })
        for (call, end) in [(1, "000001"), (0xABCDEF, "abcdef"), (UInt64.max, "ffffff"), (1 << 24, "000000")]
            as [(UInt64, String)]
        {
            var id = CorrelationID.random()
            let connection = id.description.prefix(10)
            id.call = call
            #expect(id.description == connection + end)
        }
    }
}
