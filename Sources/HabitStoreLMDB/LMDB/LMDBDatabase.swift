/// A named database of an environment.
///
/// This is a place in the environment's table rather than LMDB's own handle. Reopening the environment refills the table, so the
/// value remains valid as long as the environment is open.
struct LMDBDatabase: Hashable, Sendable {
    /// The place in the environment's table.
    let index: Int
    /// The name in the file.
    let name: String
}
