internal import ChildPrograms
internal import FoundationEssentials
internal import HostSystem
internal import Subprocess
internal import Synchronization

/// A program that replaces part of a phone.
///
/// The program is started once per question. It receives a JSON object on standard input and must write one to standard
/// output. It runs in its own session, so that it can be killed along with every process it has started, and it has no
/// access to the wallet's terminal.
struct HookProgram: Sendable {
    let kind: DeviceHooks.Kind
    let command: HookCommand

    init(kind: DeviceHooks.Kind, command: HookCommand) {
        self.kind = kind
        self.command = command
        RunningHooks.endWithProcess()
    }

    /// The maximum number of bytes read from standard output and from standard error.
    static let outputLimit = 65_536

    /// Starts the program, sends it a question and waits for the answer.
    func ask<Question: Encodable, Reply: Decodable & Sendable>(
        _ question: Question,
        for reply: Reply.Type
    ) async throws(HookFailure) -> Reply {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.keyEncodingStrategy = .convertToSnakeCase
        guard let data = try? encoder.encode(question) else { throw .wrong("the question cannot be encoded") }
        let limit = self.command.timeLimit ?? self.kind.timeLimit
        let output = try await self.run(Array(data) + [0x0A], within: limit)
        guard let answer = try? JSONDecoder().decode(HookAnswer<Reply>.self, from: Data(output)) else {
            throw .noObject
        }
        guard let value = answer.value else { throw .wrong("its answer has a missing or invalid field") }
        return value
    }

    private func run(_ input: [UInt8], within limit: Duration) async throws(HookFailure) -> [UInt8] {
        guard let result = await finished(within: limit, { await self.run(input) }) else { throw .overTime(limit) }
        return try result.get()
    }

    private func run(_ input: [UInt8]) async -> Result<[UInt8], HookFailure> {
        // Writing to a program that has exited should fail with EPIPE instead of killing this process.
        StandardStreams.ignoreBrokenPipes()
        let program = RunningHooks.start()
        defer { RunningHooks.remove(program) }
        do {
            let run = try await Subprocess.run(
                .name("sh"),
                arguments: ["-c", self.command.line],
                environment: program.environment.updating(["REMOTE_PIN_HOOK": self.kind.rawValue]),
                platformOptions: .ownSession,
                input: .inputWriter,
                output: .bytes(limit: Self.outputLimit),
                error: .bytes(limit: Self.outputLimit)
            ) { execution in
                program.runs(execution.processIdentifier.value)
                // A program that does not need the question may exit without reading it.
                _ = try? await execution.standardInputWriter.write(input)
                try? await execution.standardInputWriter.finish()
            }
            guard run.terminationStatus.isSuccess else {
                let status = Self.text(run.terminationStatus)
                return .failure(.failed(status: status, lastLine: Self.lastLine(of: run.standardError)))
            }
            return .success(run.standardOutput)
        } catch let error as SubprocessError where error.code == .outputLimitExceeded {
            return .failure(.tooLong(limit: Self.outputLimit))
        } catch {
            return .failure(.notStarted)
        }
    }

    private static func text(_ status: TerminationStatus) -> String {
        switch status {
        case .exited(let code): "status \(code)"
        case .signaled(let signal): "signal \(signal)"
        }
    }

    /// Returns the last line, limited to 200 printable ASCII characters, for display to the user.
    private static func lastLine(of bytes: [UInt8]) -> String {
        let line = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).last ?? ""
        return String(
            line.filter { $0.isASCII && !($0.asciiValue.map { $0 < 0x20 || $0 == 0x7F } ?? true) }.prefix(200)
        )
    }
}

/// The programs that answer a question at the moment.
///
/// Each has a separate session, so a signal to the wallet does not reach it, and if it is stopped or ignores signals,
/// it does not notice that the wallet has ended.
private enum RunningHooks {
    private static let programs = Mutex<[ObjectIdentifier: StartedProgram]>([:])
    private static let isPrepared: Void = ProcessEnd.beforeSignals {
        for program in Self.programs.withLock(\.self).values { program.end() }
    }

    /// Kills all running programs before a signal ends this process.
    static func endWithProcess() { _ = self.isPrepared }

    static func start() -> StartedProgram {
        let program = StartedProgram()
        self.programs.withLock { $0[ObjectIdentifier(program)] = program }
        return program
    }

    static func remove(_ program: StartedProgram) {
        self.programs.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(program)) }
        program.hasEnded(killing: Task.isCancelled)
    }
}

/// A JSON object, decoded as the expected reply if possible.
private struct HookAnswer<Reply: Decodable & Sendable>: Decodable {
    let value: Reply?

    private struct AnyKey: CodingKey {
        let stringValue: String
        let intValue: Int? = nil
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        // Throws unless the value is an object.
        _ = try decoder.container(keyedBy: AnyKey.self)
        self.value = try? Reply(from: decoder)
    }
}

/// The programs that replace parts of a phone (docs/devices.md, Hooks).
package struct DeviceHooks: Sendable {
    /// The program that answers system prompts.
    package var biometric: HookCommand?
    /// The program that replaces the hardware key.
    ///
    /// It creates, attests and deletes keys, and uses them to create signatures (Android) or assertions (iOS).
    package var key: HookCommand?
    /// The program that replaces the issuer of person identification data.
    package var issuer: HookCommand?
    /// Called with a message for the user whenever a hook fails.
    ///
    /// The message never contains a secret.
    package var report: @Sendable (String) -> Void

    package init(
        biometric: HookCommand? = nil,
        key: HookCommand? = nil,
        issuer: HookCommand? = nil,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.biometric = biometric
        self.key = key
        self.issuer = issuer
        self.report = report
    }

    package var isEmpty: Bool { self.biometric == nil && self.key == nil && self.issuer == nil }

    /// The part of the phone replaced by a hook.
    enum Kind: String, Sendable {
        case biometric, key, issuer

        /// The default time limit.
        ///
        /// The limits are generous because a person may have to pick up a phone or identify themselves first.
        var timeLimit: Duration {
            switch self {
            case .biometric: .seconds(60)
            case .key: .seconds(30)
            case .issuer: .seconds(300)
            }
        }
    }
}

package struct HookCommand: Hashable, Sendable {
    package var line: String
    /// The time limit, or nil for the default: 60 s for a prompt, 30 s for the key, or 300 s for the issuer.
    package var timeLimit: Duration?

    package init(_ line: String, timeLimit: Duration? = nil) {
        self.line = line
        self.timeLimit = timeLimit
    }
}

/// An error from a hook that did not answer.
///
/// The part of the phone that uses the hook decides how to handle it.
enum HookFailure: Error, Hashable, CustomStringConvertible {
    case notStarted
    /// The program timed out and was killed, along with every process it had started.
    case overTime(Duration)
    /// The program exited with a nonzero status. `lastLine` is the end of its standard error.
    case failed(status: String, lastLine: String)
    case tooLong(limit: Int)
    case noObject
    /// The answer contains an invalid value.
    case wrong(String)

    var description: String {
        switch self {
        case .notStarted: "it could not be started"
        case .overTime(let limit): "it took longer than \(limit) and was killed"
        case .failed(let status, ""): "it exited with \(status)"
        case .failed(let status, let lastLine): "it exited with \(status): \(lastLine)"
        case .tooLong(let limit): "it wrote more than \(limit) bytes"
        case .noObject: "its answer is not one JSON object"
        case .wrong(let text): text
        }
    }
}
