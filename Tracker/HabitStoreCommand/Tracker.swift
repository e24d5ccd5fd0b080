import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreOperator
import HabitStoreRollout
import HabitTracker

/// A user's store, opened for the tracker's commands.
struct Tracker {
    static let author = "habitstore"

    private let session: UserSession
    let calendar: Calendar
    /// The time when the store was opened.
    let opened: Date
    /// The present time, which stays the same throughout an answer.
    private(set) var now: Date

    var stores: UserStores { session.stores }
    var store: UserStore { session.store }
    var timeZone: TimeZone { calendar.timeZone }

    /// Opens the user's store on the engine named by the flag file, and reports a switch or why there was none.
    ///
    /// - Parameters:
    ///   - isFollowing: whether the command runs until it is stopped, following the flags.
    ///   - mayBegin: whether the command may create the stores of a new user.
    static func open(
        _ options: UserOptions,
        _ recording: RecordingOptions,
        isFollowing: Bool = false,
        mayBegin: Bool = false
    ) async throws -> Tracker {
        let settings = try await Settings(options)
        let session = try UserSession.open(settings, recording, isFollowing: isFollowing, mayBegin: mayBegin)
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = settings.timeZone
        calendar.locale = .current
        let now = Date()
        return Tracker(session: session, calendar: calendar, opened: now, now: now)
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

    /// Closes the store, and saves the recorded queries.
    func close() { session.close() }

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

extension WatchOptions {
    /// Opens the tracker and shows an answer. If the command follows the store, it shows a new answer whenever a change of the store or the
    /// end of the day alters it. After a signal it still closes the store and saves recorded queries.
    func show(
        _ options: UserOptions,
        _ recording: RecordingOptions,
        _ body: (Tracker) throws -> Answer
    ) async throws {
        let tracker = try await Tracker.open(options, recording, isFollowing: watch)
        defer { tracker.close() }
        guard watch else { return try Output.write(try body(tracker).text(asLine: false)) }
        var shown = ShownAnswers()
        try await FollowedOutput.moments(of: tracker.store, in: tracker.calendar, isInterruptible: true) {
            try shown.show(try body(tracker.atPresent()))
        }
    }
}

extension ReadTransaction {
    /// The habit with a name or an identifier.
    func habit(_ text: String) throws -> Habit {
        try model(text, "habit", hasName: true) { RecordReference.Candidate(id: $0.id, name: $0.name) }
    }

    /// Throws if another habit has the name, since commands could then select neither habit by name.
    ///
    /// - Parameter habit: the habit to name, which may already have the name.
    func requireNewName(_ name: String, for habit: UUID? = nil) throws {
        guard let known = try models(Habit.self, named: name).first(where: { $0.id != habit }) else { return }
        let shown = RecordReference(text: name, what: "habit").shown
        throw CommandFailure.usage(
            "there is a habit \"\(shown)\" (\(RecordReference.short(known.id))); give another name, or add --same-name"
        )
    }

    /// The models with exactly this name.
    func models<M: PersistentModel>(_ type: M.Type, named name: String) throws -> [M] {
        let attribute = FilterExpression.attribute(AttributePath("name"))
        return try fetch(FetchDescriptor<M>(filter: .compare(.equal, attribute, .literal(.string(name)))))
    }

    /// The habit found by the first answer, even if it was renamed since or another one got its name: a followed answer stays about the
    /// same habit.
    ///
    /// - Parameter id: the identifier of that habit; set if it is nil.
    func habit(_ text: String, knownBy id: inout UUID?) throws -> Habit {
        guard let known = id else {
            let habit = try habit(text)
            id = habit.id
            return habit
        }
        guard let habit = try model(Habit.self, id: known) else {
            throw CommandFailure.usage("the habit that was followed was deleted")
        }
        return habit
    }

    /// The tag found by the first answer, like ``habit(_:knownBy:)``.
    ///
    /// - Returns: nil if it was deleted and there is no new tag with exactly this name.
    func tagID(_ text: String, knownBy id: inout UUID?) throws -> UUID? {
        if let known = id {
            if try model(Tag.self, id: known) != nil { return known }
            guard let again = try tag(exactly: text) else { return nil }
            id = again.id
        } else {
            id = try tag(text).id
        }
        return id
    }

    /// The tag with a name or an identifier.
    func tag(_ text: String) throws -> Tag {
        try model(text, "tag", hasName: true) { RecordReference.Candidate(id: $0.id, name: $0.name) }
    }

    /// The entry with an identifier.
    func entry(_ text: String) throws -> Entry {
        try model(text, "entry", hasName: false) { RecordReference.Candidate(id: $0.id, name: "") }
    }

    /// The draft with an identifier.
    func draft(_ text: String) throws -> Draft {
        try model(text, "draft", hasName: false) { RecordReference.Candidate(id: $0.id, name: "") }
    }

    private func model<M: PersistentModel>(
        _ text: String,
        _ what: String,
        hasName: Bool,
        _ candidate: (M) -> RecordReference.Candidate
    ) throws -> M {
        let reference = RecordReference(text: text, what: what)
        let byName = hasName ? try models(M.self, named: text).map(candidate) : []
        let id = try reference.resolve(byName: byName) { condition in
            try fetch(FetchDescriptor<M>(filter: condition)).map(candidate)
        }
        guard let found = try model(M.self, id: id) else {
            throw HabitStoreError(
                .internalInconsistency,
                "a record that was found cannot be read again; run `habitstore check`"
            )
        }
        return found
    }

    func entries(of habit: UUID) throws -> [Entry] {
        let reference = FilterExpression.attribute(AttributePath("habitID"))
        return try fetch(
            FetchDescriptor<Entry>(
                filter: .compare(.equal, reference, .literal(.uuid(habit))),
                sortBy: [SortDescriptor(\.date)]
            )
        )
    }
}

extension ReadTransaction {
    func summary(_ habit: Habit, _ tracker: Tracker) throws -> HabitSummary {
        HabitSummary(habit, tags: habit.tags, entryDates: try entries(of: habit.id).map(\.date), tracker)
    }

    /// The summaries of habits; all entries are read once.
    func summaries(_ habits: [Habit], _ tracker: Tracker) throws -> [HabitSummary] {
        let wanted = Set(habits.map(\.id))
        var dates: [UUID: [Date]] = [:]
        try enumerate(FetchDescriptor<Entry>()) { entry in
            if let habit = entry.habitID, wanted.contains(habit) { dates[habit, default: []].append(entry.date) }
            return true
        }
        return habits.map { HabitSummary($0, tags: $0.tags, entryDates: dates[$0.id] ?? [], tracker) }
    }

    /// The tag with exactly this name; nil if there is none.
    func tag(exactly name: String) throws -> Tag? { try models(Tag.self, named: name).first }
}

extension WriteTransaction {
    /// The identifiers of the tags with these names; missing tags are created.
    func tagIDs(named names: [String]) throws -> Set<UUID> {
        var ids: Set<UUID> = []
        for name in names {
            guard !name.isEmpty else { throw CommandFailure.usage("a tag needs a name") }
            if let tag = try tag(exactly: name) {
                ids.insert(tag.id)
            } else {
                let tag = Tag(name: name)
                try insert(tag)
                ids.insert(tag.id)
            }
        }
        return ids
    }
}

/// Parses dates from the command line.
enum DateArgument {
    /// Parses `today` and `yesterday` (at the present time of day), `2026-01-31` (today at the present time, any other day at noon),
    /// `2026-01-31T08:30` or `2026-01-31 08:30:00` in the calendar's time zone, and instants with an offset, `2026-01-31T08:30:00Z`.
    ///
    /// - Throws: a usage error for anything else.
    static func parse(_ text: String, now: Date, calendar: Calendar) throws -> Date {
        switch text.lowercased() {
        case "today", "now": return now
        case "yesterday":
            if let date = calendar.date(byAdding: .day, value: -1, to: now) { return date }
        default:
            if let date = day(text, now: now, calendar: calendar) { return date }
            if let date = wallClock(text, calendar: calendar) ?? TextDate.parse(text) { return date }
        }
        throw CommandFailure.usage(
            "\"\(text)\" is not a date: write today, yesterday, 2026-01-31, 2026-01-31T08:30 or 2026-01-31T08:30:00Z"
        )
    }

    private static func day(_ text: String, now: Date, calendar: Calendar) -> Date? {
        guard text.utf8.count == 10, let midnight = TextDate.parse(text) else { return nil }
        let named = LocalDay(containing: midnight, in: .gmt)
        if named == LocalDay(containing: now, in: calendar.timeZone) { return now }
        return onWallClock(midnight.addingTimeInterval(12 * 3_600), calendar)
    }

    private static func wallClock(_ text: String, calendar: Calendar) -> Date? {
        let separators = text.enumerated().filter { $0.offset == 10 && ($0.element == "T" || $0.element == " ") }
        guard !separators.isEmpty else { return nil }
        let clock = text.dropFirst(11)
        let seconds = clock.utf8.count == 5 ? ":00" : ""
        guard clock.utf8.count == 5 || clock.utf8.count == 8,
            let instant = TextDate.parse("\(text.prefix(10))T\(clock)\(seconds)Z")
        else { return nil }
        return onWallClock(instant, calendar)
    }

    /// The instant when the calendar's time zone shows the wall-clock time that UTC shows at `instant`; if that time was skipped, the next
    /// one in the calendar.
    private static func onWallClock(_ instant: Date, _ calendar: Calendar) -> Date? {
        var greenwich = Calendar(identifier: .gregorian)
        greenwich.timeZone = .gmt
        let parts = greenwich.dateComponents([.era, .year, .month, .day, .hour, .minute, .second], from: instant)
        return calendar.date(from: parts)
    }
}

/// `habitstore status`.
struct StatusCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract:
            "Shows which engine a user is on, which one the flag file wants, why they differ, and how many records there are."
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let tracker = try await Tracker.open(userOptions, recording)
        defer { tracker.close() }
        let store = tracker.store
        let (stage, engine) = (try store.stage(), try store.engine())
        let advised = AdvisedUser(store.user)
        let reason = try tracker.stores.status(of: store.user).whyNotThere(user: advised.words).map(advised.filled)
        let (information, counts) = try tracker.read { transaction in
            let counts = try transaction.schema.entities.map {
                ($0.name, try transaction.countRecords(RecordQuery(entity: $0.name)))
            }
            return (try transaction.information(), counts)
        }
        try output.write([
            "user": store.user,
            "engine": engine.rawValue,
            "wanted": store.wantedEngine?.rawValue,
            "stage": stage.rawValue,
            "wantedStage": store.wantedStage?.rawValue,
            "reason": reason,
            "mirror": store.mirrorStatus.description,
            "notes": store.notes,
            "token": information.token.rawValue,
            "epoch": information.epoch,
            "timeZone": tracker.timeZone.identifier,
            "counts": Dictionary(uniqueKeysWithValues: counts),
        ]) {
            var table = TextTable([.init("", canShrink: false), .init("")])
            table.append(["user", store.user])
            table.append(["engine", engine.rawValue])
            table.append(["wanted", store.wantedEngine?.rawValue ?? "no change"])
            table.append(["stage", stage.rawValue])
            table.append(["wanted stage", store.wantedStage?.rawValue ?? "no change"])
            table.append(["mirror", store.mirrorStatus.description])
            if let reason { table.append(["reason", reason]) }
            table.append(["token", information.token.description])
            table.append(["time zone", tracker.timeZone.identifier])
            for (name, count) in counts { table.append([name, String(count)]) }
            return table.text(Terminal.options())
        }
    }
}
