import Foundation

/// The delivery status of a hook.
public struct HookStatus: Sendable, Hashable {
    /// The hook's name.
    public let name: String
    /// Whether waves wait for its confirmation.
    public let confirmsWaves: Bool
    /// The number of the last ledger line that was delivered; nil for none.
    public let told: Int?
    /// When that line was delivered.
    public let toldAt: Date?
    /// How many lines are pending.
    public let owed: Int
    /// Why the last try failed, in the words after the hook's name; nil after a success.
    public let failure: String?
    /// Since when tries have failed.
    public let failingSince: Date?

    init(_ hook: FleetPlan.Hook, _ place: HookPlaces.Place?, _ contents: FleetLedger.Contents) {
        (name, confirmsWaves) = (hook.name, hook.confirmsWaves)
        told = place?.told.flatMap { $0.split(separator: " ").first }.flatMap { Int($0) }
        (toldAt, failure, failingSince) = (place?.toldAt, place?.failure, place?.failingSince)
        owed = HookOutbox.owed(hook, place, contents).count
    }
}
