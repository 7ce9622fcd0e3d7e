import Evidence
import FoundationEssentials
import Vocabulary

// Additional seeds, so that a clone without the vectors also begins with complete evidence.

/// Writes the seeds into the folder in `REMOTE_PIN_FUZZ_SEEDS`, if it is set, before libFuzzer reads the
/// corpus.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(
    _ count: UnsafeMutablePointer<Int32>?,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>?
) -> Int32 {
    guard let folder = ProcessInfo.processInfo.environment["REMOTE_PIN_FUZZ_SEEDS"] else { return 0 }
    for (name, bytes) in Seeds().all {
        do {
            try Data(bytes).write(to: URL(filePath: "\(folder)/own-\(name)"))
        } catch {
            fatalError("\(folder) cannot be written: \(error)")
        }
    }
    return 0
}

/// Evidence of both platforms under an authority that exists only here.
private struct Seeds {
    private let root = SigningKey()
    private let device = SigningKey()
    private let name = DistinguishedName(commonName: "Fuzz Root", serialNumber: "1ab0")
    private let validity = Timestamp(milliseconds: 0)...Timestamp(milliseconds: 2_400_000_000_000)

    var all: [(name: String, bytes: [UInt8])] {
        let description = self.description
        let chain = [self.certificate([.signsData, .attestation(description)]), self.rootCertificate]
        let object = self.object
        let assertion = AppAttestAssertion(
            signature: self.device.derSignature(for: [1]),
            authenticatorData: self.authenticatorData(hasCredential: false)
        ).encoded
        return [
            ("chain", [6] + chain.flatMap { [UInt8($0.count >> 8), UInt8($0.count & 0xFF)] + $0 }),
            ("certificate", [4] + chain[0]), ("description", [5] + description.encoded),
            ("object", [1] + object), ("verified-object", [7] + object), ("cbor", [0] + object),
            ("assertion", [2] + assertion), ("authenticator-data", [3] + self.authenticatorData(hasCredential: true)),
            ("pem", [8] + Array(PEM.certificates(chain).utf8)),
        ]
    }

    private var description: KeyDescription {
        let root = RootOfTrust(
            verifiedBootKey: [1],
            isDeviceLocked: true,
            verifiedBootState: .verified,
            verifiedBootHash: [2]
        )
        let package = ApplicationID.Package(name: "org.example.wallet", version: 1)
        return KeyDescription(
            version: 300,
            securityLevel: .trustedEnvironment,
            challenge: sha256([]).bytes,
            softwareEnforced: AuthorizationList([
                .init(709, .application(ApplicationID(packages: [package], signatureDigests: [[3]])))
            ]),
            hardwareEnforced: AuthorizationList([
                .init(1, .integers([2])), .init(5, .integers([4])), .init(503, .present), .init(702, .integer(0)),
                .init(704, .rootOfTrust(root)), .init(706, .integer(202_601)), .init(710, .text([0x61])),
                .init(724, .bytes([1])), .init(999, .unknown([0x05, 0x00])),
            ])
        )
    }

    private var rootCertificate: [UInt8] {
        CertificateTemplate(
            serialNumber: [1],
            subject: self.name,
            validity: self.validity,
            publicKey: self.root.publicKey,
            extensions: [.authority]
        ).signed(by: self.root, issuer: self.name)
    }

    private var object: [UInt8] {
        let data = self.authenticatorData(hasCredential: true)
        let nonce = AppAttestAssertion.nonce(authenticatorData: data, clientDataHash: sha256([]).bytes)
        return AppAttestObject(
            certificates: [self.certificate([.nonce(nonce)]), self.rootCertificate],
            receipt: [1],
            authenticatorData: data
        ).encoded
    }

    private func certificate(_ extensions: [CertificateExtension]) -> [UInt8] {
        CertificateTemplate(
            serialNumber: [1],
            subject: DistinguishedName(commonName: "Android Keystore Key"),
            validity: self.validity,
            publicKey: self.device.publicKey,
            extensions: extensions
        ).signed(by: self.root, issuer: self.name)
    }

    private func authenticatorData(hasCredential: Bool) -> [UInt8] {
        AuthenticatorData(
            rpIDHash: sha256(Array("ABCDE12345.org.example".utf8)),
            flags: AuthenticatorData.hasCredential,
            counter: 0,
            credential: hasCredential
                ? AuthenticatorData.Credential(
                    aaguid: AppAttestEnvironment.production.aaguid,
                    id: sha256(self.device.publicKey.bytes).bytes,
                    key: AuthenticatorData.Credential.coseKey(self.device.publicKey)
                ) : nil,
            extensions: nil
        ).encoded
    }
}
