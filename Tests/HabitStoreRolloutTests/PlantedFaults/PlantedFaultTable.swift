import Foundation
import HabitStore
import HabitStorePostgres
import ShadowVerifier

/// A Markdown table of the planted faults and what finds them.
struct PlantedFaultTable {
    /// The levels that caught a fault, and the number of shadow reads until one shows it.
    struct Row {
        let fault: PlantedFault
        let levels: [String]
        let reads: Int?
    }

    let rows: [Row]

    /// The table; engines with the same cells share a line.
    var markdown: String {
        var lines: [(cells: [String], places: [String])] = []
        for row in rows {
            let cells = [
                row.fault.name, row.levels.joined(separator: ", "), Self.named(row.fault),
                row.reads.map { $0 == 0 ? "not served" : String($0) } ?? "—",
            ]
            if let last = lines.last, last.cells == cells {
                lines[lines.count - 1].places.append(Self.place(row.fault))
            } else {
                lines.append((cells, [Self.place(row.fault)]))
            }
        }
        let head = """
            | fault | planted in | caught by | named | shadow reads |
            |---|---|---|---|---:|

            """
        return head
            + lines.map { cells, places in
                let all = [cells[0], places.joined(separator: ", ")] + cells[1...]
                return "| " + all.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ") + " |\n"
            }.joined()
    }

    private static func place(_ fault: PlantedFault) -> String {
        let engine = engines[fault.engine] ?? fault.engine.rawValue
        guard case .answers = fault.deed else { return engine }
        return "an answer of \(engine)"
    }

    private static let engines: [EngineName: String] = [.sqlite: "SQLite", .lmdb: "LMDB", .postgres: "PostgreSQL"]

    private static let words = [
        "queries": "the query", "tokens": "both tokens",
    ]

    /// The part that the verification names, in the terms of the schema.
    private static func named(_ fault: PlantedFault) -> String {
        guard fault.outcome != .refusal else { return "the store" }
        var names: [String] = []
        for trace in fault.traces {
            let entity = trace.entity.map { $0 + (trace.attribute.map { ".\($0)" } ?? "") }
            let name = [trace.token.map { "transaction \($0)" }, entity].compactMap(\.self).joined(separator: ", ")
            let shown = name.isEmpty ? words[trace.level] ?? trace.level : name
            if !names.contains(shown) { names.append(shown) }
        }
        return names.joined(separator: ", ")
    }
}
