/// The role of a piece of text; a ``Palette`` defines its appearance.
package enum TextStyle: String, Hashable, Sendable, CaseIterable {
    case plain
    /// Content in the background or of minor importance.
    case dim
    case title
    /// A banner or a countdown.
    case warning
    /// A value that the user reads or writes down carefully.
    case value
    /// Drawn by the operating system, not by the app.
    case system
    case selected
}

/// A text in one style.
package struct StyledText: Hashable, Sendable {
    package var text: String
    package var style: TextStyle
}

/// The capabilities of a terminal.
package struct Palette: Hashable, Sendable {
    /// True if it displays characters other than ASCII.
    package var hasUnicode: Bool
    /// True if it displays colors and the user wants them.
    package var hasColor: Bool
    /// True if it supports control sequences: bold, reverse video, cursor movement.
    package var hasControl: Bool

    package init(hasUnicode: Bool, hasColor: Bool, hasControl: Bool) {
        self.hasUnicode = hasUnicode
        self.hasColor = hasColor
        self.hasControl = hasControl
    }

    /// Derives the capabilities from environment variables: locale(7), TERM, and
    /// https://no-color.org.
    package init(environment value: (String) -> String?) {
        let locale = value("LC_ALL") ?? value("LC_CTYPE") ?? value("LANG") ?? ""
        let kind = value("TERM") ?? "dumb"
        self.hasUnicode = locale.lowercased().contains("utf-8") || locale.lowercased().contains("utf8")
        self.hasControl = kind != "dumb"
        self.hasColor = self.hasControl && value("NO_COLOR") == nil && !kind.hasSuffix("-m") && !kind.hasPrefix("vt")
    }

    /// The characters of boxes and marks.
    var glyphs: Glyphs { self.hasUnicode ? .unicode : .ascii }

    /// The control sequence that begins a style (ECMA-48, SGR).
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

    /// The control sequence that ends all styles.
    var end: String { self.hasControl ? "\u{1B}[0m" : "" }
}

/// The drawing characters.
struct Glyphs: Hashable, Sendable {
    /// The corners clockwise from the upper left, then the horizontal and the vertical line.
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
