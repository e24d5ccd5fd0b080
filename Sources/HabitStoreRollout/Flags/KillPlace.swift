import FeatureFlags
import HabitStore
import Logging

/// A folder whose kill switch holds for all users in it: its sentinel file, and the record that it was pulled.
struct KillPlace: Sendable {
    /// Checks for the sentinel file, and reads the flag file if there is one.
    let files: FlagProvider
    let latch: KillLatch

    /// The sentinel file's path; nil if the file does not exist.
    var sentinel: String? { files.sentinel.flatMap { $0.isPresent ? $0.path : nil } }
}
