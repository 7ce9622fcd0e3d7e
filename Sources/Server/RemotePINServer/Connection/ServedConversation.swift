/// A conversation on the heap, which two tasks serve one after the other.
///
/// A running task does not release the memory it has grown to. The calls before a session need most of that memory,
/// whereas a session is mostly idle. So a separate task serves them, and the state is not part of either task's memory.
///
/// `@unchecked Sendable` because the first task ends before the second one continues.
final class ServedConversation: @unchecked Sendable {
    private var conversation: Conversation

    init(_ conversation: Conversation) {
        self.conversation = conversation
    }

    /// Serves the connection in a separate task until a session is opened or the connection ends.
    func open() async {
        await withDiscardingTaskGroup { $0.addTask { await self.conversation.open() } }
    }

    /// Serves the connection until either side ends it.
    func run() async { await self.conversation.run() }
}
