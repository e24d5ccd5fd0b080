/// How a store's file is opened.
enum SQLiteOpenMode: Sendable, Equatable {
    /// The file must be there, and nothing is written to it.
    case readOnly
    /// The file must be there.
    case readWrite
    /// The file is made, for its owner only, when it is not there.
    case create

    /// Whether transactions may write.
    var isWritable: Bool { self != .readOnly }
}
