import HabitStore

/// The lock of a user's switches: who has it finds out where the user is, and moves the user.
///
/// A kill passes by a holder that does not let go. Nothing gets lost by that: movers are kept apart by epochs, see
/// ``StageSwitch``.
final class SwitchLock: Sendable {
    /// Nil where the holder was passed by.
    private let lock: FileLock?
    /// What the holder was passed by for.
    let passedFor: PulledKill?

    /// Waits for the lock.
    ///
    /// - Throws: ``HabitStoreError/Code/busy`` when it is held for longer than ``RolloutOptions/lockWaitSeconds``;
    ///   ``HabitStoreError/Code/notFound`` when the user's folder is gone.
    ///
    /// - Parameter lookForKill: what pulls the kill switch now; asked only where somebody else has the lock, and again before the
    ///   holder is passed by: a re-arm may have come meanwhile.
    init(_ directory: UserDirectory, _ options: RolloutOptions, lookForKill: () -> PulledKill? = { nil }) throws {
        let path = directory.path + "/switch.lock"
        if let free = try? FileLock(path: path, timeoutSeconds: 0) {
            lock = consume free
            passedFor = nil
            return
        }
        let wait =
            lookForKill() == nil ? options.lockWaitSeconds : min(options.lockWaitSeconds, options.stepLimitSeconds)
        do {
            lock = try FileLock(path: path, timeoutSeconds: wait)
            passedFor = nil
        } catch let error as HabitStoreError where error.code == .busy {
            guard let pulled = lookForKill() else { throw error }
            options.logger.warning("a kill passes by a process that keeps a user's switches locked: \(error)")
            lock = nil
            passedFor = pulled
        }
    }
}
