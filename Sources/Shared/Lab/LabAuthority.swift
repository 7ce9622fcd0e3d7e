internal import Evidence
package import HostSystem
internal import Vocabulary

/// A lab's test authority, which takes the place of Google, Apple and a certificate authority.
///
/// Its chains have the same format as the vendors' but different roots, so that a lab's server runs the same code as in
/// production. Its private keys are stored in files. Servers outside of a lab reject its roots
/// (``Certificate/isOfLab``).
package struct LabAuthority: Sendable {
    let androidRoot: LabIssuer
    let androidIntermediate: LabIssuer
    let androidBatch: LabIssuer
    let appleRoot: LabIssuer
    let appleAuthority: LabIssuer
    let tlsAuthority: LabIssuer

    /// Creates a new authority, which only exists in memory.
    package init() {
        let lab = LabIssuer.organization
        let root = DistinguishedName(
            commonName: "Lab Android Root",
            organization: lab,
            serialNumber: "1ab0000000000001"
        )
        let middle = DistinguishedName(commonName: "Lab Factory", organization: lab, serialNumber: "1ab0000000000002")
        self.androidRoot = .root(root)
        self.androidIntermediate = self.androidRoot.authority(middle)
        self.androidBatch = self.androidIntermediate.authority(Self.batchName)
        self.appleRoot = .root(DistinguishedName(commonName: "Lab App Attestation Root CA", organization: lab))
        self.appleAuthority = self.appleRoot.authority(Self.appleAuthorityName)
        self.tlsAuthority = .root(DistinguishedName(commonName: "Lab TLS CA", organization: lab))
    }

    static let batchName = DistinguishedName(commonName: "Lab Batch", title: "TEE", serialNumber: "1ab0000000000003")
    static let appleAuthorityName = DistinguishedName(
        commonName: "Lab App Attestation CA 1",
        organization: LabIssuer.organization
    )

    /// The root for Android chains, for the server's configuration.
    package var androidRootCertificate: [UInt8] { self.androidRoot.certificate }
    /// The root for App Attest chains, for the server's configuration.
    package var appleRootCertificate: [UInt8] { self.appleRoot.certificate }
    /// The authority for the lab's TLS servers, to be pinned by wallets.
    package var tlsAuthorityCertificate: [UInt8] { self.tlsAuthority.certificate }

    /// A status list in Google's format that contains the serial numbers of the revoked and the suspended batch.
    package static let statusList = """
        {
          "entries": {
            "\(AndroidBatch.revokedSerial.hex)": {
              "status": "REVOKED",
              "reason": "KEY_COMPROMISE"
            },
            "\(AndroidBatch.suspendedSerial.hex)": {
              "status": "SUSPENDED",
              "reason": "SOFTWARE_FLAW"
            }
          }
        }

        """
}

/// An error from reading or writing a lab's authority.
///
/// Show it to the user who runs the lab.
package enum LabAuthorityError: Error, Hashable, CustomStringConvertible {
    case file(FileError)
    /// The file exists, but its contents are wrong.
    ///
    /// The user must create a new lab.
    case broken(path: String)

    package var description: String {
        switch self {
        case .file(let error): error.description
        case .broken(let path): "\(path): not a certificate and key of a lab's authority"
        }
    }
}

extension LabAuthority {
    /// The names of the files in the authority's folder.
    package enum File {
        /// The root for Android chains.
        package static let androidRoot = "android-root.pem"
        /// The root for App Attest chains.
        package static let appleRoot = "apple-root.pem"
        /// The authority for the lab's TLS servers.
        package static let tlsAuthority = "tls-ca.pem"
        /// The status list in Google's format.
        package static let statusList = "android-status.json"
    }

    private static let names = [
        "android-root", "android-intermediate", "android-batch", "apple-root", "apple-ca", "tls-ca",
    ]

    /// Creates an authority and writes it to a folder that does not contain one yet.
    package static func create(in folder: String) throws(LabAuthorityError) -> LabAuthority {
        let authority = LabAuthority()
        do throws(FileError) {
            try DurableFile.makeFolder(folder)
            if DurableFile.exists("\(folder)/\(File.androidRoot)") {
                throw .exists("\(folder)/\(File.androidRoot)")
            }
            for (name, issuer) in zip(Self.names, authority.issuers) {
                try DurableFile.write(Array(issuer.key.pem.utf8), to: "\(folder)/\(name).key.pem")
                try DurableFile.write(Array(PEM.certificates([issuer.certificate]).utf8), to: "\(folder)/\(name).pem")
            }
            try DurableFile.write(Array(Self.statusList.utf8), to: "\(folder)/\(File.statusList)")
        } catch {
            throw .file(error)
        }
        return authority
    }

    /// Loads an authority that was written by ``create(in:)``.
    package static func load(from folder: String) throws(LabAuthorityError) -> LabAuthority {
        var issuers: [LabIssuer] = []
        for name in Self.names { issuers.append(try LabIssuer(loading: name, from: folder)) }
        return LabAuthority(issuers: issuers)
    }

    private var issuers: [LabIssuer] {
        [
            self.androidRoot, self.androidIntermediate, self.androidBatch, self.appleRoot, self.appleAuthority,
            self.tlsAuthority,
        ]
    }

    /// - Precondition: Each name has an issuer, in the same order.
    private init(issuers: [LabIssuer]) {
        precondition(issuers.count == Self.names.count, "an authority has one issuer for each name")
        self.androidRoot = issuers[0]
        self.androidIntermediate = issuers[1]
        self.androidBatch = issuers[2]
        self.appleRoot = issuers[3]
        self.appleAuthority = issuers[4]
        self.tlsAuthority = issuers[5]
    }
}

extension LabIssuer {
    fileprivate init(loading name: String, from folder: String) throws(LabAuthorityError) {
        let path = "\(folder)/\(name).pem"
        guard let encoded = PEM.certificates(in: try Self.text(path))?.first,
            let certificate = try? Certificate(decoding: encoded),
            let key = SigningKey(pem: try Self.text("\(folder)/\(name).key.pem")),
            certificate.publicKey.p256 == key.publicKey
        else { throw .broken(path: path) }
        self.init(certificate: encoded, subject: certificate.subject, key: key)
    }

    private static func text(_ path: String) throws(LabAuthorityError) -> String {
        try mapError(DurableFile.readText(path, atMost: 65_536), to: LabAuthorityError.file)
    }
}
