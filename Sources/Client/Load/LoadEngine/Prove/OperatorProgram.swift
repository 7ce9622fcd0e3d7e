internal import ChildPrograms
internal import HostSystem
internal import Subprocess

/// A program provided by the operator: a fault hook, or a command that revokes a wallet.
package struct OperatorProgram: Sendable {
    /// A shell command line.
    ///
    /// Each call appends its arguments.
    package let command: String

    /// The time limit for a call.
    ///
    /// A program that takes longer is killed along with any processes it has started.
    package static let timeLimit: Duration = .seconds(120)
    private static let outputLimit = 65_536

    package init(_ command: String) {
        self.command = command
    }

    /// The program could not be started, failed, or exceeded its time limit.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Runs the program and returns its output.
    @discardableResult
    package func run(_ arguments: [String]) async throws(Failure) -> String {
        let result = await finished(within: Self.timeLimit) { await self.result(of: arguments) }
        let call = ([self.command] + arguments).joined(separator: " ")
        guard let result else { throw Failure(description: "`\(call)` did not end within \(Self.timeLimit)") }
        return try result.get()
    }

    private func result(of arguments: [String]) async -> Result<String, Failure> {
        let call = ([self.command] + arguments).joined(separator: " ")
        do {
            let run = try await Subprocess.run(
                .name("sh"),
                arguments: Arguments(["-c", "\(self.command) \"$@\"", "sh"] + arguments),
                platformOptions: .ownSession,
                output: .string(limit: Self.outputLimit),
                error: .string(limit: Self.outputLimit)
            )
            guard run.terminationStatus.isSuccess else {
                let line = run.standardError.split(whereSeparator: \.isNewline).last ?? "no message"
                return .failure(Failure(description: "`\(call)` failed: \(line)"))
            }
            return .success(run.standardOutput)
        } catch {
            return .failure(Failure(description: "`\(call)` cannot be run: \(error)"))
        }
    }
}
