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
    /// When the store was opened.
    let opened: Date
    /// The present, which is one for all of an answer.
    private(set) var now: Date
    /// What gathers the queries; nil where nobody wants them.
    let recorder: QueryRecorder?

    var timeZone: TimeZone { calendar.timeZone }

    /// Opens the user's store on the engine that the flag file names, and tells what was switched or why not.
    ///
    /// - Parameters:
    ///   - isFollowing: whether the command runs until it is stopped, and follows the flags meanwhile.
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

    /// Runs an import into the user's store, which may be the user's first command. A dry run makes no user: it goes into an empty store in
    /// memory where there is none.
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

    /// Opens a user's store, and shows how far that has come.
    private static func open(_ user: String, of stores: UserStores, mayBegin: Bool) throws -> UserStore {
        let bar = ProgressBar(isQuiet: false)
        defer { bar.clear() }
        return try mayBegin
            ? stores.store(for: user) { bar.show($0, $1, $2) }
            : stores.existingStore(for: user) { bar.show($0, $1, $2) }
    }

    /// The same now, for an answer that is shown again.
    func atPresent() -> Tracker {
        var tracker = self
        tracker.now = Date()
        return tracker
    }

    /// Runs a command's reads over one moment.
    func read<R>(_ body: (any ReadTransaction) throws -> R) throws -> R { try store.read(body) }

    /// Runs a command's changes, all or none.
    func write<R>(_ body: (any WriteTransaction) throws -> R) throws -> R {
        try store.write(author: Self.author, body)
    }

    /// Closes the store, so that its log is tidied up now and not by whoever opens it next, and saves what was recorded.
    ///
    /// The command has done its work by then: what cannot be saved is told, and does not undo it.
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

    /// Reads a date as it was typed; the present for none.
    func date(_ text: String?) throws -> Date {
        try text.map { try DateArgument.parse($0, now: now, calendar: calendar) } ?? now
    }

    /// The first instant that a typed date stands for: a day's beginning, or the instant itself. `today` is another day tomorrow;
    /// `now` is when the store was opened.
    func beginning(of text: String) throws -> Date {
        let isDay = text.utf8.count == 10 || ["today", "yesterday"].contains(text.lowercased())
        guard isDay else { return try DateArgument.parse(text, now: opened, calendar: calendar) }
        return calendar.startOfDay(for: try date(text))
    }

    /// An instant on the user's wall clock.
    func shown(_ date: Date) -> String { ISODate.local(date, in: timeZone) }
}
