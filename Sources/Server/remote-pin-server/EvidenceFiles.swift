internal import Evidence
internal import HostSystem
internal import ServerCommandLine

/// A piece of evidence read from files.
///
/// Its kind is derived from the contents.
enum EvidenceFiles {
    /// A chain of DER certificates, leaf first.
    case android([[UInt8]])
    case appleAttestation([UInt8])
    case appleAssertion([UInt8])

    private static let longest = 1 << 20

    /// Reads evidence from one file, or from one file per certificate for an Android chain.
    static func read(_ paths: [String]) throws -> EvidenceFiles {
        let files = try paths.map { path in
            (path: path, bytes: try explaining(.files) { try InputFile.read(path, atMost: Self.longest) })
        }
        guard let first = files.first else { throw StartFailure(.data, "no file was named; use --evidence FILE") }
        if let apple = Self.apple(first.bytes) {
            guard files.count == 1 else {
                throw StartFailure(.data, "\(first.path) is App Attest evidence; name only that file")
            }
            return apple
        }
        var chain: [[UInt8]] = []
        for file in files { chain += try Self.certificates(file.bytes, path: file.path) }
        return .android(chain)
    }

    /// Recognizes an attestation object or an assertion by its CBOR map.
    ///
    /// Any other input that starts like a map is treated as an attestation object, which the verifier then rejects.
    private static func apple(_ bytes: [UInt8]) -> EvidenceFiles? {
        guard let first = bytes.first, 0xA0...0xBF ~= first else { return nil }
        let isAssertion = (try? AppAttestAssertion(decoding: bytes)) != nil
        return isAssertion ? .appleAssertion(bytes) : .appleAttestation(bytes)
    }

    private static func certificates(_ bytes: [UInt8], path: String) throws -> [[UInt8]] {
        if bytes.first == 0x30 { return [bytes] }
        let text = String(decoding: bytes, as: UTF8.self)
        guard let certificates = PEM.certificates(in: text), !certificates.isEmpty else {
            let forms = "certificates (PEM or DER) nor the CBOR of App Attest"
            throw StartFailure(.data, "\(path) holds neither \(forms)")
        }
        return certificates
    }
}
