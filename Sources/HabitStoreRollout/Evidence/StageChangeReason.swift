/// Why a user moved to another stage.
public enum StageChangeReason: String, Sendable, Hashable, Codable, CaseIterable {
    /// An operator or the app asked for the next stage, and the gate was open.
    case promoted
    /// An operator or the app asked for an earlier stage.
    case demoted
    /// The flag file wants this stage.
    case followedFlags
    /// The kill switch.
    case killed
    /// A difference between the stores.
    case differenceFound
    /// The flag file names the other engine.
    case toggled
    /// A move that a crash had interrupted was finished or undone.
    case recovered
    /// The kill switch was armed again.
    case rearmed
}
