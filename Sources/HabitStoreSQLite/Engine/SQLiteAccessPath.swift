import Foundation
import HabitStore

/// A short form of `EXPLAIN QUERY PLAN` for the fetched entity.
struct SQLiteAccessPath {
    let description: String
    /// The columns of the entity that an index search uses.
    let columns: Set<String>
    /// Whether the plan unites several index ranges.
    let isUnion: Bool
    /// Whether SQLite sorts the rows, which means that it reads all of them before it returns the first.
    let sorts: Bool

    init(_ plan: SQLitePlan) throws {
        let statement = try plan.connection.prepare("EXPLAIN QUERY PLAN " + plan.sql)
        var lines: [String] = []
        while try statement.step() { lines.append(try statement.text(at: 3)) }
        isUnion = lines.contains("MULTI-INDEX OR")
        sorts = lines.contains { $0.hasPrefix("USE TEMP B-TREE FOR ORDER BY") }
        let steps = lines.compactMap { Step($0, of: "t0") }
        columns = steps.reduce(into: []) { $0.formUnion($1.columns) }
        let tests = plan.tests + plan.branches.flatMap(\.self)
        var paths: [String] = []
        for step in steps {
            let path = try step.path(plan.table, tests, lines, plan.connection)
            if !paths.contains(path) { paths.append(path) }
        }
        description = paths.isEmpty ? "scan \(plan.table.description.name)" : paths.joined(separator: " or ")
    }

    /// A line of the plan that is about a table.
    private struct Step {
        let isScan: Bool
        let index: String?
        let columns: Set<String>

        init?(_ line: String, of alias: String) {
            isScan = line == "SCAN \(alias)" || line.hasPrefix("SCAN \(alias) ")
            guard isScan || line.hasPrefix("SEARCH \(alias) ") else { return nil }
            // The name follows `USING INDEX` or `USING COVERING INDEX`. It may contain anything, and ends before ` (`.
            let rest = line.range(of: " INDEX ").map { line[$0.upperBound...] }
            index = rest.map { rest in String(rest.range(of: " (").map { rest[..<$0.lowerBound] } ?? rest) }
            // `(habitID=? AND date>?)`
            let terms = line.range(of: " (", options: .backwards).map { line[$0.upperBound...].dropLast() } ?? ""
            columns = Set(
                terms.components(separatedBy: " AND ").compactMap { term in
                    term.hasSuffix("?") ? String(term.dropLast(2)) : nil
                }
            )
        }

        /// A description of the step. If the search goes by a list of values, it includes the index that found the list.
        func path(
            _ table: SQLiteTable,
            _ tests: [SQLiteColumnTest],
            _ lines: [String],
            _ connection: SQLiteConnection
        ) throws -> String {
            let name = table.description.name
            let title = try index.map { index in
                let title = "index \(table.indexes[index] ?? index)"
                return try holdsCopies(index, table, connection) ? "clustering \(title)" : title
            }
            guard !isScan else { return title.map { "scan \(name) by \($0)" } ?? "scan \(name)" }
            var path = title ?? "primary key \(name)"
            for test in tests where columns.contains(table.description.attributes[test.position].name) {
                guard let source = test.source else { continue }
                guard let step = lines.lazy.compactMap({ Step($0, of: source.alias) }).first else { continue }
                let sourceTests = test.sourceTests.filter { $0.alias == source.alias }
                path += try " by " + step.path(source.table, sourceTests, lines, connection)
            }
            return path
        }

        /// Whether the index in the file has all columns. In a store of an earlier schema it may not.
        private func holdsCopies(_ index: String, _ table: SQLiteTable, _ connection: SQLiteConnection) throws -> Bool {
            guard let declared = table.columnIndexes.first(where: { $0.name == index }), declared.isClustering else {
                return false
            }
            return try SQLiteIndexUpkeep.columns(of: index, connection) == declared.columns
        }
    }
}
