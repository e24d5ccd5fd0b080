import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import JSONText

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

    @Option(help: "The store: \(Tool.storeForms), or a path. [default: the user's]")
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
        output.answer(explanation) {
            let lines = explanation.description.split(separator: "\n").map { TerminalText.escaped(String($0)) }
            return lines.joined(separator: "\n") + "\n"
        }
    }

    private func answer(count: Int) -> Answer {
        output.answer(["entity": entity, "count": count]) { "\(count)\n" }
    }

    private func answer(_ records: [Record], of entity: EntityDescription) -> Answer {
        func row(_ record: Record) -> JSONObject {
            var members: JSONObject = [:]
            for (attribute, value) in zip(entity.attributes, record.values) {
                members.set(attribute.name, value)
                if attribute.kind == .date, value.isNull { members.set(attribute.name, Date?.none) }
            }
            return members
        }
        return output.answer(["entity": entity.name, "count": records.count, "records": records.map(row)]) {
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
            return table.text(Terminal.options()) + count
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

/// An error in a filter, with a caret below its position.
enum FilterFailure {
    /// How many characters of a long filter to show on each side of the error.
    private static let margin = 50

    /// The error with an illustration; unchanged if it has no column.
    static func illustrated(_ error: HabitStoreError, filter: String) -> any Error {
        guard let column = error.location.column, column >= 1 else { return error }
        let characters = Array(filter)
        let position = min(column - 1, characters.count)
        let start = max(0, position - margin)
        let end = min(characters.count, position + margin)
        let before = (start > 0 ? "…" : "") + TerminalText.escaped(String(characters[start..<position]))
        let after = TerminalText.escaped(String(characters[position..<end])) + (end < characters.count ? "…" : "")
        let caret = String(repeating: " ", count: displayWidth(of: before)) + "^"
        return CommandFailure(
            status: .usage,
            message: "the filter cannot be read, \(error.message)",
            illustration: ["  " + before + after, "  " + caret],
            detail: error.detail
        )
    }
}

/// A record named on the command line: by its exact name, or by its identifier or the first digits of it.
package struct RecordReference {
    /// A record that may be meant.
    package struct Candidate {
        let id: UUID
        let name: String

        package init(id: UUID, name: String) { (self.id, self.name) = (id, name) }
    }

    private static let fewestDigits = 4
    private static let listedCandidates = 8

    let text: String
    /// The noun for the record in messages: `habit`, `draft`.
    let what: String

    package init(text: String, what: String) { (self.text, self.what) = (text, what) }

    /// The first digits of an identifier, as listings show it.
    package static func short(_ id: UUID) -> String { String(id.uuidString.prefix(8)).lowercased() }

    /// Finds the one record that is meant.
    ///
    /// - Parameter byName: the records with the text as their name.
    /// - Throws: a usage error if there is none, or more than one.
    package func resolve(byName: [Candidate] = [], byIdentifier: (FilterExpression) throws -> [Candidate]) throws
        -> UUID
    {
        if let only = try single(byName, "the same name") { return only }
        if let condition = identifierCondition,
            let only = try single(try byIdentifier(condition), "an id that begins so")
        {
            return only
        }
        throw CommandFailure.usage(
            "there is no \(what) \"\(shown)\": use its listed name, or the first \(Self.fewestDigits) or more digits of its id"
        )
    }

    private func single(_ found: [Candidate], _ property: String) throws -> UUID? {
        guard found.count > 1 else { return found.first?.id }
        let ids = found.prefix(Self.listedCandidates).map { Self.distinct($0.id, among: found) }
        let more = found.count > ids.count ? ", …" : ""
        throw CommandFailure.usage(
            "\(found.count) \(what)s have \(property) \"\(shown)\"; name one by its id: " + ids.joined(separator: ", ")
                + more
        )
    }

    /// As many digits as needed to distinguish the record from the others.
    private static func distinct(_ id: UUID, among others: [Candidate]) -> String {
        let digits = id.uuidString.lowercased()
        let isTaken = others.contains { $0.id != id && short($0.id) == short(id) }
        return isTaken ? digits : short(id)
    }

    /// The text as shown in messages.
    package var shown: String { TerminalText.truncated(TerminalText.escaped(text), toWidth: 60) }

    /// The condition that an identifier begins with the text; nil if the text is not the beginning of one.
    private var identifierCondition: FilterExpression? {
        let digits = text.filter { $0 != "-" }
        guard (Self.fewestDigits...32).contains(digits.count), digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
            return nil
        }
        func filled(_ digit: Character) -> UUID? {
            let all = Array(digits + String(repeating: digit, count: 32 - digits.count))
            let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(all[$0]) }
            return UUID(uuidString: groups.joined(separator: "-"))
        }
        guard let first = filled("0"), let last = filled("F") else { return nil }
        let id = FilterExpression.attribute(AttributePath("id"))
        return .and([
            .compare(.greaterOrEqual, id, .literal(.uuid(first))),
            .compare(.lessOrEqual, id, .literal(.uuid(last))),
        ])
    }
}
