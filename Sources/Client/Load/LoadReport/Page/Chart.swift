/// A plot as SVG that needs nothing else: its looks are the page's style, its words are in it.
struct Chart {
    /// One line of a plot.
    struct Series {
        let name: String
        /// The class of the style: `a` to `d`, `bad`, `quiet`.
        let style: String
        /// By x; where y is not known the line is interrupted.
        let points: [(x: Double, y: Double?)]
        var isDashed = false
        /// Whether the surface below it is tinted.
        var isFilled = false
    }

    /// A stretch of the x axis with a tint of its own.
    struct Band {
        let from: Double
        let to: Double
        let name: String
    }

    /// A place on the x axis.
    struct Tick {
        let value: Double
        let text: String
    }

    /// What a pointer that rests on a stretch of the plot is told.
    struct Hint {
        let from: Double
        let to: Double
        let text: String
    }

    static let width = 360.0
    static let height = 230.0
    private static let left = 50.0
    private static let right = 12.0
    private static let top = 14.0
    private static let bottom = 26.0

    let id: String
    let title: String
    /// What the plot shows, in a sentence with figures, for who cannot see it.
    let summary: String
    let x: Scale
    let xTicks: [Tick]
    let y: Scale
    let yText: (Double) -> String
    let series: [Series]
    var bands: [Band] = []
    var marks: [Tick] = []
    var hints: [Hint] = []

    /// A figure with a heading, a legend and the plot.
    var html: String {
        """
        <figure>
        <figcaption>\(Markup.element("h2", self.title))\(self.legend)</figcaption>
        <svg viewBox="0 0 \(Int(Self.width)) \(Int(Self.height))" role="img" aria-labelledby="\(self.id)-t \(self.id)-d">
        <title id="\(self.id)-t">\(Markup.escaped(self.title))</title>
        <desc id="\(self.id)-d">\(Markup.escaped(self.summary))</desc>
        \(self.bandShapes)\(self.grid)\(self.lines)\(self.markLines)\(self.hintShapes)</svg>
        </figure>

        """
    }

    private var legend: String {
        let keys = self.series.map { series in
            let dash = series.isDashed ? " dashed" : ""
            return
                "<li><svg viewBox=\"0 0 24 8\" class=\"key\" aria-hidden=\"true\"><path class=\"line \(series.style)\(dash)\" "
                + "d=\"M1 4H23\"/></svg>\(Markup.escaped(series.name))</li>"
        }
        let bands =
            self.bands.isEmpty ? [] : ["<li><span class=\"key warm\"></span>\(Markup.escaped(self.bands[0].name))</li>"]
        return "<ul class=\"legend\">\((keys + bands).joined())</ul>"
    }

    private func horizontal(_ value: Double) -> String {
        Self.number(Self.left + self.x.place(of: value) * (Self.width - Self.left - Self.right))
    }

    private func vertical(_ value: Double) -> String {
        Self.number(Self.height - Self.bottom - self.y.place(of: value) * (Self.height - Self.top - Self.bottom))
    }

    private static func number(_ value: Double) -> String {
        let text = Figure.fixed(value, 1)
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    private var bandShapes: String {
        self.bands.map { band in
            self.rectangle(from: band.from, to: band.to, "class=\"warm\"", band.name)
        }.joined()
    }

    private var hintShapes: String {
        self.hints.map { self.rectangle(from: $0.from, to: $0.to, "class=\"hint\"", $0.text) }.joined()
    }

    private func rectangle(from: Double, to: Double, _ attributes: String, _ title: String) -> String {
        let plot = Self.width - Self.left - Self.right
        let start = Self.left + self.x.place(of: from) * plot
        let width = Self.left + self.x.place(of: to) * plot - start
        return
            "<rect \(attributes) x=\"\(Self.number(start))\" y=\"\(Int(Self.top))\" width=\"\(Self.number(max(width, 0.5)))\" "
            + "height=\"\(Int(Self.height - Self.top - Self.bottom))\">\(Markup.element("title", title))</rect>\n"
    }

    private var grid: String {
        var svg = "<g class=\"axis\" aria-hidden=\"true\">\n"
        for tick in self.y.ticks {
            let y = self.vertical(tick)
            svg += "<path d=\"M\(Int(Self.left)) \(y)H\(Int(Self.width - Self.right))\"/>"
            svg +=
                "<text x=\"\(Int(Self.left) - 6)\" y=\"\(y)\" dy=\".35em\" class=\"y\">\(Markup.escaped(self.yText(tick)))</text>\n"
        }
        let bottom = Int(Self.height - Self.bottom)
        for tick in self.xTicks {
            let x = self.horizontal(tick.value)
            // A text in the middle of the last tick would leave the picture.
            let side = self.x.place(of: tick.value) > 0.95 ? " last" : ""
            svg += "<path d=\"M\(x) \(bottom)v4\" class=\"tick\"/>"
            svg += "<text x=\"\(x)\" y=\"\(bottom + 17)\" class=\"x\(side)\">\(Markup.escaped(tick.text))</text>\n"
        }
        return svg + "</g>\n"
    }

    private var lines: String {
        self.series.map { series in
            let segments = Self.segments(series.points)
            var svg = ""
            if series.isFilled {
                let base = self.vertical(self.y.lower)
                for segment in segments {
                    guard let first = segment.first, let last = segment.last else { continue }
                    svg += "<path class=\"area \(series.style)\" d=\"M\(self.horizontal(first.x)) \(base)"
                    svg += segment.map { "L\(self.horizontal($0.x)) \(self.vertical($0.y))" }.joined()
                    svg += "L\(self.horizontal(last.x)) \(base)Z\"/>\n"
                }
            }
            let path = segments.map { segment in
                let steps = segment.map { "\(self.horizontal($0.x)) \(self.vertical($0.y))" }
                // A line from a point to itself has round ends: a dot.
                return "M" + (steps.count == 1 ? steps + steps : steps).joined(separator: "L")
            }.joined()
            guard !path.isEmpty else { return svg }
            return svg + "<path class=\"line \(series.style)\(series.isDashed ? " dashed" : "")\" d=\"\(path)\"/>\n"
        }.joined()
    }

    private static func segments(_ points: [(x: Double, y: Double?)]) -> [[(x: Double, y: Double)]] {
        points.split { $0.y == nil }.map { $0.compactMap { point in point.y.map { (point.x, $0) } } }
    }

    private var markLines: String {
        self.marks.map { mark in
            let x = self.horizontal(mark.value)
            return "<path class=\"mark\" d=\"M\(x) \(Int(Self.top))V\(Int(Self.height - Self.bottom))\">"
                + "\(Markup.element("title", mark.text))</path>\n"
        }.joined()
    }
}
