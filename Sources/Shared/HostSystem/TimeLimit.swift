/// Runs `body` and cancels it after a time limit.
///
/// Returns nil if it was cancelled because of the limit or along with its task.
///
/// - Parameters:
///   - limit: The time limit, or nil for none.
///   - body: The work, which must return soon after it is cancelled.
package func finished<Value: Sendable>(
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

/// Returns nil after `duration`, or when the task is cancelled.
private func timePassed<Value>(_ duration: Duration) async -> Value? {
    try? await Task.sleep(for: duration)
    return nil
}
