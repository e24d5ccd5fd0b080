import FeatureFlags
import HabitStore

/// The flags of a rollout, and the files next to the flag file that take part in it.
public enum RolloutFlags {
    /// The stage that a user should be at.
    public static let stage = "habit-store-stage"
    /// The engine that users come from; SQLite if it is not set.
    public static let old = "habit-store-old"
    /// The engine that users move to; LMDB if it is not set.
    public static let new = "habit-store-new"
    /// Whether all users, or one user, go back immediately.
    public static let kill = "habit-store-kill"
    /// The engine that a user is put on directly: verified while writes wait, without the stages in between.
    public static let backend = "habit-store-backend"
    /// The name of the sentinel file under the root.
    public static let sentinelName = "habit-store.kill"

    /// The path of a root's sentinel file.
    public static func sentinelPath(root: String) -> String { root + "/" + sentinelName }
}
