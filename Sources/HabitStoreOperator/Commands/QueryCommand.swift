import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreReports
import HabitStoreRollout

/// `habitstore query ENTITY FILTER`.
struct QueryCommand: ReportingCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "query",
            abstract: "Lists the records that match a condition.",
            discussion: """
                \(Tool.name) query \(Tool.current.command.exampleQuery)

                Without --store the user's current store is queried; it is opened read-only, and never switched. With \
                --watch each answer comes from the store that is current then.
                """
        )
    }

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var watching: WatchOptions

    var isFollowing: Bool { watching.watch }

    @Argument(help: "The entity: \(Tool.entities).")
    var entity: String

    @Argument(help: "The condition. [default: all records]")
    var filter = ""

    @Option(help: "The store: sqlite:PATH, lmdb:PATH, or a path. [default: the user's]")
    var store: String?

    @Option(
        parsing: .unconditionalSingleValue,
        help: "Attributes to sort by, with - for descending order: -streak,name. The id always comes last."
    )
    var sort: [String] = []

    @Option(parsing: .unconditional, help: "The maximum number of records.")
    var limit: Int?

    @Option(parsing: .unconditional, help: "How many records to skip.")
    var offset = 0

    @Flag(help: "Only count the records.")
    var count = false

    @Flag(help: "Only show how the store would answer.")
    var explain = false

    @Flag(help: "With --explain: run the query, and show how many records it examined.")
    var analyze = false

    func validate() throws {
        if let limit, limit < 0 { throw ValidationError("--limit must be 0 or more") }
        guard offset >= 0 else { throw ValidationError("--offset must be 0 or more") }
        guard !count || !explain else { throw ValidationError("--count and --explain exclude each other") }
        guard !watching.watch || !explain else {
            throw ValidationError("--watch follows records, and --explain shows none; give one of them")
        }
        guard explain || !analyze else { throw ValidationError("--analyze belongs to --explain; give both") }
        guard store == nil || !userOptions.isGiven else {
            throw ValidationError("--store names a store, and --root and --user another one; give one of them")
        }
    }

    func run() async throws {
        // Report errors in the query before touching any file.
        let query = try parsedQuery()
        if let store {
            let store = try open(try StoreAddress(argument: store), by: .known, for: query)
            defer { store.close() }
            return try await watching.show(store) { try answer(query, store) }
        }
        let settings = try await Settings(userOptions)
        let stores = try settings.stores()
        try await watching.show(settings.user, of: stores) {
            let store = try open(try stores.currentAddress(of: settings.user), by: settings.engines, for: query)
            defer { store.close() }
            return try answer(query, store)
        }
    }

    private func open(
        _ address: StoreAddress,
        by engines: Engines,
        for query: RecordQuery
    ) throws -> any UserStoreBackend {
        let store = try address.openAsWritten(.readOnly, by: engines)
        do {
            _ = try query.bound(to: store.schema)
            return store
        } catch {
            store.close()
            throw (error as? HabitStoreError).map { FilterFailure.illustrated($0, filter: filter) } ?? error
        }
    }

    private func answer(_ query: RecordQuery, _ store: any UserStoreBackend) throws -> Answer {
        try store.read { transaction in
            if analyze { return answer(try transaction.analyze(query)) }
            if explain { return answer(try transaction.explain(query)) }
            if count { return answer(count: try transaction.countRecords(query)) }
            let entity = transaction.schema.entities[try transaction.schema.position(ofEntity: query.entity)]
            return answer(try transaction.records(query), of: entity)
        }
    }

    private func parsedQuery() throws -> RecordQuery {
        let condition: FilterExpression
        do {
            condition = try FilterExpression(text: filter)
        } catch let error as HabitStoreError {
            throw FilterFailure.illustrated(error, filter: filter)
        }
        let keys = sort.flatMap { $0.split(separator: ",", omittingEmptySubsequences: true) }
            .map { $0.trimmingCharacters(in: .whitespaces) }
        return RecordQuery(
            entity: entity,
            filter: condition,
            sort: keys.map { key in
                key.hasPrefix("-") ? .init(String(key.dropFirst()), ascending: false) : .init(key)
            },
            limit: limit,
            offset: offset
        )
    }

    private func answer(_ explanation: some Encodable & CustomStringConvertible) -> Answer {
        switch output.format {
        case .json: return .document(explanation)
        case .text:
            let lines = explanation.description.split(separator: "\n").map { TerminalText.escaped(String($0)) }
            return .text(lines.joined(separator: "\n") + "\n")
        }
    }

    private func answer(count: Int) -> Answer {
        switch output.format {
        case .json: .document(JSON.object(["entity": .string(entity), "count": .int(count)]))
        case .text: .text("\(count)\n")
        }
    }

    private func answer(_ records: [Record], of entity: EntityDescription) -> Answer {
        switch output.format {
        case .json:
            let rows = records.map { record in
                var members: [String: JSON] = [:]
                for (attribute, value) in zip(entity.attributes, record.values) {
                    members.set(attribute.name, value)
                    if attribute.kind == .date, value.isNull { members.set(attribute.name, Date?.none) }
                }
                return JSON.object(members)
            }
            return .document(
                JSON.object([
                    "entity": .string(entity.name), "count": .int(records.count), "records": .array(rows),
                ])
            )
        case .text:
            var table = TextTable(
                entity.attributes.map { attribute in
                    let isNumber = attribute.kind == .int || attribute.kind == .double
                    return .init(
                        attribute.name,
                        alignment: isNumber ? .right : .left,
                        maximumWidth: 60,
                        canShrink: attribute.kind != .uuid
                    )
                }
            )
            for record in records { table.append(record.values.map(cell)) }
            let count = records.count.counted("record") + "\n"
            return .text(table.text(Terminal.options()) + count)
        }
    }

    private func cell(_ value: Value) -> String {
        switch value {
        case .null: return ""
        case .string(let text): return text
        case .date(let date): return ISODate.instant(date)
        case .uuid(let id): return id.uuidString.lowercased()
        case .links(let ids): return ids.map { RecordReference.short($0) }.joined(separator: ", ")
        case .strings(let texts): return texts.joined(separator: ", ")
        case .bool, .int, .double, .data: return value.description
        }
    }
}
