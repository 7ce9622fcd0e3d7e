import ArgumentParser
import Foundation
import LoadEngine
import TestSupport
import Testing

@testable import pin_load

@Suite("pin-load report and compare")
struct CommandTests {
    private let folder = TemporaryFolder()

    private func code(of body: () async throws -> Void) async throws -> Int32 {
        do {
            try await body()
            return 0
        } catch let code as ExitCode {
            return code.rawValue
        }
    }

    private func report(_ words: String...) async throws -> Int32 {
        let command = try ReportCommand.parse(words)
        return try await self.code { try await command.run() }
    }

    private func compare(_ words: [String]) async throws -> Int32 {
        let command = try CompareCommand.parse(words)
        return try await self.code { try await command.run() }
    }

    @Test(
        "'report' writes the requested format",
        arguments: LoadReportFormat.allCases
    )
    func formats(format: LoadReportFormat) async throws {
        let path = try self.folder.write(SampleRun.plain.text(as: .json), to: "run.json")
        let out = self.folder.file("out")
        #expect(try await self.report(path, "--out", out, "--format", format.rawValue) == 0)
        #expect(try String(contentsOfFile: out, encoding: .utf8) == SampleRun.plain.text(as: format))
        // The file extension is the default.
        let named = self.folder.file("out.\(format == .text ? "txt" : format.rawValue)")
        #expect(try await self.report(path, "--out", named) == 0)
        #expect(try String(contentsOfFile: named, encoding: .utf8) == SampleRun.plain.text(as: format))
        #expect(try await self.report(path, "--out", named, "--format", "csv") == 0)
        #expect(try String(contentsOfFile: named, encoding: .utf8) == SampleRun.plain.text(as: .csv))
    }

    @Test(
        "'compare' exits with 99 if a metric changed by more than the limit, or is missing",
        arguments: [
            ([], 0), (["service.p50>+30%"], 0), (["service.p50>+10%"], 99), (["register.p50>+1%"], 99),
            (["service.p50>+30%", "server-cpu > +10%"], 99),
        ] as [([String], Int32)]
    )
    func limits(limits: [String], code: Int32) async throws {
        let before = try self.folder.write(SampleRun.plain.text(as: .json), to: "before.json")
        let after = try self.folder.write(SampleRun.slower.text(as: .json), to: "after.json")
        let words = [before, after] + limits.flatMap { ["--fail-if", $0] }
        #expect(try await self.compare(words) == code)
    }

    @Test("an invalid or missing input file gives exit code 1, an output file that cannot be written 70")
    func unusableFiles() async throws {
        let path = try self.folder.write("{}", to: "run.json")
        #expect(try await self.report(path) == 1)
        #expect(try await self.report(self.folder.file("none")) == 1)
        #expect(try await self.compare([path, path]) == 1)
        let right = try self.folder.write(SampleRun.plain.text(as: .json), to: "right.json")
        #expect(try await self.report(right, "--out", self.folder.file("none/out")) == 70)
    }

    @Test(
        "a mistake in the command line gives a message with the correct form",
        arguments: [
            ("p99>10%", "write a signed percentage, as in p99>+10% or p99<-5%"),
            ("p99x>+1%", "unknown metric 'p99x'"),
        ] as [(String, String)]
    )
    func mistakes(limit: String, message: String) throws {
        let error = #expect(throws: (any Error).self) { try CompareCommand.parse(["a", "b", "--fail-if", limit]) }
        #expect(CompareCommand.fullMessage(for: try #require(error)).contains(message))
        #expect(throws: (any Error).self) { try ReportCommand.parse(["a", "--format", "hlog"]) }
    }
}
