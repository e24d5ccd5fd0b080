/// How to open a store's file.
enum SQLiteOpenMode: Sendable, Equatable {
    /// The file must exist, and is never written.
    case readOnly
    /// The file must exist.
    case readWrite
    /// A missing file is created, readable only by its owner.
    case create

    /// Whether transactions may write.
    var isWritable: Bool { self != .readOnly }
}
