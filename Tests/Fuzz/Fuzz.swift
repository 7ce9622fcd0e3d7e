import AttestationVerifier
import Evidence
import Vocabulary

// The entry point that libFuzzer calls with each input. The first byte selects the parser for the rest, so that
// one corpus serves all.

/// The parsers of evidence from clients, the verifiers on top of them, and the input before TLS.
private enum Target: UInt8, CaseIterable {
    case cbor, attestationObject, assertion, authenticatorData, certificate, keyDescription, chain, appleVerifier, pem
    case proxyHeader
}

private let verifier = EvidenceVerifier(
    policy: AttestationPolicy(android: AndroidPolicy(apps: nil), apple: ApplePolicy(appIDs: ["ABCDE12345.org.example"]))
)
private let digest = sha256([])
private let time = Timestamp(milliseconds: 1_795_000_000_000)

/// Runs one input; it must end, with any result.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    guard let first = input.first, let target = Target(rawValue: first) else { return -1 }
    let bytes = Array(input.dropFirst())
    switch target {
    case .cbor:
        // A strict decoder accepts one encoding of each value, so encoding it gives the same bytes.
        if let item = try? CBOR(decoding: bytes) { precondition(item.encoded == bytes, "CBOR reads what it writes") }
    case .attestationObject: _ = try? AppAttestObject(decoding: bytes)
    case .assertion: _ = try? AppAttestAssertion(decoding: bytes)
    case .authenticatorData:
        for withCredential in [true, false] {
            _ = try? AuthenticatorData(decoding: bytes, withCredential: withCredential)
        }
    case .certificate:
        guard let certificate = try? Certificate(decoding: bytes) else { break }
        precondition(certificate.encoded == bytes, "the encoding of a certificate differs from its input")
        _ = certificate.isAuthority
        _ = certificate.publicKey.p256
        _ = certificate.subject.matches(certificate.issuer)
        for value in certificate.values(of: .keyDescription) { _ = try? KeyDescription(decoding: value) }
    case .keyDescription: _ = try? KeyDescription(decoding: bytes)
    case .chain:
        var verification = Verification()
        _ = verifier.verify(android: chain(bytes), challenge: digest, at: time, verification: &verification)
        precondition(verification.signatureChecks <= EvidenceLimits.signatureChecks, "within the budget")
    case .appleVerifier:
        var verification = Verification()
        _ = verifier.verify(
            appleObject: bytes,
            keyID: digest.bytes,
            clientDataHash: digest,
            at: time,
            verification: &verification
        )
        precondition(verification.signatureChecks <= EvidenceLimits.signatureChecks, "within the budget")
    case .proxyHeader: readHeader(bytes)
    case .pem: _ = PEM.certificates(in: String(decoding: bytes, as: UTF8.self))
    }
    return 0
}

/// A balancer's header is known after its last byte, and later bytes never change a result.
private func readHeader(_ bytes: [UInt8]) {
    do throws(ProxyHeaderFault) {
        guard let header = try ProxyHeader(of: bytes) else { return }
        precondition(header.byteCount <= min(bytes.count, ProxyHeader.longestByteCount), "the length exceeds the input")
        let (alone, shorter) = (
            try ProxyHeader(of: bytes.prefix(header.byteCount)), try ProxyHeader(of: bytes.prefix(header.byteCount - 1))
        )
        precondition(alone == header, "later bytes change the result")
        precondition(shorter == nil, "a part of the header is accepted")
    } catch {
        do throws(ProxyHeaderFault) {
            _ = try ProxyHeader(of: bytes + [0])
            preconditionFailure("later bytes make a rejected header valid")
        } catch let later {
            precondition(later == error, "later bytes change the error")
        }
    }
}

/// Certificates in sequence, each after its length in two bytes.
private func chain(_ bytes: [UInt8]) -> [[UInt8]] {
    var chain: [[UInt8]] = []
    var rest = bytes[...]
    while rest.count >= 2 {
        let count = Int(rest.removeFirst()) << 8 | Int(rest.removeFirst())
        chain.append(Array(rest.prefix(count)))
        rest = rest.dropFirst(count)
    }
    return chain
}
