@_spi(Engines) import HabitStore

/// The names and versions of the on-disk format.
///
/// An LMDB environment in one file, with these named databases:
///
/// ```
/// metadata         UTF-8 key → UTF-8 value; "format" → "HabitStore 1",
///                  "indexes" → the names of the databases that are complete indexes, one a line; behind the
///                  name of one that holds copies of records stands " (clustering)"
/// <Entity>         identifier, 16 bytes → the record as RecordLayout describes it, checksum included
/// <Entity>.<a>+<b> index key (see LMDBIndexKeyLayout), which ends with the identifier → nothing, or
///                  in a clustering index the record, unless it has more than 1,024 bytes
/// history          token u64 and sequence u32, both big-endian →
///                  sequence 0:  timestamp Double (seconds since 2001) 8 bytes, number of changes u32,
///                               1 and the author's UTF-8, or 0
///                  sequence n:  kind (1 insert, 2 update, 3 delete), length of the entity's name u16, its UTF-8,
///                               identifier 16 bytes, then as JSON: nothing for an insert, the array of the updated
///                               attributes' names for an update, the object of preserved values for a delete
/// digests          entity, UTF-8, then 0 and the first identifier of the range, 16 bytes →
///                  depth in half bytes u8, number of records i64, sum of their hashes 16 bytes
/// ```
/// Numbers are little-endian unless said otherwise.
enum LMDBFormat {
    /// The version that is written, and the highest that is read.
    static let version = 1
    /// The database of the bookkeeping.
    static let metadata = "metadata"
    /// The database of the history.
    static let history = "history"
    /// The database of the kept digests.
    static let digests = "digests"
    /// The metadata key of the format's name and version.
    static let formatKey = "format"
    /// The metadata key of the list of complete indexes.
    static let indexesKey = "indexes"
    /// The length of an identifier, which is every record's key.
    static let identifierLength = 16

    /// The longest record of which a clustering index holds a copy, in bytes. With the longest key it still fits into a
    /// page with another one, so that no copy is ever apart from its key.
    static let longestCopy = 1_024

    private static let name = "HabitStore "
    private static let clusteringMark = " (clustering)"

    /// The value of ``formatKey``.
    static var current: String { "\(name)\(version)" }

    /// The name of an index's database.
    static func indexName(_ entity: String, _ index: IndexDescription) -> String {
        "\(entity).\(index.attributes.joined(separator: "+"))"
    }

    /// Refuses what this version cannot read.
    ///
    /// - Parameter text: the value of ``formatKey``.
    /// - Throws: `.newerVersion` with both numbers; `.notAStore` for anything that is no version.
    static func require(_ text: String?, path: String) throws {
        guard let text, text.hasPrefix(name), let found = Int(text.dropFirst(name.count)), found >= 1 else {
            throw LMDBError.error(.notAStore, "the file is an LMDB environment of another program", path: path)
        }
        guard found <= version else {
            throw LMDBError.error(
                .newerVersion,
                "the store has format version \(found), and this version reads up to \(version); update the program",
                path: path
            )
        }
    }

    /// What a clustering index holds of a record: all of it, or nothing when it is too long.
    @inline(__always)
    static func copy(of record: RecordView) -> UnsafeRawBufferPointer {
        record.bytes.count <= longestCopy ? record.bytes : UnsafeRawBufferPointer(start: nil, count: 0)
    }

    /// What the value of ``indexesKey`` calls a complete index.
    ///
    /// - Parameter name: the database's name.
    static func listedName(_ name: String, isClustering: Bool) -> String { isClustering ? name + clusteringMark : name }

    /// The names in the value of ``indexesKey``, each with whether that index holds copies of records.
    static func indexNames(_ bytes: UnsafeRawBufferPointer) -> [String: Bool] {
        var names: [String: Bool] = [:]
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let name = String(decoding: line, as: UTF8.self)
            let isClustering = name.hasSuffix(clusteringMark)
            names[isClustering ? String(name.dropLast(clusteringMark.count)) : name] = isClustering
        }
        return names
    }
}
