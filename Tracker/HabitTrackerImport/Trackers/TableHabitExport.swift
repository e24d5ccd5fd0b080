import Foundation
import HabitStore
import HabitStoreImport

/// The JSON export of Table Habit: an object with `habits`, each with its `records`. The app leaves out identifiers, so a habit is
/// identified by its name and the second of its creation.
enum TableHabitExport {
    static func recognises(_ json: ImportJSON) -> Bool {
        guard let habits = habits(json), let first = habits.first?.members else { return false }
        return first["create_t"] != nil && (first["daily_goal"] != nil || first["freq_type"] != nil)
    }

    private static func habits(_ json: ImportJSON) -> [ImportJSON]? {
        json.elements ?? json.members?["habits"]?.elements
    }

    static func read(_ json: ImportJSON, path: String) throws -> TrackerSource {
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
