/// What somebody above the rollout keeps about users: a fleet, for example.
public struct ErasureElsewhere: Sendable {
    /// What is kept about a user, and what of it cannot be reached, each in a sentence; nothing is changed.
    public let find: @Sendable (_ user: String) throws -> (items: [ErasureOutcome.Item], unreachable: [String])
    /// Removes it. It is asked before anything of the user's own is touched, and may throw; what was removed once is not missed.
    public let remove: @Sendable (_ user: String) throws -> Void

    /// Names both.
    public init(
        find: @escaping @Sendable (_ user: String) throws -> (items: [ErasureOutcome.Item], unreachable: [String]),
        remove: @escaping @Sendable (_ user: String) throws -> Void
    ) {
        (self.find, self.remove) = (find, remove)
    }

    /// What several of them keep.
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
