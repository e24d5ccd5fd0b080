/// What the file system says of a path, without the file being opened.
struct SQLiteFileStatus: Sendable, Equatable {
    /// Which file it is, whatever its names are.
    struct Identity: Hashable, Sendable {
        let device: UInt64
        let inode: UInt64
    }

    /// The kinds that make a difference here.
    enum Kind: Sendable {
        case regular
        case directory
        case other
    }

    let identity: Identity
    let kind: Kind
    let sizeBytes: Int64
    /// How many names (hard links) the file has.
    let nameCount: UInt64
    /// The last change of the contents, in nanoseconds since 1970.
    let modifiedNanoseconds: Int64
}
