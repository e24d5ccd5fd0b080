@_spi(Engines) import HabitStore

/// An entity as ordered keys: its records by their identifiers, and its indexes.
package final class KeyTable: Sendable {
    package let name: String
    /// Its place among the schema's entities.
    package let number: Int
    package let layout: RecordLayout
    package let indexes: [KeyIndex]

    fileprivate init(_ entity: EntityDescription, number: Int, indexes: [KeyIndex]) {
        name = entity.name
        self.number = number
        layout = entity.layout
        self.indexes = indexes
    }
}

/// An index as ordered keys.
package final class KeyIndex: Sendable {
    /// Its place in the entity's indexes.
    package let place: Int
    /// Its place among the indexes of the whole schema.
    package let number: Int
    package let layout: IndexKeyLayout
    /// For people: `Entry(habitID, date)`.
    package let title: String
    /// For the store's bookkeeping: `Entry.habitID+date`.
    package let name: String
    /// Whether it is declared to hold copies of records. What it holds is for the store to say: see ``CompleteIndexes``.
    package let isClustering: Bool

    fileprivate init(_ index: IndexDescription, of entity: EntityDescription, place: Int, number: Int) throws {
        self.place = place
        self.number = number
        layout = try IndexKeyLayout(index, of: entity)
        title = "\(entity.name)(\(index.attributes.joined(separator: ", ")))"
        name = KeyFormat.indexName(entity.name, index)
        isClustering = index.isClustering
    }
}

/// A schema as ordered keys.
package struct KeyTables: Sendable {
    package let tables: [KeyTable]
    /// All indexes, by their numbers.
    package let indexes: [KeyIndex]
    /// What ``KeyFormat/indexesKey`` says when all indexes of the schema are complete, and no others.
    package let indexList: [UInt8]
    /// The names of all indexes.
    package let indexNames: Set<String>

    /// - Throws: `.schemaMismatch` and `.unsupported` for a schema that cannot be kept.
    package init(_ schema: Schema) throws {
        var all: [KeyIndex] = []
        tables = try schema.entities.enumerated().map { number, entity in
            let indexes = try entity.indexes.enumerated().map { place, index in
                try KeyIndex(index, of: entity, place: place, number: all.count + place)
            }
            all += indexes
            return KeyTable(entity, number: number, indexes: indexes)
        }
        indexes = all
        indexNames = Set(all.map(\.name))
        indexList = Array(
            all.map { KeyFormat.listedName($0.name, isClustering: $0.isClustering) }.joined(separator: "\n").utf8
        )
    }
}

/// Which indexes of a store may be used. One that was never built, or that another program's writes passed by, must not be.
package struct CompleteIndexes: Sendable {
    /// The names of the complete indexes, each with whether it holds copies of records; nil when all are complete and hold
    /// what they are declared to hold.
    private let listed: [String: Bool]?

    /// All of them, as they are declared.
    package static let all = CompleteIndexes(listed: nil)

    private init(listed: [String: Bool]?) { self.listed = listed }

    /// - Parameters:
    ///   - bytes: the store's value of ``KeyFormat/indexesKey``; nil when it has none.
    ///   - tables: what the schema declares.
    package init(_ bytes: UnsafeRawBufferPointer?, _ tables: KeyTables) {
        guard let bytes else {
            listed = [:]
            return
        }
        let isAsDeclared = tables.indexList.withUnsafeBytes { KeyOrder.areEqual($0, bytes) }
        listed = isAsDeclared ? nil : KeyFormat.indexNames(bytes)
    }

    /// Whether all of the schema's are complete, as they are declared.
    package var isAll: Bool { listed == nil }

    /// Whether every index of the schema is complete, and the store has no others that would have to be kept.
    package func hasAll(of tables: KeyTables) -> Bool { listed.map { Set($0.keys) == tables.indexNames } ?? true }

    package func contains(_ index: KeyIndex) -> Bool { listed.map { $0[index.name] != nil } ?? true }

    /// Whether an index holds copies of records, which is so when the store says so: a program with another schema, or one
    /// that could not bring the index into its declared form, keeps it as it is.
    package func holdCopies(_ index: KeyIndex) -> Bool {
        guard let listed else { return index.isClustering }
        return listed[index.name] ?? false
    }
}
