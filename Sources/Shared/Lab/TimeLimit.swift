/// Runs a body, and cancels it once so much time has passed; nil where it was cancelled, by the time or with its task.
///
/// - Parameters:
///   - limit: no limit where it is nil.
///   - body: returns soon once it is cancelled.
func finished<Value: Sendable>(
    within limit: Duration?,
    _ body: @escaping @Sendable () async -> Value
) async -> Value? {
    await withTaskGroup(of: Value?.self) { group in
        group.addTask { await body() }
        if let limit { group.addTask { await timePassed(limit) } }
        defer { group.cancelAll() }
        let first = await group.next() ?? nil
        return Task.isCancelled ? nil : first
    }
}

/// Returns nil once so much time has passed, or the task is cancelled.
private func timePassed<Value>(_ duration: Duration) async -> Value? {
    try? await Task.sleep(for: duration)
    return nil
}
