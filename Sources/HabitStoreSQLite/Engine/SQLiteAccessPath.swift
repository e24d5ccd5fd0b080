import Foundation
import HabitStore

/// What `EXPLAIN QUERY PLAN` says of the entity that is asked for, in a few words.
struct SQLiteAccessPath {
    let description: String
    /// The columns of the entity by which an index is searched.
    let columns: Set<String>
    /// Whether several index ranges are united.
    let isUnion: Bool
    /// Whether the rows are sorted, so that the last can be the first.
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

    /// One line of it that is about a table.
    private struct Step {
        let isScan: Bool
        let index: String?
        let columns: Set<String>

        init?(_ line: String, of alias: String) {
            isScan = line == "SCAN \(alias)" || line.hasPrefix("SCAN \(alias) ")
            guard isScan || line.hasPrefix("SEARCH \(alias) ") else { return nil }
            // The name stands behind `USING INDEX` or `USING COVERING INDEX`; it may hold anything, and ends before
            // ` (`.
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

        /// In words, with the index by which the list was found that the search goes by.
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

        /// Whether the file's index has all columns; one that a store of an earlier schema has does not.
        private func holdsCopies(_ index: String, _ table: SQLiteTable, _ connection: SQLiteConnection) throws -> Bool {
            guard let declared = table.columnIndexes.first(where: { $0.name == index }), declared.isClustering else {
                return false
            }
            return try SQLiteIndexUpkeep.columns(of: index, connection) == declared.columns
        }
    }
}
