package import HostSystem

/// Shows a scenario's phone in the terminal and waits for a key before every step.
package actor StepScreen {
    private let terminal: FullScreen
    private var painter: Painter
    private var waits = true

    package init(_ terminal: FullScreen, _ palette: Palette) {
        self.terminal = terminal
        self.painter = Painter(palette)
    }

    /// Shows the phone before a step, until the user presses a key.
    ///
    /// - Returns: False if the user wants to end the scenario.
    package func shows(_ picture: Picture, next: String) async -> Bool {
        var picture = picture
        picture.note = next
        picture.help = ["Enter next step", "c to the end", "q quit"]
        guard self.waits else {
            self.draw(picture)
            return true
        }
        return await self.waitsForKey(picture)
    }

    /// Shows the phone after the last step, until the user presses a key.
    package func shows(_ picture: Picture, end: String) async {
        var picture = picture
        picture.note = end
        picture.help = ["Enter report"]
        _ = await self.waitsForKey(picture)
    }

    private func waitsForKey(_ picture: Picture) async -> Bool {
        self.draw(picture)
        if let answer = self.answer(picture) { return answer }
        for await _ in self.terminal.wakeups {
            if let answer = self.answer(picture) { return answer }
        }
        return false
    }

    /// Handles the pressed keys; returns nil if none of them continues or ends the scenario.
    private func answer(_ picture: Picture) -> Bool? {
        while let event = self.terminal.next() {
            switch event {
            case .key(.enter), .key(.right), .key(.down), .key(.character(UInt8(ascii: " "))): return true
            case .key(.character(UInt8(ascii: "c"))):
                self.waits = false
                return true
            case .key(.character(UInt8(ascii: "q"))), .ended: return false
            case .key: continue
            case .redraw:
                self.painter.forget()
                self.draw(picture)
            }
        }
        return nil
    }

    private func draw(_ picture: Picture) {
        self.terminal.write(self.painter.paint(picture, self.terminal.size))
    }
}
