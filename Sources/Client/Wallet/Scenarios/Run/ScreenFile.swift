internal import HostSystem
internal import Synchronization
internal import SimulatedPhone
internal import WalletFlows

/// A file of `expect screen`: whole screens as text, in every language and at two sizes of the terminal.
///
/// It has one part for each screen, in the order of docs/steps.txt, so that the order of a run does not change it.
/// Values that differ in each run are masked: letters and digits of codes and addresses are `x`, and `N` stands for a
/// number in the text of a countdown. The time of a wrong PIN in a notice is `TIME`.
struct ScreenFile {
    /// A screen, a language and a size.
    struct Place: Hashable {
        var step: String
        var language: Wording.Language
        var size: TerminalSize

        var heading: String { "\(self.step) \(self.variant)" }

        /// The language and size, such as `nl 40x12`.
        var variant: String { "\(self.language.rawValue) \(self.size.columns)x\(self.size.rows)" }
    }

    /// The rows that a terminal shows at a place, without blanks at their ends.
    struct Capture {
        var place: Place
        var rows: [String]
    }

    /// The smallest terminal, and a usual one.
    private static let sizes = [Renderer.smallest, TerminalSize(columns: 80, rows: 24)]

    private static let head = """
        Screens as text, written by `wallet run --update` (docs/testing-guide.md).

        """

    /// Only one scenario at a time changes files.
    private static let isChanging = Mutex(())

    /// The rows below each heading.
    private var parts: [String: [String]] = [:]

    /// Reads a file, which may not exist yet.
    init(_ path: String) throws(StepProblem) {
        let text = try mapError(ifPresent(DurableFile.readText(path, atMost: 1 << 22))) { (error: FileError) in
            StepProblem.failed("\(error)")
        }
        guard let text else { return }
        var heading: String?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            if line.hasPrefix(Self.mark) {
                heading = String(line.dropFirst(Self.mark.count))
                heading.map { self.parts[$0] = [] }
            } else if let heading {
                self.parts[heading]?.append(line)
            }
        }
        // An empty line separates the parts.
        self.parts = self.parts.mapValues { rows in Array(rows.reversed().drop(while: \.isEmpty).reversed()) }
    }

    /// The beginning of a heading, which no row of a screen has.
    private static let mark = "== "

    /// Returns the picture at each size.
    static func captures(of picture: Picture, in language: Wording.Language) -> [Capture] {
        var picture = picture
        picture.screen = picture.screen.masked
        picture.behind = picture.behind?.masked
        let palette = Palette(hasUnicode: true, hasColor: false, hasControl: false)
        return Self.sizes.map { size in
            let rows = Renderer(size: size, palette: palette).lines(picture).map { row in
                String(row.reversed().drop { $0 == " " }.reversed())
            }
            return Capture(place: Place(step: picture.screen.step, language: language, size: size), rows: rows)
        }
    }

    /// Adds the differences from the file's part for each capture.
    func compare(_ captures: [Capture], _ found: inout Differences) {
        for capture in captures {
            guard let rows = self.parts[capture.place.heading] else {
                found.add(capture.place.variant, "the screen \(capture.place.step)", "none in the file")
                continue
            }
            for index in 0..<max(rows.count, capture.rows.count) {
                let (expected, seen) = (Self.row(index, of: rows), Self.row(index, of: capture.rows))
                if expected != seen { found.add("\(capture.place.variant), row \(index + 1)", expected, seen) }
            }
        }
    }

    private static func row(_ index: Int, of rows: [String]) -> String { index < rows.count ? rows[index] : "" }

    /// Writes the captures to a file, whose other parts stay.
    static func update(_ path: String, with captures: [Capture]) throws(StepProblem) {
        try Self.isChanging.withLock { _ throws(StepProblem) in
            var file = try ScreenFile(path)
            for capture in captures { file.parts[capture.place.heading] = capture.rows }
            do throws(FileError) {
                try DurableFile.makeFolder(DurableFile.folder(of: path), mode: 0o755)
                try OutputFile.write(Array(file.text.utf8), to: path)
            } catch {
                throw .failed("\(error)")
            }
        }
    }

    private var text: String {
        let order = Dictionary(
            StepID.all.enumerated().map { ($0.element.description, $0.offset) },
            uniquingKeysWith: { first, _ in first }
        )
        let parts = self.parts.sorted { left, right in
            let (first, second) = (left.key.prefix { $0 != " " }, right.key.prefix { $0 != " " })
            return (order[String(first)] ?? 0, left.key) < (order[String(second)] ?? 0, right.key)
        }
        return Self.head + parts.map { "\n\(Self.mark)\($0.key)\n\($0.value.joined(separator: "\n"))\n" }.joined()
    }
}

extension Screen {
    /// Returns a notice with a mask for each day and time, such as `Tuesday 14:05` or `1 January 2027 14:05`.
    private static func timeless(_ notice: String) -> String {
        notice.replacing(/([0-9]{1,2} \p{L}+( [0-9]{4})?|\p{L}+) [0-9]{2}:[0-9]{2}/, with: "TIME")
    }

    /// The screen without the values that differ in each run.
    fileprivate var masked: Screen {
        var screen = self
        for name in ["deletionCode", "correlationID", "server"] {
            guard case .text(let text) = screen.values[name] else { continue }
            let mask = String(text.map { $0.isLetter || $0.isNumber ? "x" : $0 })
            screen.values[name] = .text(mask)
            screen.message = screen.message.split(separator: text, omittingEmptySubsequences: false)
                .joined(separator: mask)
        }
        if case .text(let notice) = screen.values["notice"] { screen.values["notice"] = .text(Self.timeless(notice)) }
        if case .number(let remaining) = screen.values["remainingMs"] {
            screen.values["remainingMs"] = .number((remaining + 59_999) / 60_000 * 60_000)
            screen.message = screen.message.replacing(/[0-9]+/, with: "N")
        }
        return screen
    }
}
