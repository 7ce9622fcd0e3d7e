/// The arguments of the program.
struct Options {
    enum Mode {
        /// Child processes run the seeds.
        case children
        /// This is a child: it runs the seeds one after the other.
        case batch
        /// One seed, with its trace.
        case one
    }

    struct Problem: Error {
        let text: String
        var isHelp = false
    }

    var mode = Mode.children
    var seeds: ClosedRange<UInt64> = 1...200
    var printsTrace = false
    /// False to print a violation as it is found.
    var shrinks = true
    /// True to run each seed in two processes and compare their traces.
    var runsTwice = false
    /// The numbers of the faults that remain; nil for all.
    var only: Set<Int>?
    var jobs = 2
    /// True to omit the seeds of one server.
    var onlyShared = false

    mutating func read(_ arguments: ArraySlice<String>) throws(Problem) {
        for argument in arguments {
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            switch (parts[0], parts.count > 1 ? parts[1] : nil) {
            case ("--help", nil), ("-h", nil): throw Problem(text: Self.help, isHelp: true)
            case ("--trace", nil): self.printsTrace = true
            case ("--batch", nil): self.mode = .batch
            case ("--twice", nil): self.runsTwice = true
            case ("--quick", nil): self.shrinks = false
            case ("--shared", nil): self.onlyShared = true
            case ("SEED", let value?):
                guard let seed = UInt64(value) else { throw Problem(text: "SEED=\(value): not a number") }
                (self.mode, self.seeds) = (.one, seed...seed)
            case ("SEEDS", let value?): self.seeds = try Self.range(value)
            case ("FAULTS", let value?):
                let numbers = value.split(separator: ",").map { Int($0) }
                guard numbers.allSatisfy({ $0 != nil }) else { throw Problem(text: "FAULTS=\(value): not numbers") }
                self.only = Set(numbers.compactMap(\.self))
            case ("JOBS", let value?):
                guard let jobs = Int(value), jobs > 0 else { throw Problem(text: "JOBS=\(value): not a number") }
                self.jobs = jobs
            default: throw Problem(text: "not an option: \(argument); see simulate --help")
            }
        }
    }

    /// Reads `200` or `1000-1200`.
    private static func range(_ text: String) throws(Problem) -> ClosedRange<UInt64> {
        let numbers = text.split(separator: "-").map { UInt64($0) }
        switch (numbers.first ?? nil, numbers.last ?? nil) {
        case (let count?, _) where numbers.count == 1 && count > 0: return 1...count
        case (let first?, let last?) where numbers.count == 2 && first <= last: return first...last
        default: throw Problem(text: "SEEDS=\(text): neither a count nor FIRST-LAST")
        }
    }

    static let help = """
        usage: simulate [SEEDS=COUNT | SEEDS=FIRST-LAST | SEED=SEED] [OPTION ...]

        Runs whole servers and wallets with the network, disks and clocks between them in simulated time. A seed draws
        the attempt policy, the use of the phones, the order of all tasks, the faults, and the operator's backups and
        restores. The same seed gives the same trace. Each fifth seed runs two servers on PostgreSQL with a standby for
        some minutes; the others run one server with SQLite for one or two days. docs/proof.md lists the rules that
        are checked, and the limits.

          simulate SEEDS=200              seeds 1 to 200 (the default)
          simulate SEED=37                one seed; prints its faults
          simulate SEED=37 --trace        and all of its events
          simulate SEED=37 FAULTS=0,4     with these of its faults only
          simulate SEEDS=20 --twice       each seed in two processes, whose traces must be equal

        A violation ends the search. Its faults are removed one after the other as long as the violation remains, and
        the command that repeats the shortest run is printed; the exit status is then 1.

        JOBS=N    child processes side by side, 2 by default
        --quick   removes no faults
        --shared  runs only the seeds of two servers
        """
}
