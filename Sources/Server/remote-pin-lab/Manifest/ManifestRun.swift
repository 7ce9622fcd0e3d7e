internal import ArgumentParser
internal import AttestationVerifier
internal import Foundation
internal import HostSystem

/// Verifies the evidence of a manifest as registration does.
struct CheckManifestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-attestation",
        abstract: "Verify the evidence of every case of a manifest.",
        discussion: """
            Prints one line for each case: the result and the expected one. The exit status is 0 only if all agree.

              remote-pin-lab check-attestation vectors/manifest.json

            `remote-pin-server check-attestation` explains one phone's evidence.
            """
    )

    @Argument(
        help: ArgumentHelp("A manifest (format attestation-vectors/1).", valueName: "manifest.json"),
        completion: .file(extensions: ["json"])
    )
    var manifest: String

    /// EX_DATAERR in sysexits.h.
    private static let dataStatus: Int32 = 65

    func run() async throws {
        try await LabProgram.reporting {
            let file = URL(fileURLWithPath: self.manifest).standardizedFileURL
            do {
                guard try ManifestRun(file).run() else { throw ExitCode(1) }
            } catch let error as ManifestError {
                StandardStreams.writeError("remote-pin-lab: \(file.path): \(error)\n")
                throw ExitCode(Self.dataStatus)
            }
        }
    }
}

/// Verifies every case in a manifest and reports the results.
struct ManifestRun {
    private static let longestManifest = 256 << 20
    private static let longestFile = 16 << 20

    private let manifest: AttestationManifest
    private let folder: String

    /// Reads a manifest.
    init(_ file: URL) throws {
        self.manifest = try AttestationManifest(json: try DurableFile.read(file.path, atMost: Self.longestManifest))
        self.folder = file.deletingLastPathComponent().path
    }

    /// Prints a line for each case, followed by a summary.
    ///
    /// Returns whether the outcome of every case is the expected one.
    func run() throws -> Bool {
        let ids = self.manifest.ids
        let showsProgress = Terminal.isTerminal(2) && !Terminal.isTerminal(1)
        var agreeing = 0
        for index in ids.indices {
            let verdict = self.manifest.judge(index, reading: self.read)
            agreeing += verdict.agrees ? 1 : 0
            StandardStreams.writeOutput(Self.lines(of: verdict))
            if showsProgress { StandardStreams.writeError("\r\(index + 1) of \(ids.count)") }
        }
        if showsProgress { StandardStreams.writeError("\r\u{1B}[K") }
        let difference = ids.count - agreeing
        StandardStreams.writeOutput(
            "\(agreeing) of \(ids.count) cases agree" + (difference == 0 ? "\n" : ", \(difference) do not\n")
        )
        return difference == 0 && !ids.isEmpty
    }

    private static func lines(of verdict: ManifestVerdict) -> String {
        func word(_ outcome: String) -> String { outcome == "accept" ? "accepted" : outcome }
        let head = "\(verdict.agrees ? "ok   " : "WRONG") \(verdict.id): \(word(verdict.outcome))"
        let expected = verdict.expected.isEmpty ? "" : " (expected \(word(verdict.expected)))"
        return head + expected + "\n" + verdict.differences.map { "        \($0)\n" }.joined()
    }

    /// Reads a file named in the manifest.
    ///
    /// Only files below the manifest's folder are read.
    private func read(_ path: String) -> [UInt8]? {
        guard !path.hasPrefix("/"), !path.split(separator: "/").contains("..") else { return nil }
        return try? DurableFile.read("\(self.folder)/\(path)", atMost: Self.longestFile)
    }
}

/// A reason why a manifest or one of its cases cannot be judged.
///
/// Report it to the author of the manifest.
enum ManifestError: Error, Hashable, CustomStringConvertible {
    case notAManifest(String)
    case unknownFormat(String)
    /// An input for the case is missing or cannot be read.
    case missing(String)

    var description: String {
        switch self {
        case .notAManifest(let reason): "not a manifest: \(reason)"
        case .unknownFormat(let format): "unknown format \(format)"
        case .missing(let name): "missing or unreadable: \(name)"
        }
    }
}

/// The result of verifying the evidence of one case.
struct JudgedEvidence {
    var refusal: AttestationRefusal?
    var verification = Verification()
    let facts: ManifestValue
}

/// The actual and the expected outcome of a case.
struct ManifestVerdict: Hashable, Sendable {
    let id: String
    /// `accept`, or the reason for the rejection.
    let outcome: String
    /// `accept`, or the expected reason.
    let expected: String
    /// The differences in the outcome or in parsed fields, empty if everything matches.
    let differences: [String]
    /// The number of signatures checked.
    var signatureChecks = 0

    var agrees: Bool { self.differences.isEmpty }

    init(id: String, outcome: String, expected: String, differences: [String]) {
        self.id = id
        self.outcome = outcome
        self.expected = expected
        self.differences = differences
    }

    init(_ item: ManifestFile.Case, _ judged: JudgedEvidence) {
        let outcome = judged.refusal?.rawValue ?? "accept"
        let expected = item.expected.outcome == "accept" ? "accept" : item.expected.reason ?? "reject"
        let allowed = [expected] + (item.expected.outcome == "accept" ? [] : item.expected.reasonAlternatives ?? [])
        var differences = allowed.contains(outcome) ? [] : ["outcome: expected \(expected), found \(outcome)"]
        if let fields = item.expected.fields {
            differences += ManifestValue.differences(expected: fields, found: judged.facts)
        }
        self.init(id: item.id, outcome: outcome, expected: expected, differences: differences)
        self.signatureChecks = judged.verification.signatureChecks
    }
}
