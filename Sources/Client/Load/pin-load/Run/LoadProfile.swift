/// A predefined plan that answers a common question about a server.
struct LoadProfile: Sendable {
    let name: String
    /// The question answered by the run.
    let question: String
    /// An explanation of how to read the result.
    let reading: String
    /// The options of `run` that the profile stands for.
    let options: [(name: String, value: String)]

    static let all: [LoadProfile] = [
        LoadProfile(
            name: "smoke",
            question: "Does the server answer correctly at all?",
            reading: "Any failure is a defect or a wrong configuration. Run it after each deployment.",
            options: [
                ("--stages", "15s:=4"), ("--mix", "right=80,wrong=15,change-pin=5"),
                ("--connection", "warm=50,new=50"), ("--threshold", "errors==0"), ("--threshold", "unexpected==0"),
            ]
        ),
        LoadProfile(
            name: "soak",
            question: "Does it stay correct and keep its speed and memory for hours?",
            reading: "Memory and p99 in the plots must not rise. Prolong it with --stages '12h:=200/s'.",
            options: [
                ("--stages", "2h:=200/s"), ("--warmup", "1m"), ("--arrivals", "poisson"),
                ("--mix", "right=95,wrong=4,change-pin=1"), ("--connection", "warm=80,new=15,resumed=5"),
                ("--threshold", "errors<0.01%"), ("--threshold", "unexpected==0"),
            ]
        ),
        LoadProfile(
            name: "spike",
            question: "Does a tenfold load for a moment leave anything behind?",
            reading: "Compare the last stage with the first: times must return to those before the spike.",
            options: [
                ("--stages", "1m:=100/s,20s:=1000/s,2m:=100/s"), ("--warmup", "10s"), ("--arrivals", "poisson"),
                ("--connection", "warm=50,new=50"), ("--threshold", "errors<0.1%"), ("--threshold", "unsent==0"),
            ]
        ),
        LoadProfile(
            name: "stress",
            question: "What is the highest rate, and what happens beyond it?",
            reading: "The rate at which p99 begins to rise is the capacity. Beyond it the server must reject calls, "
                + "not fail. Add --abort-on-fail to stop there.",
            options: [
                ("--stages", "1m:=500/s,1m:=1000/s,1m:=2000/s,1m:=4000/s,1m:=8000/s,1m:=16000/s"),
                ("--warmup", "10s"), ("--arrivals", "poisson"), ("--threshold", "errors<1%"),
                ("--threshold", "p99<100ms"),
            ]
        ),
        LoadProfile(
            name: "lockout-storm",
            question: "Do many users who block their wallets at once slow down the others?",
            reading: "Blocked wallets stay blocked for their time, so use wallets made for this run. The outcomes show "
                + "the blocks; times must stay close to those of a run with right PINs.",
            options: [
                ("--stages", "2m:=32"), ("--warmup", "5s"), ("--mix", "right=20,wrong=80"),
                ("--checks-per-wallet", "10"), ("--max-wrong-per-wallet", "1000"), ("--threshold", "errors<0.1%"),
                ("--threshold", "violations==0"),
            ]
        ),
    ]

    static func named(_ name: String) -> LoadProfile? { Self.all.first { $0.name == name } }

    /// Returns the value of an option, or nil if the profile does not set it.
    func value(of option: String) -> String? { self.options.first { $0.name == option }?.value }
}

extension LoadOptions {
    /// Fills in missing options from a profile.
    ///
    /// If any option specifies the course of the load, the profile's course is ignored.
    mutating func fill(from profile: LoadProfile) {
        let course = [self.connections, self.rate, self.duration, self.stages, self.stagesFile]
        if !course.contains(where: { $0 != nil }) {
            self.stages = profile.value(of: "--stages")
            // Closed-loop profiles have no arrivals.
            self.arrivals = self.arrivals ?? profile.value(of: "--arrivals")
        }
        self.warmup = self.warmup ?? profile.value(of: "--warmup")
        self.mix = self.mix ?? profile.value(of: "--mix")
        self.connection = self.connection ?? profile.value(of: "--connection")
        self.checksPerWallet = self.checksPerWallet ?? profile.value(of: "--checks-per-wallet")
        self.maxWrongPerWallet = self.maxWrongPerWallet ?? profile.value(of: "--max-wrong-per-wallet")
    }
}
