internal import NIOCore
internal import NIOPosix

extension EventLoops {
    /// Returns once each of the threads has taken a turn, so that none of them is stuck in one.
    public static func answer() async {
        let turns = MultiThreadedEventLoopGroup.singleton.makeIterator().map { loop in loop.submit {} }
        // Only a loop that was shut down fails; the process's own are not before its end.
        for turn in turns { try? await turn.get() }
    }
}
