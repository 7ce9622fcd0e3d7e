internal import ConfigText
internal import FoundationEssentials

extension RunResult {
    /// The version of the JSON format.
    ///
    /// Readers accept no other version.
    static let schemaVersion = 2

    /// The JSON described by docs/load-result.schema.json, with a newline at the end.
    package var jsonText: String { JSONText.encoded(self) + "\n" }

    /// Reads JSON written by ``jsonText``.
    package init(json: [UInt8]) throws(RunResultError) {
        let data = Data(json)
        let decoder = JSONDecoder()
        guard let version = try? decoder.decode(Version.self, from: data).v else { throw .notAResult }
        guard version == Self.schemaVersion else { throw .otherVersion(version) }
        do {
            self = try decoder.decode(Self.self, from: data)
        } catch let error as DecodingError {
            throw .malformed(field: Self.field(of: error))
        } catch { throw .notAResult }
    }

    private struct Version: Decodable {
        let v: Int
    }

    private static func field(of error: DecodingError) -> String {
        let path: [any CodingKey] =
            switch error {
            case .keyNotFound(let key, let context): context.codingPath + [key]
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
                context.codingPath
            @unknown default: []
            }
        return path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
    }
}

/// The reason why a file is not a valid result.
///
/// The caller adds the file name.
package enum RunResultError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The file is not JSON, or it is some other JSON.
    case notAResult
    /// The file was written by a different version of pin-load.
    case otherVersion(Int)
    /// A field is missing or invalid.
    ///
    /// The name is empty if Foundation does not report it.
    case malformed(field: String)

    package var description: String {
        switch self {
        case .notAResult: "not the JSON of 'pin-load run'"
        case .otherVersion(let version):
            "schema version \(version) is not supported, only \(RunResult.schemaVersion); "
                + "use the pin-load that wrote the file"
        case .malformed(""): "a value is invalid"
        case .malformed(let field): "the field \(field) is missing or invalid"
        }
    }
}

extension RunResult: Codable {
    private enum Key: String, CodingKey {
        case v, setting, intervals, totals, thresholds, end, markers, sections, notes, passed
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        try fields.encode(Self.schemaVersion, forKey: .v)
        try fields.encode(self.setting, forKey: .setting)
        try fields.encode(self.intervals, forKey: .intervals)
        try fields.encode(self.totals, forKey: .totals)
        try fields.encode(self.thresholds, forKey: .thresholds)
        try fields.encode(self.end, forKey: .end)
        try fields.encode(self.markers, forKey: .markers)
        try fields.encode(self.sections, forKey: .sections)
        try fields.encode(self.notes, forKey: .notes)
        try fields.encode(self.isSuccess, forKey: .passed)
    }

    /// Decodes the intervals and computes the sums from them.
    ///
    /// The sums in the file are meant for other programs.
    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        let setting = try fields.decode(RunSetting.self, forKey: .setting)
        let intervals = try fields.decode([Interval].self, forKey: .intervals)
        guard Interval.canBeSummed(intervals) else {
            throw DecodingError.dataCorruptedError(forKey: .intervals, in: fields, debugDescription: "out of range")
        }
        self.init(
            setting: setting,
            intervals: intervals,
            end: try fields.decode(RunEnd.self, forKey: .end),
            markers: try fields.decode([Marker].self, forKey: .markers),
            sections: try fields.decode([ReportSection].self, forKey: .sections),
            notes: try fields.decode([String].self, forKey: .notes)
        )
        self.thresholds = try fields.decode([ThresholdResult].self, forKey: .thresholds)
    }
}

extension Totals: Encodable {
    private enum Key: String, CodingKey {
        case durationMicros, operations, count, answered, failures, unexpected, unsent, violations, ratePerSecond
        case serverCPUSeconds, serverCPUMicrosPerOperation, serverPeakResidentBytes, toolCPUSeconds, peakConnections
        case verificationMicros, verificationShare
    }

    package func encode(to encoder: any Encoder) throws {
        let all = self.figures()
        var fields = encoder.container(keyedBy: Key.self)
        try fields.encode(self.duration.inMicroseconds, forKey: .durationMicros)
        try fields.encode(self.operations, forKey: .operations)
        try fields.encode(all.count, forKey: .count)
        try fields.encode(all.answered, forKey: .answered)
        try fields.encode(all.failures, forKey: .failures)
        try fields.encode(all.unexpected, forKey: .unexpected)
        try fields.encode(self.unsent, forKey: .unsent)
        try fields.encode(self.violations, forKey: .violations)
        try fields.encodeIfPresent(self.rate, forKey: .ratePerSecond)
        try fields.encodeIfPresent(self.serverCPUSeconds, forKey: .serverCPUSeconds)
        try fields.encodeIfPresent(self.serverCPUMicrosecondsPerOperation, forKey: .serverCPUMicrosPerOperation)
        try fields.encodeIfPresent(self.serverPeakResidentBytes, forKey: .serverPeakResidentBytes)
        try fields.encodeIfPresent(self.toolCPUSeconds, forKey: .toolCPUSeconds)
        try fields.encodeIfPresent(self.verificationMicroseconds, forKey: .verificationMicros)
        try fields.encodeIfPresent(self.verificationShare, forKey: .verificationShare)
        try fields.encode(self.peakConnections, forKey: .peakConnections)
    }
}

/// Limits on the numbers in a file, so that their sums cannot overflow.
extension Interval {
    /// A count that no run can reach in one interval.
    static let countLimit = 10_000_000_000
    /// One hundred years.
    private static let timeLimit: Duration = .seconds(3_155_760_000)
    private static let gaugeRange = -1e15...1e15

    /// Returns whether the intervals are in order and every number in them is within the limits.
    static func canBeSummed(_ intervals: [Interval]) -> Bool {
        var end = Duration.zero
        for interval in intervals {
            guard interval.start >= end, interval.end >= interval.start, interval.end <= Self.timeLimit,
                interval.isWithinLimits
            else { return false }
            end = interval.end
        }
        return true
    }

    private var isWithinLimits: Bool {
        let counts =
            [self.unsent, self.violations.count]
            + self.operations.values.flatMap {
                $0.outcomes.values + [$0.unexpected, $0.latency.count, $0.serviceTime.count]
            }
        let gauges: [Double?] = [
            Double(self.gauges.connections), Double(self.gauges.inFlight), self.gauges.plannedRate,
            self.gauges.serverCPUSeconds, self.gauges.serverResidentBytes.map(Double.init),
            self.gauges.toolCPUSeconds, self.gauges.verificationMicroseconds,
        ]
        return counts.allSatisfy((0...Self.countLimit).contains)
            && gauges.compactMap(\.self).allSatisfy(Self.gaugeRange.contains)
    }
}
