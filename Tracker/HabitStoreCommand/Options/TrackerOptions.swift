import ArgumentParser
import HabitStoreOperator
import HabitStoreRollout

/// Options of the commands that use a user's store.
struct TrackerOptions: ParsableArguments {
    @OptionGroup var user: UserOptions

    @Option(
        help: ArgumentHelp(
            "Add the command's queries to this file of queries, each shape once.",
            discussion:
                "Values in them are replaced by neutral ones; `habitstore verify --queries` reads the file.",
            valueName: "file"
        )
    )
    var recordQueries: String?

    @Flag(help: "With --record-queries: keep the values.")
    var recordValues = false

    func validate() throws {
        guard recordQueries != "" else { throw ValidationError("--record-queries needs a file") }
        guard recordQueries != nil || !recordValues else {
            throw ValidationError("--record-values belongs to --record-queries; give both")
        }
    }

    /// Records the queries; nil if recording was not requested.
    var recorder: QueryRecorder? { recordQueries.map { QueryRecorder(path: $0, keepsValues: recordValues) } }
}
