/// Why a user came into another stage.
public enum StageChangeReason: String, Sendable, Hashable, Codable, CaseIterable {
    /// Somebody asked for the next stage, and the gate was open.
    case promoted
    /// Somebody asked for an earlier stage.
    case demoted
    /// The flag file wants this stage.
    case followedFlags
    /// The kill switch.
    case killed
    /// A difference between the stores.
    case differenceFound
    /// The flag file names the other engine.
    case toggled
    /// A switch that a crash had interrupted was finished or undone.
    case recovered
    /// The kill switch was armed again.
    case rearmed
}
