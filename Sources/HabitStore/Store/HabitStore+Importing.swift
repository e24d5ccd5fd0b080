extension HabitStore {
    /// Stores new records of a sequence that makes them as they come, in batches: each is whole or not at all by itself. What
    /// `@ModelActor` is used for in SwiftData: nothing blocks the caller's actor, and live queries beside it are told of each batch
    /// once.
    ///
    /// Cancelling the task ends it between two batches, with what was stored so far.
    ///
    /// - Parameters:
    ///   - batchSize: how many records a batch has.
    ///   - author: who writes, for the history.
    ///   - progress: is told how many records are stored, after each batch, where the caller is: a view's model may show it.
    /// - Returns: how many records were stored.
    /// - Throws: what the sequence throws, and what a write does; what was stored before stays.
    @discardableResult
    nonisolated(nonsending) public func insert<Models: AsyncSequence>(
        contentsOf models: Models,
        batchSize: Int = 500,
        author: String? = nil,
        progress: (Int) -> Void = { _ in }
    ) async throws -> Int where Models.Element: PersistentModel {
        var batch: [Models.Element] = []
        var count = 0
        for try await model in models {
            try Task.checkCancellation()
            batch.append(model)
            if batch.count < max(1, batchSize) { continue }
            try await insert(batch, author: author)
            count += batch.count
            batch.removeAll(keepingCapacity: true)
            progress(count)
        }
        // A sequence that ends since the task was cancelled has not come to its end.
        try Task.checkCancellation()
        if !batch.isEmpty {
            try await insert(batch, author: author)
            count += batch.count
            progress(count)
        }
        return count
    }
}
