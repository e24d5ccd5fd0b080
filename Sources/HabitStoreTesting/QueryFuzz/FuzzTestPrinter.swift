import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

/// Prints a case as a complete test for a test file.
struct FuzzTestPrinter {
    private let smallest: FuzzCase

    init(_ smallest: FuzzCase) { self.smallest = smallest }

    /// The test's source.
    func test(name: String, origin: String) -> String {
        var lines = [
            "/// Found by `habitstore-trials fuzz`: \(origin). \(smallest.subject) answered \(smallest.found),",
            "/// but Foundation evaluates to \(smallest.expected).",
            "@Test func \(name)() throws {",
            "    let replay = try FuzzReplay(\(subject), schema: \(schema), records: [",
        ]
        for (entity, records) in smallest.data.records.enumerated() {
            let name = smallest.data.schema.entities[entity].name
            for record in records { lines.append("        " + source(record, name) + ",") }
        }
        lines += ["    ])", "    defer { replay.close() }"]
        lines += query.map { "    " + $0 }
        return (lines + ["}"]).joined(separator: "\n")
    }

    private var subject: String {
        smallest.subject == StoreUnderTest.inMemory.name ? ".inMemory" : ".\(smallest.subject.lowercased())"
    }

    private var schema: String {
        smallest.data.schema === HabitSchema.current ? "HabitSchema.current" : "ContractSchema.schema"
    }

    private func source(_ record: FuzzRecord, _ entity: String) -> String {
        let values = record.values.map(\.swiftSource).joined(separator: ", ")
        guard record.values.allSatisfy(\.isCanonical) else {
            // Writing these values would change them to NFC.
            return
                ".init(\"\(entity)\", encoded: \"\(Data(record.record.bytes).base64EncodedString())\") /* \(values) */"
        }
        return ".init(\"\(entity)\", [\(values)])"
    }

    // MARK: Query

    private var query: [String] {
        let query = smallest.query
        let schema = smallest.data.schema
        let entity = schema.entities[query.entity]
        if query.question == .records { return recordQuery(entity) }
        var lines: [String] = []
        var arguments: [String] = []
        let filter = query.condition.filter(schema)
        switch query.form {
        case .filter:
            lines.append("let filter = try FilterExpression(text: \((filter?.description ?? "").swiftLiteral))")
            arguments.append("filter: filter")
        case .predicate, .composed:
            if query.form == .composed {
                lines.append("// It was composed of the terms below by Filter.all, Filter.any and !.")
            }
            var source = FuzzSource(schema: schema)
            let body = source.source(query.condition)
            lines += source.declarations
            lines.append("let predicate = #Predicate<\(entity.modelType)> { v0 in \(body) }")
            arguments.append("predicate: predicate")
        }
        if !query.sort.isEmpty {
            let keys = query.sort.map {
                "SortDescriptor(\\.\(entity.attributes[$0.position].name), order: \($0.isAscending ? ".forward" : ".reverse"))"
            }
            arguments.append("sortBy: [\(keys.joined(separator: ", "))]")
        }
        if let limit = query.limit { arguments.append("fetchLimit: \(limit)") }
        if query.offset != 0 { arguments.append("fetchOffset: \(query.offset)") }
        lines.append("let descriptor = FetchDescriptor<\(entity.modelType)>(\(arguments.joined(separator: ", ")))")
        return lines
            + expectation(
                query.question == .count ? "fetchCount(descriptor)" : "fetchIdentifiers(descriptor)",
                note: note(query.question, entity)
            )
    }

    private func note(_ question: FuzzQuery.Question, _ entity: EntityDescription) -> String? {
        switch question {
        case .fetch, .count, .identifiers, .records: return nil
        case .project(let positions):
            return "asked by project(descriptor, \(positions.map { "\\.\(entity.attributes[$0].name)" }))"
        case .pages(let size): return "asked by pages of \(size)"
        }
    }

    private func recordQuery(_ entity: EntityDescription) -> [String] {
        let query = smallest.query
        let filter = query.condition.filter(smallest.data.schema)?.description ?? ""
        let sort = query.sort.map {
            ".init(\"\(entity.attributes[$0.position].name)\", ascending: \($0.isAscending))"
        }
        return [
            "let query = RecordQuery(",
            "    entity: \"\(entity.name)\",",
            "    filter: try FilterExpression(text: \(filter.swiftLiteral)),",
            "    sort: [\(sort.joined(separator: ", "))],",
            "    limit: \(query.limit.map(String.init) ?? "nil"),",
            "    offset: \(query.offset)",
            ")",
        ] + expectation("records(query).map(\\.id)", note: nil)
    }

    private func expectation(_ call: String, note: String?) -> [String] {
        let question = "try replay.store.read { try $0.\(call) }"
        var lines = note.map { ["// It was \($0)."] } ?? []
        switch smallest.expected {
        case .records(let ids), .altered(let ids):
            lines.append("#expect(\(question) == [\(ids.map(\.swiftSource).joined(separator: ", "))])")
        case .count(let count): lines.append("#expect(\(question) == \(count))")
        case .failure(let code, _, _):
            lines.append("// The error is \(code).")
            lines.append("#expect(throws: HabitStoreError.self) { \(question) }")
        }
        return lines
    }
}
