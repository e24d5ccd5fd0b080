import HabitStoreOperator

extension WatchOptions {
    /// Opens the tracker and shows an answer. If the command follows the store, it shows a new answer whenever a change of the store or the
    /// end of the day alters it. After a signal it still closes the store and saves recorded queries.
    func show(_ options: TrackerOptions, _ body: (Tracker) throws -> Answer) async throws {
        let tracker = try await Tracker.open(options, isFollowing: watch)
        defer { tracker.close() }
        guard watch else { return try Output.write(try body(tracker).text(asLine: false)) }
        var shown = ShownAnswers()
        try await FollowedOutput.moments(of: tracker.store, in: tracker.calendar, isInterruptible: true) {
            try shown.show(try body(tracker.atPresent()))
        }
    }
}
