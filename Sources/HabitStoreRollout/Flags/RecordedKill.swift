import HabitStore

/// Marks the error of a kill that failed and was recorded: the next opening by any program tries again.
package struct RecordedKill: Error {
    /// Why the kill has not been carried out yet.
    package let failure: HabitStoreError

    /// Whether another try can succeed: nothing that the kill needs is damaged.
    package var isWaiting: Bool { !Whereabouts.lastingDamage.contains(failure.code) && failure.code != .staleStore }

    /// The error of a kill; if the kill was recorded, it says when it will be carried out.
    static func described(_ error: any Error, of directory: UserDirectory) -> any Error {
        guard let error = error as? HabitStoreError,
            let control = try? ControlFile.copy(of: directory.path + "/control"), control.isKilled
        else { return error }
        let recorded = RecordedKill(failure: error.underlying as? HabitStoreError ?? error)
        return HabitStoreError(
            error.code,
            "the kill is recorded, and lands \(recorded.when): \(error.message)",
            at: error.location,
            underlying: recorded
        )
    }

    private var when: String {
        switch failure.code {
        case .migrationRequired, .newerVersion, .schemaMismatch:
            "when a program opens the user that has the schema version of each store"
        case .busy: "when the user is opened next and the store answers"
        default: "when the user is opened next and this is over"
        }
    }
}
