@_spi(Engines) import HabitStore

/// What the stores of all engines over ordered keys have in common: the lengths, and the names that their bookkeeping holds.
///
/// Records are as `RecordLayout` has them, index keys as ``IndexKeyLayout``, the history as ``HistoryCoder``; the article
/// *On-disk formats* has all of it.
package enum KeyFormat {
    /// The length of an identifier, which is every record's key.
    package static let identifierLength = IndexKeyRoom.identifierLength
    /// The longest index key, in bytes.
    package static let longestKey = IndexKeyRoom.longestKey
    /// The longest record of which a clustering index holds a copy, in bytes. With the longest key it still fits into a
    /// page of LMDB's with another one, so that no copy is ever apart from its key.
    package static let longestCopy = 1_024
    /// The metadata key of the list of complete indexes.
    package static let indexesKey = "indexes"

    private static let clusteringMark = " (clustering)"

    /// The name of an index.
    package static func indexName(_ entity: String, _ index: IndexDescription) -> String {
        "\(entity).\(index.attributes.joined(separator: "+"))"
    }

    /// What a clustering index holds of a record: all of it, or nothing when it is too long.
    @inline(__always)
    package static func copy(of record: RecordView) -> UnsafeRawBufferPointer {
        record.bytes.count <= longestCopy ? record.bytes : UnsafeRawBufferPointer(start: nil, count: 0)
    }

    /// What the value of ``indexesKey`` calls a complete index.
    package static func listedName(_ name: String, isClustering: Bool) -> String {
        isClustering ? name + clusteringMark : name
    }

    /// The names in the value of ``indexesKey``, each with whether that index holds copies of records.
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
