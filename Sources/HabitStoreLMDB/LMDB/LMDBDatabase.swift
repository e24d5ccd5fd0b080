/// A named database of an environment.
///
/// It is a place in the environment's table and not LMDB's own handle: the table is filled anew when the environment had
/// to be reopened, so a value of this type stays good as long as the environment is open.
struct LMDBDatabase: Hashable, Sendable {
    /// The place in the environment's table.
    let index: Int
    /// The name, as it stands in the file.
    let name: String
}
