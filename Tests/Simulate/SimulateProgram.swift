internal import Foundation
internal import HostSystem
internal import Lab

/// Simulates whole servers and wallets with faults, from seeds.
///
/// Seeds run in child processes, because a run leaves suspended tasks behind, and because a defect may end the process.
@main
struct SimulateProgram {
    static func main() throws {
        var options = Options()
        do throws(Options.Problem) { try options.read(CommandLine.arguments.dropFirst()) } catch {
            self.end(error.text, error.isHelp ? 0 : 2)
        }
        let run = try SeedRunner()
        switch options.mode {
        case .children: exit(Supervisor(options).run())
        case .batch: run.batch(options.seeds.lazy.filter { !options.onlyShared || Plan.isShared($0) })
        case .one: exit(run.one(options.seeds.lowerBound, only: options.only, printsTrace: options.printsTrace))
        }
        run.clear()
    }

    private static func end(_ text: String, _ status: Int32) -> Never {
        print(text)
        exit(status)
    }
}
