import FoundationEssentials
import WalletFlows
import Secrets
import TestSupport
import Testing
import Vocabulary

@testable import SimulatedPhone

@Suite("Hooks for prompts and the issuer")
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

    @Test("the program's answer is the result of the prompt", arguments: PromptResult.allCases)
    func results(result: PromptResult) async throws {
        let seen = try await self.prompt(#"cat > "$FOLDER/question"; echo '{"result":"\#(result.rawValue)"}'"#)
        #expect(seen == result)
        let question = try #require(self.bench.text("question"))
        for part in [#""hook":"biometric""#, #""purpose":"unlock""#, #""accepts":"biometric""#] {
            #expect(question.contains(part))
        }
        #expect(self.bench.reported.isEmpty)
    }

    @Test(
        "any failure of a program counts as a dismissed prompt, and the user is notified of the reason",
        arguments: [
            ("echo nothing here >&2; exit 3", "it exited with status 3: nothing here"),
            ("kill -9 $$", "it exited with s"),
            ("echo hello", "not one JSON object"),
            (#"echo '["confirmed"]'"#, "not one JSON object"),
            (#"echo '{"result":"confirmed"} {"result":"confirmed"}'"#, "not one JSON object"),
            ("true", "not one JSON object"),
            (#"echo '{"result":"Confirmed"}'"#, "must be one of confirmed"),
            (#"echo '{"result":true}'"#, "missing or invalid field"),
            (#"echo '{"outcome":"confirmed"}'"#, "missing or invalid field"),
            (#"head -c 70000 /dev/zero; echo '{"result":"confirmed"}'"#, "more than 65536 bytes"),
            ("cat /dev/zero", "more than 65536 bytes"),
            (#"echo '{"result":"confirmed"}'; exit 1"#, "it exited with status 1"),
            ("no-such-program-anywhere", "not found"),
        ]
    )
    func wrongAnswers(lines: String, reported: String) async throws {
        #expect(try await self.prompt(lines) == .cancelled)
        #expect(self.bench.reported.count == 1)
        #expect(self.bench.reported.first?.contains(reported) ?? false, "\(self.bench.reported)")
        #expect(self.bench.reported.first?.hasPrefix("biometric hook: ") ?? false)
    }

    @Test("a program that exceeds its time limit is killed with its child processes, also those in another session")
    func overTime() async throws {
        let lines = """
            sleep 600 & echo $! > "$FOLDER/child"
            setsid sleep 600 & echo $! > "$FOLDER/session"
            echo $$ > "$FOLDER/leader"; wait
            """
        // Long enough for a slow machine.
        for limit in [1, 5, 30] where self.bench.text("leader") == nil {
            #expect(try await self.prompt(lines, within: .seconds(limit)) == .cancelled)
        }
        #expect(self.bench.reported.allSatisfy { $0.contains("longer than") } && !self.bench.reported.isEmpty)
        for name in ["child", "session", "leader"] {
            let text = try #require(self.bench.text(name))
            let id = try #require(Int32(text.filter(\.isNumber)))
            #expect(await eventually { !isRunning(id) }, "\(name)")
        }
    }

    @Test("an answer is used when its program has exited, even if background processes remain")
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
        #expect(self.bench.reported.isEmpty)
    }

    @Test("a program has a minimal environment and a separate session")
    func environment() async throws {
        // The sixth field of stat is the session id; it equals the process id of the session
        // leader.
        _ = try await self.prompt(
            #"env > "$FOLDER/all"; cut -d' ' -f6 /proc/$$/stat > "$FOLDER/session""#
        )
        let lines = try #require(self.bench.text("all")).split(separator: "\n").map(String.init)
        let names = Set(lines.compactMap { $0.split(separator: "=").first.map(String.init) })
        // The shell adds some variables.
        let shell: Set = ["PWD", "OLDPWD", "SHLVL", "_"]
        let known: Set = ["PATH", "HOME", "LANG", "TMPDIR", "REMOTE_PIN_HOOK", "PIN_PROGRAM_START"]
        #expect(names.subtracting(shell).isSubset(of: known))
        #expect(lines.contains("REMOTE_PIN_HOOK=biometric"))
        let session = try #require(self.bench.text("session"))
        let own = try String(decoding: Data(contentsOf: URL(filePath: "/proc/self/stat")), as: UTF8.self)
        #expect(session.filter(\.isNumber) != own.split(separator: " ")[5])
        #expect(!session.isEmpty)
    }

    @Test("the program is not asked if the state of the phone determines the result")
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

    @Test("a keychain item opens only if the program confirms, and the item determines the accepted means")
    func keychain() async throws {
        let phone = try self.bench.phone()
        let lines = #"grep -q '"accepts":"biometric"' && cat "$FOLDER/answer""#
        let device = HookedDevice(phone, self.bench.hooks(biometric: try self.bench.program(lines)))
        try device.keychain.add(SecretBytes(copying: [1, 2, 3]), as: "item", access: .any(.biometric))
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
        "an issuer's program identifies the person or fails",
        arguments: [
            (#"echo '{"result":"obtained","recovery_code":"jan"}'"#, "jan", false),
            (#"printf '{"result":"obtained","recovery_code":" Jan-1\\r\\n"}'"#, "Jan-1", false),
            (#"printf '{"result":"obtained","recovery_code":"\\ufeffjan"}'"#, nil, true),
            (#"echo '{"result":"obtained","recovery_code":"José-1"}'"#, nil, true),
            (#"echo '{"result":"obtained","recovery_code":"jan de vries"}'"#, nil, true),
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
    func issuer(lines: String, code: String?, isReported: Bool) async throws {
        let limit: Duration? = lines.hasPrefix("sleep") ? .milliseconds(300) : nil
        let hooks = self.bench.hooks(issuer: try self.bench.program(lines, within: limit))
        let issuer = try #require(HookedIssuer(for: self.bench.phone(), hooks))
        #expect(await issuer.obtain()?.bytes == code.map { Array($0.utf8) })
        #expect(self.bench.reported.count == (isReported ? 1 : 0), "\(self.bench.reported)")
    }

    @Test("without hooks the simulated phone does everything")
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
