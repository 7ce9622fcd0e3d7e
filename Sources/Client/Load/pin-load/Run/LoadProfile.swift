/// A predefined plan that answers a common question about a server.
struct LoadProfile: Sendable {
    let name: String
    /// The question answered by the run.
    let question: String
    /// An explanation of how to read the result.
    let reading: String
    /// The stages of the load, in the format of `--stages`.
    let stages: String
    var warmup: String?
    var arrivals: String?
    var mix: String?
    var connection: String?
    var checksPerWallet: String?
    var maxWrongPerWallet: String?
    var thresholds: [String] = []

    static let all: [LoadProfile] = [
        LoadProfile(
            name: "smoke",
            question: "Does the server answer correctly at all?",
            reading: "Any failure is a defect or a wrong configuration. Run it after each deployment.",
            stages: "15s:=4",
            mix: "right=80,wrong=15,change-pin=5",
            connection: "warm=50,new=50",
            thresholds: ["errors==0", "unexpected==0"]
        ),
        LoadProfile(
            name: "soak",
            question: "Does it stay correct and keep its speed and memory for hours?",
            reading: "Memory and p99 in the plots must not rise. Prolong it with --stages '12h:=200/s'.",
            stages: "2h:=200/s",
            warmup: "1m",
            arrivals: "poisson",
            mix: "right=95,wrong=4,change-pin=1",
            connection: "warm=80,new=15,resumed=5",
            thresholds: ["errors<0.01%", "unexpected==0"]
        ),
        LoadProfile(
            name: "spike",
            question: "Does a tenfold load for a moment leave anything behind?",
            reading: "Compare the last stage with the first: times must return to those before the spike.",
            stages: "1m:=100/s,20s:=1000/s,2m:=100/s",
            warmup: "10s",
            arrivals: "poisson",
            connection: "warm=50,new=50",
            thresholds: ["errors<0.1%", "unsent==0"]
        ),
        LoadProfile(
            name: "stress",
            question: "What is the highest rate, and what happens beyond it?",
            reading: "The rate at which p99 begins to rise is the capacity. Beyond it the server must reject calls, "
                + "not fail. Add --abort-on-fail to stop there.",
            stages: "1m:=500/s,1m:=1000/s,1m:=2000/s,1m:=4000/s,1m:=8000/s,1m:=16000/s",
            warmup: "10s",
            arrivals: "poisson",
            thresholds: ["errors<1%", "p99<100ms"]
        ),
        LoadProfile(
            name: "lockout-storm",
            question: "Do many users who block their wallets at once slow down the others?",
            reading: "Blocked wallets stay blocked for their time, so use wallets made for this run. The outcomes show "
                + "the blocks; times must stay close to those of a run with right PINs.",
            stages: "2m:=32",
            warmup: "5s",
            mix: "right=20,wrong=80",
            checksPerWallet: "10",
            maxWrongPerWallet: "1000",
            thresholds: ["errors<0.1%", "violations==0"]
        ),
    ]

    static func named(_ name: String) -> LoadProfile? { Self.all.first { $0.name == name } }

    /// The options that the profile stands for.
    var options: [(name: String, value: String)] {
        let all: [(String, String?)] = [
            ("--stages", self.stages), ("--warmup", self.warmup), ("--arrivals", self.arrivals), ("--mix", self.mix),
            ("--connection", self.connection), ("--checks-per-wallet", self.checksPerWallet),
            ("--max-wrong-per-wallet", self.maxWrongPerWallet),
        ]
        return all.compactMap { name, value in value.map { (name: name, value: $0) } }
            + self.thresholds.map { (name: "--threshold", value: $0) }
    }
}

extension LoadOptions {
    /// Fills in missing options from a profile.
    ///
    /// If any option specifies the course of the load, the profile's course is ignored.
    mutating func fill(from profile: LoadProfile) {
        let course = [self.connections, self.rate, self.duration, self.stages, self.stagesFile]
        if !course.contains(where: { $0 != nil }) {
            self.stages = profile.stages
            // Closed-loop profiles have no arrivals.
            self.arrivals = self.arrivals ?? profile.arrivals
        }
        self.warmup = self.warmup ?? profile.warmup
        self.mix = self.mix ?? profile.mix
        self.connection = self.connection ?? profile.connection
        self.checksPerWallet = self.checksPerWallet ?? profile.checksPerWallet
        self.maxWrongPerWallet = self.maxWrongPerWallet ?? profile.maxWrongPerWallet
    }
}
