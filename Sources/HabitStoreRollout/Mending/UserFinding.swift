import HabitStore

/// A finding about a user's folder that an operator should know.
public struct UserFinding: Sendable, Hashable, Codable {
    /// The kinds of findings.
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// A store, or another file of the user's, cannot be read or written.
        case unreadable
        /// Both stores are authoritative.
        case twoAuthoritative
        /// No store is authoritative.
        case noneAuthoritative
        /// A store names another machine: the user belongs there, or there is one with the same id there.
        case elsewhere
        /// The store that would serve is older than what was acknowledged, or another user's.
        case stale
        /// A move was claimed and not finished.
        case unfinishedMove
        /// A copy into a store was begun and not finished.
        case unfinishedCopy
        /// The stores have different schema versions: a migration stopped between them.
        case unfinishedMigration
        /// The old store is missing, or cannot be brought up to date from the new one's history, at a stage that writes to both.
        case mirrorLost
        /// The stores have diverged after a common token.
        case parted
        /// A kill was recorded that the store does not know of yet.
        case killOwed
        /// A restore or an erasure was begun and not finished.
        case interrupted
        /// Files have other names elsewhere (hard links), as in a snapshot by `cp -al`.
        case linked
        /// Copies that a killed rehearsal or verification left.
        case leftovers
        /// The evidence is damaged, cut off, or not this user's.
        case evidence
        /// Lines of the evidence speak for the user but do not count: the stores did not acknowledge them, or they lack a key's seal.
        case evidenceUncounted
        /// The stores were found to differ, and no complete verification has found them equal since.
        case different
        /// A difference was recorded that is not in the evidence yet.
        case differenceOwed
        /// The file that names the folder's user is empty or names another user.
        case owner
    }

    /// The kind.
    public let kind: Kind
    /// The finding and its meaning, in one sentence without the user's values.
    public let message: String
    /// What ``UserStores/mend(_:)`` does about it, or what an operator has to do.
    public let remedy: String
    /// Whether it can be repaired without guessing.
    public let canBeMended: Bool
}
