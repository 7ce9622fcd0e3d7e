extension Interval: Codable {
    private enum Key: String, CodingKey {
        case startMicros, endMicros, warmup, tail, stage, operations, unsent, violations, gauges
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        try fields.encode(self.start.inMicroseconds, forKey: .startMicros)
        try fields.encode(self.end.inMicroseconds, forKey: .endMicros)
        try fields.encode(self.isWarmup, forKey: .warmup)
        if self.isTail { try fields.encode(true, forKey: .tail) }
        try fields.encodeIfPresent(self.stage, forKey: .stage)
        try fields.encode(self.operations, forKey: .operations)
        try fields.encode(self.unsent, forKey: .unsent)
        try fields.encode(self.violations, forKey: .violations)
        try fields.encode(self.gauges, forKey: .gauges)
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        self.init(
            from: .microseconds(try fields.decode(Int64.self, forKey: .startMicros)),
            to: .microseconds(try fields.decode(Int64.self, forKey: .endMicros)),
            isWarmup: try fields.decode(Bool.self, forKey: .warmup),
            isTail: try fields.decodeIfPresent(Bool.self, forKey: .tail) ?? false,
            stage: try fields.decodeIfPresent(String.self, forKey: .stage),
            operations: try fields.decode([Operation: OperationFigures].self, forKey: .operations),
            unsent: try fields.decode(Int.self, forKey: .unsent),
            violations: try fields.decode(Violations.self, forKey: .violations),
            gauges: try fields.decode(Gauges.self, forKey: .gauges)
        )
    }
}

extension OperationFigures: Codable {
    private enum Key: String, CodingKey {
        case outcomes, unexpected, latencyMicros, serviceMicros
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        try fields.encode(self.outcomes, forKey: .outcomes)
        try fields.encode(self.unexpected, forKey: .unexpected)
        try fields.encode(self.latency, forKey: .latencyMicros)
        try fields.encode(self.serviceTime, forKey: .serviceMicros)
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        self.init(
            outcomes: try fields.decode([Outcome: Int].self, forKey: .outcomes),
            unexpected: try fields.decode(Int.self, forKey: .unexpected),
            latency: try fields.decode(Latencies.self, forKey: .latencyMicros),
            serviceTime: try fields.decode(Latencies.self, forKey: .serviceMicros)
        )
    }
}

extension Latencies: Codable {
    private enum Key: String, CodingKey, CaseIterable {
        case count, min, mean, p50, p75, p90, p99, max, histogram
        case p999 = "p99.9"
        case p9999 = "p99.99"
    }

    private static let percentiles: [(key: Key, percent: Double)] = [
        (.p50, 50), (.p75, 75), (.p90, 90), (.p99, 99), (.p999, 99.9), (.p9999, 99.99),
    ]

    /// The histogram holds everything; the figures beside it are for programs that only want to look.
    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        try fields.encode(self.count, forKey: .count)
        try fields.encode(HistogramCodec.text(self), forKey: .histogram)
        guard !self.isEmpty else { return }
        try fields.encodeIfPresent(self.min, forKey: .min)
        try fields.encodeIfPresent(self.max, forKey: .max)
        try fields.encodeIfPresent(self.mean, forKey: .mean)
        for (pair, value) in zip(Self.percentiles, self.percentiles(Self.percentiles.map(\.percent))) {
            try fields.encodeIfPresent(value, forKey: pair.key)
        }
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        let text = try fields.decode(String.self, forKey: .histogram)
        do throws(HistogramCodecError) {
            self = try HistogramCodec.latencies(in: text)
        } catch {
            throw DecodingError.dataCorruptedError(forKey: .histogram, in: fields, debugDescription: "\(error)")
        }
    }
}

extension Marker: Codable {
    private enum Key: String, CodingKey {
        case atMicros, text
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        try fields.encode(self.at.inMicroseconds, forKey: .atMicros)
        try fields.encode(self.text, forKey: .text)
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        self.init(
            at: .microseconds(try fields.decode(Int64.self, forKey: .atMicros)),
            try fields.decode(String.self, forKey: .text)
        )
    }
}
