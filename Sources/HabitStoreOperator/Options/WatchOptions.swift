import ArgumentParser
import HabitStore
import HabitStoreRollout

/// The option `--watch`.
package struct WatchOptions: ParsableArguments {
    @Flag(help: "Show each new answer, until stopped; in JSON one line each.")
    package var watch = false

    package init() {}

    /// How often to check a user's control file.
    private static let lookSeconds = 0.05
    /// How often to read the answer again even if the signs are unchanged, because other programs may write without changing them.
    private static let mostSeconds = 10.0
    /// How long a store may be unreadable for a temporary reason.
    private static let patienceSeconds = 10.0

    /// Prints an answer about a store's records and, with `--watch`, prints it again after every commit that changes it.
    func show(_ store: any HabitStore, _ body: () throws -> Answer) async throws {
        guard watch else { return try Output.write(try body().text(asLine: false)) }
        var shown = ShownAnswers()
        try await FollowedOutput.moments(of: store) { try shown.show(try body()) }
    }

    /// Prints an answer about a user whom other processes may move: `body` opens the store that is current and closes it.
    func show(_ user: String, of stores: UserStores, _ body: () throws -> Answer) async throws {
        guard watch else { return try Output.write(try body().text(asLine: false)) }
        var shown = ShownAnswers()
        var last: (signs: UserSigns, at: ContinuousClock.Instant)?
        while true {
            // Signs before the store: the next look notices a change in between.
            let (signs, now) = (try stores.signs(of: user), ContinuousClock.now)
            if last.map({ $0.signs != signs || now - $0.at > .seconds(Self.mostSeconds) }) ?? true {
                try shown.show(shown.isEmpty ? try body() : try await patiently(body))
                last = (signs, now)
            }
            try Output.requireReader()
            // Spend at most half of the time looking.
            try await Task.sleep(for: max(.seconds(Self.lookSeconds), ContinuousClock.now - now))
        }
    }

    /// Retries `body`: while a user is being moved, no store may be known to be current.
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
