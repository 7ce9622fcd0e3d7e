internal import AttestationVerifier
internal import Evidence
internal import Vocabulary

extension ManifestFacts {
    static func receipt(_ receipt: AppAttestReceipt) -> ManifestValue {
        var verification = Verification()
        let signer = receipt.certificates.first { certificate in
            verification.isValid(receipt.signature, of: receipt.content, key: certificate.publicKey)
        }
        return .object([
            "app_id": .text(receipt.appID),
            "client_data_hash": .text(receipt.clientDataHash?.hex),
            "type": .text(receipt.type),
            "created": .text(receipt.created),
            "expires": .text(receipt.expires),
            "environment": .text(receipt.environment),
            "not_before": .text(receipt.notBefore),
            "risk_metric": .text(receipt.riskMetric),
            "certificate_sha256": .text(receipt.certificate.map { sha256($0).description }),
            "has_signed_attrs": .boolean(receipt.hasSignedAttributes),
            "signer": .text(signer?.subject.commonName),
            "signature_valid": .boolean(signer != nil),
        ])
    }
}
