@_spi(Engines) extension StoreInformation {
    /// Whether records may be brought into the store past the writes of an app: it has never served anybody, or it was left for
    /// the source, or a later store than it.
    ///
    /// - Parameters:
    ///   - role: the source's role.
    ///   - epoch: the source's epoch; 0 for what no rollout has touched.
    ///   - isEmpty: whether the store has neither records nor a history.
    public func mayBeDestination(of role: StoreRole, epoch from: Int, isEmpty: Bool) -> Bool {
        switch self.role {
        case .authoritative:
            // The epoch 0 is that of stores which no rollout has touched.
            epoch == 0 && (isEmpty || from == 0) || role == .authoritative && epoch < from
        case .sealed: epoch < from
        case .standby, .backfilling: epoch <= from
        }
    }

    /// Checks that an import may write to the store as a separate file. The rollout does not know the import's source, so the store must be one that
    /// a copy may replace: it neither serves a user nor follows a store that does.
    ///
    /// - Parameter path: the store's path.
    /// - Throws: ``HabitStoreError/Code/notAuthoritative`` for a store of a rollout.
    public func requireImportable(path: String?) throws {
        guard !mayBeDestination(of: .authoritative, epoch: 0, isEmpty: false) else { return }
        throw HabitStoreError(
            .notAuthoritative,
            "a rollout has this store (\(role.rawValue), epoch \(epoch)), and an import by its path would go past it; import for "
                + "the user instead: without --into, by --root and --user",
            at: .init(path: path)
        )
    }
}
