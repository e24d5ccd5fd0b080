import Foundation
import HabitStore

/// What ``FleetWatch`` has seen at one moment.
public struct FleetSnapshot: Sendable {
    /// Another number than before where anything was read anew.
    public let number: Int
    /// When the files were read.
    public let time: Date
    /// How the kill switch stands.
    public let killSwitch: FleetKillSwitch
    /// The engine that the flags bring users to; nil where they do not say.
    public let newEngine: String?
    /// Where the fleet is, or what keeps that from being read, in one line.
    public let fleet: Result<FleetOverview, HabitStoreError>
}
