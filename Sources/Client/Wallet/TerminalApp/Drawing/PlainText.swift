internal import HostSystem
internal import WalletFlows

extension Renderer {
    /// Renders the picture as lines without boxes and symbols, for screen readers and for terminals without cursor
    /// movement.
    ///
    /// The result is printed again after every relevant change (see ``change(_:)``). It leaves out the keys of every
    /// screen (``phoneKeys(_:)``) and what the user types (``typed(_:)``), which would repeat the lines.
    package func text(_ picture: Picture) -> [String] {
        if let link = picture.link {
            var other = link
            other.source = link.source == .app ? .externalScanner : .app
            let source = picture.words(link.source == .app ? "from an app" : "from QR code")
            return ["Link \(source) (\(Self.keys(other, picture.words).joined(separator: ", "))):"]
        }
        var lines: [String] = []
        switch picture.place {
        case .background: lines.append(picture.words("The app is in the background."))
        case .ended: lines.append(picture.words("The app is not running."))
        case .inFront:
            if picture.screen.kind == .osPrompt { lines.append("[\(picture.phone) \(picture.words("asks"))]") }
            var calm = picture.screen
            calm.values["remainingMs"] = nil
            calm.inputs = []
            let builder = ScreenLayoutBuilder(
                screen: calm,
                picture: picture,
                width: max(20, self.size.columns - 1),
                palette: self.palette,
                density: .tight
            )
            lines += builder.upper.map(\.text)
            if picture.keys.takesPIN { lines.append(picture.words("Type 6 digits.")) }
            lines += self.actions(picture)
        }
        if !picture.note.isEmpty { lines.append("(\(Columns.harmless(picture.note, self.palette)))") }
        return lines
    }

    /// Returns a line for each action with its key, and with Enter and Esc if they select it, too.
    private func actions(_ picture: Picture) -> [String] {
        picture.keys.entries.enumerated().map { index, entry in
            let others = [
                picture.selected == index ? "Enter" : nil, picture.keys.wayBack == entry.target ? "Esc" : nil,
            ].compactMap(\.self)
            let hint = others.isEmpty ? "" : " (\(others.joined(separator: ", ")))"
            return "\(entry.key): \(Columns.harmless(entry.title, self.palette))\(hint)"
        }
    }

    /// Returns the line with the keys that every screen has.
    func phoneKeys(_ picture: Picture) -> String {
        "[\((picture.help ?? Self.phoneKeys(picture)).joined(separator: ", "))]"
    }

    /// Returns the text that the user has typed: a link, or a mark for each digit.
    func typed(_ picture: Picture) -> String {
        picture.link.map { Columns.harmless($0.text, self.palette) } ?? String(repeating: "*", count: picture.typed)
    }

    /// Returns the part of a picture that must be printed again when it changes.
    ///
    /// Countdowns and typed digits are left out, because printing every change to them would flood the screen.
    static func change(_ picture: Picture) -> Picture {
        var calm = picture
        calm.typed = 0
        calm.link?.text = ""
        calm.behind = nil
        if calm.screen.values["remainingMs"] != nil {
            calm.screen.values["remainingMs"] = .number(0)
            calm.screen.message = ""
        }
        return calm
    }
}
