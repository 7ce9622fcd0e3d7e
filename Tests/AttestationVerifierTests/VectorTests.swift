import AttestationVerifier
import FoundationEssentials
import Testing
import Vocabulary

@testable import remote_pin_lab

/// The attestation vectors, which are outside the repository because of their sources' licenses.
enum Vectors {
    /// The folder in `REMOTE_PIN_VECTORS`, otherwise `../shared/vectors/attestation` next to the package.
    static let folder: String = {
        if let folder = ProcessInfo.processInfo.environment["REMOTE_PIN_VECTORS"] { return folder }
        let package = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        return "/" + package + "/../shared/vectors/attestation"
    }()

    static let manifest: AttestationManifest? = {
        guard let json = Self.read("manifest.json") else {
            print(
                "skipped: no attestation vectors at \(Self.folder); set REMOTE_PIN_VECTORS to their folder"
            )
            return nil
        }
        return try? AttestationManifest(json: json)
    }()

    /// One case, named in the test's output.
    struct Case: Sendable, CustomTestStringConvertible {
        let index: Int
        let testDescription: String
    }

    static let cases: [Case] = (Self.manifest?.ids ?? []).enumerated().map { index, id in
        Case(index: index, testDescription: id)
    }

    static func read(_ path: String) -> [UInt8]? {
        FileManager.default.contents(atPath: "\(Self.folder)/\(path)").map { Array($0) }
    }
}

@Suite("Evidence of real phones, and variants that must fail", .enabled(if: Vectors.manifest != nil))
struct VectorTests {
    @Test("each case ends as the manifest says, with the fields that it states", arguments: Vectors.cases)
    func agreement(_ vector: Vectors.Case) throws {
        let manifest = try #require(Vectors.manifest)
        let verdict = manifest.judge(vector.index, reading: Vectors.read)
        #expect(verdict.agrees, "\(verdict.differences.joined(separator: "; "))")
        #expect(verdict.signatureChecks <= EvidenceLimits.signatureChecks)
    }
}

extension VectorTests {
    @Test(
        "the pinned roots of the vendors are those in the vectors",
        arguments: [
            ("google-rsa-2016", "google-rsa"), ("google-rsa-2019", "google-rsa"), ("google-rsa-2021", "google-rsa"),
            ("google-rsa-2022", "google-rsa"), ("google-ec-2025", "google-ec"),
            ("apple-app-attestation-root", "apple-app-attestation"),
        ]
    )
    func pinnedRoots(file: String, name: String) throws {
        let certificate = try #require(Vectors.read("common/roots/\(file).der"))
        let anchor = try #require(TrustAnchor(name: file, certificate: certificate))
        let pinned = (TrustAnchor.google + TrustAnchor.apple).filter { $0.keyHash == anchor.keyHash }
        #expect(pinned.map(\.name) == [name])
        #expect(!anchor.isOfLab)
    }

    @Test("the vendor and boot patch levels of six digits are months")
    func monthLevels() throws {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let json = try #require(Vectors.read("manifest.json"))
        let file = try decoder.decode(ManifestFile.self, from: Data(json))
        var months: Set<Int> = []
        for item in file.cases {
            let description = item.expected.fields?["key_description"]
            for list in ["softwareEnforced", "hardwareEnforced"] {
                for name in ["vendorPatchLevel", "bootPatchLevel"] {
                    guard case .integer(let value)? = description?[list]?[name], let number = Int(exactly: value),
                        (100_000...999_999).contains(number)
                    else { continue }
                    let level = try #require(PatchLevel(stated: number), "\(item.id): \(name) \(number)")
                    #expect(level.year * 100 + level.month == number && level.day == nil, "\(item.id): \(name)")
                    months.insert(number)
                }
            }
        }
        #expect(!months.isEmpty)
    }
}

extension ManifestValue {
    /// The member of an object.
    fileprivate subscript(name: String) -> ManifestValue? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }
}
