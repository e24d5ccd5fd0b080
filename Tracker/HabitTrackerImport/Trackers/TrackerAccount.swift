import Foundation
import HabitStore
import HabitStoreImport

/// Where every column of every row of another tracker's database went: into the columns that the tally holds against the
/// store, or into the attachment, by name and value. What is in neither is a difference.
///
/// It asks SQLite which tables and columns there are, and reads the attachment from the disk; the readers are not asked.
struct TrackerAccount {
    /// The columns of a form that become fields of habits and entries, by their tables; in lower case.
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

    /// Tables that the apps compute or use for bookkeeping; in lower case.
    private static let bookkeeping: Set<String> = [
        "android_metadata", "room_master_table", "score", "streak", "checkmarks", "events", "groups", "track2groups",
        "mh_groups",
    ]
    /// The columns by which an entry's table names the habit, and the habits' table its own.
    private static let links: [String: [String]] = [
        "repetitions": ["habit"], "ticks": ["_track_id"], "mh_records": ["parent_uuid", "parent_id"],
        "habits": ["id"], "tracks": ["_id"], "mh_habits": ["uuid", "id_"],
    ]

    private let database: SourceDatabase
    private let fields: [String: Set<String>]
    /// How many rows of a table became habits or entries, as the tally counts them.
    private let records: [String: Int]
    /// How often a value is kept of a column of a habit or an entry, by the column's name and the value.
    private var values: [String: Int] = [:]
    /// How often a row is kept whole, by its table and what is in it.
    private var rows: [String: Int] = [:]
    /// The originals of texts that NFC changes.
    private var written = WrittenTexts()
    /// How many of the rows became records.
    private(set) var balance = RecordBalance()
    /// The identifiers of the habits.
    private var habits: Set<String> = []

    /// - Parameters:
    ///   - attachment: the path of what is kept beside the store; nil where nothing is.
    ///   - tallies: what the tally found in the database.
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
            guard let object = (try? JSONValueParser.parse(Array(line)))?.members, let kind = object["kind"]?.text,
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

    /// The values of an attachment stand there as JSON has them: bytes in Base64.
    private static func words(_ value: SourceValue) -> String? {
        switch value {
        case .null, .text(""): nil
        case .blob(let bytes), .malformedText(let bytes): "t:\(bytes.base64EncodedString())"
        default: WitnessCell.words(value)
        }
    }

    /// The habit that an entry names, where there is one.
    private func habit(_ row: SourceDatabase.Row, _ table: String) -> String? {
        guard ["repetitions", "ticks", "mh_records"].contains(table) else { return nil }
        return Self.links[table]?.lazy.compactMap { row[$0].flatMap(Self.words) }.first { habits.contains($0) }
    }

    /// Whether an entry says that nothing was done, or that the app has filled it in.
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

    /// What nobody accounts for, in words without the user's.
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
                // A row that is kept whole stands there with what is empty, too.
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
                result.append("\(missingRows) rows of \(table) are neither here nor kept beside the store")
            }
            for (column, count) in missing.sorted(by: { $0.key < $1.key }) {
                result.append("\(count) values of \(table).\(column) are neither here nor kept beside the store")
            }
        }
        return result
    }
}
