/// The records of a fetch in batches, in order, read as the consumer asks for them; see ``HabitStore/stream(_:batchSize:)``.
///
/// Each loop over it begins with the first batch.
public struct RecordBatches<Model: PersistentModel>: AsyncSequence, Sendable {
    let store: any HabitStore
    let descriptor: FetchDescriptor<Model>
    let size: Int

    /// Begins with the first batch.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// The batches of one loop. No transaction stays open while the consumer is busy: each batch begins after the last record of the
    /// one before.
    public struct Iterator: AsyncIteratorProtocol {
        private let batches: RecordBatches
        private var cursor: PageCursor?
        private var isDone = false

        init(_ batches: RecordBatches) {
            self.batches = batches
            cursor = batches.descriptor.cursor
        }

        /// The next batch; nil after the last record.
        ///
        /// - Throws: what is wrong with the fetch or the store; `CancellationError` when the task is cancelled and records are left.
        public mutating func next() async throws -> [Model]? {
            guard !isDone else { return nil }
            var descriptor = batches.descriptor
            descriptor.cursor = cursor
            let (asked, size) = (descriptor, batches.size)
            let page = try await batches.store.read { try $0.fetchPage(asked, size: size) }
            cursor = page.next
            isDone = page.next == nil
            return page.models.isEmpty ? nil : page.models
        }
    }
}
