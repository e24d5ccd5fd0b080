import Foundation
import HabitStore
import HabitStoreImport
import HabitTracker
import JSONText

/// Compares a store with its source, using none of the import's code: the source is counted and summed by SQL, by Foundation's JSON parser,
/// or line by line, and the store is read back record by record.
struct TrackerVerification {
    private let finding: TrackerRecognition.Finding
    private let path: String
    private let plan: TrackerPlan

    private static let mostDifferences = 10

    init(_ finding: TrackerRecognition.Finding, _ path: String, _ plan: TrackerPlan) {
        self.finding = finding
        self.path = path
        self.plan = plan
    }

    func compare(
        with store: any HabitStore,
        _ timeZone: TimeZone,
        _ report: TrackerReport
    ) throws -> TrackerReport.Verification {
        let expected = try expected().sorted { $0.order.lexicographicallyPrecedes($1.order) }
        let found = try store.read { try self.found($0, timeZone) }.sorted {
            $0.order.lexicographicallyPrecedes($1.order)
        }
        var differences: [String] = []
        let balance: RecordBalance
        if expected.count != found.count {
            differences.append("the source has \(expected.count) habits, and \(found.count) are here")
        }
        let entries = (expected.reduce(0) { $0 + $1.entries }, found.reduce(0) { $0 + $1.entries })
        if entries.0 != entries.1 {
            differences.append("the source has \(entries.0) entries, and \(entries.1) are here")
        }
        let pairs = zip(expected, found).filter { !$0.0.isEqual(to: $0.1) }
        for (left, right) in pairs.prefix(Self.mostDifferences) {
            differences.append("a habit has \(left) in the source and \(right) here")
        }
        if pairs.count > Self.mostDifferences {
            differences.append("and \(pairs.count - Self.mostDifferences) more habits differ")
        }
        if case .database(let database, let format) = finding {
            var account = try TrackerAccount(database, format, attachment: report.attachment, expected)
            differences += try account.differences()
            balance = account.balance
        } else {
            var account = try LeafAccount(plan, in: store, attachment: report.attachment, timeZone)
            try account.take(finding, path: path)
            differences += account.differences
            balance = account.balance
        }
        let edited = report.habits.differing + report.entries.differing
        if !differences.isEmpty, edited > 0 {
            differences.append("\(edited) records were changed here or in the source since they were imported first")
        }
        return TrackerReport.Verification(
            isEqual: differences.isEmpty,
            habits: expected.count,
            entries: entries.0,
            differences: differences,
            setAside: balance.findings
        )
    }

    private func expected() throws -> [HabitTally] {
        switch finding {
        case .database(let database, let format): try DatabaseTally.count(database, format)
        case .files(let files): try TextTally.loop(files)
        case .tables(let tables, let mapping, let timeZone): try TableTally.count(tables, mapping, timeZone)
        case .habitBull(let bytes): TextTally.habitBull(String(decoding: bytes, as: UTF8.self))
        case .json(_, let format): try JSONTally.count(path, format)
        case .harsh(let habits, let log): try TextTally.harsh(habits ?? "", log ?? "")
        }
    }

    private func found(_ transaction: any ReadTransaction, _ timeZone: TimeZone) throws -> [HabitTally] {
        var tallies: [UUID: HabitTally] = [:]
        for habit in plan.habits {
            guard let habit = try transaction.model(Habit.self, id: habit.id) else { continue }
            tallies[habit.id] = HabitTally(name: habit.name)
        }
        for id in plan.entries.map(\.id) {
            guard let entry = try transaction.model(Entry.self, id: id), let habit = entry.habitID,
                let day = LocalDay(containing: entry.date, in: timeZone)
            else { continue }
            tallies[habit]?.add(day: day.description, value: entry.value, note: entry.note)
        }
        return Array(tallies.values)
    }
}

/// Accounts for every column of every row in another tracker's database: each must be in the columns that the tally compares with the
/// store, or in the attachment by name and value. Anything else is a difference.
///
/// It asks SQLite for the tables and columns, and reads the attachment from disk, without the import's readers.
struct TrackerAccount {
    /// The columns that become fields of habits and entries, by format and table, in lowercase.
    private static let fields: [TrackerFormat: [String: Set<String>]] = [
        .loop: [
            "habits": ["id", "name", "archived", "freq_num", "freq_den", "unit", "uuid", "target_value"],
            "repetitions": ["id", "habit", "timestamp", "value", "notes"],
        ],
        .tickmate: [
            "tracks": ["_id", "name", "enabled"],
            "ticks": ["_id", "_track_id", "year", "month", "day", "hour", "minute", "second", "has_time_info"],
        ],
        .tableHabit: [
            "mh_habits": [
                "id_", "uuid", "name", "freq_type", "freq_custom", "start_date", "status", "daily_goal",
                "daily_goal_unit", "group_id",
            ],
            "mh_records": [
                "id_", "uuid", "parent_id", "parent_uuid", "record_type", "record_date", "record_value", "reason",
                "is_deleted",
            ],
        ],
    ]

