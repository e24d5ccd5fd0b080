/// Data about users in a layer above the rollout, such as a fleet.
public struct ErasureElsewhere: Sendable {
    /// Finds what is kept about a user, and what of it cannot be reached, one sentence each; changes nothing.
    public let find: @Sendable (_ user: String) throws -> (items: [ErasureOutcome.Item], unreachable: [String])
    /// Removes it. Called before anything of the user's own is touched, possibly more than once; may throw.
    public let remove: @Sendable (_ user: String) throws -> Void

    /// Takes both closures.
    public init(
        find: @escaping @Sendable (_ user: String) throws -> (items: [ErasureOutcome.Item], unreachable: [String]),
        remove: @escaping @Sendable (_ user: String) throws -> Void
    ) {
        (self.find, self.remove) = (find, remove)
    }

    /// Joins several of them.
    package init(_ all: [ErasureElsewhere]) {
        self.init(
            find: { user in
                try all.reduce(into: (items: [], unreachable: [])) { whole, each in
                    let found = try each.find(user)
                    whole.items += found.items
                    whole.unreachable += found.unreachable
                }
            },
            remove: { user in for each in all { try each.remove(user) } }
        )
    }
}
