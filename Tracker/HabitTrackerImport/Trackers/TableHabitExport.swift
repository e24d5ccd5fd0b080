import Foundation
import HabitStore
import HabitStoreImport
import JSONText

/// The JSON export of Table Habit: an object with `habits`, each with its `records`. The app leaves out identifiers, so a habit is
/// identified by its name and the second of its creation.
enum TableHabitExport {
    static func recognises(_ json: JSON) -> Bool {
        guard let habits = habits(json), let first = habits.first?.members else { return false }
        return first["create_t"] != nil && (first["daily_goal"] != nil || first["freq_type"] != nil)
    }

    private static func habits(_ json: JSON) -> [JSON]? {
        json.elements ?? json.members?["habits"]?.elements
    }

    static func read(_ json: JSON, path: String) throws -> TrackerSource {
        var source = TrackerSource(.tableHabitJSON, path: path)
        let habits = habits(json) ?? []
        var recordCount = 0
        for element in habits {
            guard let fields = element.members else {
                source.keep("habits: not an object", ["value": element])
                continue
            }
            let made = fields["create_t"]?.integer.map { "\($0)" } ?? ""
            let name = fields["name"]?.text ?? ""
            let key = source.key(habitNamed: "\(made) \(name)")
            let records = fields["records"]?.elements ?? []
            recordCount += records.count
            var habit = TableHabitFields.habit(
                fields.filter { $0.key != "records" || $0.value.elements == nil },
                key: key,
                &source
            )
            for name in ["id_", "uuid"] {
                habit.rest[name] = fields[name].flatMap { $0.isEmpty ? nil : $0 }
            }
            source.habits.append(habit)
            for record in records {
                guard let fields = record.members else {
                    source.keep("records: not an object", ["value": record])
                    continue
                }
                TableHabitFields.record(fields, of: key, "records", &source) { ($0, nil) }
            }
        }
        source.counts = [("habits", habits.count), ("records", recordCount)]
        for (name, value) in json.members ?? [:] where name != "habits" && !value.isEmpty {
            source.keep("\(name): no place here", [name: value])
        }
        return source
    }
}

/// The database of Table Habit (mhabit): habits, records and groups, each with a UUID. Days are numbered since 1970.
enum TableHabitDatabase {
    private static let textNumbers = "numbers that are kept as texts"
    private static let habitNumbers: Set<String> = ["id_", "status", "freq_type", "daily_goal", "start_date"]
    private static let recordNumbers: Set<String> = [
        "id_", "parent_id", "record_date", "record_type", "record_value", "is_deleted",
    ]

    static func recognises(_ database: SourceDatabase) throws -> Bool {
        guard database.has("mh_habits"), database.has("mh_records") else { return false }
        return try database.columns("mh_records").isSuperset(of: ["record_date", "record_type", "parent_uuid"])
            && database.columns("mh_habits").contains("uuid")
    }

    static func read(_ database: SourceDatabase) throws -> TrackerSource {
        var source = TrackerSource(.tableHabit, database)
        let groups = try groups(database)
        var keys: [String: String] = [:]
        try database.forEachRow("mh_habits") { row in
            source.note(textNumbers, row.textNumbers(habitNumbers))
            guard let key = row.text("uuid") ?? row.int("id_").map({ "\($0)" }) else {
                return source.keep("mh_habits: without an identifier", row.json)
            }
            var habit = TableHabitFields.habit(row.numeric(habitNumbers).json, key: key, &source)
            habit.id = UUID(uuidString: key)
            if let group = row.text("group_id") ?? row.int("group_id").map({ "\($0)" }) {
                habit.category = groups[group]
                if habit.category == nil { source.note("habits of a group that is not there") }
            }
            source.habits.append(habit)
            keys[key] = key
            if let number = row.int("id_") { keys["#\(number)"] = key }
        }
        try database.forEachRow("mh_records") { row in
            source.note(textNumbers, row.textNumbers(recordNumbers))
            read(row, keys, &source)
        }
        try source.keepTables(of: database, except: ["mh_habits", "mh_records"])
        return source
    }

    private static func groups(_ database: SourceDatabase) throws -> [String: String] {
        guard database.has("mh_groups") else { return [:] }
        var names: [String: String] = [:]
        try database.forEachRow("mh_groups") { row in
            guard let name = row.text("name") else { return }
            if let key = row.text("uuid") { names[key] = name }
            if let number = row.int("id_") { names["\(number)"] = name }
        }
        return names
    }

    private static func read(_ row: SourceDatabase.Row, _ keys: [String: String], _ source: inout TrackerSource) {
        let byName = row.text("parent_uuid").flatMap { keys[$0] }
        let byNumber = row.int("parent_id").flatMap { keys["#\($0)"] }
        if let byName, let byNumber, byName != byNumber {
            source.note("records whose two links lead to different habits")
        }
        guard let habit = byName ?? byNumber else {
            return source.keep("mh_records: of a habit that is not there", row.json)
        }
        guard (row.int("is_deleted") ?? 0) == 0 else { return source.keep("mh_records: deleted", row.json) }
        let fields = row.numeric(recordNumbers).json
        TableHabitFields.record(fields, keptAs: row.json, of: habit, "mh_records", &source) { key in
            guard let uuid = row.text("uuid") else { return (key, nil) }
            return (uuid, UUID(uuidString: uuid))
        }
    }
}

