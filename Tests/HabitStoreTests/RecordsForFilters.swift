import Foundation
import HabitTracker

@_spi(Engines) @testable import HabitStore
@testable import HabitStoreTesting

/// Random records of a schema, in memory: few enough that values and references coincide.
final class RecordsForFilters: RelatedRecords {
    let schema: Schema
    /// Whether rows are passed as columns, not as encoded records.
    var lendsColumns = false
    /// How many records were reached through relationships.
    var followed = 0
    private var tables: [[UUID: EncodedRecord]] = []
    private(set) var order: [[UUID]] = []
    private var found: [[Int]: [UUID: [UUID]]] = [:]

    /// The number of records of each entity.
    private static let count = 14

    init(_ schema: Schema, seed: UInt64) throws {
        self.schema = schema
        var generator = SeededGenerator(seed: seed)
        order = schema.entities.map { _ in
            (0..<Self.count).map { _ in EdgeValues.id(&generator) }.sorted { $0.isBefore($1) }
        }
        for (entity, description) in schema.entities.enumerated() {
            var table: [UUID: EncodedRecord] = [:]
            for id in order[entity] {
                let values = try description.attributes.indices.map { position in
                    position == 0 ? .uuid(id) : try value(entity, position, &generator)
                }
                table[id] = try EncodedRecord(values, layout: description.layout)
            }
            tables.append(table)
        }
    }

    private func value(_ entity: Int, _ position: Int, _ generator: inout SeededGenerator) throws -> Value {
        let attribute = schema.entities[entity].attributes[position]
        if attribute.isOptional, generator.chance(30) { return .null }
        let relationship = schema.relationships[entity].first { relationship in
            relationship.attribute == position && (relationship.description.isToOne || attribute.kind == .links)
        }
        guard let destination = relationship?.destination else {
            return try Self.value(attribute.kind, &generator).normalized()
        }
        // Half of the references lead to the same few records, and some dangle.
        func target() -> UUID {
            if generator.chance(8) { return EdgeValues.id(&generator) }
            return order[destination][generator.int(0...(generator.chance(50) ? 2 : Self.count - 1))]
        }
        if attribute.kind == .links {
            return try Value.links((0..<generator.int(0...3)).map { _ in target() }).normalized()
        }
        return .uuid(target())
    }

    /// A random value of a kind.
    static func value(_ kind: AttributeKind, _ generator: inout SeededGenerator) -> Value {
        switch kind {
        case .bool: return .bool(generator.chance(50))
        case .int: return .int(Int64(EdgeValues.int(&generator)))
        case .double: return .double(EdgeValues.double(&generator))
        case .string: return .string(CompiledFilterRun.text(&generator))
        case .date: return .date(EdgeValues.date(&generator))
        case .uuid: return .uuid(EdgeValues.id(&generator))
        case .data: return .data(Data((0..<generator.int(0...3)).map { _ in UInt8(generator.int(0...2)) }))
        case .strings: return .strings((0..<generator.int(0...3)).map { _ in CompiledFilterRun.text(&generator) })
        case .links: return .links((0..<generator.int(0...2)).map { _ in EdgeValues.id(&generator) })
        }
    }

    // MARK: Reading

    func withRow<R>(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> R) throws -> R? {
        guard let record = tables[entity][id] else { return nil }
        let layout = schema.entities[entity].layout
        if lendsColumns {
            let columns = ColumnsForFilters(record, try record.values(layout))
            return try AttributeReader.withReader(of: columns, layout: layout, body)
        }
        return try record.withView(layout) { view in
            var reader = view.reader
            return try body(&reader)
        }
    }

    func withRelated(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> Void) throws -> Bool {
        followed += 1
        return try withRow(entity: entity, id: id, body) != nil
    }

    func identifiers(entity: Int, attribute: Int, referringTo id: UUID, limit: Int?) throws -> [UUID] {
        let key = [entity, attribute]
        if found[key] == nil {
            var referring: [UUID: [UUID]] = [:]
            for source in order[entity] {
                guard let record = tables[entity][source] else { continue }
                switch try record.withView(schema.entities[entity].layout, { try $0.value(at: attribute) }) {
                case .uuid(let target): referring[target, default: []].append(source)
                case .links(let targets): for target in targets { referring[target, default: []].append(source) }
                default: break
                }
            }
            found[key] = referring
        }
        let all = found[key]?[id] ?? []
        return limit.map { Array(all.prefix($0)) } ?? all
    }

