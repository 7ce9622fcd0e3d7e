package import HostSystem
internal import WalletFlows

/// Writes pictures to a terminal, limited to what has changed since the previous one.
package struct Painter: Sendable {
    private let palette: Palette
    private var shown: [String] = []
    private var printed: Picture?
    /// The text that the user has typed below the printed lines.
    private var typed = ""
    /// The printed line with the keys of every screen.
    private var keys = ""

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

    /// Returns the new part of the typed text if only that has changed, or else the whole picture.
    ///
    /// The keys of every screen are printed once, and again if they change.
    private mutating func print(_ picture: Picture, _ renderer: Renderer) -> String {
        guard !picture.screen.step.isEmpty else { return "" }
        let typed = renderer.typed(picture)
        defer { self.typed = typed }
        let change = Renderer.change(picture)
        let lines = change == self.printed ? self.shown : renderer.text(picture)
        self.printed = change
        guard lines == self.shown else {
            let keys = picture.link == nil ? renderer.phoneKeys(picture) : self.keys
            let added = keys == self.keys ? [] : [keys]
            (self.shown, self.keys) = (lines, keys)
            return (self.typed.isEmpty ? "\n" : "\n\n") + (lines + added).joined(separator: "\n") + "\n" + typed
        }
        return typed.hasPrefix(self.typed) ? String(typed.dropFirst(self.typed.count)) : "\n" + typed
    }
}
