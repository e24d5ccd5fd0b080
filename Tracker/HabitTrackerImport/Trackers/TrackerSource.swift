import Foundation
import HabitStore
import HabitStoreImport
import HabitTracker
import JSONText

/// The contents of a source, divided into what can be imported and what is kept next to the store.
struct TrackerSource {
    let format: TrackerFormat
    let path: String
    var habits: [TrackerHabit] = []
    var entries: [TrackerEntry] = []
    var rows: [TrackerRow] = []
    /// The number of rows of each kind in the source: its tables, files or lists.
    var counts: [(name: String, count: Int)] = []
    /// The oddities and their numbers of occurrences.
    private(set) var oddities: [String: Int] = [:]
    /// The number of entries per habit and moment so far, to derive the keys of further ones.
    private var repeats: [String: Int] = [:]
    private var names: [String: Int] = [:]

    init(_ format: TrackerFormat, path: String) {
        self.format = format
        self.path = path
    }

    /// Evidence that a part of the source is missing or was not read, by kind.
    private(set) var losses: [TrackerReport.Loss] = []

    /// Records evidence of a loss.
    mutating func lose(_ kind: String, _ message: String, _ count: Int) {
        if count > 0 { losses.append(TrackerReport.Loss(kind: kind, message: message, count: count)) }
    }

    /// Records the oddities of a database's files, including those that prove a loss.
    mutating func note(_ oddities: [CoreDataOddity]) {
        for oddity in oddities {
            if CoreDataImportReport.Shortfall.fileKinds.contains(oddity.kind) {
                lose(oddity.kind, oddity.message, oddity.count ?? 1)
            } else {
                note(oddity.message)
            }
        }
    }

    /// Records files that end in the middle of a row.
    mutating func loseCutFiles(_ count: Int) {
        let words = count == 1 ? "a file ends" : "\(count) files end"
        lose("fileCut", "\(words) in the middle of a row: the rest of it is missing", count)
    }

    mutating func note(_ oddity: String, _ count: Int = 1) {
        if count > 0 { oddities[oddity, default: 0] += count }
    }

    /// Adds a row to keep next to the store.
    mutating func keep(_ what: String, _ fields: [String: JSON]) {
        rows.append(TrackerRow(what: what, fields: fields))
    }

    /// The key of an entry that has none: the text for its moment, numbered among the habit's entries with the same text.
    mutating func key(_ habit: String, _ text: String) -> String {
        let name = habit + "\u{1F}" + text
        let count = repeats[name, default: 0]
        repeats[name] = count + 1
        return count == 0 ? text : "\(text)#\(count + 1)"
    }

    /// The key of a habit that only has a name, which may not be unique.
    mutating func key(habitNamed name: String) -> String {
        let count = names[name, default: 0]
        names[name] = count + 1
        if count > 0 { note("habits with the name of another one") }
        return count == 0 ? name : "\(name)#\(count + 1)"
    }
}

/// A habit in a source.
struct TrackerHabit {
    /// Identifies the habit in its source.
    let key: String
    /// The source's identifier, if it is a UUID.
    var id: UUID?
    var name: String
    var created: SourceMoment?
    var category: String?
    var tags: [String] = []
    var isArchived = false
    var timesPerPeriod = 1
    var periodDays = 1
    var unit: String?
    var target: Double?
    /// Fields that a habit cannot hold, by their names in the source.
    var rest: [String: JSON] = [:]
}

/// An entry in a source.
struct TrackerEntry {
    /// Identifies the entry among those of its habit, also when the source is read again.
    let key: String
    /// The source's identifier, if it is a UUID.
    var id: UUID?
    let habit: String
    var moment: SourceMoment
    var note: String?
    var value: Double?
    /// Fields that an entry cannot hold, by their names in the source.
    var rest: [String: JSON] = [:]
}

/// A part of a source that does not become a record, kept next to the store under a name.
struct TrackerRow: Equatable {
    /// The kind of row, by which rows are counted: "Repetitions: skipped".
    let what: String
    let fields: [String: JSON]
}

/// The time of an event, as exactly as a source states it.
enum SourceMoment: Hashable, Sendable {
    /// A day without a time.
    case day(LocalDay)
    /// A time on the user's wall clock: seconds since midnight.
    case wallClock(LocalDay, second: Int)
    /// An instant.
    case instant(Date)

    private static let noon = 43_200

    /// The instant that represents it in a store.
    ///
    /// A day becomes noon in the user's time zone, like a typed day: it is then the same day in this time zone and in most others that the
    /// user may travel to. Many apps store a day as midnight UTC, which west of Greenwich is the evening of the day before.
    func date(in timeZone: TimeZone) -> Date {
        switch self {
        case .day(let day): Self.onWallClock(day, Self.noon, timeZone)
        case .wallClock(let day, let second): Self.onWallClock(day, second, timeZone)
        case .instant(let date): date
        }
    }

    /// The day, if the source states one.
    var day: LocalDay? {
        switch self {
        case .day(let day), .wallClock(let day, _): day
        case .instant: nil
        }
    }

    /// A valid day from its numbers.
    static func day(year: Int, month: Int, day: Int) -> LocalDay? {
        guard (0...9_999).contains(year), (1...12).contains(month), (1...31).contains(day) else { return nil }
        // Years are counted from March, so that the leap day is the last of a year.
        let shifted = month > 2 ? year : year - 1
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let number = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
        // A day beyond the end of its month has become one of the next month.
        guard let result = LocalDay(number: number), result.gregorian == (year, month, day) else { return nil }
        return result
    }

    /// A day from its number since 1970, if its year has at most four digits.
    static func day(number: Int) -> LocalDay? {
        guard let day = LocalDay(number: number), (0...9_999).contains(day.gregorian.year) else { return nil }
        return day
    }

    /// Parses a day such as `2026-01-31`.
    static func day(iso text: some StringProtocol) -> LocalDay? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].utf8.count == 4, parts[1].utf8.count == 2, parts[2].utf8.count == 2,
            let year = number(parts[0]), let month = number(parts[1]), let date = number(parts[2])
        else { return nil }
        return day(year: year, month: month, day: date)
    }

    /// Parses a number that consists only of digits.
    static func number(_ text: some StringProtocol) -> Int? {
        guard !text.isEmpty, text.utf8.count <= 9, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else {
            return nil
        }
        return Int(text)
    }

    private static func onWallClock(_ day: LocalDay, _ second: Int, _ timeZone: TimeZone) -> Date {
        let clock = Double(day.number) * 86_400 + Double(second)
        // The offset at a nearby instant gives an instant near enough to ask for the correct offset.
        var instant = clock
        for _ in 0..<2 {
            instant = clock - Double(timeZone.secondsFromGMT(for: Date(timeIntervalSince1970: instant)))
        }
        return Date(timeIntervalSince1970: instant)
    }
}
