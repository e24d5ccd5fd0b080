import Foundation
import HabitStore
import HabitStoreImport

/// Counts the entries in JSON files with Foundation's `JSONSerialization`, which the import does not use.
enum JSONTally {
    static func count(_ path: String, _ format: TrackerFormat) throws -> [HabitTally] {
        let bytes = Data(try WholeFile.read(path).bytes)
        let object = try JSONSerialization.jsonObject(with: bytes)
        var outer = object as? [String: Any] ?? ["habits": object]
        if format == .beaverhabits, let data = outer["data"] as? [String: Any] { outer = data }
        let habits = (outer["habits"] as? [Any] ?? []).compactMap { $0 as? [String: Any] }
        return habits.map { habit in
            var tally = HabitTally(name: habit["name"] as? String ?? "")
            for case let record as [String: Any] in habit["records"] as? [Any] ?? [] {
                format == .beaverhabits ? addBeaver(record, &tally) : addTableHabit(record, &tally)
            }
            return tally
        }
    }

    private static func addBeaver(_ record: [String: Any], _ tally: inout HabitTally) {
        guard record["done"] as? Bool == true, let text = record["day"] as? String, let day = PlainDay.iso(text) else {
            return
        }
        tally.add(day: day, value: nil, note: record["text"] as? String)
    }

    private static func addTableHabit(_ record: [String: Any], _ tally: inout HabitTally) {
        guard record["record_type"] as? Int == 1, let number = record["record_date"] as? Int else { return }
        tally.add(
            day: PlainDay.text(daysSince1970: number),
            value: record["record_value"] as? Double,
            note: record["reason"] as? String
        )
    }
}
