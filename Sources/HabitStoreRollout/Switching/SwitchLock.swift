import HabitStore

/// The lock of a user's switches: who has it finds out where the user is, and moves the user.
///
/// A kill passes by a holder that does not let go. Nothing gets lost by that: movers are kept apart by epochs, see
/// ``StageSwitch``.
final class SwitchLock: Sendable {
    /// Nil where the holder was passed by.
    private let lock: FileLock?
    /// Whether the holder was passed by.
    let isPassed: Bool

    /// Waits for the lock.
    ///
    /// - Throws: ``HabitStoreError/Code/busy`` when it is held for longer than ``RolloutOptions/lockWaitSeconds``;
    ///   ``HabitStoreError/Code/notFound`` when the user's folder is gone.
    init(_ directory: UserDirectory, _ options: RolloutOptions, isPassedBy: Bool) throws {
        let wait = isPassedBy ? min(options.lockWaitSeconds, options.stepLimitSeconds) : options.lockWaitSeconds
        do {
            lock = try FileLock(path: directory.path + "/switch.lock", timeoutSeconds: wait)
            isPassed = false
        } catch let error as HabitStoreError where error.code == .busy && isPassedBy {
            options.logger.warning("a kill passes by a process that keeps a user's switches locked: \(error)")
            lock = nil
            isPassed = true
        }
    }
}
