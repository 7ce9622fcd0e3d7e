/// The role of a piece of text.
///
/// Its appearance is defined by a ``Palette``.
package enum TextStyle: String, Hashable, Sendable, CaseIterable {
    case plain
    /// Background or less important content.
    case dim
    case title
    /// A banner or countdown.
    case warning
    /// A value that the user needs to read or write down carefully.
    case value
    /// Drawn by the operating system instead of the app.
    case system
    case selected
}

package struct StyledText: Hashable, Sendable {
    package var text: String
    package var style: TextStyle
}

/// The display capabilities of a terminal.
package struct Palette: Hashable, Sendable {
    /// Whether the terminal can display non-ASCII characters.
    package var hasUnicode: Bool
    /// Whether the terminal supports colors and the user wants them.
    package var hasColor: Bool
    /// Whether the terminal supports control sequences for bold text, reverse video and cursor movement.
    package var hasControl: Bool

    package init(hasUnicode: Bool, hasColor: Bool, hasControl: Bool) {
        self.hasUnicode = hasUnicode
        self.hasColor = hasColor
        self.hasControl = hasControl
    }

    /// Derives the capabilities from environment variables: the locale (see locale(7)), `TERM`, and `NO_COLOR` (see
    /// https://no-color.org).
    package init(environment value: (String) -> String?) {
        let locale = value("LC_ALL") ?? value("LC_CTYPE") ?? value("LANG") ?? ""
        let kind = value("TERM") ?? "dumb"
        self.hasUnicode = locale.lowercased().contains("utf-8") || locale.lowercased().contains("utf8")
        self.hasControl = kind != "dumb"
        self.hasColor = self.hasControl && value("NO_COLOR") == nil && !kind.hasSuffix("-m") && !kind.hasPrefix("vt")
    }

    /// The characters for boxes and symbols.
    var glyphs: Glyphs { self.hasUnicode ? .unicode : .ascii }

    /// Returns the control sequence that starts a style (ECMA-48, SGR).
    func begin(_ style: TextStyle) -> String {
        guard self.hasControl, style != .plain else { return "" }
        let codes =
            switch style {
            case .plain: "0"
            case .dim: "2"
            case .title: "1"
            case .warning: self.hasColor ? "33" : "1"
            case .value: self.hasColor ? "1;36" : "1"
            case .system: self.hasColor ? "34" : "0"
            case .selected: "7"
            }
        return "\u{1B}[\(codes)m"
    }

    /// The control sequence that resets all styles.
    var end: String { self.hasControl ? "\u{1B}[0m" : "" }
}

/// The characters used for drawing.
struct Glyphs: Hashable, Sendable {
    /// The characters for a box: its corners, clockwise from the upper left, and its horizontal and vertical lines.
    struct Box: Hashable, Sendable {
        var corners: [Character]
        var horizontal: Character
        var vertical: Character
    }

    var screen: Box
    var prompt: Box
    var system: Box
    var typed: Character
    var missing: Character
    var pointer: Character
    var separator: Character
    var ellipsis: String

    static let unicode = Glyphs(
        screen: Box(corners: ["╭", "╮", "╯", "╰"], horizontal: "─", vertical: "│"),
        prompt: Box(corners: ["┏", "┓", "┛", "┗"], horizontal: "━", vertical: "┃"),
        system: Box(corners: ["╔", "╗", "╝", "╚"], horizontal: "═", vertical: "║"),
        typed: "●",
        missing: "○",
        pointer: "›",
        separator: "·",
        ellipsis: "…"
    )
    static let ascii = Glyphs(
        screen: Box(corners: ["+", "+", "+", "+"], horizontal: "-", vertical: "|"),
        prompt: Box(corners: ["*", "*", "*", "*"], horizontal: "-", vertical: "|"),
        system: Box(corners: ["#", "#", "#", "#"], horizontal: "=", vertical: "#"),
        typed: "*",
        missing: "_",
        pointer: ">",
        separator: "-",
        ellipsis: "..."
    )
}
