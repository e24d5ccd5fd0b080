import Foundation
import GRDB
import HabitStore
import HabitTracker

/// An entry as GRDB's users declare it.
protocol GRDBEntry: FetchableRecord, TableRecord, EntryFields {}

/// Decoded by hand, by column position: GRDB's fastest way.
struct GRDBPlainEntry: GRDBEntry {
    static let databaseTableName = "Entry"
    static var databaseSelection: [any SQLSelectable] { ["id", "date", "note", "value", "habitID"].map { Column($0) } }

    var id: UUID
    var date: Date
    var note: String?
    var value: Double?
    var habitID: UUID?

    init(row: Row) {
        id = row[0]
        date = Date(timeIntervalSinceReferenceDate: row[1])
        note = row[2]
        value = row[3]
        habitID = row[4]
    }
}

/// Decoded by Codable: GRDB's shortest way.
struct GRDBCodableEntry: GRDBEntry, PersistableRecord, Codable {
    static let databaseTableName = "Entry"
    static func databaseDateEncodingStrategy(for column: String) -> DatabaseDateEncodingStrategy {
        .timeIntervalSinceReferenceDate
    }
    static func databaseDateDecodingStrategy(for column: String) -> DatabaseDateDecodingStrategy {
        .timeIntervalSinceReferenceDate
    }

    var id: UUID
    var date: Date
    var note: String?
    var value: Double?
    var habitID: UUID?

    init(_ entry: Entry) {
        (id, date, note) = (entry.id, entry.date, entry.note)
        (value, habitID) = (entry.value, entry.habitID)
    }
}

/// A habit with its tags' identifiers, which GRDB prefetches with a second request.
struct GRDBHabit: FetchableRecord, TableRecord {
    static let databaseTableName = "Habit"
    static let links = hasMany(GRDBLink.self, key: "links", using: ForeignKey(["owner"], to: ["id"]))
    static let tags = hasMany(GRDBTag.self, through: links, using: GRDBLink.tag)
    static var databaseSelection: [any SQLSelectable] {
        [
            "id", "name", "createdAt", "streak", "category", "isArchived", "timesPerPeriod", "periodDays", "unit",
            "target",
        ].map { Column($0) }
    }

    var id: UUID
    var name: String
    var createdAt: Date
    var streak: Int
    var category: String?
    var isArchived: Bool
    var timesPerPeriod: Int
    var periodDays: Int
    var unit: String?
    var target: Double?
    var tagIDs: Set<UUID>

    init(row: Row) {
        id = row[0]
        name = row[1]
        createdAt = Date(timeIntervalSinceReferenceDate: row[2])
        streak = row[3]
        category = row[4]
        isArchived = row[5]
        timesPerPeriod = row[6]
        periodDays = row[7]
        unit = row[8]
        target = row[9]
        tagIDs = Set((row.prefetchedRows["links"] ?? []).map { $0["target"] as UUID })
    }

    /// The same checksum over all fields as in the yardstick.
    var checksum: UInt64 {
        func length(_ text: String?) -> UInt64 { UInt64(bitPattern: Int64(text.map { $0.utf8.count } ?? -1)) }
        func bits(_ number: Int) -> UInt64 { UInt64(bitPattern: Int64(number)) }
        var sum = createdAt.timeIntervalSinceReferenceDate.bitPattern &+ UInt64(id.uuid.0)
        sum &+= length(name) &* 17 &+ length(category) &* 19 &+ length(unit) &* 23
        sum &+= bits(streak) &* 29 &+ bits(timesPerPeriod) &* 37 &+ bits(periodDays) &* 41
        if isArchived { sum &+= 43 }
        if let target { sum &+= target.bitPattern &* 31 }
        for tag in tagIDs { sum &+= UInt64(tag.uuid.15) }
        return sum
    }
}

/// A link from a habit to a tag.
struct GRDBLink: TableRecord {
    static let databaseTableName = "Habit_tagIDs"
    static let tag = belongsTo(GRDBTag.self, using: ForeignKey(["target"], to: ["id"]))
}

struct GRDBTag: TableRecord {
    static let databaseTableName = "Tag"
}
