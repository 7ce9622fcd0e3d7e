internal import FoundationEssentials

extension RunResult {
    /// The JSON that ``init(json:)`` reads and docs/load-result.schema.json describes, its last line ended.
    package var jsonText: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else { preconditionFailure("plain values encode") }
        return String(decoding: data, as: UTF8.self) + "\n"
    }

    /// Reads what ``jsonText`` wrote.
    package init(json: [UInt8]) throws(RunResultError) {
        let data = Data(json)
        let decoder = JSONDecoder()
        guard let version = try? decoder.decode(Version.self, from: data).v else { throw .notAResult }
        guard version <= Self.schemaVersion else { throw .newer(version: version) }
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

/// Why a file is no result; the caller says which file.
package enum RunResultError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Not JSON, or JSON of something else.
    case notAResult
    /// Written by a newer tool, which has to read it as well.
    case newer(version: Int)
    /// A field is missing or is not what it has to be; empty where Foundation does not say which, as of a number too large.
    case malformed(field: String)

    package var description: String {
        switch self {
        case .notAResult: "it is not the JSON of a run"
        case .newer(let version):
            "it has schema version \(version), and this tool reads up to \(RunResult.schemaVersion): use a newer one"
        case .malformed(""): "a value in it is not what it has to be"
        case .malformed(let field): "its field \(field) is missing or not what it has to be"
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

    /// The sums are made anew from the intervals: those in the file are for programs that only want to look.
    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        let setting = try fields.decode(RunSetting.self, forKey: .setting)
        let intervals = try fields.decode([Interval].self, forKey: .intervals)
        guard Interval.canBeSummed(intervals) else {
            throw DecodingError.dataCorruptedError(forKey: .intervals, in: fields, debugDescription: "no run has these")
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

    /// For programs that only want to look; nothing is read back from it.
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

extension Duration {
    /// Whole µs.
    var inMicroseconds: Int64 {
        let (seconds, attoseconds) = self.components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }
}
