import Evidence
import FoundationEssentials
import Lab
import HostSystem
import Testing
import Vocabulary

@Suite("A lab's test authority")
struct LabAuthorityTests {
    private let now = Timestamp(milliseconds: 1_800_000_000_000)
    private let key = SigningKey().publicKey
    private let description = KeyDescription(
        version: 300,
        securityLevel: .trustedEnvironment,
        challenge: [1],
        softwareEnforced: AuthorizationList(),
        hardwareEnforced: AuthorizationList()
    )

    @Test("an authority is read back as it was written, from files that only their owner can read")
    func files() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/authority"
            let authority = try LabAuthority.create(in: path)
            let copy = try LabAuthority.load(from: path)
            #expect(copy.androidRootCertificate == authority.androidRootCertificate)
            #expect(copy.appleRootCertificate == authority.appleRootCertificate)
            #expect(copy.tlsAuthorityPEM == authority.tlsAuthorityPEM)
            #expect(try DurableFile.mode(of: path) == 0o700)
            for name in try DurableFile.names(in: path) {
                #expect(try DurableFile.mode(of: "\(path)/\(name)") == 0o600, "\(name)")
            }
        }
    }

    @Test("a folder that contains an authority keeps it")
    func exists() throws {
        try withTemporaryFolder { folder in
            let authority = try LabAuthority.create(in: folder)
            #expect(throws: LabAuthorityError.self) { try LabAuthority.create(in: folder) }
            #expect(try LabAuthority.load(from: folder).androidRootCertificate == authority.androidRootCertificate)
        }
    }

    @Test("a missing file and the key of another certificate are reported with their path")
    func broken() throws {
        try withTemporaryFolder { folder in
            let root = "\(folder)/\(LabAuthority.File.androidRoot)"
            #expect(throws: LabAuthorityError.file(.notFound(root))) { try LabAuthority.load(from: folder) }
            _ = try LabAuthority.create(in: folder)
            let other = try DurableFile.read("\(folder)/apple-root.key.pem", atMost: 4096)
            try DurableFile.write(other, to: "\(folder)/android-root.key.pem")
            #expect(throws: LabAuthorityError.broken(path: root)) { try LabAuthority.load(from: folder) }
        }
    }

    @Test("every root carries the mark by which production rejects it")
    func mark() throws {
        let authority = LabAuthority()
        for root in [
            authority.androidRootCertificate, authority.appleRootCertificate, authority.tlsAuthorityCertificate,
        ] {
            #expect(try Certificate(decoding: root).isOfLab)
        }
    }

    @Test("an Android chain runs from the leaf to the root, with the description in the leaf alone")
    func androidChain() throws {
        let authority = LabAuthority()
        let chain = try authority.androidChain(for: self.key, description: self.description, at: self.now)
            .map { try Certificate(decoding: $0) }
        #expect(chain.count == 4)
        #expect(chain[3].encoded == authority.androidRootCertificate)
        #expect(chain[0].publicKey.p256 == self.key)
        #expect(chain.map { $0.values(of: .keyDescription).count } == [1, 0, 0, 0])
        #expect(chain[2].subject.serialNumber != nil)
        for (certificate, issuer) in zip(chain, chain.dropFirst()) { #expect(certificate.issuer == issuer.subject) }
    }

    @Test("an App Attest chain is leaf and authority, valid at its time, with the nonce in the leaf")
    func appAttestChain() throws {
        let authority = LabAuthority()
        let nonce = sha256([1])
        let chain = try authority.appAttestChain(for: self.key, nonce: nonce, at: self.now)
            .map { try Certificate(decoding: $0) }
        #expect(chain.count == 2)
        #expect(CertificateExtension.nonce(in: chain[0]) == nonce.bytes)
        #expect(chain[1].isAuthority)
        #expect(chain[0].notBefore < self.now && self.now < chain[0].notAfter)
        #expect(try chain[1].issuer == Certificate(decoding: authority.appleRootCertificate).subject)
    }

    @Test("a TLS server's certificate names hosts and addresses")
    func tls() throws {
        let authority = LabAuthority()
        let issued = authority.issueTLSServerCertificate(names: ["localhost", "127.0.0.1", "::1"])
        let certificate = try Certificate(decoding: #require(PEM.certificates(in: issued.chainPEM)?.first))
        let names = try #require(certificate.values(of: "2.5.29.17").first)
        let localhost: [UInt8] = [0x82, 9] + Array("localhost".utf8)
        let version4: [UInt8] = [0x87, 4, 127, 0, 0, 1]
        let version6: [UInt8] = [0x87, 16] + Array(repeating: 0, count: 15) + [1]
        #expect(names == [0x30, 35] + localhost + version4 + version6)
        #expect(certificate.publicKey.p256 == SigningKey(pem: issued.keyPEM)?.publicKey)
    }
}

/// Lends a new folder that is removed afterwards.
private func withTemporaryFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "lab-\(WalletID.random())").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body(folder)
}