/// The fields common to Table Habit's database and export, whose names are almost the same.
enum TableHabitFields {
    private enum Status: Int {
        case deleted = 2
        case archived = 3
    }

    static func habit(_ fields: [String: JSON], key: String, _ source: inout TrackerSource) -> TrackerHabit {
        var habit = TrackerHabit(key: key, name: fields["name"]?.text ?? "")
        var rest = fields.filter { !$0.value.isEmpty }
        for name in ["name", "id_", "uuid", "freq_type", "freq_custom"] { rest[name] = nil }
        if let number = fields["start_date"]?.integer, let day = SourceMoment.day(number: number) {
            habit.created = .day(day)
            rest["start_date"] = nil
        } else if let seconds = fields["create_t"]?.number {
            habit.created = .instant(Date(timeIntervalSince1970: seconds))
        }
        switch fields["status"]?.integer.flatMap(Status.init) {
        case .archived:
            habit.isArchived = true
            rest["status"] = nil
        case .deleted:
            habit.isArchived = true
            source.note("habits that were deleted in the app, here archived")
        case nil: if fields["status"]?.integer == 1 { rest["status"] = nil }
        }
        if let (times, days, isExact) = frequency(fields) {
            (habit.timesPerPeriod, habit.periodDays) = (times, days)
            if !isExact { source.note("habits by the month, here by 30 days") }
        } else {
            for name in ["freq_type", "freq_custom"] { rest[name] = fields[name] }
            source.note("habits without a frequency that could be read, taken for daily")
        }
        habit.unit = fields["daily_goal_unit"]?.text.flatMap { $0.isEmpty ? nil : $0 }
        rest["daily_goal_unit"] = nil
        // The app's goal is per day, while a target is per period.
        if habit.periodDays == 1, habit.timesPerPeriod == 1, let goal = fields["daily_goal"]?.number, goal.isFinite {
            habit.target = goal
            rest["daily_goal"] = nil
        }
        habit.rest = rest
        return habit
    }

    /// The times and days of a frequency: weekly `[n]`, monthly `[n]`, or `[n, days]`.
    private static func frequency(_ fields: [String: JSON]) -> (Int, Int, isExact: Bool)? {
        let arguments: [Int]
        if let text = fields["freq_custom"]?.text {
            guard let list = try? JSONDecoder().decode([Int].self, from: Data(text.utf8)) else { return nil }
            arguments = list
        } else {
            arguments = fields["freq_custom"]?.elements?.compactMap(\.integer) ?? []
        }
        guard let times = arguments.first, times > 0 else { return nil }
        switch fields["freq_type"]?.integer {
        case 1: return (times, 7, true)
        case 2: return (times, 30, false)
        case 3: return arguments.count > 1 && arguments[1] > 0 ? (times, arguments[1], true) : nil
        default: return nil
        }
    }

    /// Reads a record.
    ///
    /// - Parameters:
    ///   - row: the source's row, kept if it does not become an entry; nil if `fields` is that row.
    ///   - name: returns the key and the identifier of the entry, given the key derived from its day.
    static func record(
        _ fields: [String: JSON],
        keptAs row: [String: JSON]? = nil,
        of habit: String,
        _ table: String,
        _ source: inout TrackerSource,
        name: (String) -> (String, UUID?)
    ) {
        switch fields["record_type"]?.integer {
        case 1: break
        case 2: return source.keep("\(table): skipped", row ?? fields)
        case 0: return source.keep("\(table): unknown", row ?? fields)
        default: return source.keep("\(table): of a type that is not known", row ?? fields)
        }
        guard let day = fields["record_date"]?.integer.flatMap(SourceMoment.day(number:)) else {
            return source.keep("\(table): on a day that no calendar has", row ?? fields)
        }
        let dayKey = source.key(habit, day.description)
        if dayKey != day.description { source.note("records of a habit on a day that has one already") }
        let (key, id) = name(dayKey)
        let value = fields["record_value"]?.number
        var entry = TrackerEntry(key: key, id: id, habit: habit, moment: .day(day))
        entry.note = fields["reason"]?.text.flatMap { $0.isEmpty ? nil : $0 }
        entry.value = value.flatMap { $0.isFinite ? $0 : nil }
        entry.rest = fields.filter { !$0.value.isEmpty }
        let placed = [
            "id_", "uuid", "parent_id", "parent_uuid", "record_type", "record_date", "record_value", "reason",
        ]
        for name in placed where name != "record_value" || value?.isFinite == true { entry.rest[name] = nil }
        // Exports normally have no identifiers; if there are any, they are kept but not used.
        for name in ["id_", "uuid", "parent_id", "parent_uuid"] where id == nil {
            entry.rest[name] = fields[name].flatMap { $0.isEmpty ? nil : $0 }
        }
        if let reason = fields["reason"], reason.text == nil, !reason.isEmpty { entry.rest["reason"] = reason }
        if entry.rest["is_deleted"] == .int(0) { entry.rest["is_deleted"] = nil }
        source.entries.append(entry)
    }
}

