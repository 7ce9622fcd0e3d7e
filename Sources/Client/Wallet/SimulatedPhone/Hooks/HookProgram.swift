internal import FoundationEssentials
internal import HostSystem
internal import Subprocess

/// One program in the place of a part of a phone: a JSON object in, a JSON object out, once for each question.
///
/// It runs in a session of its own, so that ending it ends all that it has started, and so that it can neither read nor
/// disturb the wallet's terminal.
struct HookProgram: Sendable {
    let kind: DeviceHooks.Kind
    let command: HookCommand

    /// More than any honest answer has; what is longer is not read to its end.
    static let outputLimit = 65_536

    /// Asks one question.
    func ask<Question: Encodable, Reply: Decodable & Sendable>(
        _ question: Question,
        for reply: Reply.Type
    ) async throws(HookFailure) -> Reply {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(question) else { throw .wrong("the question cannot be written") }
        let limit = self.command.timeLimit ?? self.kind.timeLimit
        let output = try await self.run(Array(data) + [0x0A], within: limit)
        guard let answer = try? JSONDecoder().decode(HookAnswer<Reply>.self, from: Data(output)) else {
            throw .noObject
        }
        guard let value = answer.value else { throw .wrong("its answer lacks something, or has it in a wrong form") }
        return value
    }

    private func run(_ input: [UInt8], within limit: Duration) async throws(HookFailure) -> [UInt8] {
        let result = await withTaskGroup(of: Result<[UInt8], HookFailure>.self) { group in
            group.addTask { await self.run(input) }
            group.addTask {
                try? await Task.sleep(for: limit)
                return .failure(.overTime(limit))
            }
            defer { group.cancelAll() }
            return await group.next() ?? .failure(.notStarted)
        }
        return try result.get()
    }

    private func run(_ input: [UInt8]) async -> Result<[UInt8], HookFailure> {
        // Writing to a program that has ended must fail, not end this process.
        StandardStreams.ignoreBrokenPipes()
        var options = PlatformOptions()
        options.createSession = true
        // Whatever it started goes with it, at once: nobody waits for the answer any more.
        options.teardownSequence = [
            .send(signal: .kill, toProcessGroup: true, allowedDurationToNextStep: .milliseconds(100))
        ]
        do {
            let run = try await Subprocess.run(
                .name("sh"),
                arguments: ["-c", self.command.line],
                environment: .custom(self.environment),
                platformOptions: options,
                input: .inputWriter,
                output: .bytes(limit: Self.outputLimit),
                error: .bytes(limit: Self.outputLimit)
            ) { execution in
                // A program need not read its question, and may have ended by now.
                _ = try? await execution.standardInputWriter.write(input)
                try? await execution.standardInputWriter.finish()
            }
            guard run.terminationStatus.isSuccess else {
                let status = Self.words(run.terminationStatus)
                return .failure(.failed(status: status, lastLine: Self.lastLine(of: run.standardError)))
            }
            return .success(run.standardOutput)
        } catch let error as SubprocessError where error.code == .outputLimitExceeded {
            return .failure(.tooLong(limit: Self.outputLimit))
        } catch {
            return .failure(.notStarted)
        }
    }

    /// What a program needs to run, and nothing of what else the wallet was started with.
    private var environment: [Environment.Key: String] {
        var environment: [Environment.Key: String] = ["REMOTE_PIN_HOOK": self.kind.rawValue]
        let own = ProcessInfo.processInfo.environment
        for name in ["PATH", "HOME", "LANG", "TMPDIR"] {
            if let value = own[name], let key = Environment.Key(rawValue: name) { environment[key] = value }
        }
        return environment
    }

    /// How it ended, in words.
    private static func words(_ status: TerminationStatus) -> String {
        switch status {
        case .exited(let code): "status \(code)"
        case .signaled(let signal): "signal \(signal)"
        }
    }

    /// What people are told of it: one line of printable characters.
    private static func lastLine(of bytes: [UInt8]) -> String {
        let line = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).last ?? ""
        return String(
            line.filter { $0.isASCII && !($0.asciiValue.map { $0 < 0x20 || $0 == 0x7F } ?? true) }.prefix(200)
        )
    }
}

/// An answer as it may be: an object, of which the reply can be made or not.
private struct HookAnswer<Reply: Decodable & Sendable>: Decodable {
    let value: Reply?

    private struct AnyKey: CodingKey {
        let stringValue: String
        let intValue: Int? = nil
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        // Throws for all that is no object.
        _ = try decoder.container(keyedBy: AnyKey.self)
        self.value = try? Reply(from: decoder)
    }
}
