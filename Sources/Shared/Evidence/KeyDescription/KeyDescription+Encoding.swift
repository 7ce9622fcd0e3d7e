extension KeyDescription {
    /// The contents of the certificate extension, with properties in their current order.
    package var encoded: [UInt8] {
        DERWriter.sequence(
            DERWriter.integer(Int128(self.attestationVersion)),
            DERWriter.enumerated(Int128(self.attestationSecurityLevel.number)),
            DERWriter.integer(Int128(self.keyMintVersion)),
            DERWriter.enumerated(Int128(self.keyMintSecurityLevel.number)),
            DERWriter.octetString(self.challenge),
            DERWriter.octetString(self.uniqueID),
            self.softwareEnforced.encoded,
            self.hardwareEnforced.encoded
        )
    }
}

extension AuthorizationList {
    var encoded: [UInt8] {
        DERWriter.sequence(of: self.entries.map { DERWriter.tagged($0.tag, $0.value.encoded) })
    }
}

extension AuthorizationList.Value {
    var encoded: [UInt8] {
        switch self {
        case .integer(let value): DERWriter.integer(value)
        case .integers(let values): DERWriter.set(of: values.map { DERWriter.integer($0) })
        case .present: DERWriter.null
        case .bytes(let bytes), .text(let bytes): DERWriter.octetString(bytes)
        case .rootOfTrust(let value): value.encoded
        case .application(let value): DERWriter.octetString(value.encoded)
        case .unknown(let encoded): encoded
        }
    }
}

extension RootOfTrust {
    var encoded: [UInt8] {
        DERWriter.sequence(
            DERWriter.octetString(self.verifiedBootKey),
            DERWriter.boolean(self.isDeviceLocked),
            DERWriter.enumerated(Int128(self.verifiedBootState.number)),
            self.verifiedBootHash.map(DERWriter.octetString) ?? []
        )
    }
}

extension ApplicationID {
    var encoded: [UInt8] {
        DERWriter.sequence(
            DERWriter.set(
                of: self.packages.map { package in
                    DERWriter.sequence(
                        DERWriter.octetString(Array(package.name.utf8)),
                        DERWriter.integer(Int128(package.version))
                    )
                }
            ),
            DERWriter.set(of: self.signatureDigests.map(DERWriter.octetString))
        )
    }
}
