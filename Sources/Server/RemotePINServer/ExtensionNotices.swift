internal import Evidence
internal import Logging
internal import Synchronization

/// Logs extension data of App Attest that this version does not know.
///
/// A later iOS may write it at each session of each iPhone, so each kind is logged once per process. It is noted only
/// after the signature has been verified: a caller without an attested key cannot use up the only line.
final class ExtensionNotices: Sendable {
    private let log: Logger
    private let logged = Mutex<Set<AppAttestExtensions.Novelty>>([])

    init(log: Logger) {
        self.log = log
    }

    func note(_ extensions: AppAttestExtensions?) {
        guard let extensions, !extensions.novelties.isEmpty else { return }
        let news = self.logged.withLock { logged in
            defer { logged.formUnion(extensions.novelties) }
            return extensions.novelties.subtracting(logged)
        }
        for novelty in news.sorted(by: { $0.rawValue < $1.rawValue }) {
            self.log.notice(
                "skipped App Attest extension data of an unknown kind, which is logged once",
                metadata: ["kind": "\(novelty.rawValue)", "names": "\(Self.names(in: extensions))"]
            )
        }
    }

    /// Returns the first names of extensions, without characters that a log line must not contain.
    ///
    /// A device with a compromised system can write anything into them.
    private static func names(in extensions: AppAttestExtensions) -> String {
        let names = extensions.entries.prefix(8).map { entry in
            guard case .text(let text) = entry.key else { return "?" }
            let visible = text.unicodeScalars.prefix(40).map { (0x21...0x7E).contains($0.value) ? $0 : "?" }
            return String(String.UnicodeScalarView(visible))
        }
        return names.joined(separator: " ")
    }
}
