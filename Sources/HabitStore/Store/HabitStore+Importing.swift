extension HabitStore {
    /// Stores the records of a sequence in batches as it produces them, each batch as a whole or not at all. SwiftData uses `@ModelActor` for
    /// this: nothing blocks the caller's actor, and live queries see each batch once.
    ///
    /// Cancelling the task stops between two batches and keeps those that were stored.
    ///
    /// - Parameters:
    ///   - batchSize: how many records a batch has.
    ///   - author: the author in the history.
    ///   - progress: gets the number of records stored after each batch, on the caller's actor, so that a view's model may show it.
    /// - Returns: how many records were stored.
    /// - Throws: the errors of the sequence and of writes; batches stored before stay.
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
        // A sequence that ended because of cancellation is not complete.
        try Task.checkCancellation()
        if !batch.isEmpty {
            try await insert(batch, author: author)
            count += batch.count
            progress(count)
        }
        return count
    }
}
