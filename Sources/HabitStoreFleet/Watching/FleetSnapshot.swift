import Foundation
import HabitStore

/// What ``FleetWatch`` has read at one time.
public struct FleetSnapshot: Sendable {
    /// A number that changes with every reading.
    public let number: Int
    /// When the files were read.
    public let time: Date
    /// The state of the kill switch.
    public let killSwitch: FleetKillSwitch
    /// The engine to which the flags move users; nil if they do not say.
    public let newEngine: String?
    /// The fleet's status, or why it cannot be read.
    public let fleet: Result<FleetOverview, HabitStoreError>
}
