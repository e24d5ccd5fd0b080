import HabitStoreOperator

extension WatchOptions {
    /// Opens the tracker and shows an answer, and where that is asked for again whenever the store's changes, or the day's end, make it
    /// another one. Stopped by a signal, it closes the store and saves what was recorded all the same.
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
