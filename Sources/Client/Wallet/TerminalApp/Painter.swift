package import HostSystem
internal import WalletFlows

/// Writes pictures to a terminal, limited to what has changed since the previous one.
package struct Painter: Sendable {
    private let palette: Palette
    private var shown: [String] = []
    private var printed: Picture?
    private var typed = 0

    package init(_ palette: Palette) {
        self.palette = palette
    }

    /// Forgets the terminal's contents, so that the next picture is drawn in full.
    mutating func forget() {
        self.shown = []
        self.printed = nil
    }

    /// Returns the text to write to the terminal for the picture.
    package mutating func paint(_ picture: Picture, _ size: TerminalSize) -> String {
        let renderer = Renderer(size: size, palette: self.palette)
        return self.palette.hasControl ? self.move(to: renderer.lines(picture)) : self.print(picture, renderer)
    }

    /// Returns the rows that have changed, each with its cursor position (ECMA-48: CUP, EL, ED).
    private mutating func move(to lines: [String]) -> String {
        var text = self.shown.count == lines.count ? "" : "\u{1B}[2J"
        let known = self.shown.count == lines.count
        for (row, line) in lines.enumerated() where !known || self.shown[row] != line {
            text += "\u{1B}[\(row + 1);1H\(line)\u{1B}[K"
        }
        self.shown = lines
        return text
    }

    /// Returns a mark for each new digit if only the typed digits have changed, or else the whole picture.
    private mutating func print(_ picture: Picture, _ renderer: Renderer) -> String {
        guard !picture.screen.step.isEmpty else { return "" }
        defer { self.typed = picture.typed }
        var calm = picture
        calm.typed = 0
        let change = Renderer.change(picture)
        let lines = change == self.printed ? self.shown : renderer.text(calm)
        self.printed = change
        if lines != self.shown {
            let isInLine = self.typed > 0
            self.shown = lines
            let marks = String(repeating: "*", count: picture.typed)
            return (isInLine ? "\n" : "") + "\n" + lines.joined(separator: "\n") + "\n" + marks
        }
        if picture.typed < self.typed { return "\n" + String(repeating: "*", count: picture.typed) }
        return String(repeating: "*", count: picture.typed - self.typed)
    }
}
