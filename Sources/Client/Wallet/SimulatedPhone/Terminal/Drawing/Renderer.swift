package import HostSystem
internal import WalletFlows

/// Draws a ``Picture``.
///
/// The result only depends on the picture, the terminal size and the palette.
package struct Renderer: Sendable {
    /// The smallest terminal size at which every screen is usable.
    package static let smallest = TerminalSize(columns: 40, rows: 12)

    package let size: TerminalSize
    package let palette: Palette
    /// The number of rows below the phone: the note or the link being typed, and the keys.
    ///
    /// A short terminal has a row for a note only if there is one.
    private var footRows = 2

    package init(size: TerminalSize, palette: Palette) {
        self.size = size
        self.palette = palette
    }

    /// Returns the text for each row of the terminal.
    package func lines(_ picture: Picture) -> [String] { self.canvas(picture).lines(self.palette) }

    /// Returns the phone as runs of text in the same style, without the two rows for the terminal app's keys.
    package func phoneRows(_ picture: Picture) -> [[StyledText]] {
        Array(self.canvas(picture).runs.prefix(max(0, self.size.rows - self.fitted(to: picture).footRows)))
    }

    func canvas(_ picture: Picture) -> Canvas {
        var canvas = Canvas(self.size)
        guard self.size.columns >= Self.smallest.columns, self.size.rows >= Self.smallest.rows else {
            let lines = ["This terminal is too small:", "40 columns and 12 rows are needed."].map { picture.words($0) }
            let wrapped = lines.flatMap { Columns.wrap($0, to: max(1, self.size.columns)) }
            for (row, line) in wrapped.enumerated() { canvas.write(line, column: 0, row: row) }
            return canvas
        }
        let renderer = self.fitted(to: picture)
        renderer.drawPhone(picture, on: &canvas)
        renderer.drawFoot(picture, on: &canvas)
        return canvas
    }

    private func fitted(to picture: Picture) -> Renderer {
        var renderer = self
        renderer.footRows = self.isLow && picture.note.isEmpty && picture.link == nil ? 1 : 2
        return renderer
    }

    /// The phone's area, centered and limited in size for readability.
    private var phone: Canvas.Area {
        let width = min(self.size.columns, 60)
        let height = min(self.size.rows - self.footRows, 20)
        return Canvas.Area(
            column: (self.size.columns - width) / 2,
            row: max(0, (self.size.rows - self.footRows - height) / 2),
            width: width,
            height: height
        )
    }

    /// Whether the status line is drawn on the frame because a short terminal needs every row for the app.
    private var isLow: Bool { self.size.rows < 16 }

    private func drawPhone(_ picture: Picture, on canvas: inout Canvas) {
        let area = self.phone
        canvas.frame(area, self.palette.glyphs.screen, .plain)
        self.drawStatus(picture, on: &canvas)
        guard picture.place == .inFront else { return self.drawHomeScreen(picture, on: &canvas) }
        switch picture.screen.kind {
        case .screen: self.draw(picture.screen, picture.keys, picture, in: self.content, on: &canvas)
        case .prompt, .osPrompt:
            if let behind = picture.behind {
                var past = picture
                past.selected = nil
                past.typed = 0
                self.draw(behind, KeyMap(behind).withoutKeys, past, in: self.content, on: &canvas)
                canvas.fade()
            }
            self.drawPrompt(picture, on: &canvas)
        }
    }

    /// The area below the status line, with a one-column margin on both sides.
    private var content: Canvas.Area {
        let area = self.phone
        let top = self.isLow ? 1 : 2
        return Canvas.Area(
            column: area.column + 2,
            row: area.row + top,
            width: area.width - 4,
            height: area.height - top - 1
        )
    }

    private func draw(
        _ screen: Screen,
        _ keys: KeyMap,
        _ picture: Picture,
        in area: Canvas.Area,
        on canvas: inout Canvas
    ) {
        // Leave an empty row above the title if there is room.
        let top = area.height >= 14 ? 1 : 0
        let page = ScreenLayout(screen, picture, keys, width: area.width, height: area.height - top, self.palette)
        for (index, line) in page.upper.enumerated() {
            let margin = max(0, (area.width - Columns.width(line.text)) / 2)
            canvas.write(line.text, column: area.column + margin, row: area.row + top + index, line.style)
        }
        let first = area.row + area.height - page.lower.count
        for (index, line) in page.lower.enumerated() {
            canvas.write(line.text, column: area.column, row: first + index, line.style)
        }
    }

    /// Draws a box over the previous screen.
    ///
    /// System prompts look different from the app's own.
    private func drawPrompt(_ picture: Picture, on canvas: inout Canvas) {
        let screen = picture.screen
        let isSystem = screen.kind == .osPrompt
        let phone = self.content
        let margin = phone.width >= 44 ? 2 : 0
        let width = phone.width - 2 * margin
        let page = ScreenLayout(screen, picture, picture.keys, width: width - 4, height: phone.height - 2, self.palette)
        let gap = page.upper.count + page.lower.count + 2 < phone.height ? 1 : 0
        let height = min(phone.height, page.upper.count + page.lower.count + 2 + gap)
        let area = Canvas.Area(
            column: phone.column + margin,
            row: phone.row + (phone.height - height) / 2,
            width: width,
            height: height
        )
        let box = isSystem ? self.palette.glyphs.system : self.palette.glyphs.prompt
        canvas.frame(area, box, isSystem ? .system : .plain)
        if isSystem {
            let phone = picture.phone.isEmpty ? picture.words("the phone") : picture.phone
            let name = "\(phone) \(picture.words("asks"))"
            let text = Columns.fit(" \(name) ", to: area.width - 4, self.palette.glyphs.ellipsis)
            canvas.write(text, column: area.column + 2, row: area.row, .system)
        }
        let inner = Canvas.Area(column: area.column + 2, row: area.row + 1, width: width - 4, height: height - 2)
        self.draw(screen, picture.keys, picture, in: inner, on: &canvas)
    }

    /// Draws the phone's home screen, for when the app is in the background or not running.
    private func drawHomeScreen(_ picture: Picture, on canvas: inout Canvas) {
        let area = self.content
        let isRunning = picture.place == .background
        let text = picture.words(isRunning ? "The app is in the background." : "The app is not running.")
        let key = "b  \(picture.words(isRunning ? "bring it back" : "start it"))"
        // With other keys at the bottom, a program controls the app, not the user.
        let lines = picture.help == nil ? [text, "", key] : [text]
        for (index, line) in lines.enumerated() {
            let column = area.column + (area.width - Columns.width(line)) / 2
            canvas.write(line, column: column, row: area.row + area.height / 2 - 1 + index, index == 0 ? .dim : .plain)
        }
    }
}

