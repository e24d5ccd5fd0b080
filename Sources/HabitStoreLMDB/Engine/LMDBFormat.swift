@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

/// The names and versions of the on-disk format.
///
/// An LMDB environment in one file, with these named databases:
///
/// ```
/// metadata         UTF-8 key → UTF-8 value; "format" → "HabitStore 1",
///                  "indexes" → the names of the databases that are complete indexes, one per line, with
///                  " (clustering)" after the name of one that holds copies of records
/// <Entity>         identifier, 16 bytes → the record as RecordLayout describes it, checksum included
/// <Entity>.<a>+<b> index key (see IndexKeyLayout), which ends with the identifier → nothing, or
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
    /// The version that is written, and the highest that can be read.
    static let version = 1
    /// The database of the bookkeeping.
    static let metadata = "metadata"
    /// The database of the history.
    static let history = "history"
    /// The database of the digests.
    static let digests = "digests"
    /// The metadata key of the format's name and version.
    static let formatKey = "format"
    private static let name = "HabitStore "

    /// The value of ``formatKey``.
    static var current: String { "\(name)\(version)" }

    /// The key prefix of an entity's digests.
    static func digestPrefix(_ entity: String) -> [UInt8] { Array(entity.utf8) + [0] }

    /// Throws for a format that this version cannot read.
    ///
    /// - Parameter text: the value of ``formatKey``.
    /// - Throws: `.newerVersion` with both numbers; `.notAStore` for anything that is not a version.
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
}
