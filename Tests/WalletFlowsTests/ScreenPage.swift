import Vocabulary

@testable import WalletFlows

/// The page docs/screens.md: every screen that the walks have shown.
struct ScreenPage {
    private struct Entry {
        /// English and Dutch texts, each as `**title** message`.
        var texts: Set<[String]> = []
        var inputs: Set<String> = []
        var actions: Set<String> = []
        var values: Set<String> = []
    }

    /// The screens of each step, by kind: an error screen has the step of the prompt or screen in whose place it is.
    private var entries: [String: [String: Entry]] = [:]
    private var known: Set<Scene> = []

    /// Adds a screen in every language.
    mutating func add(_ scene: Scene, _ snapshot: Snapshot) {
        guard self.known.insert(scene).inserted else { return }
        let screens = Wording.Language.allCases.map {
            Wording(language: $0).screen(scene, at: snapshot.now, uptime: snapshot.uptime)
        }
        let screen = screens[0]
        var entry = self.entries[screen.step, default: [:]][screen.kind.rawValue] ?? Entry()
        entry.texts.insert(screens.map(Self.text))
        entry.inputs.formUnion(screen.inputs.map { $0.id == "pin" ? "a PIN" : "a biometric" })
        entry.actions.formUnion(screen.actions.map(\.id.rawValue))
        entry.values.formUnion(screen.values.keys.filter { !ScreenValues.ofAnyScreen.contains($0) })
        self.entries[screen.step, default: [:]][screen.kind.rawValue] = entry
    }

    /// The names of the values by step.
    var values: [String: Set<String>] {
        self.entries.mapValues { $0.values.reduce(into: []) { $0.formUnion($1.values) } }
    }

    /// The page's text.
    var markdown: String {
        var lines = [
            "# Screens",
            "",
            "Every screen of the app, generated from the flows; a test fails if this page is out of date.",
            "`UPDATE_GOLDENS=1 swift test --filter StepCoverageTests` writes it. N stands for a number. Any",
            "screen can also have the values `banner` (about an update) and `notice` (about attempts, with",
            "`wrongPINs`, `wrongPINsSinceMs` and `tampering`). Several kinds of a step have a row each.",
            "[steps.txt](steps.txt) lists the steps, [testing-guide.md](testing-guide.md) shows how a",
            "scenario names a screen, its actions and its values.",
        ]
        var flow = ""
        for step in StepID.all.map(\.description) {
            guard let entries = self.entries[step] else { continue }
            let name = String(step.prefix { $0 != "/" })
            if name != flow {
                lines += ["", "## \(name)", "", "| step | kind | English | Dutch | asks for | actions | values |"]
                lines.append("| --- | --- | --- | --- | --- | --- | --- |")
                flow = name
            }
            lines += entries.sorted { $0.key < $1.key }.map { Self.row(step, $0.key, $0.value) }
        }
        lines += ["", "## Actions", "", "| action | English | Dutch |", "| --- | --- | --- |"]
        let start = Timestamp(milliseconds: 0)
        for action in ActionID.allCases.sorted(by: { $0.rawValue < $1.rawValue }) {
            let titles = [
                English(product: Wording().product, now: start, uptime: .zero).title(action),
                Dutch(product: Wording().product, now: start, uptime: .zero).title(action),
            ]
            lines.append("| `\(action.rawValue)` | \(titles.joined(separator: " | ")) |")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func row(_ step: String, _ kind: String, _ entry: Entry) -> String {
        let texts = entry.texts.sorted { $0.lexicographicallyPrecedes($1) }
        let columns = [0, 1].map { language in
            var seen: Set<String> = []
            return texts.map { $0[language] }.filter { seen.insert($0).inserted }.joined(separator: "<br>")
        }
        let names = [entry.actions, entry.values].map { $0.sorted().map { "`\($0)`" }.joined(separator: " ") }
        let inputs = entry.inputs.sorted().joined(separator: " ")
        let cells = ["`\(step)`", kind] + columns + [inputs] + names
        return "| \(cells.joined(separator: " | ")) |".replacing("|  |", with: "| |").replacing("|  |", with: "| |")
    }

    /// Title and message; a number in the message, which depends on the moment, becomes N.
    private static func text(_ screen: Screen) -> String {
        let message = screen.message.replacing(/[0-9]+/, with: "N").replacing("\n", with: " ")
        return "**\(screen.title)** \(message)".trimmingSuffix { $0 == " " }
    }
}

extension String {
    fileprivate func trimmingSuffix(while predicate: (Character) -> Bool) -> String {
        var text = self[...]
        while let last = text.last, predicate(last) { text.removeLast() }
        return String(text)
    }
}