// MARK: Status line and key help

extension Renderer {
    /// Draws the phone's status line: the operating system on the left, its state on the right.
    private func drawStatus(_ picture: Picture, on canvas: inout Canvas) {
        let area = self.phone
        let glyphs = self.palette.glyphs
        let states = (picture.isBusy ? [picture.words("working")] : []) + picture.states
        let right = states.joined(separator: " \(glyphs.separator) ")
        let left = Columns.harmless(picture.phone, self.palette)
        let room = area.width - 4
        let name = Columns.fit(left, to: max(0, room - Columns.width(right) - 2), glyphs.ellipsis)
        let row = area.row + (self.isLow ? 0 : 1)
        let column = area.column + 2 + max(0, room - Columns.width(right))
        for (text, column, style) in [
            (name, area.column + 2, TextStyle.dim), (right, column, picture.isBusy ? .warning : .dim),
        ] where !text.isEmpty {
            // On the frame, a space on each side separates the text from the line.
            let space = String(repeating: " ", count: Columns.width(text) + 2)
            if self.isLow { canvas.write(space, column: column - 1, row: row) }
            canvas.write(text, column: column, row: row, style)
        }
    }

    /// Draws the last two rows: the latest note or the link being typed, followed by the keys.
    private func drawFoot(_ picture: Picture, on canvas: inout Canvas) {
        let glyphs = self.palette.glyphs
        let width = self.size.columns
        if let link = picture.link {
            let text = Columns.harmless(link.text, self.palette)
            let room = width - 7
            let shown = text.count <= room ? text : glyphs.ellipsis + text.suffix(room - glyphs.ellipsis.count)
            canvas.write("Link: " + shown + "_", column: 0, row: self.size.rows - self.footRows)
            let keys = Self.keys(link, picture.words).joined(separator: "  ")
            canvas.write(keys, column: 0, row: self.size.rows - 1, .dim)
            return
        }
        if !picture.note.isEmpty {
            let note = Columns.fit(Columns.harmless(picture.note, self.palette), to: width, glyphs.ellipsis)
            let row = self.size.rows - self.footRows
            canvas.write(note, column: max(0, (width - Columns.width(note)) / 2), row: row, .dim)
        }
        var keys = Self.keys(picture).joined(separator: "  ")
        let select = "\(self.palette.hasUnicode ? "↑↓" : "arrows") \(picture.words("Enter select"))  "
        let hasActions = picture.place == .inFront && !picture.keys.entries.isEmpty && picture.help == nil
        if hasActions, Columns.width(select + keys) <= width { keys = select + keys }
        let text = Columns.fit(keys, to: width, glyphs.ellipsis)
        canvas.write(text, column: max(0, (width - Columns.width(text)) / 2), row: self.size.rows - 1, .dim)
    }

