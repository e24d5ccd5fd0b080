import FeatureFlags
import HabitStore

extension UserStores {
    /// Removes the record that the kill switch was pulled for all users. The users are re-armed one by one, with ``UserStore/rearm(by:)``.
    ///
    /// For named stores, this concerns their own kill switch. The root's kill switch applies to all stores, and is re-armed through the unnamed ones.
    ///
    /// - Returns: whether it had been pulled.
    /// - Throws: ``HabitStoreError/Code/unsupported`` while a sentinel file exists, or the root is not re-armed; system errors.
    @discardableResult
    public func rearmRoot() throws -> Bool {
        try requireNoSentinel(root: place.path)
        try requireRootRearmed()
        let wasSet = flags.latch.isSet
        try flags.latch.clear()
        metrics.killIsEngaged(RootKill(roots: place.killRoots).isEngaged)
        return wasSet
    }

    /// Checks that the root's kill switch, which named stores also obey, is re-armed.
    ///
    /// - Throws: the errors of ``rearmRoot()``.
    package func requireRootRearmed() throws {
        for root in place.killRoots.dropFirst() { try requireNoSentinel(root: root) }
        if let latch = flags.places.dropFirst().map(\.latch).first(where: \.isSet) {
            throw HabitStoreError(
                .unsupported,
                "the kill switch was pulled for all stores under the root; re-arm the root first, without the store's name",
                at: .init(path: latch.path)
            )
        }
    }

    private func requireNoSentinel(root: String) throws {
        let sentinel = try SentinelFile(path: RolloutFlags.sentinelPath(root: root))
        guard !sentinel.isPresent else {
            throw HabitStoreError(
                .unsupported,
                "the sentinel file still pulls the kill switch; remove it first",
                at: .init(path: sentinel.path)
            )
        }
    }
}
