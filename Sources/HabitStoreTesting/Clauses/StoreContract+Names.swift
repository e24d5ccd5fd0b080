import Foundation
@_spi(Engines) import HabitStore

extension StoreContract {
    /// Names that must not break SQL, filters or a file's bookkeeping.
    private static let awkwardNames = [
        "AND", "count", "IN", "true", "nil", "length", "Order", "table", "select", "rowid", "a b", " a", "quo\"te",
        "apo's",
        "[x]", "(x)", "x;y", "--", "a.b", "a_b", "a+b", "a,b", "$1", "%", "\\", "/", "1st", "\u{e9}t\u{e9}",
        "\u{1f3c3}",
        "History", "Metadata", "digest", "owner", "target", "token", "key", "NULL", String(repeating: "n", count: 160),
    ]

    private static let refusedNames = [
        "", "a\0b", "a\nb", "a\tb", "\u{7f}", "back`quote", String(repeating: "n", count: 495),
        String(repeating: "\u{e9}", count: 250),
    ]

    private static let refusedEntities = [
        "history", "metadata", "digests", "history_transaction", "History_Change", "habitstore_metadata",
        "HABITSTORE_DIGEST",
        "sqlite_notes", "SQLite_stat1",
    ]

    static let nameClauses: [Clause] = [
        Clause("entities, attributes and relationships work with any name") {
            bench in
            for (number, name) in awkwardNames.enumerated() {
                let names = OddlyNamed.Names(
                    entity: name,
                    text: name,
                    flag: "\(name) too",
                    reference: "\(name) ID",
                    relationship: "\(name) leads to"
                )
                try OddlyNamed.$names.withValue(names) { try keep(name, bench, folder: "named \(number)") }
            }
        },
        Clause("a name that one engine cannot take is refused by all") { bench in
            for name in refusedNames {
                try refuse(bench, .init(entity: name), entity: name, attribute: nil)
                try refuse(bench, .init(text: name), entity: "Odd", attribute: name)
                try refuse(bench, .init(relationship: name), entity: "Odd", attribute: name)
            }
            for name in refusedEntities { try refuse(bench, .init(entity: name), entity: name, attribute: nil) }
        },
        Clause("names that one engine would confuse are refused by all") { bench in
            try refuse(bench, .init(text: "note", flag: "Note"), entity: "Odd", attribute: "Note")
            try refuse(bench, .init(text: "note", flag: "note"), entity: "Odd", attribute: "note")
            try refuse(bench, .init(text: "ID"), entity: "Odd", attribute: "ID")
            // `other == nil` would mean the record, not the attribute.
            try refuse(bench, .init(reference: "other"), entity: "Odd", attribute: "other")
            // The indexes over (a, a_a) and over (a_a, a) would have the same name.
            try refuse(bench, .init(text: "x", flag: "y", reference: "x_y"), entity: "Odd", attribute: nil)
            try refuse(bench, .init(text: "x", flag: "y", reference: "x+y"), entity: "Odd", attribute: nil)
            try refuse(bench, .init(flag: "f (clustering)"), entity: "Odd", attribute: nil)
            let long = String(repeating: "n", count: 300)
            try refuse(bench, .init(entity: long, text: long), entity: long, attribute: nil)
        },
    ]

    private static func keep(_ name: String, _ bench: ContractBench, folder: String) throws {
        let schema = Schema([OddlyNamed.self])
        var record = OddlyNamed(text: name)
        record.flag = true
        record.reference = record.id
        let store = try bench.open(schema, folder: folder)
        try store.save(record)
        try store.write { try $0.delete(OddlyNamed.self, id: UUID()) }
        let predicate = #Predicate<OddlyNamed> { $0.text == name && $0.flag && $0.other?.text == name }
        let descriptor = FetchDescriptor(predicate: predicate, sortBy: [SortDescriptor(\.text)])
        try expectEqual(try store.fetch(descriptor), [record], "the record of \(name.debugDescription)")
        let text = try store.read { try $0.explain(descriptor).filter }
        let read = FetchDescriptor<OddlyNamed>(filter: try Filter(text: text))
        try expectEqual(try store.fetch(read), [record], "the record by the filter's text, \(text)")
        try expectEqual(
            try store.check { _ in }.map(\.message),
            [],
            "the findings of a check of \(name.debugDescription)"
        )
        let history = try store.read { try $0.fetchHistory(after: .zero) }
        try expectEqual(history.flatMap(\.changes).map(\.entity), [name], "the entity in the history")
        store.close()
        guard bench.subject.isDurable else { return }
        let again = try bench.open(schema, folder: folder)
        try expectEqual(
            try again.all(OddlyNamed.self),
            [record],
            "the record of \(name.debugDescription), opened again"
        )
        again.close()
    }

    private static func refuse(
        _ bench: ContractBench,
        _ names: OddlyNamed.Names,
        entity: String,
        attribute: String?
    ) throws {
        try OddlyNamed.$names.withValue(names) {
            let schema = Schema([OddlyNamed.self])
            try expectError(.schemaMismatch, entity: entity, attribute: attribute) { try bench.open(schema) }
        }
    }
}