    /// Returns the keys available while a link is being typed.
    static func keys(_ link: Picture.LinkEntry, _ words: FrameWords) -> [String] {
        let source = words(link.source == .app ? "from an app" : "from QR code")
        return ["Enter \(words("open"))", "Tab \(source)", "Esc \(words("leave"))"]
    }

    /// Returns the keys of the terminal app, which work on every screen.
    static func phoneKeys(_ picture: Picture) -> [String] {
        KeyMap.phoneKeys.map { key, title in
            "\(key) \(picture.words(key == "b" && picture.place != .inFront ? "open" : title))"
        }
    }

    /// Returns the keys for the last row: those that work on every screen, and the way back.
    static func keys(_ picture: Picture) -> [String] {
        if let help = picture.help { return help }
        var keys = Self.phoneKeys(picture)
        if picture.place == .inFront, picture.keys.wayBack != nil { keys.insert("Esc \(picture.words("back"))", at: 0) }
        return keys
    }
}

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
            // The title comes first, so that a listener knows to which screen a notice belongs.
            var title = Screen.none
            (title.title, calm.title) = (calm.title, "")
            lines += self.linear(title, picture) + self.linear(calm, picture)
            if picture.keys.takesPIN { lines.append(picture.words("Type 6 digits.")) }
            lines += self.actions(picture)
        }
        if !picture.note.isEmpty { lines.append("(\(Columns.harmless(picture.note, self.palette)))") }
        return lines
    }

    /// Returns the text of a screen without its actions.
    private func linear(_ screen: Screen, _ picture: Picture) -> [String] {
        ScreenLayoutBuilder(
            screen: screen,
            picture: picture,
            width: max(20, self.size.columns - 1),
            palette: self.palette,
            density: .tight
        ).upper.map(\.text)
    }

    /// Returns the lines of the selected action or of the countdown if nothing else has changed, or nil.
    ///
    /// - Parameter old: The ``change(_:)`` of the printed picture.
    func part(of picture: Picture, changedSince old: Picture) -> [String]? {
        let new = Self.change(picture)
        var other = new
        other.screen.message = old.screen.message
        if other == old, picture.screen.values["remainingMs"] != nil {
            var countdown = Screen.none
            countdown.message = picture.screen.message
            return self.linear(countdown, picture)
        }
        other = new
        other.selected = old.selected
        guard other == old, let selected = picture.selected else { return nil }
        return [self.actions(picture)[selected]]
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
    /// Typed digits are left out, because printing every change to them would flood the screen, and so is a countdown
    /// of seconds. A longer one is printed whenever its text changes.
    static func change(_ picture: Picture) -> Picture {
        var calm = picture
        calm.typed = 0
        calm.link?.text = ""
        calm.behind = nil
        if case .number(let remaining) = calm.screen.values["remainingMs"] {
            calm.screen.values["remainingMs"] = .number(0)
            if remaining <= 59_000 { calm.screen.message = "" }
        }
        return calm
    }
}

