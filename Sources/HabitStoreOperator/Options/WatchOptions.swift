import ArgumentParser
import HabitStore
import HabitStoreRollout

/// For commands whose answer can be followed.
package struct WatchOptions: ParsableArguments {
    @Flag(help: "Show it anew whenever it becomes another answer, until stopped; in JSON a line each.")
    package var watch = false

    package init() {}

    /// How long a user's control file is not looked at.
    private static let lookSeconds = 0.05
    /// After so long the user is looked at whatever the control file says: other programs write without it.
    private static let mostSeconds = 10.0
    /// How long a store may be unreadable for reasons that pass.
    private static let patienceSeconds = 10.0

    /// Shows an answer about the records of a store, and where that is asked for again whenever the store's changes make it another one.
    func show(_ store: any HabitStore, _ body: () throws -> Answer) async throws {
        guard watch else { return try Output.write(try body().text(asLine: false)) }
        var shown = ShownAnswers()
        try await FollowedOutput.moments(of: store) { try shown.show(try body()) }
    }

    /// The same about a user whom other processes may move meanwhile: `body` opens whatever store is current, and closes it.
    func show(_ user: String, of stores: UserStores, _ body: () throws -> Answer) async throws {
        guard watch else { return try Output.write(try body().text(asLine: false)) }
        var shown = ShownAnswers()
        var last: (signs: UserSigns, at: ContinuousClock.Instant)?
        while true {
            // Read before the store: what changes meanwhile is seen by the next look.
            let (signs, now) = (try stores.signs(of: user), ContinuousClock.now)
            if last.map({ $0.signs != signs || now - $0.at > .seconds(Self.mostSeconds) }) ?? true {
                try shown.show(shown.isEmpty ? try body() : try await patiently(body))
                last = (signs, now)
            }
            try Output.requireReader()
            // At most half of the time goes into looking.
            try await Task.sleep(for: max(.seconds(Self.lookSeconds), ContinuousClock.now - now))
        }
    }

    /// A user who is being moved may have no store for a moment that is sure to be current.
    private func patiently(_ body: () throws -> Answer) async throws -> Answer {
        let start = ContinuousClock.now
        while true {
            do {
                return try body()
            } catch let error as HabitStoreError
                where ErrorReport.status(of: error.code) != .usage
                && ContinuousClock.now - start < .seconds(Self.patienceSeconds)
            {
                try await Task.sleep(for: .seconds(Self.lookSeconds))
            }
        }
    }
}
