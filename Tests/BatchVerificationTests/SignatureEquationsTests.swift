import Testing

@testable import BatchVerification

@Suite("Equations of points")
struct SignatureEquationsTests {
    @Test("a sum of true equations holds, so none is verified again; a sum with a false equation does not hold")
    func sum() throws {
        var claims = try (1...SignatureEquations.most).map { try SignatureClaimTests.claim($0) }
        #expect(Self.hold(claims))
        let (last, first) = (claims[claims.count - 1], claims[0])
        claims[claims.count - 1] = SignatureClaim(
            last.signature,
            nonceY: last.nonceY,
            by: last.key,
            for: first.digest
        )
        #expect(!Self.hold(claims))
    }

    private static func hold(_ claims: [SignatureClaim]) -> Bool {
        SignatureEquations.withPooled { equations in
            claims.indices.allSatisfy { equations.load(claims[$0], at: $0) } && equations.hold(claims.indices)
        }
    }
}