/// A grid of styled characters.
///
/// Drawing outside its bounds has no effect.
struct Canvas: Hashable, Sendable {
    private struct Cell: Hashable, Sendable {
        var character: Character = " "
        var style = TextStyle.plain
        /// Whether this is the right half of a wide character.
        var isContinued = false
    }

    let size: TerminalSize
    private var rows: [[Cell]]

    init(_ size: TerminalSize) {
        self.size = size
        self.rows = Array(repeating: Array(repeating: Cell(), count: size.columns), count: size.rows)
    }

    /// A rectangle within the grid.
    struct Area: Hashable, Sendable {
        var column: Int
        var row: Int
        var width: Int
        var height: Int
    }

    mutating func write(_ text: String, column: Int, row: Int, _ style: TextStyle = .plain) {
        guard self.rows.indices.contains(row) else { return }
        var column = column
        for character in text {
            let width = Columns.width(character)
            guard column >= 0, column + width <= self.size.columns else { return }
            self.rows[row][column] = Cell(character: character, style: style)
            if width == 2 { self.rows[row][column + 1] = Cell(style: style, isContinued: true) }
            column += width
        }
    }

    /// Draws a box and clears its interior.
    mutating func frame(_ area: Area, _ box: Glyphs.Box, _ style: TextStyle) {
        let line = String(repeating: String(box.horizontal), count: max(0, area.width - 2))
        let space = String(repeating: " ", count: max(0, area.width - 2))
        self.write("\(box.corners[0])\(line)\(box.corners[1])", column: area.column, row: area.row, style)
        for row in area.row + 1..<max(area.row + 1, area.row + area.height - 1) {
            self.write(String(box.vertical), column: area.column, row: row, style)
            self.write(space, column: area.column + 1, row: row)
            self.write(String(box.vertical), column: area.column + area.width - 1, row: row, style)
        }
        let last = area.row + area.height - 1
        self.write("\(box.corners[3])\(line)\(box.corners[2])", column: area.column, row: last, style)
    }

    /// Dims the contents so that whatever is drawn next stands out.
    mutating func fade() {
        for row in self.rows.indices {
            for column in self.rows[row].indices { self.rows[row][column].style = .dim }
        }
    }

    /// The text of each row, split into runs of the same style, without trailing spaces.
    var runs: [[StyledText]] {
        self.rows.map { row in
            var runs: [StyledText] = []
            let end = row.lastIndex { $0.character != " " || $0.style == .selected || $0.isContinued }
            for cell in row[..<(end.map { $0 + 1 } ?? 0)] where !cell.isContinued {
                if runs.last?.style != cell.style { runs.append(StyledText(text: "", style: cell.style)) }
                runs[runs.count - 1].text.append(cell.character)
            }
            return runs
        }
    }

    /// Returns the rows as terminal output without trailing spaces.
    func lines(_ palette: Palette) -> [String] {
        self.runs.map { runs in
            var line = ""
            var style = TextStyle.plain
            for run in runs {
                if run.style != style { line += palette.end + palette.begin(run.style) }
                style = run.style
                line += run.text
            }
            return style == .plain ? line : line + palette.end
        }
    }
}
