import Foundation
import HabitStoreRollout

/// The state of a root's kill switch, from its files alone: it needs neither an index nor a store.
public struct FleetKillSwitch: Sendable, Hashable {
    /// Whether the sentinel file exists, which takes all users back.
    public let isSentinelThere: Bool
    /// Whether the kill flag is true for all users; nil without a flag file.
    public let isFlagPulled: Bool?
    /// Whether the root's latch records that all users were killed, until it is re-armed.
    public let isLatched: Bool
    /// When it was first pulled, by these files; nil if none says so.
    public let since: Date?
    /// The trigger that the latch records.
    public let trigger: String?
    /// Why the flags in effect differ from the flag file.
    public let notes: [String]

    init(_ switches: RootSwitches) {
        isSentinelThere = switches.sentinel != nil
        isFlagPulled = switches.isFlagPulled
        isLatched = switches.latch != nil
        since = [switches.sentinel?.since, switches.latch?.since].compactMap { $0 }.min()
        trigger = switches.latch.flatMap { $0.text.isEmpty ? nil : $0.text }
        notes = switches.notes
    }

    /// Whether it is pulled, or was pulled and not re-armed since.
    public var isPulled: Bool { isSentinelThere || isFlagPulled == true || isLatched }
}
