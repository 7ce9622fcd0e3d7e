/// A plot with all coordinates computed, ready for the template.
///
/// The template reads the stored properties by name.
struct Chart {
    /// The plot's drawing area in SVG coordinates.
    struct Frame {
        let width = 360
        let height = 230
        let left = 50
        let right = 348
        let top = 14
        let bottom = 204
        /// The length of the y axis.
        let rise = 190
        /// The x coordinate of the y-axis labels, and the y coordinate of the x-axis labels.
        let labelX = 44
        let labelY = 221
    }

    struct Line {
        let name: String
        /// CSS classes used on the page: `a` to `d`, `bad` or `quiet`, and `dashed`.
        let lineStyle: String
        let path: String
        /// The outline of the area below the line.
        let area: String?
    }

    struct Tick {
        let place: String
        let label: String
        /// Whether the label ends at the tick, because a centered label would extend beyond the picture.
        var isAtEnd = false
    }

    /// A stretch of the x axis: a tinted band or an area with a tooltip.
    struct Stretch {
        let x: String
        let span: String
        let label: String
    }

    static let frame = Frame()

    let id: String
    let title: String
    /// A description with numbers, for readers who cannot see the plot.
    let summary: String
    private let x: Scale
    private let y: Scale
    private(set) var lines: [Line] = []
    let xTicks: [Tick]
    let yTicks: [Tick]
    private(set) var bands: [Stretch] = []
    private(set) var marks: [Tick] = []
    private(set) var hints: [Stretch] = []

    init(
        id: String,
        title: String,
        summary: String,
        x: Scale,
        xLabel: (Double) -> String,
        y: Scale,
        yLabel: (Double) -> String
    ) {
        (self.id, self.title, self.summary, self.x, self.y) = (id, title, summary, x, y)
        self.xTicks = x.ticks.map {
            Tick(place: Self.across($0, x), label: xLabel($0), isAtEnd: x.place(of: $0) > 0.95)
        }
        self.yTicks = y.ticks.map { Tick(place: Self.down($0, y), label: yLabel($0)) }
    }

    /// Adds a line through points in ascending x order, leaving a gap at each unknown y.
    mutating func add(_ name: String, _ style: String, _ points: [(x: Double, y: Double?)], isFilled: Bool = false) {
        let segments = points.split { $0.y == nil }.map { segment in
            segment.map { "\(Self.across($0.x, self.x)) \(Self.down($0.y ?? 0, self.y))" }
        }
        // A line from a point to itself is drawn as a dot, because line ends are round.
        let path = segments.map { "M" + ($0.count == 1 ? $0 + $0 : $0).joined(separator: "L") }.joined()
        let area = segments.map { segment in
            let ends = [segment.first, segment.last].map { ($0 ?? "").prefix { $0 != " " } }
            return "M\(ends[0]) \(Self.frame.bottom)L\(segment.joined(separator: "L"))L\(ends[1]) \(Self.frame.bottom)Z"
        }.joined()
        self.lines.append(Line(name: name, lineStyle: style, path: path, area: isFilled ? area : nil))
    }

    mutating func addBand(from start: Double, to end: Double, _ label: String) {
        self.bands.append(self.stretch(from: start, to: end, label))
    }

    /// Adds a tooltip.
    mutating func addHint(from start: Double, to end: Double, _ label: String) {
        self.hints.append(self.stretch(from: start, to: end, label))
    }

    /// Adds a vertical line.
    mutating func addMark(at value: Double, _ label: String) {
        self.marks.append(Tick(place: Self.across(value, self.x), label: label))
    }

    private func stretch(from start: Double, to end: Double, _ label: String) -> Stretch {
        let span = (self.x.place(of: end) - self.x.place(of: start)) * Double(Self.frame.right - Self.frame.left)
        return Stretch(x: Self.across(start, self.x), span: Self.number(max(span, 0.5)), label: label)
    }

    private static func across(_ value: Double, _ scale: Scale) -> String {
        Self.number(Double(Self.frame.left) + scale.place(of: value) * Double(Self.frame.right - Self.frame.left))
    }

    private static func down(_ value: Double, _ scale: Scale) -> String {
        Self.number(Double(Self.frame.bottom) - scale.place(of: value) * Double(Self.frame.rise))
    }

    private static func number(_ value: Double) -> String {
        let text = NumberText.fixed(value, 1)
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}
