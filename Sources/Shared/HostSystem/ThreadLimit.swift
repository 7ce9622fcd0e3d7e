internal import Dispatch
internal import Glibc

/// The number of threads that the system lets this process start.
package enum ThreadLimit {
    /// EX_OSERR in sysexits.h.
    private static let status: Int32 = 71
    /// The threads of event loops, tasks, files and child processes that a server uses.
    private static var needed: Int { 2 * (Processors.allowed ?? 1) + 12 }
    private static let gate = DispatchSemaphore(value: 0)

    /// Ends the process with a message if it may not start as many threads as it needs.
    ///
    /// Must be called before the first suspension, because the library that starts threads for tasks waits for ever if
    /// it may not.
    package static func check() {
        var threads: [pthread_t] = []
        var code: Int32 = 0
        while threads.count < self.needed, code == 0 {
            var thread = pthread_t()
            code = unsafe pthread_create(
                &thread,
                nil,
                { _ in
                    ThreadLimit.gate.wait()
                    return nil
                },
                nil
            )
            if code == 0 { threads.append(thread) }
        }
        for _ in threads { self.gate.signal() }
        for thread in threads { pthread_join(thread, nil) }
        guard code != 0 else { return }
        let reason = SystemCall.text(of: code)
        StandardStreams.writeError(
            "only \(threads.count) of \(self.needed) threads can be started: \(reason); raise the user's limit "
                + "(RLIMIT_NPROC, `ulimit -u`, LimitNPROC=) or that of the control group (pids.max, TasksMax=)\n"
        )
        _exit(self.status)
    }
}
