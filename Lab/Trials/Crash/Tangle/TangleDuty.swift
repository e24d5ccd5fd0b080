import ArgumentParser

/// What a process of the tangle does beside writing.
enum TangleDuty: String, CaseIterable, ExpressibleByArgument {
    /// Reads, and looks for its own last acknowledged write.
    case reading
    /// Moves the user forward and back.
    case moving
    /// Opens and closes the user, each time with another wish for the engine.
    case toggling
    /// Pulls the kill switch, and lands.
    case killing
    /// Pulls it for everybody.
    case killingAll
    /// Re-arms.
    case rearming
    /// Forgets history.
    case pruning
    /// Compares the stores.
    case verifying
    /// Archives the evidence, or begins it anew.
    case filing
    /// Looks for what is wrong, and mends.
    case mending
    /// Moves the user forward, and never back.
    case promoting
    /// Sets the clock of its process a day forward, a day back, and right again.
    case shiftingClock

    /// What makes two stores equal that differ, or begins the evidence anew.
    var canHeal: Bool { ![.reading, .verifying, .promoting, .pruning, .shiftingClock].contains(self) }

    /// What versions before this one know too.
    static let known: [Self] = [.reading, .moving, .toggling, .killing, .killingAll, .rearming, .pruning, .verifying]
}
