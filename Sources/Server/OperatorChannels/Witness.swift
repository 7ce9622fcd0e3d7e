package import ChildPrograms
internal import FoundationEssentials
internal import HostSystem
internal import NIOCore
package import ServerSettings
internal import Subprocess

/// A witness outside the server that keeps the highest numbers it has received.
///
/// Requests and replies are JSON objects on a single line:
///
///     {"generation":1042,"step":17,"witness":1}
///     {"generation":1042,"step":17}
///
/// The reply contains the numbers that the witness has durably recorded, including those in the request. If the witness
/// is a program, it is started for each request, without a shell. It reads the line from standard input and writes the
/// reply to standard output. If the witness is a server on a Unix socket, each request uses a new connection.
package struct Witness: Sendable {
    private let channel: OperatorChannel
    private let limit: Duration
    private let messages: ProgramMessages

    /// The time limit for one request.
    package static let timeLimit: Duration = .seconds(10)
    private static let longestReply = 4_096

    /// - Parameter messages: Receives a program's lines on standard error.
    package init(
        _ channel: OperatorChannel,
        limit: Duration = Self.timeLimit,
        messages: ProgramMessages = ProgramMessages { _, _ in }
    ) {
        self.channel = channel
        self.limit = limit
        self.messages = messages
    }

    /// The configured witness, or nil if there is none.
    ///
    /// - Parameter messages: Receives a program's lines on standard error.
    package init?(
        _ settings: ServerSettings,
        messages: ProgramMessages = ProgramMessages { line, _ in StandardStreams.writeError("the witness: \(line)\n") }
    ) {
        let channels = OperatorChannel.named(
            program: settings[SettingTable.witnessProgram],
            arguments: settings[SettingTable.witnessArguments],
            socket: settings[SettingTable.witnessSocket]
        )
        guard let channel = channels.first else { return nil }
        self.init(channel, messages: messages)
    }

    /// Sends numbers to the witness and returns those it has on record.
    package func note(_ numbers: WitnessNumbers) async throws(WitnessSilence) -> WitnessRecord {
        // Sort the members as a JSON encoder would, so that a script can match the line.
        let line = "{\"generation\":\(numbers.generation),\"step\":\(numbers.step),\"witness\":1}\n"
        let reply = try await self.exchange(Array(line.utf8))
        guard let end = reply.firstIndex(of: 0x0A),
            let record = try? JSONDecoder().decode(WitnessRecord.self, from: Data(reply[..<end])),
            record.generation != nil || record.step != nil
        else { throw WitnessSilence("its reply is not one line with `generation` or `step`") }
        // A witness that does not return the numbers it has just received keeps no record.
        guard record.generation ?? .max >= numbers.generation, record.step ?? .max >= numbers.step else {
            throw WitnessSilence("it recorded \(record), but was told \(numbers)")
        }
        return record
    }

    private func exchange(_ line: [UInt8]) async throws(WitnessSilence) -> [UInt8] {
        let result: Result<[UInt8], WitnessSilence>? = await finished(within: self.limit) {
            do {
                switch self.channel.kind {
                case .program: return .success(try await self.run(line))
                case .socket: return .success(try await self.call(line))
                }
            } catch {
                return .failure(error as? WitnessSilence ?? WitnessSilence("\(error)"))
            }
        }
        guard let result else { throw WitnessSilence("no reply within \(self.limit)") }
        return try result.get()
    }

    private func run(_ line: [UInt8]) async throws -> [UInt8] {
        let output: BytesOutput = .bytes(limit: Self.longestReply)
        let run = try await self.channel.run(output: output, messages: self.messages) { writer in
            // A program may reply without reading the line.
            try? await writer(line)
        }
        guard run.status.isSuccess else {
            throw WitnessSilence("\(self.channel.path) ended with \(run.status.spoken)")
        }
        return run.output
    }

    private func call(_ line: [UInt8]) async throws -> [UInt8] {
        try await self.channel.connect(reads: true).executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(bytes: line))
            var reply: [UInt8] = []
            for try await part in inbound {
                reply += Array(buffer: part)
                if reply.contains(0x0A) || reply.count > Self.longestReply { break }
            }
            return reply
        }
    }
}

/// The numbers that a witness uses to recognize an older store.
///
/// Neither of them ever decreases.
package struct WitnessNumbers: Hashable, Sendable, CustomStringConvertible {
    /// The store's generation.
    ///
    /// It increases with every commit that changes the store.
    package var generation: UInt64
    /// The number of witness requests.
    ///
    /// It increases by one with each request, so that a simple counter can serve as a witness.
    package var step: UInt64

    package init(generation: UInt64, step: UInt64) {
        self.generation = generation
        self.step = step
    }

    package var description: String { "generation \(self.generation), step \(self.step)" }
}

/// The numbers on record with a witness, including those in the request.
///
/// It may record only one of them.
package struct WitnessRecord: Hashable, Sendable, Decodable, CustomStringConvertible {
    package var generation: UInt64?
    package var step: UInt64?

    /// Returns whether the witness has seen a later state of the store.
    package func isAhead(of numbers: WitnessNumbers) -> Bool {
        self.generation ?? 0 > numbers.generation || self.step ?? 0 > numbers.step
    }

    package var description: String {
        [self.generation.map { "generation \($0)" }, self.step.map { "step \($0)" }].compactMap(\.self)
            .joined(separator: ", ")
    }
}

/// The reason a witness did not answer.
///
/// Repair the witness, or ask again later.
package struct WitnessSilence: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
