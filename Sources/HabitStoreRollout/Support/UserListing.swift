import HabitStore

/// Who has a folder under a root.
public struct UserListing: Sendable {
    /// The users' ids, in their order.
    public let users: [String]
    /// For each folder of which nobody can tell whose it is, why. Whoever acts on all users has not acted on these.
    public let unknown: [HabitStoreError]

    /// Users who are named, whether they have folders or not.
    public init(users: [String]) { self.init(users: users, unknown: []) }

    init(users: [String], unknown: [HabitStoreError]) {
        self.users = users
        self.unknown = unknown
    }
}
