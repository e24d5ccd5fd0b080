/// An async sequence over a fetch that holds no transaction open while the consumer is busy: it goes from page to page
/// by cursor.
enum PagedStream {
    static func make<M: PersistentModel>(
        _ store: some HabitStore,
        _ descriptor: FetchDescriptor<M>,
        batchSize: Int
    ) -> AsyncThrowingStream<[M], any Error> {
        let state = PageState(store, descriptor, size: max(1, batchSize))
        return AsyncThrowingStream { try await state.nextPage() }
    }
}

/// Where the next page begins.
private actor PageState<M: PersistentModel> {
    private let store: any HabitStore
    private var descriptor: FetchDescriptor<M>
    private let size: Int
    private var isDone = false

    init(_ store: any HabitStore, _ descriptor: FetchDescriptor<M>, size: Int) {
        self.store = store
        self.descriptor = descriptor
        self.size = size
    }

    func nextPage() async throws -> [M]? {
        guard !isDone else { return nil }
        let (store, descriptor, size) = (store, descriptor, size)
        let page = try await store.read { try $0.fetchPage(descriptor, size: size) }
        self.descriptor.cursor = page.next
        isDone = page.next == nil
        return page.models.isEmpty ? nil : page.models
    }
}
