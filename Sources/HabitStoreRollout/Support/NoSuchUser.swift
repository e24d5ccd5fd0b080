import HabitStore

/// A user id without stores under a root.
package struct NoSuchUser: Error {
    /// The id that was asked for.
    package let user: String
    /// The folder that the stores would be under.
    package let root: String

    /// The error that is thrown for it.
    var error: HabitStoreError {
        HabitStoreError(
            .notFound,
            "there is no such user: this user has no stores under the root",
            at: .init(path: root),
            detail: user,
            underlying: self
        )
    }

    /// The users with stores there; empty if the root cannot be read.
    package var others: [String] { (try? UserDirectory.all(root: root).users) ?? [] }
}
