@_spi(Engines) import HabitStore

/// An entity in the form of ordered keys: its records by their identifiers, and its indexes.
package final class KeyTable: Sendable {
    package let name: String
    /// Its position among the schema's entities.
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

/// An index in the form of ordered keys.
package final class KeyIndex: Sendable {
    /// Its position among the entity's indexes.
    package let place: Int
    /// Its position among the indexes of the whole schema.
    package let number: Int
    package let layout: IndexKeyLayout
    /// A title for messages: `Entry(habitID, date)`.
    package let title: String
    /// The name in the store's bookkeeping: `Entry.habitID+date`.
    package let name: String
    /// Whether it is declared to contain copies of records. The store decides if it does: see ``CompleteIndexes``.
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

/// A schema in the form of ordered keys.
package struct KeyTables: Sendable {
    package let tables: [KeyTable]
    /// All indexes, by their numbers.
    package let indexes: [KeyIndex]
    /// The value of ``KeyFormat/indexesKey`` if exactly the indexes of the schema are complete.
    package let indexList: [UInt8]
    /// The names of all indexes.
    package let indexNames: Set<String>

    /// - Throws: `.schemaMismatch` and `.unsupported` for a schema that cannot be stored.
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

/// The indexes of a store that may be used. One that was never built, or that another program's writes bypassed, must not be.
package struct CompleteIndexes: Sendable {
    /// The names of the complete indexes, each with whether it contains copies of records; nil if all are complete and as declared.
    private let listed: [String: Bool]?

    /// All indexes, as declared.
    package static let all = CompleteIndexes(listed: nil)

    private init(listed: [String: Bool]?) { self.listed = listed }

    /// - Parameters:
    ///   - bytes: the store's value of ``KeyFormat/indexesKey``; nil if it has none.
    ///   - tables: the schema's declarations.
    package init(_ bytes: UnsafeRawBufferPointer?, _ tables: KeyTables) {
        guard let bytes else {
            listed = [:]
            return
        }
        let isAsDeclared = tables.indexList.withUnsafeBytes { KeyOrder.areEqual($0, bytes) }
        listed = isAsDeclared ? nil : KeyFormat.indexNames(bytes)
    }

    /// Whether all of the schema's indexes are complete and as declared.
    package var isAll: Bool { listed == nil }

    /// Whether every index of the schema is complete, and the store has no others to maintain.
    package func hasAll(of tables: KeyTables) -> Bool { listed.map { Set($0.keys) == tables.indexNames } ?? true }

    package func contains(_ index: KeyIndex) -> Bool { listed.map { $0[index.name] != nil } ?? true }

    /// Whether an index contains copies of records, according to the store: a program with another schema, or one that could not
    /// convert the index to its declared form, leaves it unchanged.
    package func holdCopies(_ index: KeyIndex) -> Bool {
        guard let listed else { return index.isClustering }
        return listed[index.name] ?? false
    }
}

/// The parts of the format that all engines with ordered keys share: lengths, and the names in the bookkeeping.
///
/// `RecordLayout` documents records, ``IndexKeyLayout`` index keys, and ``HistoryCoder`` the history; the article *On-disk formats*
/// covers all of it.
package enum KeyFormat {
    /// The length of an identifier, which is the key of a record.
    package static let identifierLength = IndexKeyRoom.identifierLength
    /// The longest index key, in bytes.
    package static let longestKey = IndexKeyRoom.longestKey
    /// The longest record that a clustering index copies, in bytes. With the longest key, it still fits into an LMDB page together
    /// with another one, so that a copy is never stored apart from its key.
    package static let longestCopy = 1_024
    /// The metadata key of the list of complete indexes.
    package static let indexesKey = "indexes"

    private static let clusteringMark = " (clustering)"

    /// The name of an index.
    package static func indexName(_ entity: String, _ index: IndexDescription) -> String {
        "\(entity).\(index.attributes.joined(separator: "+"))"
    }

    /// The copy of a record in a clustering index; empty if the record is too long.
    @inline(__always)
    package static func copy(of record: RecordView) -> UnsafeRawBufferPointer {
        record.bytes.count <= longestCopy ? record.bytes : UnsafeRawBufferPointer(start: nil, count: 0)
    }

    /// The entry for a complete index in the value of ``indexesKey``.
    package static func listedName(_ name: String, isClustering: Bool) -> String {
        isClustering ? name + clusteringMark : name
    }

    /// The names in the value of ``indexesKey``, each with whether the index contains copies of records.
    package static func indexNames(_ bytes: UnsafeRawBufferPointer) -> [String: Bool] {
        var names: [String: Bool] = [:]
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let name = String(decoding: line, as: UTF8.self)
            let isClustering = name.hasSuffix(clusteringMark)
            names[isClustering ? String(name.dropLast(clusteringMark.count)) : name] = isClustering
        }
        return names
    }
}
