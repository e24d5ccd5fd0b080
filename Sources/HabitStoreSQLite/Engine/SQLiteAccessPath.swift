import Foundation
import HabitStore

/// What `EXPLAIN QUERY PLAN` says of the entity that is asked for, in a few words.
struct SQLiteAccessPath {
    let description: String

    init(_ sql: String, _ table: SQLiteTable, _ connection: SQLiteConnection) throws {
        let statement = try connection.prepare("EXPLAIN QUERY PLAN " + sql)
        let name = table.description.name
        var paths: [String] = []
        var isScan = false
        while try statement.step() {
            let line = try statement.text(at: 3)
            if line == "SCAN t0" || line.hasPrefix("SCAN t0 ") {
                isScan = true
            } else if !line.hasPrefix("SEARCH t0 ") {
                continue
            }
            let index = Self.index(in: line).map { table.indexes[$0] ?? $0 }
            let path = isScan ? index.map { "scan \(name) by index \($0)" } : index.map { "index \($0)" }
            let text = path ?? (isScan ? "scan \(name)" : "primary key \(name)")
            if !paths.contains(text) { paths.append(text) }
        }
        description = paths.isEmpty ? "scan \(name)" : paths.joined(separator: " or ")
    }

    /// The name behind `USING INDEX` or `USING COVERING INDEX`; names may hold anything but end before ` (`.
    private static func index(in line: String) -> String? {
        guard let word = line.range(of: " INDEX ") else { return nil }
        let rest = line[word.upperBound...]
        return String(rest.range(of: " (").map { rest[..<$0.lowerBound] } ?? rest)
    }
}
