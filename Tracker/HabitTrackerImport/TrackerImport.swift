import Foundation
import HabitStore
import HabitStoreImport
import HabitTracker

/// Imports the habits of another tracker: writes new records to the store in one transaction and everything the store cannot hold to a file
/// next to it, and reports both, so that the numbers add up to the source's.
///
/// Identifiers are derived (``DerivedID``) from the kind of source, its name, and what identifies a record in it. A second import therefore
/// only adds new records. Records that differ are counted and left unchanged, unless updates are requested.
public struct TrackerImport {
    /// Options of an import.
    public struct Options: Sendable {
        /// The expected format; nil to accept any.
        public var format: TrackerFormat?
        /// Distinguishes sources of the same kind, such as two people's phones.
        public var name = ""
        /// Whether to update records that differ from the source.
        public var updates = false
        /// Whether to accept that a habit has another name in the store.
        public var allowsRenames = false
        /// The time zone of the source's days.
        public var timeZone: TimeZone
        /// Describes the lists of a file without a dedicated reader; nil for files of known apps.
        public var mapping: CoreDataMapping?
        /// The creation date of habits without one in the source.
        public var now: Date

        /// Default options.
        public init(timeZone: TimeZone, now: Date = Date()) {
            self.timeZone = timeZone
            self.now = now
        }
    }

    private static let author = "habitstore import"

    private let path: String
    private let options: Options
    private let finding: TrackerRecognition.Finding
    private let source: TrackerSource
    private var plan: TrackerPlan

    /// Reads a source without changing anything.
    ///
    /// - Throws: ``HabitStoreError/Code/unknownFormat`` if the file is not from a known tracker, ``HabitStoreError/Code/invalidSource`` and
    ///   ``HabitStoreError/Code/corrupt`` if it is damaged.
    public init(path: String, _ options: Options) throws {
        self.path = path
        self.options = options
        finding =
            if let mapping = options.mapping {
                .tables(try SourceTables(path: path), mapping, options.timeZone)
            } else {
                try TrackerRecognition.find(path, format: options.format)
            }
        source = try finding.read(path)
        plan = TrackerPlan(source, name: options.name, timeZone: options.timeZone, now: options.now)
    }

    /// Reports what ``run(into:attachmentsIn:progress:)`` would do, with the verification of an import into a copy in memory.
    public func rehearse(into store: any HabitStore) throws -> TrackerReport {
        var work = self
        let copy = try InMemoryHabitStore(schema: HabitSchema.current)
        var report = try store.read { transaction in
            try work.plan.keepEarlierIdentifiers(of: transaction)
            var report = work.report()
            report.count(try work.changes(transaction, &report))
            try copyRecords(of: transaction, into: copy)
            return report
        }
        let folder = FileManager.default.temporaryDirectory.path + "/habitstore-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        report.verification = try run(into: copy, attachmentsIn: folder).verification
        return report
    }

