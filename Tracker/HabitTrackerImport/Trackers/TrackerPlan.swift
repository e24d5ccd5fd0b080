import Foundation
import HabitStore
import HabitStoreImport
import HabitTracker
import JSONText

/// The records that a source results in, with identifiers that are the same each time the source is read.
struct TrackerPlan {
    var habits: [Habit] = []
    var entries: [Entry] = []
    var tags: [Tag] = []
    /// The days of entries whose source states no time, by identifier: their instants depend on the time zone.
    private(set) var days: [UUID: LocalDay] = [:]
    /// The lines for the attachment.
    private(set) var attachment: [AttachmentLine] = []
    /// Habits whose identifier is derived from a number that another phone may have assigned to another habit.
    private(set) var numbered: Set<UUID> = []
    /// The oddities found while planning.
    private(set) var oddities: [String: Int] = [:]

    /// The identifiers assigned to entries that share their source's identifier with an earlier entry.
    private var repeated: Set<UUID> = []

    private let root: [String]

    /// - Parameters:
    ///   - name: distinguishes sources of the same kind, such as two people's phones.
    ///   - now: the creation date of habits without one in the source.
    init(_ source: TrackerSource, name: String, timeZone: TimeZone, now: Date) {
        root = ["tracker", source.format.rawValue, name]
        var ids: [String: UUID] = [:]
        var taken: Set<UUID> = []
        for habit in source.habits {
            var id = habit.id ?? DerivedID.make(root + ["habit", habit.key])
            if !taken.insert(id).inserted {
                // Two habits with the same identifier are two habits.
                oddities["habits with the identifier of another one", default: 0] += 1
                id = free(["habit", habit.key, habit.name], &taken)
                repeated.insert(id)
            } else {
                ids[habit.key] = id
            }
            if habit.id == nil, Int(habit.key.split(separator: "\u{1F}").last ?? "") != nil { numbered.insert(id) }
            habits.append(made(habit, id, timeZone))
        }
        var first: [UUID: Date] = [:]
        for entry in source.entries {
            guard let habit = ids[entry.habit] else { continue }
            add(entry, of: habit, timeZone, &taken, &first)
        }
        for index in habits.indices where habits[index].createdAt == .distantPast {
            habits[index].createdAt = first[habits[index].id] ?? now
        }
        for row in source.rows { attachment.append(AttachmentLine(kind: .row, what: row.what, fields: row.fields)) }
    }

    /// An identifier derived from a name and its number among equal names. It does not depend on other records, which may come and go.
    private func free(_ name: [String], _ taken: inout Set<UUID>) -> UUID {
        var number = 2
        while true {
            let id = DerivedID.make(root + name + ["\(number)"])
            if taken.insert(id).inserted { return id }
            number += 1
        }
    }

    /// The originals of texts in which NFC, the store's form, replaces characters.
    private mutating func asWritten(_ texts: [String: String?]) -> [String: JSON] {
        var result: [String: JSON] = [:]
        for case (let name, let text?) in texts where text.isReplacedByNFC {
            result["\(name) (original)"] = .string(text)
            oddities["texts of which NFC replaces characters; the originals are kept", default: 0] += 1
        }
        return result
    }

