import HabitStore

/// The users who have a folder under a root.
public struct UserListing: Sendable {
    /// The users' ids, sorted.
    public let users: [String]
    /// An error for each folder whose user is unknown. An operation on all users has left these out.
    public let unknown: [HabitStoreError]

    /// A list of the given users, whether or not they have folders.
    public init(users: [String]) { self.init(users: users, unknown: []) }

    init(users: [String], unknown: [HabitStoreError]) {
        self.users = users
        self.unknown = unknown
    }
}
