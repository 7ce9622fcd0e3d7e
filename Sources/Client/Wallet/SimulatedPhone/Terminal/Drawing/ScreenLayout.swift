internal import Vocabulary
internal import WalletFlows

/// The lines of a screen in reading order, before they are positioned.
struct ScreenLayout {
    /// A styled line of text.
    struct Line: Hashable, Sendable {
        var text: String
        var style = TextStyle.plain
        /// Whether the end of the text is missing.
        var isCut = false

        static let empty = Line(text: "")
    }

    /// The amount of content that is left out to save space.
    enum Density: Int, CaseIterable {
        case airy, tight
        /// Several actions share a line.
        case dense
        /// The message is truncated to the available height.
        case cut
    }

    let upper: [Line]
    let lower: [Line]

    /// Lays out a screen in `width` columns, with `upper` at the top and the actions in `lower` at the bottom.
    init(_ screen: Screen, _ picture: Picture, _ keys: KeyMap, width: Int, height: Int, _ palette: Palette) {
        var chosen: (upper: [Line], lower: [Line]) = ([], [])
        for density in Density.allCases {
            let builder = ScreenLayoutBuilder(
                screen: screen,
                picture: picture,
                width: width,
                palette: palette,
                density: density
            )
            chosen = (builder.upper, builder.actions(keys))
            let gap = density == .airy ? 1 : 0
            let isCut = chosen.lower.contains(where: \.isCut)
            if chosen.upper.count + gap + chosen.lower.count <= height, !isCut { break }
        }
        // The title and the actions are never left out.
        let room = max(1, height - chosen.lower.count)
        if chosen.upper.count > room {
            chosen.upper = Array(chosen.upper.prefix(room))
            chosen.upper[room - 1].text = Columns.cut(chosen.upper[room - 1].text, to: width, palette.glyphs.ellipsis)
        }
        self.upper = chosen.upper
        self.lower = Array(chosen.lower.prefix(height))
    }
}

struct ScreenLayoutBuilder {
    let screen: Screen
    let picture: Picture
    let width: Int
    let palette: Palette
    let density: ScreenLayout.Density

    /// All lines except for the actions.
    var upper: [ScreenLayout.Line] {
        var parts: [[ScreenLayout.Line]] = []
        for name in ["banner", "notice"] {
            if case .text(let text) = self.screen.values[name] { parts.append(self.wrapped(text, .warning)) }
        }
        parts.append(self.wrapped(self.screen.title, .title))
        parts.append(self.wrapped(self.screen.message, .plain))
        parts.append(self.code)
        parts.append(self.countdown)
        parts.append(self.rows)
        parts.append(self.dots)
        let gap: [ScreenLayout.Line] = self.density == .airy ? [.empty] : []
        return Array(parts.filter { !$0.isEmpty }.joined(separator: gap))
    }

    /// Returns the actions with their keys, either one or several per line.
    func actions(_ keys: KeyMap) -> [ScreenLayout.Line] {
        let glyphs = self.palette.glyphs
        let isDense = self.density.rawValue >= ScreenLayout.Density.dense.rawValue
        let entries = keys.entries.enumerated().map { index, entry in
            let isSelected = self.picture.selected == index
            let mark = isSelected ? String(glyphs.pointer) : " "
            let title = Columns.harmless(isDense ? entry.short : entry.title, self.palette)
            let text = isDense ? "\(mark)\(entry.key) \(title) " : "\(mark) \(entry.key)  \(title) "
            return (text: text, isSelected: isSelected)
        }
        guard isDense else {
            return entries.map { entry in
                ScreenLayout.Line(
                    text: Columns.fit(entry.text, to: self.width, glyphs.ellipsis),
                    style: entry.isSelected ? .selected : .plain,
                    isCut: Columns.width(entry.text) > self.width
                )
            }
        }
        var lines: [ScreenLayout.Line] = []
        for entry in entries {
            if let last = lines.last, Columns.width(last.text) + Columns.width(entry.text) <= self.width {
                lines[lines.count - 1].text += entry.text
            } else {
                lines.append(ScreenLayout.Line(text: Columns.fit(entry.text, to: self.width, glyphs.ellipsis)))
            }
        }
        return lines
    }

