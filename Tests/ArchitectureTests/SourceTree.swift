import Foundation

/// The repository's Swift sources, as text.
struct SourceTree {
    struct File {
        /// Relative to the repository, as in `Sources/Shared/Wire/Request.swift`.
        let path: String
        let text: String

        var lines: [Substring] { self.text.split(separator: "\n", omittingEmptySubsequences: false) }

        /// The name of the target's folder, as in `Sources/Shared/Wire` or `Sources/Client/Wallet/WalletCore`.
        var target: String {
            let parts = self.path.split(separator: "/")
            let depth = self.path.hasPrefix("Sources/Client/") ? 3 : 2
            return parts.count > depth + 1 ? String(parts[depth]) : ""
        }
    }

    let root: URL

    /// Finds the repository from this file's own place in it.
    init(file: String = #filePath) {
        self.root = URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
    }

    /// Every Swift file below `folder`.
    func files(below folder: String) throws -> [File] {
        let top = self.root.appendingPathComponent(folder)
        guard let walk = FileManager.default.enumerator(at: top, includingPropertiesForKeys: nil) else { return [] }
        var files: [File] = []
        for case let url as URL in walk where url.pathExtension == "swift" {
            let path = String(url.path.dropFirst(self.root.path.count + 1))
            files.append(File(path: path, text: try String(contentsOf: url, encoding: .utf8)))
        }
        return files
    }
}
