@_spi(Engines) import HabitStore

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
