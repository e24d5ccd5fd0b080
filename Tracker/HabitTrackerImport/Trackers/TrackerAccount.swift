import Foundation
import HabitStore
import HabitStoreImport

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
