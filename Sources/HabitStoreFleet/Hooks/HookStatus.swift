import Foundation

/// How far a hook was told.
public struct HookStatus: Sendable, Hashable {
    /// What people call it.
    public let name: String
    /// Whether waves wait for it.
    public let confirmsWaves: Bool
    /// The number of the last line of the ledger that it was told; nil for none.
    public let told: Int?
    /// When that was.
    public let toldAt: Date?
    /// How many lines it is owed.
    public let owed: Int
    /// Why the last try failed, in the words after its name; nil where it did not.
    public let failure: String?
    /// Since when tries fail.
    public let failingSince: Date?

    init(_ hook: FleetPlan.Hook, _ place: HookPlaces.Place?, _ contents: FleetLedger.Contents) {
        (name, confirmsWaves) = (hook.name, hook.confirmsWaves)
        told = place?.told.flatMap { $0.split(separator: " ").first }.flatMap { Int($0) }
        (toldAt, failure, failingSince) = (place?.toldAt, place?.failure, place?.failingSince)
        owed = HookOutbox.owed(hook, place, contents).count
    }
}
