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
    /// The call whose result is not printed yet.
    private var call = Call.none

    private enum Call {
        case none, running
        /// A line has reported that it takes long.
        case reported
    }

    package init(_ palette: Palette) { self.palette = palette }

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

    /// Returns the lines for a listener: the whole picture, its part that is new, or nothing.
    ///
    /// The result of a call is printed even if it is the same screen, since a listener does not see that the call has
    /// ended. The keys of every screen are printed once, and again if they change.
    private mutating func print(_ picture: Picture, _ renderer: Renderer) -> String {
        guard !picture.screen.step.isEmpty else { return "" }
        let before = self.typed
        self.typed = renderer.typed(picture)
        if picture.isBusy { return self.wait(picture, before) }
        let change = Renderer.change(picture)
        let lines = change == self.printed ? self.shown : renderer.text(picture)
        let old = self.printed
        self.printed = change
        guard lines != self.shown || self.call != .none else { return self.echo(after: before) }
        let part = self.call == .none ? old.flatMap { renderer.part(of: picture, changedSince: $0) } : nil
        let keys = picture.link == nil ? renderer.phoneKeys(picture) : self.keys
        let added = keys == self.keys ? [] : [keys]
        (self.shown, self.keys, self.call) = (lines, keys, .none)
        return (before.isEmpty ? "\n" : "\n\n") + ((part ?? lines) + added).joined(separator: "\n") + "\n" + self.typed
    }

    /// Returns the line that reports a call of more than a second, once.
    ///
    /// Until the call ends, the picture is an old one with parts missing, such as its note.
    private mutating func wait(_ picture: Picture, _ before: String) -> String {
        let echo = self.echo(after: before)
        if self.call == .none { self.call = .running }
        guard picture.isSlow, self.call == .running else { return echo }
        self.call = .reported
        return echo + (self.typed.isEmpty ? "" : "\n") + "(\(picture.words("working")))\n"
    }

    /// Returns the new part of the typed text.
    private func echo(after before: String) -> String {
        self.typed.hasPrefix(before) ? String(self.typed.dropFirst(before.count)) : "\n" + self.typed
    }
}
