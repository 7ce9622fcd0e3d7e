internal import HostSystem
internal import WalletFlows

extension Renderer {
    /// The picture for a terminal without cursor movement: lines without boxes.
    ///
    /// It is printed again after each relevant change (``change(_:)``).
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

    /// The part of a picture whose changes cause it to be printed again.
    ///
    /// Countdowns and typed digits are excluded: printing each change of them would fill the
    /// screen.
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