    /// Tables that the apps compute or use for bookkeeping, in lowercase.
    private static let bookkeeping: Set<String> = [
        "android_metadata", "room_master_table", "score", "streak", "checkmarks", "events", "groups", "track2groups",
        "mh_groups",
    ]
    /// The columns that identify the habit, in tables of entries and of habits.
    private static let links: [String: [String]] = [
        "repetitions": ["habit"], "ticks": ["_track_id"], "mh_records": ["parent_uuid", "parent_id"],
        "habits": ["id"], "tracks": ["_id"], "mh_habits": ["uuid", "id_"],
    ]

    private let database: SourceDatabase
    private let fields: [String: Set<String>]
    /// The number of rows that became habits or entries according to the tally, by table.
    private let records: [String: Int]
    /// How often the attachment has a column's value for a habit or an entry, by column name and value.
    private var values: [String: Int] = [:]
    /// How often the attachment has a whole row, by table and contents.
    private var rows: [String: Int] = [:]
    /// The originals of texts that NFC changes.
    private var written = WrittenTexts()
    /// The numbers of rows that did and did not become records.
    private(set) var balance = RecordBalance()
    private var habits: Set<String> = []

    /// - Parameters:
    ///   - attachment: the path of the attachment; nil if there is none.
    ///   - tallies: the tally's findings in the database.
    init(
        _ database: SourceDatabase,
        _ format: TrackerFormat,
        attachment: String?,
        _ tallies: [HabitTally]
    ) throws {
        self.database = database
        let entries = tallies.reduce(0) { $0 + $1.entries }
        records = [
            "habits": tallies.count, "tracks": tallies.count, "mh_habits": tallies.count,
            "repetitions": entries, "ticks": entries, "mh_records": entries,
        ]
        fields = Self.fields[format] ?? [:]
        guard let attachment else { return }
        try WitnessLines.read(attachment) { line in
            guard let object = (try? JSON(parsing: Array(line)))?.members, let kind = object["kind"]?.text,
                let what = object["what"]?.text, let fields = object["fields"]?.members
            else { return }
            written.add(.object(fields))
            let words = fields.compactMapValues(WitnessCell.words(json:))
            if kind == "row" {
                let table = what.split(separator: ":").first.map(String.init) ?? what
                rows[Self.name(table, words), default: 0] += 1
            } else {
                for (column, value) in words { values["\(column)\u{1F}\(value)", default: 0] += 1 }
            }
        }
    }

