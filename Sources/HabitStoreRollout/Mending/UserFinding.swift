import HabitStore

/// Something about a user's folder that an engineer should know.
public struct UserFinding: Sendable, Hashable, Codable {
    /// The kinds of findings.
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// A store, or another file of the user's, cannot be read or written.
        case unreadable
        /// Both stores call themselves authoritative.
        case twoAuthoritative
        /// No store is authoritative.
        case noneAuthoritative
        /// A store names another machine: the user belongs there, or one of the same id does.
        case elsewhere
        /// The store that would serve is older than what was acknowledged, or another user's.
        case stale
        /// A move was claimed and not finished.
        case unfinishedMove
        /// A copy into a store was begun and not finished.
        case unfinishedCopy
        /// The stores are of different schema versions: a migration has ended between them.
        case unfinishedMigration
        /// The old store cannot be brought up from the new one's history, or is missing, in a stage that writes to both.
        case mirrorLost
        /// The stores have gone different ways since a token that both have.
        case parted
        /// A kill is remembered that the store does not know of yet.
        case killOwed
        /// A restore, or an erasure, was begun and not finished.
        case interrupted
        /// Files have other names elsewhere (hard links), as a snapshot by `cp -al` shares them.
        case linked
        /// Copies that a killed rehearsal or verification has left.
        case leftovers
        /// The evidence is damaged, cut off, or not this user's.
        case evidence
        /// Lines of the evidence speak for the user and do not count: the stores were not told of them, or they lack a key's seal.
        case evidenceUncounted
        /// The stores were found to differ, and no complete verification has found them equal since.
        case different
        /// A difference is remembered that is not in the evidence yet.
        case differenceOwed
        /// The file that says whose folder it is names somebody else, or nobody.
        case owner
    }

    /// What kind it is.
    public let kind: Kind
    /// What was found, and what it means, in one sentence without the user's values.
    public let message: String
    /// What ``UserStores/mend(_:)`` does about it, or what a person has to do.
    public let remedy: String
    /// Whether it can be mended without guessing.
    public let canBeMended: Bool
}