/// A user's file of Beaver Habit Tracker: `habits`, at the top or within `data`, each with its `records`. It also lists days on which
/// nothing was done.
enum BeaverHabits {
    static func recognises(_ json: JSON) -> Bool {
        guard let habits = habits(json), let first = habits.first?.members else { return false }
        guard first["name"] != nil, let records = first["records"]?.elements else { return false }
        return records.first?.members.map { $0["day"] != nil } ?? true
    }

    private static func habits(_ json: JSON) -> [JSON]? {
        (json.members?["data"]?.members ?? json.members)?["habits"]?.elements
    }

    static func read(_ json: JSON, path: String) throws -> TrackerSource {
        var source = TrackerSource(.beaverhabits, path: path)
        let habits = habits(json) ?? []
        var recordCount = 0
        for element in habits {
            guard let fields = element.members else {
                source.keep("habits: not an object", ["value": element])
                continue
            }
            let records = fields["records"]?.elements ?? []
            recordCount += records.count
            let habit = habit(fields, &source)
            source.habits.append(habit)
            for record in records { read(record, of: habit.key, &source) }
        }
        source.counts = [("habits", habits.count), ("records", recordCount)]
        // Names may occur both within `data` and next to it.
        let (outer, inner) = (json.members ?? [:], json.members?["data"]?.members)
        let beside =
            inner == nil ? [] : outer.filter { $0.key != "data" && $0.key != "habits" }.sorted { $0.key < $1.key }
        for (name, value) in beside + (inner ?? outer).filter({ $0.key != "habits" }).sorted(by: { $0.key < $1.key })
        where !value.isEmpty {
            source.keep("\(name): no place here", [name: value])
        }
        return source
    }

    private static func habit(_ fields: [String: JSON], _ source: inout TrackerSource) -> TrackerHabit {
        let name = fields["name"]?.text ?? ""
        let key = fields["id"]?.text.map { "id \($0)" } ?? source.key(habitNamed: name)
        var habit = TrackerHabit(key: key, name: name)
        var rest = fields.filter { !$0.value.isEmpty }
        if fields["name"]?.text != nil { rest["name"] = nil }
        if fields["records"]?.elements != nil { rest["records"] = nil }
        habit.tags = fields["tags"]?.elements?.compactMap(\.text) ?? []
        if habit.tags.count == (fields["tags"]?.elements?.count ?? 0) { rest["tags"] = nil }
        if let status = fields["status"]?.text, status.hasPrefix("archive") {
            habit.isArchived = true
            rest["status"] = nil
        } else if fields["status"]?.text == "soft_delete" {
            habit.isArchived = true
            source.note("habits that were deleted in the app, here archived")
        }
        if let goal = fields["weekly_goal"]?.integer, goal > 0 {
            (habit.timesPerPeriod, habit.periodDays) = (goal, 7)
            rest["weekly_goal"] = nil
        } else if let period = fields["period"]?.members, let times = period["target_count"]?.integer, times > 0,
            let count = period["period_count"]?.integer, count > 0, count <= 10_000,
            let days = ["D": 1, "W": 7, "M": 30, "Y": 365][period["period_type"]?.text ?? ""]
        {
            (habit.timesPerPeriod, habit.periodDays) = (times, count * days)
            if days >= 30 {
                source.note("habits by the month or year, here by 30 or 365 days")
            } else if Set(period.keys).isSubset(of: ["target_count", "period_count", "period_type"]) {
                rest["period"] = nil
            }
        }
        habit.rest = rest
        return habit
    }

    private static func read(_ record: JSON, of habit: String, _ source: inout TrackerSource) {
        guard let fields = record.members else { return source.keep("records: not an object", ["value": record]) }
        var kept = fields
        kept["habit"] = .string(habit)
        guard let day = fields["day"]?.text.flatMap(SourceMoment.day(iso:)) else {
            return source.keep("records: on a day that no calendar has", kept)
        }
        let number = fields["done"]?.integer
        guard let isDone = fields["done"]?.flag ?? (number == 1 ? true : number == 0 ? false : nil) else {
            return source.keep("records: neither done nor not", kept)
        }
        guard isDone else { return source.keep("records: not done", kept) }
        let key = source.key(habit, day.description)
        if key != day.description { source.note("records of a habit on a day that has one already") }
        var entry = TrackerEntry(key: key, habit: habit, moment: .day(day))
        entry.note = fields["text"]?.text.flatMap { $0.isEmpty ? nil : $0 }
        entry.rest = fields.filter { !["day", "done"].contains($0.key) && !$0.value.isEmpty }
        if fields["text"]?.text != nil { entry.rest["text"] = nil }
        source.entries.append(entry)
    }
}