    private static func name(_ table: String, _ row: [String: String]) -> String {
        ([table.lowercased()] + row.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }).joined(
            separator: "\u{1F}"
        )
    }

    /// The form of a value in the attachment, where bytes are Base64.
    private static func words(_ value: SourceValue) -> String? {
        switch value {
        case .null, .text(""): nil
        case .blob(let bytes), .malformedText(let bytes): "t:\(bytes.base64EncodedString())"
        default: WitnessCell.words(value)
        }
    }

    /// The existing habit that an entry refers to.
    private func habit(_ row: SourceDatabase.Row, _ table: String) -> String? {
        guard ["repetitions", "ticks", "mh_records"].contains(table) else { return nil }
        return Self.links[table]?.lazy.compactMap { row[$0].flatMap(Self.words) }.first { habits.contains($0) }
    }

    /// Whether an entry records that nothing was done, or was filled in by the app.
    private static func isIdle(_ row: SourceDatabase.Row, _ table: String) -> Bool {
        func number(_ column: String) -> Double? {
            switch row[column] {
            case .int(let number): Double(number)
            case .real(let number): number
            case .text(let text): Double(text)
            default: nil
            }
        }
        return switch table {
        case "repetitions": [-1, 0, 1, 3].contains(number("value"))
        case "mh_records": [0, 2].contains(number("record_type")) || number("is_deleted").map { $0 != 0 } ?? false
        default: bookkeeping.contains(table)
        }
    }

    /// The unaccounted parts, in words without user data.
    mutating func differences() throws -> [String] {
        var result: [String] = []
        for table in ["habits", "tracks", "mh_habits"] where fields[table] != nil {
            try database.forEachRow(table) { row in
                habits.formUnion((Self.links[table] ?? []).compactMap { row[$0].flatMap(Self.words) })
            }
        }
        for table in database.tableNames where !table.hasPrefix("sqlite_") {
            let known = fields[table.lowercased()]
            var missing: [String: Int] = [:]
            var (missingRows, readRows) = (0, 0)
            try database.forEachRow(table) { row in
                // A whole row in the attachment includes empty values.
                let whole = row.compactMapValues { $0.isNull ? nil : Self.words($0) ?? "t:" }
                if let left = rows[Self.name(table, whole)], left > 0 {
                    rows[Self.name(table, whole)] = left - 1
                    if !Self.isIdle(row, table.lowercased()) {
                        balance.add(aside: 1, of: habit(row, table.lowercased()))
                    }
                    return
                }
                guard let known else {
                    missingRows += 1
                    return
                }
                readRows += 1
                balance.add(records: 1, of: habit(row, table.lowercased()))
                for case (let column, .text(let text)) in row where known.contains(column) && !written.keeps(text) {
                    missing[column, default: 0] += 1
                }
                for (column, value) in row where !known.contains(column) {
                    guard let words = Self.words(value) else { continue }
                    let name = "\(column)\u{1F}\(words)"
                    if let left = values[name], left > 0 {
                        values[name] = left - 1
                    } else {
                        missing[column, default: 0] += 1
                    }
                }
            }
            if known != nil, let expected = records[table.lowercased()] { missingRows = max(0, readRows - expected) }
            if missingRows > 0 {
                result.append("\(missingRows) rows of \(table) are neither in the store nor in the attachment")
            }
            for (column, count) in missing.sorted(by: { $0.key < $1.key }) {
                result.append("\(count) values of \(table).\(column) are neither in the store nor in the attachment")
            }
        }
        return result
    }
}

/// How much of a source became records, according to the witness. Rows saying that nothing was done do not count.
struct RecordBalance {
    private struct Side {
        var records = 0
        var aside = 0
    }

    private var all = Side()
    private var habits: [String: Side] = [:]
    private var lists: [String: Side] = [:]

    /// Counts rows that became records.
    ///
    /// - Parameters:
    ///   - habit: the habit of the rows, if it is one of the source.
    ///   - list: the list of the rows, if it has a balance of its own.
    mutating func add(records count: Int, of habit: String?, in list: String? = nil) {
        all.records += count
        if let habit { habits[habit, default: Side()].records += count }
        if let list { lists[list, default: Side()].records += count }
    }

    /// Counts rows with content that are kept next to the store.
    mutating func add(aside count: Int, of habit: String?, in list: String? = nil) {
        all.aside += count
        if let habit { habits[habit, default: Side()].aside += count }
        if let list { lists[list, default: Side()].aside += count }
    }

    /// The parts that were mostly set aside, without user data.
    var findings: [String] {
        if all.aside > all.records {
            return ["\(all.aside) of \(all.aside + all.records) rows that say something became no record"]
        }
        let mostlyAside = habits.values.filter { $0.aside > $0.records }
        guard !mostlyAside.isEmpty else {
            return lists.filter { $0.value.aside > $0.value.records }.sorted { $0.key < $1.key }.map { name, side in
                "\(side.aside) of \(side.aside + side.records) rows of \(name) say something and became no record"
            }
        }
        let (aside, total) = mostlyAside.reduce((0, 0)) { ($0.0 + $1.aside, $0.1 + $1.aside + $1.records) }
        let words = mostlyAside.count == 1 ? "a habit" : "\(mostlyAside.count) habits"
        return ["\(aside) of \(total) rows of \(words) say something and became no record"]
    }
}

/// The exact texts of an attachment that have characters which NFC replaces.
struct WrittenTexts {
    private var texts: Set<Data> = []

    /// Adds the texts in a value.
    mutating func add(_ json: JSON) {
        switch json {
        case .string(let text): if WitnessCell.hasReplacedCharacters(text) { texts.insert(Data(text.utf8)) }
        case .array(let elements): for element in elements { add(element) }
        case .object(let members): for member in members.values { add(member) }
        case .null, .int, .double, .bool: break
        }
    }

    /// Whether a text is preserved: the store keeps its characters, or the attachment has the original of the text or of a part of it.
    func keeps(_ text: String) -> Bool {
        guard WitnessCell.hasReplacedCharacters(text) else { return true }
        let bytes = Data(text.utf8)
        return texts.contains(bytes) || texts.contains { bytes.range(of: $0) != nil }
    }
}
