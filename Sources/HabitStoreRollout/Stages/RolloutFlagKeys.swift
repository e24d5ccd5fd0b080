/// The keys of the flags of one rollout: those of ``RolloutFlags``, or those of a named store.
package struct RolloutFlagKeys: Sendable, Hashable {
    /// The keys for stores without a name.
    package static let standard = RolloutFlagKeys(prefix: "habit-store")

    /// See ``RolloutFlags/stage``.
    package let stage: String
    /// See ``RolloutFlags/old``.
    package let old: String
    /// See ``RolloutFlags/new``.
    package let new: String
    /// See ``RolloutFlags/kill``.
    package let kill: String
    /// See ``RolloutFlags/backend``.
    package let backend: String

    init(prefix: String) {
        stage = prefix + "-stage"
        old = prefix + "-old"
        new = prefix + "-new"
        kill = prefix + "-kill"
        backend = prefix + "-backend"
    }

    /// All keys, the kill flag first.
    var all: [String] { [kill, old, new, backend, stage] }
}
