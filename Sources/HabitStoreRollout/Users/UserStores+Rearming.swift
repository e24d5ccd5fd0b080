import FeatureFlags
import HabitStore

extension UserStores {
    /// Forgets that the kill switch was pulled for everybody. The users are re-armed one by one, with
    /// ``UserStore/rearm(by:)``.
    ///
    /// - Returns: whether it had been pulled.
    /// - Throws: ``HabitStoreError/Code/unsupported`` while the sentinel file is there; what the system says.
    @discardableResult
    public func rearmRoot() throws -> Bool {
        let sentinel = try SentinelFile(path: RolloutFlags.sentinelPath(root: root))
        guard !sentinel.isPresent else {
            throw HabitStoreError(
                .unsupported,
                "the sentinel file still pulls the kill switch; remove it first",
                at: .init(path: sentinel.path)
            )
        }
        let wasSet = flags.latch.isSet
        try flags.latch.clear()
        metrics.killIsEngaged(RootKill(root: root).isEngaged)
        return wasSet
    }
}