    /// Reuses the identifiers that an earlier version gave to records that share an identifier of the source; those depended on the number
    /// of records read before. Only imports create identifiers of version 8.
    mutating func keepEarlierIdentifiers(of transaction: any ReadTransaction) throws {
        guard !repeated.isEmpty else { return }
        var own = Set(entries.map(\.id))
        var known: [UUID: [Entry]] = [:]
        for index in entries.indices where repeated.contains(entries[index].id) {
            let entry = entries[index]
            guard let habit = entry.habitID, try transaction.model(Entry.self, id: entry.id) == nil else { continue }
            let stored =
                try known[habit]
                ?? transaction.fetch(FetchDescriptor<Entry>(predicate: #Predicate { $0.habitID == habit }))
            known[habit] = stored
            let same = stored.first { other in
                other.id.uuid.6 >> 4 == 8 && !own.contains(other.id) && other.date == entry.date
                    && other.value == entry.value && other.note == entry.note
            }
            guard let id = same?.id else { continue }
            own.insert(id)
            entries[index] = Entry(id: id, date: entry.date, note: entry.note, value: entry.value, habitID: habit)
            days[id] = days.removeValue(forKey: entry.id)
            for line in attachment.indices where attachment[line].id == entry.id { attachment[line].id = id }
        }
    }

    private mutating func made(_ habit: TrackerHabit, _ id: UUID, _ timeZone: TimeZone) -> Habit {
        let tagTexts = habit.tags.enumerated().map { ("tag \($0 + 1)", $1 as String?) }
        let texts: [String: String?] = ["name": habit.name, "category": habit.category, "unit": habit.unit]
        let rest = habit.rest.merging(asWritten(texts.merging(tagTexts) { old, _ in old })) { old, _ in old }
        if !rest.isEmpty { attachment.append(AttachmentLine(kind: .habit, id: id, what: habit.name, fields: rest)) }
        let tagIDs = habit.tags.map { name -> UUID in
            let id = DerivedID.make(root + ["tag", name])
            if !tags.contains(where: { $0.id == id }) { tags.append(Tag(id: id, name: name)) }
            return id
        }
        return Habit(
            id: id,
            name: habit.name,
            createdAt: habit.created?.date(in: timeZone) ?? .distantPast,
            category: habit.category,
            isArchived: habit.isArchived,
            timesPerPeriod: habit.timesPerPeriod,
            periodDays: habit.periodDays,
            unit: habit.unit,
            target: habit.target,
            tagIDs: Set(tagIDs)
        )
    }

    private mutating func add(
        _ entry: TrackerEntry,
        of habit: UUID,
        _ timeZone: TimeZone,
        _ taken: inout Set<UUID>,
        _ first: inout [UUID: Date]
    ) {
        var id = entry.id ?? DerivedID.make(root + ["entry", entry.habit, entry.key])
        if !taken.insert(id).inserted {
            oddities["entries with the identifier of another one", default: 0] += 1
            id = free(["entry", entry.habit, entry.key, TableValue.words(entry.moment)], &taken)
            repeated.insert(id)
        }
        let rest = entry.rest.merging(asWritten(["note": entry.note])) { old, _ in old }
        if !rest.isEmpty { attachment.append(AttachmentLine(kind: .entry, id: id, what: "entry", fields: rest)) }
        let date = entry.moment.date(in: timeZone)
        if case .day(let day) = entry.moment {
            days[id] = day
            if day.isSkipped(in: timeZone) { oddities["days that the time zone skipped", default: 0] += 1 }
        }
        if first[habit].map({ date < $0 }) ?? true { first[habit] = date }
        entries.append(Entry(id: id, date: date, note: entry.note, value: entry.value, habitID: habit))
    }
}

/// The changes that an import would make to a store, and what the store already has.
struct TrackerChanges {
    var newTags: [Tag] = []
    var newHabits: [Habit] = []
    var newEntries: [Entry] = []
    /// Records in the store that differ.
    var changedHabits: [Habit] = []
    var changedEntries: [Entry] = []
    /// Records in the store that are equal.
    var sameTags = 0
    var sameHabits = 0
    var sameEntries = 0
}

/// The findings and results of an import, by name and count.
public struct TrackerReport: Sendable, Codable, Equatable {
    /// The record counts of an entity.
    public struct Count: Sendable, Codable, Equatable {
        /// Records in the source.
        public var inSource = 0
        /// Records added to the store.
        public var added = 0
        /// Records that were already in the store and equal.
        public var known = 0
        /// Records that were already in the store and differ; they are kept unless updates were requested.
        public var differing = 0
    }

    /// A named finding and its number of occurrences.
    public struct Finding: Sendable, Codable, Equatable {
        /// The name of the finding.
        public let name: String
        /// The number of occurrences.
        public let count: Int
    }

    /// Evidence that a part of the source is missing or was not read.
    public struct Loss: Sendable, Codable, Equatable {
        /// A stable name, one of ``kinds``.
        public let kind: String
        /// One sentence without record values.
        public let message: String
        /// The number of occurrences.
        public let count: Int

        /// All values of ``kind``.
        public static let kinds =
            CoreDataImportReport.Shortfall.fileKinds + ["fileCut", "habitMissing", "marksMissing"]
    }

    /// The result of comparing the store with the source after the import.
    public struct Verification: Sendable, Codable, Equatable {
        /// Whether everything that can be compared is equal.
        public var isEqual: Bool
        /// Habits of the source whose entries were counted and summed on both sides.
        public var habits: Int
        /// The number of entries on both sides, as counted in the source.
        public var entries: Int
        /// The differences, in words without user data.
        public var differences: [String]
        /// Why most of the source, or of one of its habits, became no record; empty if most of it did.
        public var setAside: [String] = []
    }

    /// The format of the source.
    public let format: TrackerFormat
    /// The path of the source.
    public let path: String
    /// The number of rows of each kind in the source.
    public var rows: [Finding] = []
    /// Habits.
    public var habits = Count()
    /// Entries.
    public var entries = Count()
    /// Tags.
    public var tags = Count()
    /// What is kept next to the store, by name.
    public var kept: [Finding] = []
    /// The number of rows kept next to the store because they are not records.
    public var keptRows = 0
    /// Evidence that a part of the source is missing or was not read.
    public var losses: [Loss] = []
    /// The oddities of the source, by name.
    public var oddities: [Finding] = []
    /// The file with what is kept next to the store; nil if there is none.
    public var attachment: String?
    /// The result of the comparison after the import; nil for a rehearsal.
    public var verification: Verification?

    init(format: TrackerFormat, path: String, counts: [(name: String, count: Int)]) {
        self.format = format
        self.path = path
        rows = counts.map { Finding(name: $0.name, count: $0.count) }
    }

    mutating func count(_ changes: TrackerChanges) {
        (habits.added, habits.known, habits.differing) =
            (changes.newHabits.count, changes.sameHabits, changes.changedHabits.count)
        (entries.added, entries.known, entries.differing) =
            (changes.newEntries.count, changes.sameEntries, changes.changedEntries.count)
        (tags.added, tags.known) = (changes.newTags.count, changes.sameTags)
    }

    mutating func sort() {
        kept.sort { $0.name < $1.name }
        oddities.sort { $0.name < $1.name }
    }
}

/// The file for what a store cannot hold: one JSON object per line, the first of which describes the source.
struct AttachmentFile {
    private struct Header: Codable {
        var format = "habitstore-import-attachment"
        var version = 1
        let source: String
        let name: String
        let path: String
        let lines: Int
    }

    /// Writes the lines. Importing the same source again results in the same file.
    ///
    /// - Returns: the path of the file; nil if there are no lines.
    static func write(
        _ lines: [AttachmentLine],
        of source: TrackerSource,
        named name: String,
        in folder: String
    ) throws -> String? {
        guard !lines.isEmpty else { return nil }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var bytes = Data()
        for line in lines {
            bytes += try encoder.encode(line)
            bytes.append(UInt8(ascii: "\n"))
        }
        let file = source.path.split(separator: "/").last.map(String.init) ?? source.path
        let header = Header(source: source.format.rawValue, name: name, path: file, lines: lines.count)
        let first = try encoder.encode(header) + Data([UInt8(ascii: "\n")])
        return try ContentNamedFile.write(bytes, behind: first, as: source.format.rawValue, in: folder)
    }
}

/// A line of the attachment: a part of a source that a store cannot hold.
struct AttachmentLine: Codable {
    /// What the line belongs to.
    enum Kind: String, Codable {
        case habit
        case entry
        case draft
        /// A row of the source that became no record.
        case row
    }

    let kind: Kind
    /// The record that has the rest.
    var id: UUID?
    /// The habit's name, or the kind of row.
    let what: String
    /// The fields, by their names in the source.
    let fields: [String: JSON]
}
