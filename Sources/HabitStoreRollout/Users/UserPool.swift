import Foundation
import HabitStore
import Synchronization

/// The users whose stores this process has open under one root, up to a limit.
///
/// When all places are taken, a newcomer closes an idle user by the CLOCK rule: a hand goes around the places, clears the mark of recent use where
/// it finds one, and closes the first user without it. Using a user's stores sets the mark without a lock; only opening and closing come here.
///
/// Everything that an operation, a mirror or a comparison works on stays open. If all users are busy, the newcomer waits. After
/// ``patienceSeconds`` a lagging mirror no longer protects its user, since it continues from the history at the next opening; an operation
/// always does.
final class UserPool: Sendable {
    /// How long a newcomer waits before it closes users whose mirrors or comparisons are still busy, in seconds.
    static let patienceSeconds = 0.25
    private static let longestPauseSeconds = 0.02

    private struct Place {
        let id: ObjectIdentifier
        weak var files: UserFiles?
    }

    private struct State {
        var places: [Place] = []
        var indexes: [ObjectIdentifier: Int] = [:]
        var hand = 0
        /// The number of users closed to make room.
        var closings = 0
    }

    /// The most users that may be open.
    let limit: Int
    private let waitSeconds: Double
    private let metrics: RolloutMetrics
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limit: how many users may be open; at least one.
    ///   - waitSeconds: how long to wait for a place.
    init(limit: Int, waitSeconds: Double, metrics: RolloutMetrics) {
        self.limit = max(1, limit)
        self.waitSeconds = waitSeconds
        self.metrics = metrics
    }

    /// The number of open users, and of users closed to make room so far.
    var figures: (open: Int, closings: Int) { state.withLock { ($0.places.count, $0.closings) } }

    /// Takes a place for a user whose stores are about to be opened.
    ///
    /// - Throws: ``HabitStoreError/Code/busy`` when all places are taken by users at work for longer than the stated wait.
    func enter(_ files: UserFiles) throws {
        let start = ContinuousClock.now
        var pause = 0.000_5
        while true {
            if take(files) { return }
            let waited = (ContinuousClock.now - start) / .seconds(1)
            if makeRoom(isPatient: waited < Self.patienceSeconds) { continue }
            guard waited < waitSeconds else { throw full(files) }
            Thread.sleep(forTimeInterval: pause)
            pause = min(pause * 2, Self.longestPauseSeconds)
        }
    }

    /// Gives a user's place back, if the user has one.
    func leave(_ files: UserFiles) {
        let id = ObjectIdentifier(files)
        let count: Int? = state.withLock { state in
            guard let index = state.indexes.removeValue(forKey: id) else { return nil }
            let last = state.places.removeLast()
            if last.id != id {
                state.places[index] = last
                state.indexes[last.id] = index
            }
            return state.places.count
        }
        if let count { metrics.openUsers(count) }
    }

    private func take(_ files: UserFiles) -> Bool {
        let id = ObjectIdentifier(files)
        let count: Int? = state.withLock { state in
            guard state.indexes[id] == nil else { return state.places.count }
            guard state.places.count < limit else { return nil }
            state.indexes[id] = state.places.count
            state.places.append(Place(id: id, files: files))
            return state.places.count
        }
        guard let count else { return false }
        metrics.openUsers(count)
        return true
    }

    /// Closes one idle user.
    ///
    /// - Returns: false if there is none.
    private func makeRoom(isPatient: Bool) -> Bool {
        // The first round clears marks, the second finds users without use since.
        for _ in 0..<2 * limit {
            // Held until after the lock: releasing the last reference calls back into this object.
            guard let candidate = state.withLock({ next(&$0) }) else { continue }
            guard candidate.closeForAnother(isPatient: isPatient) else { continue }
            state.withLock { $0.closings += 1 }
            metrics.userClosed()
            return true
        }
        return false
    }

    private func next(_ state: inout State) -> UserFiles? {
        guard !state.places.isEmpty else { return nil }
        state.hand = (state.hand + 1) % state.places.count
        return state.places[state.hand].files
    }

    private func full(_ files: UserFiles) -> HabitStoreError {
        HabitStoreError(
            .busy,
            "all \(limit) users that may be open at a time were in use for \(waitSeconds) s; raise maximumOpenUsers, and the "
                + "limit of open files with it",
            at: .init(path: files.context.directory.path)
        )
    }
}