    /// The deletion code.
    ///
    /// If there is room, it is spaced out between two rules, since users copy it by hand.
    private var code: [ScreenLayout.Line] {
        guard case .text(let code) = self.screen.values["deletionCode"] else { return [] }
        let groups = code.split(separator: "-").map { $0.map(String.init).joined(separator: " ") }
        let spaced = groups.joined(separator: " - ")
        var lines = [ScreenLayout.Line(text: spaced, style: .value)]
        if Columns.width(spaced) > self.width {
            let middle = (groups.count + 1) / 2
            let halves = [
                groups[..<middle].joined(separator: " - ") + " -", groups[middle...].joined(separator: " - "),
            ]
            lines = halves.map { ScreenLayout.Line(text: $0, style: .value) }
        }
        switch self.density {
        case .airy:
            let width = min(self.width, (lines.map { Columns.width($0.text) }.max() ?? 0) + 4)
            let rule = String(repeating: String(self.palette.glyphs.screen.horizontal), count: width)
            let frame = ScreenLayout.Line(text: rule, style: .dim)
            return [frame] + lines.map { ScreenLayout.Line(text: $0.text, style: .value) } + [frame]
        case .tight: return lines
        case .dense, .cut: return [ScreenLayout.Line(text: code, style: .value)]
        }
    }

    /// The remaining time of a block, formatted as a clock.
    ///
    /// The message contains it in words.
    private var countdown: [ScreenLayout.Line] {
        guard case .number(let remaining) = self.screen.values["remainingMs"] else { return [] }
        let seconds = max(0, remaining).dividedRoundingUp(by: 1000)
        let clock = [seconds / 3600, seconds / 60 % 60, seconds % 60].drop { $0 == 0 && seconds < 3600 }
        let two = (clock.count < 2 ? [0] + clock : clock).map { $0 < 10 ? "0\($0)" : "\($0)" }
        return [ScreenLayout.Line(text: two.joined(separator: ":"), style: .warning)]
    }

    /// The names and values that the message does not mention.
    private var rows: [ScreenLayout.Line] {
        let said: Set = [
            "banner", "notice", "deletionCode", "remainingMs", "attemptsLeft", "finalRound", "rule", "correlationID",
            "cause", "wrongPINs", "wrongPINsSinceMs", "tampering", "attemptHint",
        ]
        return self.screen.values.filter { !said.contains($0.key) }.sorted { $0.key < $1.key }.map { name, value in
            let text =
                switch value {
                case .text(let text): text
                case .number(let number): "\(number)"
                case .truth(let truth): self.picture.words(truth ? "yes" : "no")
                }
            let line = Columns.harmless("\(self.picture.words(name)): \(text)", self.palette)
            return ScreenLayout.Line(text: Columns.fit(line, to: self.width, self.palette.glyphs.ellipsis))
        }
    }

    /// One mark per typed digit.
    ///
    /// The digits themselves are never shown.
    private var dots: [ScreenLayout.Line] {
        guard let input = self.screen.inputs.first(where: { $0.id == "pin" }) else { return [] }
        let glyphs = self.palette.glyphs
        let marks = (0..<input.length).map { String($0 < self.picture.typed ? glyphs.typed : glyphs.missing) }
        return [ScreenLayout.Line(text: marks.joined(separator: " "), style: .value)]
    }

    private func wrapped(_ text: String, _ style: TextStyle) -> [ScreenLayout.Line] {
        text.split(separator: "\n").flatMap { line in
            Columns.wrap(Columns.harmless(String(line), self.palette), to: self.width).map {
                ScreenLayout.Line(text: $0, style: style)
            }
        }
    }
}
