import FeatureFlags
import HabitStore
import Logging

/// A folder whose kill switch holds for everybody in it: its sentinel file, and the memory that it was pulled.
struct KillPlace: Sendable {
    /// Looks for the sentinel file, and reads the flag file where there is one.
    let files: FlagProvider
    let latch: KillLatch

    /// The sentinel file's path; nil where the file is not there.
    var sentinel: String? { files.sentinel.flatMap { $0.isPresent ? $0.path : nil } }
}