    // MARK: Asking

    func identifiers(ofEntity name: String) -> [UUID] {
        schema.entities.firstIndex { $0.name == name }.map { order[$0] } ?? []
    }

    /// The record to which the most records refer through the relationship.
    func owner(ofMost relationship: String) -> UUID? {
        for (entity, relationships) in schema.relationships.enumerated() {
            guard let found = relationships.first(where: { $0.description.name == relationship }) else { continue }
            let counts = order[entity].map { id in
                (try? identifiers(entity: found.destination, attribute: found.attribute, referringTo: id, limit: nil)
                    .count) ?? 0
            }
            return zip(order[entity], counts).max { $0.1 < $1.1 }?.0
        }
        return nil
    }

    /// Whether a compiled filter matches a tag of a name.
    static func matches(_ filter: FilterExpression, tagNamed name: String) throws -> Bool {
        let schema = HabitSchema.current
        let entity = try schema.position(of: Tag.self)
        let compiled = CompiledFilter(
            try filter.bound(to: schema, entity: entity),
            entity: entity,
            schema: schema,
            records: try RecordsForFilters(schema, seed: 0),
            recordsMayChange: false
        )
        let layout = schema.entities[entity].layout
        let record = try EncodedRecord([.uuid(UUID()), .string(name)], layout: layout)
        return try record.withView(layout) { view in
            var reader = view.reader
            return try compiled.matches(&reader)
        }
    }

    /// How many records a compiled filter reaches through relationships for one row.
    func followed(by filter: FilterExpression, entity name: String, _ id: UUID) throws -> Int {
        let entity = try schema.position(ofEntity: name)
        let compiled = CompiledFilter(
            try filter.bound(to: schema, entity: entity),
            entity: entity,
            schema: schema,
            records: self,
            recordsMayChange: false
        )
        followed = 0
        _ = try withRow(entity: entity, id: id) { try compiled.matches(&$0) }
        return followed
    }
}

/// A record as the columns of a row.
private final class ColumnsForFilters: AttributeColumns {
    private let record: EncodedRecord
    private let values: [Value]
    private static let wrongKind = HabitStoreError(.corrupt, "a column holds a value of another kind")

    init(_ record: EncodedRecord, _ values: [Value]) {
        self.record = record
        self.values = values
    }

    override func isNull(_ position: Int) throws -> Bool { values[position].isNull }
    override func bool(_ position: Int) throws -> Bool {
        guard case .bool(let flag) = values[position] else { throw Self.wrongKind }
        return flag
    }
    override func int(_ position: Int) throws -> Int64 {
        guard case .int(let number) = values[position] else { throw Self.wrongKind }
        return number
    }
    override func double(_ position: Int) throws -> Double {
        switch values[position] {
        case .double(let number): return number
        case .date(let date): return date.timeIntervalSinceReferenceDate
        default: throw Self.wrongKind
        }
    }
    override func text(_ position: Int) throws -> String {
        guard case .string(let text) = values[position] else { throw Self.wrongKind }
        return text
    }
    override func uuid(_ position: Int) throws -> UUID {
        guard case .uuid(let id) = values[position] else { throw Self.wrongKind }
        return id
    }
    override func data(_ position: Int) throws -> Data {
        guard case .data(let bytes) = values[position] else { throw Self.wrongKind }
        return bytes
    }
    override func texts(_ position: Int) throws -> [String] {
        guard case .strings(let texts) = values[position] else { throw Self.wrongKind }
        return texts
    }
    override func links(_ position: Int) throws -> [UUID] {
        guard case .links(let ids) = values[position] else { throw Self.wrongKind }
        return ids
    }
    override func value(_ position: Int) throws -> Value { values[position] }
    override func encoded() throws -> EncodedRecord { record }
}
