internal import Dispatch
internal import Glibc
internal import Synchronization

/// Ends this process and its child processes.
package enum ProcessEnd {
    /// Ends this process immediately; waits only for queued log lines, for a second at most.
    ///
    /// The caller makes everything that it promises durable first, so only answers can be lost. `exit` is not suitable:
    /// libcrypto frees its tables in an exit handler, and other threads that still use them would crash and lose the
    /// status.
    package static func atOnce(status: Int32) -> Never {
        QueuedOutput.flushAll(within: StandardStreams.patience)
        _exit(status)
    }

    /// EX_SOFTWARE in sysexits.h: a part did not stop in time.
    private static let statusOverdue: Int32 = 70

    /// Ends the process if it still runs `limit` after the first SIGTERM or SIGINT, or at the second one.
    ///
    /// The first one also ends all waits for readers of the standard streams. The status after the second one is the
    /// one that a shell reports for a process that the signal ended.
    ///
    /// Invariant: no other part of the process can prevent this. Separate threads wait for the signals and for the
    /// time, since all threads that run tasks may be blocked, and the end at the limit writes no log.
    ///
    /// - Parameters:
    ///   - cleanUp: Called before the end; must return soon.
    ///   - announce: Called before the end because of a second signal, with its number.
    package static func limitStop(
        to limit: Duration,
        cleanUp: @escaping @Sendable () -> Void = {},
        announce: @escaping @Sendable (Int32) -> Void
    ) {
        let hasBegun = Atomic(false)
        self.onSignals([SIGTERM, SIGINT]) { signal in
            guard !hasBegun.exchange(true, ordering: .relaxed) else {
                announce(signal)
                cleanUp()  // rule: hook-outlives-second-signal
                self.atOnce(status: 128 + signal)
            }
            StandardStreams.stopWaiting()
            let time = DispatchTime.now() + .milliseconds(Int(limit / .milliseconds(1)))
            DispatchQueue(label: "limit of the stop").asyncAfter(deadline: time) {
                cleanUp()
                self.atOnce(status: self.statusOverdue)
            }
        }
    }

    /// Calls `body` for each of these signals from now on, on a separate thread.
    package static func onSignals(_ signals: [Int32], _ body: @escaping @Sendable (Int32) -> Void) {
        let queue = DispatchQueue(label: "signals")
        for number in signals {
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                withExtendedLifetime(source) {}
                body(number)
            }
            let isRegistered = DispatchSemaphore(value: 0)
            source.setRegistrationHandler { isRegistered.signal() }
            source.resume()
            isRegistered.wait()
        }
    }

    /// Calls `body` before SIGTERM, SIGINT or SIGHUP ends this process, each unless it is ignored or handled already.
    package static func beforeSignals(_ body: @escaping @Sendable () -> Void) {
        for number in [SIGTERM, SIGINT, SIGHUP] where Self.isDefault(number) {
            self.onSignals([number]) { signal in
                body()
                _ = Glibc.signal(signal, SIG_DFL)
                CaughtSignals.raiseHere(signal)
            }
        }
    }

    /// Returns whether a signal has its default effect.
    private static func isDefault(_ number: Int32) -> Bool {
        var action = sigaction()
        unsafe sigaction(number, nil, &action)
        return unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 0
    }

    /// Kills every process in a group.
    ///
    /// It is not an error if the group is empty.
    package static func ofGroup(_ leader: Int32) {
        precondition(leader > 1, "0 means this process's own group, and −1, the negative of 1, all processes")
        kill(-leader, SIGKILL)
    }

    /// Kills every process of this user that was started with a variable in its environment, `NAME=VALUE`.
    ///
    /// A process may start another one while it is being looked for, so this repeats until none is found, but at most
    /// ten times.
    package static func ofAll(with variable: String) {
        let wanted = Array(variable.utf8)
        for _ in 0..<10 {
            var isFound = false
            for process in self.processes() {
                // Fails for processes of other users.
                guard let environment = try? DurableFile.read("/proc/\(process)/environ", atMost: 1 << 20),
                    environment.split(separator: 0).contains(where: { $0.elementsEqual(wanted) })
                else { continue }
                isFound = true
                kill(process, SIGKILL)
            }
            if !isFound { return }
        }
    }

    /// Returns the ids of all processes except this one.
    private static func processes() -> [Int32] {
        let names = (try? DurableFile.names(in: "/proc")) ?? []
        return names.compactMap { Int32($0) }.filter { $0 != getpid() }
    }

    /// Makes this process send itself a SIGTERM when its standard input ends, which happens when the process writing to
    /// it exits.
    ///
    /// This is for parents that may be killed, which this process would not notice otherwise. A parent-death signal
    /// (prctl(2)) would not work, because it is sent when the thread that forked exits rather than the parent process.
    package static func followsInput() {
        DispatchQueue(label: "standard input").async {
            var buffer: [UInt8] = Array(repeating: 0, count: 512)
            while true {
                let count = unsafe read(STDIN_FILENO, &buffer, buffer.count)
                if count > 0 || (count < 0 && errno == EINTR) { continue }
                kill(getpid(), SIGTERM)
                return
            }
        }
    }
}

/// Replaces the program running in this process with another one.
package enum OtherProgram {
    /// Returns the path of a program with this name in the same folder as the running program.
    package static func path(besideThisOne name: String) throws(FileError) -> String {
        let link = "/proc/self/exe"
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = try SystemCall.retrying(link) { unsafe readlink(link, &buffer, buffer.count) }
        let own = String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard let slash = own.lastIndex(of: "/") else { throw .notFound(own) }
        return "\(own[..<slash])/\(name)"
    }

    /// Replaces this program with the one at `path`.
    ///
    /// The process id, environment and standard streams stay the same.
    ///
    /// - Returns: The error if the program could not be started. Otherwise, this function does not return.
    package static func become(_ path: String, arguments: [String]) -> FileError {
        QueuedOutput.flushAll(within: StandardStreams.patience)
        var pointers: [UnsafeMutablePointer<CChar>?] = unsafe ([path] + arguments).map { unsafe strdup($0) }
        unsafe pointers.append(nil)
        unsafe execv(path, &pointers)
        let code = errno
        while let pointer = unsafe pointers.popLast() { unsafe free(pointer) }
        return SystemCall.error(code, path)
    }
}
