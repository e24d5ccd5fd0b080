import Foundation
import HabitStore
import HabitStoreOperator
import HabitStoreRollout
import HabitTracker

/// A user's store, opened for the tracker's commands.
struct Tracker {
    static let author = "habitstore"

    let stores: UserStores
    let store: UserStore
    let calendar: Calendar
    /// The time when the store was opened.
    let opened: Date
    /// The present time, which stays the same throughout an answer.
    private(set) var now: Date
    /// Records the queries; nil if recording was not requested.
    let recorder: QueryRecorder?

    var timeZone: TimeZone { calendar.timeZone }

    /// Opens the user's store on the engine named by the flag file, and reports a switch or why there was none.
    ///
    /// - Parameters:
    ///   - isFollowing: whether the command runs until it is stopped, following the flags.
    ///   - mayBegin: whether the command may create the stores of a new user.
    static func open(
        _ options: TrackerOptions,
        isFollowing: Bool = false,
        mayBegin: Bool = false
    ) async throws -> Tracker {
        let settings = try await Settings(options.user)
        let recorder = options.recorder
        let stores = try settings.stores(recorder: recorder, followsFlags: isFollowing)
        let store = try open(settings.user, of: stores, mayBegin: mayBegin)
        for note in store.notes { StandardError.note(note) }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = settings.timeZone
        calendar.locale = .current
        let now = Date()
        return Tracker(stores: stores, store: store, calendar: calendar, opened: now, now: now, recorder: recorder)
    }

    /// Runs an import into the user's store; it may be the user's first command. A dry run does not create a user: if there is none, it
    /// uses an empty store in memory.
    static func importing<R>(
        _ options: TrackerOptions,
        isDry: Bool,
        _ body: (any HabitStore) throws -> R
    ) async throws -> R {
        let tracker: Tracker
        do {
            tracker = try await open(options, mayBegin: !isDry)
        } catch let error as HabitStoreError where isDry && error.underlying is NoSuchUser {
            return try body(try InMemoryHabitStore(schema: HabitSchema.current))
        }
        defer { tracker.close() }
        return try body(tracker.store)
    }

    /// Opens a user's store, with a progress bar.
    private static func open(_ user: String, of stores: UserStores, mayBegin: Bool) throws -> UserStore {
        let bar = ProgressBar(isQuiet: false)
        defer { bar.clear() }
        return try mayBegin
            ? stores.store(for: user) { bar.show($0, $1, $2) }
            : stores.existingStore(for: user) { bar.show($0, $1, $2) }
    }

    /// The same tracker at the present time, for a repeated answer.
    func atPresent() -> Tracker {
        var tracker = self
        tracker.now = Date()
        return tracker
    }

    /// Runs a command's reads in one transaction.
    func read<R>(_ body: (any ReadTransaction) throws -> R) throws -> R { try store.read(body) }

    /// Runs a command's changes in one transaction.
    func write<R>(_ body: (any WriteTransaction) throws -> R) throws -> R {
        try store.write(author: Self.author, body)
    }

    /// Closes the store, so that the next process to open it does not have to recover its log, and saves the recorded queries.
    ///
    /// The command has done its work by then, so a failure to save is only reported.
    func close() {
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

    /// Parses a typed date; the present time for nil.
    func date(_ text: String?) throws -> Date {
        try text.map { try DateArgument.parse($0, now: now, calendar: calendar) } ?? now
    }

    /// The instant where a typed date begins: the start of a day, or the instant itself. `today` moves on with the days; `now` is the time
    /// when the store was opened.
    func beginning(of text: String) throws -> Date {
        let isDay = text.utf8.count == 10 || ["today", "yesterday"].contains(text.lowercased())
        guard isDay else { return try DateArgument.parse(text, now: opened, calendar: calendar) }
        return calendar.startOfDay(for: try date(text))
    }

    /// An instant in the user's time zone.
    func shown(_ date: Date) -> String { ISODate.local(date, in: timeZone) }
}
