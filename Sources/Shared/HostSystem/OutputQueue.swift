/// The order in which queued lines are dropped if nothing reads them.
package enum LineImportance: Int, CaseIterable, Sendable {
    /// Dropped first.
    case low
    case normal
    /// Dropped last. A newer line replaces older ones of this importance.
    case high
}

/// Lines that wait to be written, within a limit of bytes.
///
/// If the limit is reached, the least important lines are dropped and counted.
struct OutputQueue {
    private struct Line {
        let number: UInt64
        let text: String
        var byteCount: Int { self.text.utf8.count }
    }

    /// The lines of each importance.
    private var lines = LineImportance.allCases.map { _ in LineRing<Line>() }
    private let capacity: Int
    private var byteCount = 0
    /// The number of the newest line.
    private(set) var newest: UInt64 = 0
    private var unreported = 0
    /// All lines that were dropped.
    private(set) var droppedCount = 0

    init(capacity: Int) {
        self.capacity = capacity
    }

    var isEmpty: Bool { self.lines.allSatisfy(\.isEmpty) }

    /// Adds a line and drops less important ones if there is no room, or drops this one.
    mutating func add(_ text: String, _ importance: LineImportance) {
        guard self.makeRoom(for: text.utf8.count, importance) else { return self.drop(1) }
        self.newest += 1
        self.lines[importance.rawValue].append(Line(number: self.newest, text: text))
        self.byteCount += text.utf8.count
    }

    /// Counts lines as dropped.
    mutating func drop(_ count: Int) {
        self.unreported += count
        self.droppedCount += count
    }

    /// Returns the number of dropped lines that are still to be reported, once half of the room is free.
    mutating func takeUnreported() -> Int {
        guard self.byteCount <= self.capacity / 2 else { return 0 }
        defer { self.unreported = 0 }
        return self.unreported
    }

    /// Restores a count whose report could not be written.
    mutating func putBack(unreported: Int) { self.unreported += unreported }

    /// Takes the oldest lines: at least one if there is any, and as many as fit in `limit` bytes.
    ///
    /// - Returns: The lines, and the number of the last one.
    mutating func takeFirst(upTo limit: Int) -> (texts: [String], last: UInt64) {
        var (texts, last, count): ([String], UInt64, Int) = ([], 0, 0)
        while let index = self.lines.indices.min(by: { self.firstNumber(at: $0) < self.firstNumber(at: $1) }),
            let line = self.lines[index].first, texts.isEmpty || count + line.byteCount <= limit
        {
            self.removeFirst(at: index)
            count += line.byteCount
            last = line.number
            texts.append(line.text)
        }
        return (texts, last)
    }

    /// Removes less important lines, and for a line of the highest importance older ones of it, until `count` bytes
    /// have room.
    private mutating func makeRoom(for count: Int, _ importance: LineImportance) -> Bool {
        let candidates = 0..<(importance == .high ? self.lines.count : importance.rawValue)
        while self.byteCount + count > self.capacity {
            guard let index = candidates.first(where: { !self.lines[$0].isEmpty }) else { return false }
            self.removeFirst(at: index)
            self.drop(1)
        }
        return true
    }

    private mutating func removeFirst(at index: Int) {
        if let line = self.lines[index].removeFirst() { self.byteCount -= line.byteCount }
    }

    private func firstNumber(at index: Int) -> UInt64 { self.lines[index].first?.number ?? .max }
}

/// A queue in an array, whose removed part is freed from time to time.
private struct LineRing<Element> {
    private var elements: [Element?] = []
    private var start = 0

    var isEmpty: Bool { self.start == self.elements.count }
    var first: Element? { self.isEmpty ? nil : self.elements[self.start] }

    mutating func append(_ element: Element) { self.elements.append(element) }

    mutating func removeFirst() -> Element? {
        guard !self.isEmpty else { return nil }
        let element = self.elements[self.start].take()
        self.start += 1
        if self.isEmpty || (self.start > 64 && self.start * 2 > self.elements.count) {
            self.elements.removeFirst(self.start)
            self.start = 0
        }
        return element
    }
}
