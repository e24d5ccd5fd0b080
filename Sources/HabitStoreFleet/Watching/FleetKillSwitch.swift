import Foundation
import HabitStoreRollout

/// How the kill switch of a root stands, by its files alone: neither an index nor a store is needed for it.
public struct FleetKillSwitch: Sendable, Hashable {
    /// Whether the sentinel file is there, which takes everybody back.
    public let isSentinelThere: Bool
    /// Whether the kill flag is true for everybody; nil where there is no flag file.
    public let isFlagPulled: Bool?
    /// Whether the root remembers that everybody was killed, until somebody re-arms.
    public let isLatched: Bool
    /// Since when any of the files says so; nil where none does.
    public let since: Date?
    /// What had pulled it, as the memory has it.
    public let trigger: String?
    /// Why the flags in force are not what the flag file says.
    public let notes: [String]

    init(_ switches: RootSwitches) {
        isSentinelThere = switches.sentinel != nil
        isFlagPulled = switches.isFlagPulled
        isLatched = switches.latch != nil
        since = [switches.sentinel?.since, switches.latch?.since].compactMap { $0 }.min()
        trigger = switches.latch.flatMap { $0.text.isEmpty ? nil : $0.text }
        notes = switches.notes
    }

    /// Whether it is pulled, or was and nobody has re-armed.
    public var isPulled: Bool { isSentinelThere || isFlagPulled == true || isLatched }
}
