import HabitStore

extension RolloutOptions {
    /// The longest time that an option accepts: about thirty years, enough for anyone who means "forever".
    private static let mostSeconds = 1e9

    /// Refuses invalid times, before anything waits that long.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` with the option's name.
    func validate() throws {
        let times = [
            ("lockWaitSeconds", lockWaitSeconds), ("stepLimitSeconds", stepLimitSeconds),
            ("placeWaitSeconds", placeWaitSeconds), ("recheckSeconds", recheckSeconds),
            ("flagWaitSeconds", flagWaitSeconds), ("advanceSeconds", advanceSeconds),
            ("mirror.waitSeconds", mirror.waitSeconds), ("mirror.preparedWaitSeconds", mirror.preparedWaitSeconds),
            ("mirror.copyPauseSeconds", mirror.copyPauseSeconds), ("mirror.retrySeconds", mirror.retrySeconds),
            ("mirror.longestRetrySeconds", mirror.longestRetrySeconds),
            ("mirror.closingWaitSeconds", mirror.closingWaitSeconds),
            ("shadowReads.tokenWaitSeconds", shadowReads.tokenWaitSeconds),
            ("shadowReads.comparisonSeconds", shadowReads.comparisonSeconds),
        ]
        for (name, seconds) in times where !(0...Self.mostSeconds).contains(seconds) {
            throw HabitStoreError(
                .invalidValue,
                "the rollout's option \(name) is \(seconds); it can be 0 to \(Int(Self.mostSeconds)) seconds"
            )
        }
    }
}
