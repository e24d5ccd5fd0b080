/// The file system's information about a path, read without opening the file.
struct SQLiteFileStatus: Sendable, Equatable {
    /// Identifies a file independently of its names.
    struct Identity: Hashable, Sendable {
        let device: UInt64
        let inode: UInt64
    }

    /// The kinds of files that this code distinguishes.
    enum Kind: Sendable {
        case regular
        case directory
        case other
    }

    let identity: Identity
    let kind: Kind
    let sizeBytes: Int64
    /// The number of names (hard links) of the file.
    let nameCount: UInt64
    /// The time of the last change of the contents, in nanoseconds since 1970.
    let modifiedNanoseconds: Int64
}
