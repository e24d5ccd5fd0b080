import ArgumentParser
import Foundation
import HabitStore
import HabitStoreRollout

/// A user's store, opened for a command that works with records.
package struct UserSession {
    package let stores: UserStores
    package let store: UserStore
    /// Records the queries; nil if recording was not requested.
    private let recorder: QueryRecorder?

    /// Opens the user's store on the engine named by the flag file, with a progress bar, and reports a switch or why there was none.
    ///
    /// - Parameters:
    ///   - isFollowing: whether the command runs until it is stopped, following the flags.
    ///   - mayBegin: whether the command may create the stores of a new user.
    package static func open(
        _ settings: Settings,
        _ recording: RecordingOptions,
        isFollowing: Bool = false,
        mayBegin: Bool = false
    ) throws -> UserSession {
        let recorder = recording.recorder
        let stores = try settings.stores(recorder: recorder, followsFlags: isFollowing)
        let bar = ProgressBar(isQuiet: false)
        defer { bar.clear() }
        let store =
            try mayBegin
            ? stores.store(for: settings.user) { bar.show($0, $1, $2) }
            : stores.existingStore(for: settings.user) { bar.show($0, $1, $2) }
        bar.clear()
        for note in store.notes { StandardError.note(note) }
        return UserSession(stores: stores, store: store, recorder: recorder)
    }

    /// Runs an import into the user's store; it may be the user's first command. A dry run does not create a user: if there is none, it
    /// uses an empty store in memory.
    package static func importing<R>(
        _ settings: Settings,
        _ recording: RecordingOptions,
        isDry: Bool,
        _ body: (any HabitStore) throws -> R
    ) throws -> R {
        let session: UserSession
        do {
            session = try open(settings, recording, mayBegin: !isDry)
        } catch let error as HabitStoreError where isDry && error.underlying is NoSuchUser {
            return try body(try InMemoryHabitStore(schema: Tool.current.schema))
        }
        defer { session.close() }
        return try body(session.store)
    }

    /// Closes the store, so that the next process to open it does not have to recover its log, and saves the recorded queries.
    ///
    /// The command has done its work by then, so a failure to save is only reported.
    package func close() {
        store.close()
        guard let recorder else { return }
        do {
            try recorder.save()
        } catch {
            StandardError.note("the queries were not recorded: \(ErrorReport.message(of: error))")
        }
        if recorder.leftOut > 0 {
            StandardError.note(
                "\(recorder.leftOut.counted("query", plural: "queries")) not recorded: no text can say what they ask"
            )
        }
    }
}

/// Options of the commands that can record what they ask.
package struct RecordingOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Add the command's queries to this file of queries, each shape once.",
            discussion:
                "Values in them are replaced by neutral ones; the command `verify --queries` reads the file.",
            valueName: "file"
        )
    )
    package var recordQueries: String?

    @Flag(help: "With --record-queries: keep the values.")
    package var recordValues = false

    package init() {}

    package func validate() throws {
        guard recordQueries != "" else { throw ValidationError("--record-queries needs a file") }
        guard recordQueries != nil || !recordValues else {
            throw ValidationError("--record-values belongs to --record-queries; give both")
        }
    }

    /// Records the queries; nil if recording was not requested.
    package var recorder: QueryRecorder? { recordQueries.map { QueryRecorder(path: $0, keepsValues: recordValues) } }
}
