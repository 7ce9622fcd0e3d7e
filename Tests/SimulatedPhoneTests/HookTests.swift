import FoundationEssentials
import DeviceInterface
import Secrets
import TestSupport
import Testing
import Vocabulary

@testable import SimulatedPhone

@Suite("Programs in the place of prompt and issuer")
struct HookTests {
    private let bench: HookBench

    init() throws {
        self.bench = try HookBench()
    }

    private func prompt(
        _ lines: String,
        accepts: UnlockMethod = .biometric,
        within limit: Duration? = nil,
        on phone: SimulatedDevice? = nil
    ) async throws -> PromptResult {
        let command = try self.bench.program(lines, within: limit)
        let device = HookedDevice(try phone ?? self.bench.phone(), self.bench.hooks(biometric: command))
        #expect(device.answersPrompts)
        return try await device.authenticate(Prompt(.unlock, accepts: accepts), .byDevice)
    }

    @Test("what the program answers is the prompt's result", arguments: PromptResult.allCases)
    func results(result: PromptResult) async throws {
        let seen = try await self.prompt(#"cat > "$FOLDER/question"; echo '{"result":"\#(result.rawValue)"}'"#)
        #expect(seen == result)
        let question = try #require(self.bench.text("question"))
        for part in [#""hook":"biometric""#, #""purpose":"unlock""#, #""accepts":"biometric""#] {
            #expect(question.contains(part))
        }
        #expect(self.bench.told.isEmpty)
    }

    @Test(
        "whatever a program does wrong is a prompt that was sent away, and people are told why",
        arguments: [
            ("echo nothing here >&2; exit 3", "it exited with status 3: nothing here"),
            ("kill -9 $$", "it exited with s"),
            ("echo hello", "not one JSON object"),
            (#"echo '["confirmed"]'"#, "not one JSON object"),
            (#"echo '{"result":"confirmed"} {"result":"confirmed"}'"#, "not one JSON object"),
            ("true", "not one JSON object"),
            (#"echo '{"result":"Confirmed"}'"#, "must be one of confirmed"),
            (#"echo '{"result":true}'"#, "in a wrong form"),
            (#"echo '{"outcome":"confirmed"}'"#, "missing or invalid field"),
            (#"head -c 70000 /dev/zero; echo '{"result":"confirmed"}'"#, "more than 65536 bytes"),
            ("cat /dev/zero", "more than 65536 bytes"),
            (#"echo '{"result":"confirmed"}'; exit 1"#, "it exited with status 1"),
            ("no-such-program-anywhere", "not found"),
        ]
    )
    func wrongAnswers(lines: String, told: String) async throws {
        #expect(try await self.prompt(lines) == .cancelled)
        #expect(self.bench.told.count == 1)
        #expect(self.bench.told.first?.contains(told) ?? false, "\(self.bench.told)")
        #expect(self.bench.told.first?.hasPrefix("biometric hook: ") ?? false)
    }

    @Test("a program over its time is ended with all that it started")
    func overTime() async throws {
        let lines = #"sleep 600 & echo $! > "$FOLDER/child"; echo $$ > "$FOLDER/leader"; wait"#
        // A slow machine needs longer for as much as this.
        for limit in [1, 5, 30] where self.bench.text("leader") == nil {
            #expect(try await self.prompt(lines, within: .seconds(limit)) == .cancelled)
        }
        #expect(self.bench.told.allSatisfy { $0.contains("longer than") } && !self.bench.told.isEmpty)
        for name in ["child", "leader"] {
            let text = try #require(self.bench.text(name))
            let id = try #require(Int32(text.filter(\.isNumber)))
            #expect(await eventually { !isRunning(id) }, "\(name)")
        }
    }

    @Test("an answer counts when its program has ended, whatever it left running in the background")
    func background() async throws {
        let start = ContinuousClock.now
        #expect(try await self.prompt(#"sleep 40 & echo '{"result":"confirmed"}'"#) == .confirmed)
        #expect(ContinuousClock.now - start < .seconds(30))
    }

    @Test("a program need not read its question")
    func unread() async throws {
        for _ in 0..<10 {
            #expect(try await self.prompt(#"exec 0<&-; echo '{"result":"confirmed"}'"#) == .confirmed)
        }
        #expect(self.bench.told.isEmpty)
    }

    @Test("a program sees a small environment, and a session of its own")
    func environment() async throws {
        // The sixth field of stat is the session, which is the process itself for the first one in it.
        _ = try await self.prompt(
            #"env > "$FOLDER/all"; cut -d' ' -f6 /proc/$$/stat > "$FOLDER/session""#
        )
        let lines = try #require(self.bench.text("all")).split(separator: "\n").map(String.init)
        let names = Set(lines.compactMap { $0.split(separator: "=").first.map(String.init) })
        // A shell adds some of its own.
        let shell: Set = ["PWD", "OLDPWD", "SHLVL", "_"]
        #expect(names.subtracting(shell).isSubset(of: ["PATH", "HOME", "LANG", "TMPDIR", "REMOTE_PIN_HOOK"]))
        #expect(lines.contains("REMOTE_PIN_HOOK=biometric"))
        let session = try #require(self.bench.text("session"))
        let own = try String(decoding: Data(contentsOf: URL(filePath: "/proc/self/stat")), as: UTF8.self)
        #expect(session.filter(\.isNumber) != own.split(separator: " ")[5])
        #expect(!session.isEmpty)
    }

    @Test("what the phone's state decides is not asked")
    func notAsked() async throws {
        let lines = #"touch "$FOLDER/asked"; echo '{"result":"confirmed"}'"#
        let locked = try self.bench.phone { $0.isScreenLocked = true }
        #expect(try await self.prompt(lines, on: locked) == .cancelled)
        try locked.update {
            $0.isScreenLocked = false
            $0.biometrics = .notEnrolled
        }
        #expect(try await self.prompt(lines, on: locked) == .unavailable)
        #expect(self.bench.text("asked") == nil)
        #expect(try await self.prompt(lines, accepts: .passcode, on: locked) == .confirmed)
    }

    @Test("a keychain item opens when its program confirms, and by nothing else; the item says what is accepted")
    func keychain() async throws {
        let phone = try self.bench.phone()
        let lines = #"grep -q '"accepts":"biometric"' && cat "$FOLDER/answer""#
        let device = HookedDevice(phone, self.bench.hooks(biometric: try self.bench.program(lines)))
        try device.keychain.add(SecretBytes(copying: [1, 2, 3]), as: "item", access: .biometric)
        let prompt = Prompt(.unlock, accepts: .either)
        for result in PromptResult.allCases where result != .confirmed {
            try self.bench.write(#"{"result":"\#(result.rawValue)"}"#, to: "answer")
            await #expect(throws: KeychainError.prompt(result)) {
                _ = try await device.keychain.read("item", prompt, .byDevice).count
            }
        }
        try self.bench.write(#"{"result":"confirmed"}"#, to: "answer")
        #expect(try await device.keychain.read("item", prompt, .byDevice).exposedBytes() == [1, 2, 3])
        await #expect(throws: KeychainError.prompt(.cancelled)) {
            _ = try await phone.keychain.read("item", prompt, .byDevice).count
        }
    }

    @Test(
        "an issuer's program names the person, or nobody",
        arguments: [
            (#"echo '{"result":"obtained","recovery_code":"jan"}'"#, "jan", false),
            (#"echo '{"result":"cancelled"}'"#, nil, false),
            (#"echo '{"result":"failed","recovery_code":"jan"}'"#, nil, false),
            (#"echo '{"result":"obtained"}'"#, nil, true),
            (#"echo '{"result":"obtained","recovery_code":""}'"#, nil, true),
            (#"printf '{"result":"obtained","recovery_code":"%0129d"}' 1"#, nil, true),
            (#"echo '{"result":"maybe"}'"#, nil, true),
            ("exit 1", nil, true),
            ("sleep 600", nil, true),
        ] as [(String, String?, Bool)]
    )
    func issuer(lines: String, code: String?, isTold: Bool) async throws {
        let limit: Duration? = lines.hasPrefix("sleep") ? .milliseconds(300) : nil
        let hooks = self.bench.hooks(issuer: try self.bench.program(lines, within: limit))
        let issuer = try #require(HookedIssuer(for: self.bench.phone(), hooks))
        #expect(await issuer.obtain()?.bytes == code.map { Array($0.utf8) })
        #expect(self.bench.told.count == (isTold ? 1 : 0), "\(self.bench.told)")
    }

    @Test("without hooks a phone does all by itself")
    func none() async throws {
        let phone = try self.bench.phone { $0.sensor = .match }
        let device = HookedDevice(phone, self.bench.hooks())
        #expect(self.bench.hooks().isEmpty)
        #expect(HookedIssuer(for: phone, self.bench.hooks()) == nil)
        #expect(try await device.authenticate(Prompt(.unlock), .byDevice) == .confirmed)
        _ = try await device.createKey(challenge: self.bench.lab.challenge)
        #expect(device.hasKey && phone.hasKey)
        #expect(try await device.prove(statement: [1]).count == 64)
        try await device.deleteKey()
        #expect(!phone.hasKey)
    }
}