    /// Copies the records that an import may find in a store: all tags, the source's habits, and their entries.
    private func copyRecords(of transaction: any ReadTransaction, into copy: InMemoryHabitStore) throws {
        let habits = try plan.habits.compactMap { try transaction.model(Habit.self, id: $0.id) }
        var entries: [Entry] = []
        for id in habits.map(\.id) {
            entries += try transaction.fetch(FetchDescriptor<Entry>(predicate: #Predicate { $0.habitID == id }))
        }
        let (tags, known) = (try transaction.all(Tag.self), entries)
        try copy.write(author: Self.author) { transaction in
            try transaction.insert(contentsOf: tags)
            try transaction.insert(contentsOf: habits)
            try transaction.insert(contentsOf: known)
        }
    }

    /// Runs the import.
    ///
    /// - Parameters:
    ///   - folder: the folder for what the store cannot hold. If the import is refused, nothing is written there.
    ///   - progress: called with the number of records processed and their total.
    /// - Throws: ``HabitStoreError/Code/uniqueViolation`` if habits that the source identifies only by a number have other names in the
    ///   store: they may be from another phone.
    public func run(
        into store: any HabitStore,
        attachmentsIn folder: String,
        progress: (Int, Int) -> Void = { _, _ in }
    ) throws -> TrackerReport {
        var work = self
        var report = try store.write(author: Self.author) { transaction in
            try work.plan.keepEarlierIdentifiers(of: transaction)
            var report = work.report()
            let changes = try work.changes(transaction, &report)
            report.count(changes)
            try work.apply(changes, transaction, progress)
            // All records are accepted; write what the store cannot hold to disk before the commit.
            report.attachment = try AttachmentFile.write(
                work.plan.attachment,
                of: source,
                named: options.name,
                in: folder
            )
            return report
        }
        report.verification = try TrackerVerification(finding, path, work.plan).compare(
            with: store,
            options.timeZone,
            report
        )
        return report
    }

    private func report() -> TrackerReport {
        var report = TrackerReport(format: source.format, path: path, counts: source.counts)
        report.habits.inSource = plan.habits.count
        report.entries.inSource = plan.entries.count
        report.tags.inSource = plan.tags.count
        for (name, count) in source.oddities.merging(plan.oddities, uniquingKeysWith: +) {
            report.oddities.append(.init(name: name, count: count))
        }
        var kept: [String: Int] = [:]
        for line in plan.attachment {
            if line.kind == .row {
                kept[line.what, default: 0] += 1
            } else {
                for name in line.fields.keys { kept["\(line.kind.rawValue).\(name)", default: 0] += 1 }
            }
        }
        report.losses = source.losses
        report.kept = kept.map { .init(name: $0.key, count: $0.value) }
        report.keptRows = plan.attachment.count { $0.kind == .row }
        report.sort()
        return report
    }

    // MARK: Changes

    private func changes(_ transaction: any ReadTransaction, _ report: inout TrackerReport) throws -> TrackerChanges {
        var changes = TrackerChanges()
        var tagIDs: [UUID: UUID] = [:]
        for tag in plan.tags {
            // A tag with this name is the same tag, whoever created it.
            let name = tag.name
            let known = try transaction.fetch(FetchDescriptor<Tag>(predicate: #Predicate { $0.name == name })).first
            tagIDs[tag.id] = known?.id ?? tag.id
            if known == nil { changes.newTags.append(tag) } else { changes.sameTags += 1 }
        }
        var renamed = 0
        for var habit in plan.habits {
            habit.tagIDs = Set(habit.tagIDs.map { tagIDs[$0] ?? $0 })
            guard let known = try transaction.model(Habit.self, id: habit.id) else {
                changes.newHabits.append(habit)
                continue
            }
            if known.name != habit.name, plan.numbered.contains(habit.id) { renamed += 1 }
            // These belong to the store, or are not in the source.
            (habit.createdAt, habit.streak) = (known.createdAt, known.streak)
            if known == habit { changes.sameHabits += 1 } else { changes.changedHabits.append(habit) }
        }
        guard renamed == 0 || options.allowsRenames else {
            throw HabitStoreError(
                .uniqueViolation,
                "\(renamed) habits that the source knows by a number only have other names here: name the source with "
                    + "--source if it is another phone's, or give --renamed if they are the same",
                at: .init(path: path)
            )
        }
        for entry in plan.entries {
            guard let known = try transaction.model(Entry.self, id: entry.id) else {
                changes.newEntries.append(entry)
                continue
            }
            if isSame(known, entry) { changes.sameEntries += 1 } else { changes.changedEntries.append(entry) }
        }
        return changes
    }

    /// A day that was imported in another time zone is the same day.
    private func isSame(_ known: Entry, _ entry: Entry) -> Bool {
        if known == entry { return true }
        guard let day = plan.days[entry.id] else { return false }
        var moved = known
        moved.date = entry.date
        let noon = Date(timeIntervalSince1970: Double(day.number) * 86_400 + 43_200)
        // No time zone is more than 14 hours from UTC.
        return moved == entry && abs(known.date.timeIntervalSince(noon)) <= 14 * 3_600
    }

    private func apply(
        _ changes: TrackerChanges,
        _ transaction: any WriteTransaction,
        _ progress: (Int, Int) -> Void
    ) throws {
        try transaction.insert(contentsOf: changes.newTags)
        try transaction.insert(contentsOf: withStreaks(changes.newHabits))
        let total = changes.newEntries.count
        try transaction.insert(contentsOf: changes.newEntries) { progress($0, total) }
        if options.updates {
            for habit in changes.changedHabits { try transaction.save(habit) }
            for entry in changes.changedEntries { try transaction.save(entry) }
        }
        let touched = Set((changes.newEntries + (options.updates ? changes.changedEntries : [])).compactMap(\.habitID))
        for id in touched.subtracting(changes.newHabits.map(\.id)) { try updateStreak(of: id, transaction) }
    }

    private func withStreaks(_ habits: [Habit]) -> [Habit] {
        let dates = Dictionary(grouping: plan.entries, by: \.habitID).mapValues { $0.map(\.date) }
        return habits.map { habit in
            var habit = habit
            habit.streak = longestStreak(of: habit, dates[habit.id] ?? [])
            return habit
        }
    }

    private func updateStreak(of id: UUID, _ transaction: any WriteTransaction) throws {
        guard var habit = try transaction.model(Habit.self, id: id) else { return }
        let entries = try transaction.fetch(FetchDescriptor<Entry>(predicate: #Predicate { $0.habitID == id }))
        let streak = longestStreak(of: habit, entries.map(\.date))
        guard streak != habit.streak else { return }
        habit.streak = streak
        try transaction.save(habit)
    }

    private func longestStreak(of habit: Habit, _ dates: [Date]) -> Int {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = options.timeZone
        let schedule =
            (try? HabitSchedule(timesPerPeriod: max(1, habit.timesPerPeriod), periodDays: max(1, habit.periodDays)))
            ?? .daily
        return Streaks.compute(
            entryDates: dates,
            schedule: schedule,
            calendar: calendar,
            now: options.now,
            anchor: habit.createdAt
        ).longest
    }
}
