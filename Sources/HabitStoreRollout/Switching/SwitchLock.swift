import HabitStore

/// The lock of a user's switches, held to find out where the user is, and to move the user.
///
/// A kill passes by a holder that does not release it. This is safe, since epochs keep moves apart, see ``StageSwitch``.
final class SwitchLock: Sendable {
    /// nil if the holder was passed by.
    private let lock: FileLock?
    /// The kill for which the holder was passed by.
    let passedFor: PulledKill?

    static let fileName = "switch.lock"

    /// Waits for the lock.
    ///
    /// - Parameter lookForKill: checks for a pulled kill switch; called only if the lock is held, and again before the holder is passed by, in case
    ///   of a re-arm meanwhile.
    /// - Throws: ``HabitStoreError/Code/busy`` if it is held for longer than ``RolloutOptions/lockWaitSeconds``; ``HabitStoreError/Code/notFound`` if
    ///   the user's folder is gone.
    init(_ directory: UserDirectory, _ options: RolloutOptions, lookForKill: () -> PulledKill? = { nil }) throws {
        let path = directory.path + "/" + Self.fileName
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
            options.logger.warning("a kill goes past a process that keeps a user's switches locked: \(error)")
            lock = nil
            passedFor = pulled
        }
    }
}
