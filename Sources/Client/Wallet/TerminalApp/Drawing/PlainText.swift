internal import HostSystem
internal import WalletFlows

extension Renderer {
    /// Renders the picture as lines without boxes, for terminals without cursor movement.
    ///
    /// The result is printed again after every relevant change (see ``change(_:)``).
    package func text(_ picture: Picture) -> [String] {
        if let link = picture.link {
            let text = Columns.harmless(link.text, self.palette)
            return ["Link: \(text)_  [\(Self.keys(link, picture.words).joined(separator: ", "))]"]
        }
        var lines: [String] = []
        switch picture.place {
        case .background: lines.append(picture.words("The app is in the background."))
        case .ended: lines.append(picture.words("The app is not running."))
        case .inFront:
            if picture.screen.kind == .osPrompt { lines.append("[\(picture.phone) \(picture.words("asks"))]") }
            var calm = picture.screen
            calm.values["remainingMs"] = nil
            let builder = ScreenLayoutBuilder(
                screen: calm,
                picture: picture,
                width: max(20, self.size.columns - 1),
                palette: self.palette,
                density: .tight
            )
            lines += (builder.upper + builder.actions(picture.keys)).map(\.text)
        }
        if !picture.note.isEmpty { lines.append("(\(Columns.harmless(picture.note, self.palette)))") }
        lines.append("[\(Self.keys(picture).joined(separator: ", "))]")
        return lines
    }

    /// Returns the part of a picture that must be printed again when it changes.
    ///
    /// Countdowns and typed digits are left out, because printing every change to them would flood the screen.
    static func change(_ picture: Picture) -> Picture {
        var calm = picture
        calm.typed = 0
        calm.behind = nil
        if calm.screen.values["remainingMs"] != nil {
            calm.screen.values["remainingMs"] = .number(0)
            calm.screen.message = ""
        }
        return calm
    }
}
