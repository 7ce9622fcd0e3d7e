package import Evidence
package import HostSystem
package import Vocabulary

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

/// Determines the certificate chain for a simulated Android device's attestation key.
package enum AndroidBatch: Hashable, Sendable {
    /// The chain is installed at the factory: root, intermediate, batch key.
    case factory
    /// The chain is fetched from the vendor's servers and valid for a month.
    case remote
    /// Like ``remote``, but the chain expired an hour before the attestation.
    case expired
    /// Like ``remote``, but the chain becomes valid a day after the attestation.
    case notYetValid
    /// Like ``factory``, but the lab's status list revokes a serial number in the chain.
    case revoked
    /// Like ``factory``, but the lab's status list suspends a serial number in the chain.
    case suspended
    /// Like ``factory``, but the root is not trusted by any server.
    case unknownRoot
    /// Like ``factory``, but with this many additional intermediate authorities.
    case long(Int)

    static let revokedSerial: [UInt8] = [0x7A, 0xBA, 0xD0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    static let suspendedSerial: [UInt8] = [0x7A, 0xBA, 0xD0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]
}

extension LabAuthority {
    /// Returns the chain for a key created by a keystore, from leaf to root.
    package func androidChain(
        for key: P256PublicKey,
        description: KeyDescription,
        batch: AndroidBatch = .factory,
        at time: Timestamp
    ) -> [[UInt8]] {
        let (issuer, above) = self.androidIssuer(batch, at: time)
        let leaf = CertificateTemplate(
            serialNumber: [1],
            subject: DistinguishedName(commonName: "Android Keystore Key"),
            validity: LabDates.androidLeaf,
            publicKey: key,
            extensions: [.signsData, .attestation(description)]
        )
        return [issuer.issue(leaf), issuer.certificate] + above
    }

    /// Returns the authority that signs leaves, and the certificates above it.
    private func androidIssuer(_ batch: AndroidBatch, at time: Timestamp) -> (LabIssuer, [[UInt8]]) {
        let root = self.androidRoot.certificate
        let factory = [self.androidIntermediate.certificate, root]
        switch batch {
        case .factory: return (self.androidBatch, factory)
        case .remote: return self.remoteIssuer(validity: LabDates.days(30, around: time))
        case .expired: return self.remoteIssuer(validity: LabDates.past(before: time))
        case .notYetValid: return self.remoteIssuer(validity: LabDates.future(after: time))
        case .revoked:
            let serial = AndroidBatch.revokedSerial
            return (self.androidIntermediate.authority(Self.batchName, serialNumber: serial), factory)
        case .suspended:
            let serial = AndroidBatch.suspendedSerial
            return (self.androidIntermediate.authority(Self.batchName, serialNumber: serial), factory)
        case .unknownRoot:
            let stranger = LabAuthority()
            return stranger.androidIssuer(.factory, at: time)
        case .long(let count):
            var issuer = self.androidBatch
            var above = factory
            for number in 0..<count {
                above.insert(issuer.certificate, at: 0)
                issuer = issuer.authority(DistinguishedName(commonName: "Lab Batch \(number)", title: "TEE"))
            }
            return (issuer, above)
        }
    }

    /// Returns an issuer whose chain is the root, "Droid CA1", and a device key.
    ///
    /// These names identify remote provisioning.
    private func remoteIssuer(validity: ClosedRange<Timestamp>) -> (LabIssuer, [[UInt8]]) {
        let droid = self.androidRoot.authority(DistinguishedName(commonName: "Droid CA1", organization: "Google LLC"))
        let device = droid.authority(
            DistinguishedName(commonName: LabSerial.random().hex, organization: "TEE"),
            validity: validity
        )
        return (device, [droid.certificate, self.androidRoot.certificate])
    }
}

/// Determines the certificate chain for a simulated iOS device's attestation.
package enum AppAttestIssuer: Hashable, Sendable {
    /// The lab's App Attest authority.
    case standard
    /// The leaf expired an hour before the attestation.
    case expired
    /// The leaf becomes valid a day after the attestation.
    case notYetValid
    /// An authority whose root is not trusted by any server.
    case unknownRoot
    /// An authority that is not marked as a CA.
    case unmarked
}

extension LabAuthority {
    /// Returns the chain for a key as Apple's service would, which consists of the leaf and the authority without the
    /// root.
    package func appAttestChain(
        for key: P256PublicKey,
        nonce: SHA256Digest,
        issuer: AppAttestIssuer = .standard,
        at time: Timestamp
    ) -> [[UInt8]] {
        let authority = self.appAttestAuthority(issuer)
        let leaf = CertificateTemplate(
            serialNumber: LabSerial.random(),
            subject: DistinguishedName(commonName: sha256(key.bytes).description, organization: LabIssuer.organization),
            validity: Self.appAttestValidity(issuer, at: time),
            publicKey: key,
            extensions: [.signsData, .nonce(nonce)]
        )
        return [authority.issue(leaf), authority.certificate]
    }

    private func appAttestAuthority(_ issuer: AppAttestIssuer) -> LabIssuer {
        switch issuer {
        case .standard, .expired, .notYetValid: self.appleAuthority
        case .unknownRoot: LabAuthority().appleAuthority
        case .unmarked: self.appleRoot.authority(Self.appleAuthorityName, marked: false)
        }
    }

    private static func appAttestValidity(_ issuer: AppAttestIssuer, at time: Timestamp) -> ClosedRange<Timestamp> {
        switch issuer {
        case .standard, .unknownRoot, .unmarked: LabDates.days(90, around: time)
        case .expired: LabDates.past(before: time)
        case .notYetValid: LabDates.future(after: time)
        }
    }
}

extension LabAuthority {
    /// The names in the certificate of a lab's server.
    package static let serverNames = ["localhost", "127.0.0.1", "::1"]

    /// Issues a certificate for a TLS server and returns it with its key, both in PEM format.
    ///
    /// The chain only contains the server's certificate, whose issuer is the root pinned by wallets.
    ///
    /// - Parameter names: Host names and IP addresses.
    package func issueTLSServerCertificate(names: [String]) -> (chainPEM: String, keyPEM: String) {
        let key = SigningKey()
        let addresses = names.compactMap(Self.address)
        let hosts = names.filter { Self.address($0) == nil }
        let template = CertificateTemplate(
            serialNumber: LabSerial.random(),
            subject: DistinguishedName(commonName: names.first ?? "lab", organization: LabIssuer.organization),
            validity: LabDates.authority,
            publicKey: key.publicKey,
            extensions: [
                .signsData, .servesTLS, .serverNames(hosts: hosts, addresses: addresses),
                .authorityKey(self.tlsAuthority.key.publicKey),
            ]
        )
        return (PEM.certificates([self.tlsAuthority.issue(template)]), key.pem)
    }

    /// The authority for TLS servers in PEM format, to be pinned by wallets.
    package var tlsAuthorityPEM: String { PEM.certificates([self.tlsAuthority.certificate]) }

    /// Returns the bytes of an IPv4 or IPv6 address, or nil for a host name.
    static func address(_ name: String) -> [UInt8]? {
        name.contains(":") ? self.version6(name) : self.version4(name)
    }

    private static func version4(_ name: String) -> [UInt8]? {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        let bytes = parts.compactMap { UInt8($0) }
        return parts.count == 4 && bytes.count == 4 ? bytes : nil
    }

    private static func version6(_ name: String) -> [UInt8]? {
        let halves = name.split(separator: "::", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let groups = halves.map { $0.split(separator: ":").map { UInt16($0, radix: 16) } }
        let head = groups[0].compactMap { $0 }
        let tail = groups.dropFirst().first?.compactMap { $0 } ?? []
        let missing = 8 - head.count - tail.count
        guard groups.allSatisfy({ $0.allSatisfy { $0 != nil } }), halves.count == 2 ? missing > 0 : missing == 0
        else { return nil }
        let all = head + Array(repeating: 0, count: missing) + tail
        return all.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
    }
}

/// A certificate in a test authority, with its key.
struct LabIssuer: Sendable {
    let certificate: [UInt8]
    let subject: DistinguishedName
    let key: SigningKey

    /// The organization in the names of a lab's authorities.
    ///
    /// Servers outside of a lab reject roots that contain it.
    static let organization = DistinguishedName.labOrganization

    static func root(_ subject: DistinguishedName) -> LabIssuer {
        let key = SigningKey()
        let template = Self.template(subject, key: key, serialNumber: LabSerial.random(), validity: LabDates.authority)
        return LabIssuer(certificate: template.signed(by: key, issuer: subject), subject: subject, key: key)
    }

    /// Creates an authority below this one, with a new key.
    func authority(
        _ subject: DistinguishedName,
        serialNumber: [UInt8] = LabSerial.random(),
        validity: ClosedRange<Timestamp> = LabDates.authority,
        marked: Bool = true
    ) -> LabIssuer {
        let key = SigningKey()
        var template = Self.template(subject, key: key, serialNumber: serialNumber, validity: validity)
        if !marked { template.extensions = [.signsCertificates] }
        template.extensions.append(.authorityKey(self.key.publicKey))
        return LabIssuer(certificate: self.issue(template), subject: subject, key: key)
    }

    /// Issues a certificate from a template.
    func issue(_ template: CertificateTemplate) -> [UInt8] {
        template.signed(by: self.key, issuer: self.subject)
    }

    private static func template(
        _ subject: DistinguishedName,
        key: SigningKey,
        serialNumber: [UInt8],
        validity: ClosedRange<Timestamp>
    ) -> CertificateTemplate {
        CertificateTemplate(
            serialNumber: serialNumber,
            subject: subject,
            validity: validity,
            publicKey: key.publicKey,
            extensions: [.authority, .signsCertificates, .subjectKey(key.publicKey)]
        )
    }
}

/// Serial numbers for a lab's certificates.
enum LabSerial {
    /// Returns sixteen random bytes.
    ///
    /// The first one ensures that the number is positive.
    static func random() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return [UInt8.random(in: 0x10...0x7F, using: &generator)]
            + (0..<15).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}

/// Validity periods for a lab's certificates.
///
/// They are long because the lab's clock can be moved forward by years.
enum LabDates {
    private static let day: Int64 = 86_400_000
    private static let start2020 = Timestamp(milliseconds: 1_577_836_800_000)
    private static let start2060 = Timestamp(milliseconds: 2_840_140_800_000)
    private static let start2048 = Timestamp(milliseconds: 2_461_449_600_000)

    /// From 2020 to 2060.
    static let authority = Self.start2020...Self.start2060
    /// From 1970 to 2048, as used by Android devices without a clock for their leaves.
    static let androidLeaf = Timestamp(milliseconds: 0)...Self.start2048

    /// Returns a period of `count` days that begins a day before `time`.
    static func days(_ count: Int64, around time: Timestamp) -> ClosedRange<Timestamp> {
        Self.from(time, dayOffset: -1, days: count)
    }

    /// Returns a period that ended an hour before `time`.
    static func past(before time: Timestamp) -> ClosedRange<Timestamp> {
        let end = time.milliseconds - 3_600_000
        return Timestamp(milliseconds: end - 30 * Self.day)...Timestamp(milliseconds: end)
    }

    /// Returns a period that begins a day after `time`.
    static func future(after time: Timestamp) -> ClosedRange<Timestamp> {
        Self.from(time, dayOffset: 1, days: 30)
    }

    private static func from(_ time: Timestamp, dayOffset: Int64, days: Int64) -> ClosedRange<Timestamp> {
        let start = time.milliseconds + dayOffset * Self.day
        return Timestamp(milliseconds: start)...Timestamp(milliseconds: start + days * Self.day)
    }
}
