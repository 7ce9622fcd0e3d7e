internal import FoundationEssentials

/// HdrHistogram's interval log, version 1.3: one line for each interval, each with a whole histogram.
///
/// Lines without a tag hold the latency of all operations; `Tag=check` holds that of one kind, `Tag=check.service` its time from sending.
/// HdrHistogram's own tools look at lines without a tag unless told otherwise, so nothing is counted twice. Values are in µs.
package struct IntervalLog: Sendable, Equatable {
    /// One line.
    package struct Entry: Sendable, Equatable {
        /// Nil for all operations.
        package var tag: String?
        /// Since the log's start.
        package var start: Duration
        package var length: Duration
        package var latencies: Latencies
    }

    /// In ms since 1970.
    package var startMilliseconds: Int64
    package var entries: [Entry]

    /// What a run measured, the warm-up left out.
    package init(_ result: RunResult) {
        self.startMilliseconds = result.setting.startMilliseconds
        self.entries = result.measuredIntervals.flatMap(Self.entries)
    }

    private static func entries(of interval: Interval) -> [Entry] {
        func entry(_ tag: String?, _ latencies: Latencies) -> Entry {
            Entry(tag: tag, start: interval.start, length: interval.end - interval.start, latencies: latencies)
        }
        var entries = [entry(nil, interval.totals.figures().latency)]
        for (operation, figures) in interval.operations.sorted(by: { $0.key < $1.key }) {
            entries.append(entry(operation.rawValue, figures.latency))
            entries.append(entry(operation.rawValue + ".service", figures.serviceTime))
        }
        return entries
    }

    /// The log as HdrHistogram's tools read it.
    package var text: String {
        let start = Date(timeIntervalSince1970: Double(self.startMilliseconds) / 1000)
        var lines = [
            "#[Histogram log format version 1.3]",
            "#[Values are in microseconds, from the due time (in a closed loop from sending); in Tag=NAME.service from sending]",
            "#[StartTime: \(Figure.fixed(Double(self.startMilliseconds) / 1000, 3)) (seconds since epoch), "
                + "\(start.formatted(.iso8601))]",
            "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"",
        ]
        for entry in self.entries {
            let fields = [
                Figure.fixed(entry.start.inSeconds, 3), Figure.fixed(entry.length.inSeconds, 3),
                Figure.fixed(Double(entry.latencies.max ?? 0) / 1000, 3), HistogramCodec.text(entry.latencies),
            ]
            lines.append((entry.tag.map { "Tag=\($0)," } ?? "") + fields.joined(separator: ","))
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension IntervalLog {
    /// Reads a log that this tool wrote, or another in µs with three digits.
    package init(reading text: String) throws(IntervalLogError) {
        self.startMilliseconds = 0
        self.entries = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.hasPrefix("#[StartTime: ") {
                let number = line.dropFirst("#[StartTime: ".count).prefix { $0 != " " }
                guard let seconds = DecimalText.read(number), seconds < 1e12 else { throw .malformed(line: index + 1) }
                self.startMilliseconds = Int64((seconds * 1000).rounded())
            } else if !line.isEmpty, !line.hasPrefix("#"), !line.hasPrefix("\"") {
                self.entries.append(try Self.entry(line, number: index + 1))
            }
        }
    }

    private static func entry(_ line: Substring, number: Int) throws(IntervalLogError) -> Entry {
        var fields = line.split(separator: ",", omittingEmptySubsequences: false)
        var tag: String?
        if let first = fields.first, first.hasPrefix("Tag=") {
            tag = String(first.dropFirst("Tag=".count))
            fields.removeFirst()
        }
        guard fields.count == 4, let start = Self.duration(fields[0]), let length = Self.duration(fields[1]),
            DecimalText.read(fields[2]) != nil
        else { throw .malformed(line: number) }
        do throws(HistogramCodecError) {
            let latencies = try HistogramCodec.latencies(in: fields[3])
            return Entry(tag: tag, start: start, length: length, latencies: latencies)
        } catch {
            throw .histogram(line: number, error)
        }
    }

    private static func duration(_ text: Substring) -> Duration? {
        guard let seconds = DecimalText.read(text), seconds < 1e9 else { return nil }
        return .milliseconds(Int64((seconds * 1000).rounded()))
    }
}

/// Why a text is no interval log; the caller shows the line.
package enum IntervalLogError: Error, Equatable, Sendable {
    /// Not the fields of a line.
    case malformed(line: Int)
    /// The line's histogram cannot be read.
    case histogram(line: Int, HistogramCodecError)
}
