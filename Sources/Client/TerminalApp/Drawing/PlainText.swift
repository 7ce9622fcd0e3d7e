internal import HostSystem
internal import WalletFlows

extension Renderer {
    /// The picture for a terminal that only prints: one line after the other, without boxes.
    ///
    /// It is printed anew where it has changed; the countdown alone is no change, or it would fill the screen.
    public func text(_ picture: Picture) -> [String] {
        var lines: [String] = []
        switch picture.place {
        case .background: lines.append("The app is in the background.")
        case .ended: lines.append("The app is not running.")
        case .inFront:
            if picture.screen.kind == .osPrompt { lines.append("[\(picture.phone) asks]") }
            var calm = picture.screen
            calm.values["remainingMs"] = nil
            let keys = KeyMap(calm)
            let writer = PageWriter(
                screen: calm,
                picture: picture,
                width: max(20, self.size.columns - 1),
                palette: self.palette,
                density: .tight
            )
            lines += (writer.upper + writer.actions(keys)).map(\.text)
        }
        if !picture.note.isEmpty { lines.append("(\(Columns.harmless(picture.note, self.palette)))") }
        if let link = picture.link { lines.append("Link: \(Columns.harmless(link.text, self.palette))_") }
        lines.append("[\(Self.keys(picture).joined(separator: ", "))]")
        return lines
    }
}
