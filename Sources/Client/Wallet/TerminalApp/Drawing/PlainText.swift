internal import HostSystem
internal import WalletFlows

extension Renderer {
    /// The picture for a terminal that only prints: one line after the other, without boxes.
    ///
    /// It is printed anew where it has changed (``change(_:)``).
    package func text(_ picture: Picture) -> [String] {
        if let link = picture.link {
            let text = Columns.harmless(link.text, self.palette)
            return ["Link: \(text)_  [\(Self.keys(link).joined(separator: ", "))]"]
        }
        var lines: [String] = []
        switch picture.place {
        case .background: lines.append("The app is in the background.")
        case .ended: lines.append("The app is not running.")
        case .inFront:
            if picture.screen.kind == .osPrompt { lines.append("[\(picture.phone) asks]") }
            var calm = picture.screen
            calm.values["remainingMs"] = nil
            let writer = ScreenLayoutBuilder(
                screen: calm,
                picture: picture,
                width: max(20, self.size.columns - 1),
                palette: self.palette,
                density: .tight
            )
            lines += (writer.upper + writer.actions(picture.keys)).map(\.text)
        }
        if !picture.note.isEmpty { lines.append("(\(Columns.harmless(picture.note, self.palette)))") }
        lines.append("[\(Self.keys(picture).joined(separator: ", "))]")
        return lines
    }

    /// What has to differ before a picture is printed anew.
    ///
    /// A countdown, which the message says in words as well, is no change, nor are the digits of a PIN: either would fill
    /// the screen.
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
