import ArgumentParser

/// A duty of a process of the tangle sweep, in addition to writing.
enum TangleDuty: String, CaseIterable, ExpressibleByArgument {
    /// Reads, and looks for its own last acknowledged write.
    case reading
    /// Moves the user forward and back.
    case moving
    /// Closes and reopens the user, each time with another engine in the flags.
    case toggling
    /// Pulls the kill switch and completes the kill.
    case killing
    /// Pulls it for all users.
    case killingAll
    /// Re-arms.
    case rearming
    /// Prunes history.
    case pruning
    /// Compares the stores.
    case verifying
    /// Archives the evidence or resets it.
    case filing
    /// Looks for problems and repairs them.
    case mending
    /// Moves the user forward, never back.
    case promoting
    /// Sets its process's clock a day forward, a day back, and right again.
    case shiftingClock

    /// Whether it makes differing stores equal, or resets the evidence.
    var canHeal: Bool { ![.reading, .verifying, .promoting, .pruning, .shiftingClock].contains(self) }

    /// The duties that earlier versions also know.
    static let known: [Self] = [.reading, .moving, .toggling, .killing, .killingAll, .rearming, .pruning, .verifying]
}
