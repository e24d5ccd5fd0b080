import FeatureFlags
@_spi(Engines) import HabitStore

extension UserStores {
    /// The async form of the blocking method. An opening may migrate a store or copy it to another engine; it runs on a separate thread, never on the
    /// cooperative pool, and does not delay other users.
    ///
    /// - Parameters:
    ///   - attributes: attributes of the user, in addition to the id, for targeting rules; nil for those given before.
    ///   - progress: called on that thread with the progress of a switch of engines.
    /// - Throws: what is wrong with the user's current store; `CancellationError` if the task was cancelled before the opening began. An opening that
    ///   has begun is finished.
    public func store(
        for user: String,
        attributes: [String: FlagValue]? = nil,
        progress: @escaping @Sendable (String, Int, Int) -> Void = { _, _, _ in }
    ) async throws -> UserStore {
        try await opening(user) { try self.store(for: user, attributes: attributes, progress: progress) }
    }

    /// The async form of the method for an existing user; for any other id it throws and creates nothing.
    ///
    /// - Parameters:
    ///   - attributes: attributes of the user, in addition to the id, for targeting rules; nil for those given before.
    ///   - progress: called on that thread with the progress of a switch of engines.
    /// - Throws: the errors of the blocking method; `CancellationError` if the task was cancelled before the opening began.
    public func existingStore(
        for user: String,
        attributes: [String: FlagValue]? = nil,
        progress: @escaping @Sendable (String, Int, Int) -> Void = { _, _, _ in }
    ) async throws -> UserStore {
        try await opening(user) { try self.existingStore(for: user, attributes: attributes, progress: progress) }
    }

    private func opening(_ user: String, _ open: @escaping @Sendable () throws -> UserStore) async throws -> UserStore {
        let known = handles.withLock { $0[user] }
        return try await (known?.dispatcher ?? StoreDispatcher(label: "opening")).read(open)
    }
}
