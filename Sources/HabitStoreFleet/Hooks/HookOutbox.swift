import Foundation
import HabitStore

/// Delivers ledger lines to hooks, from the line after the last one that each has received.
struct HookOutbox: Sendable {
    let fleet: FleetName
    let ledger: FleetLedger
    let places: HookPlaces

    /// A hook's pending lines, the earliest first, with their numbers and hashes.
    static func owed(
        _ hook: FleetPlan.Hook,
        _ place: HookPlaces.Place?,
        _ contents: FleetLedger.Contents
    ) -> [(entry: FleetLedger.Entry, head: String)] {
        zip(contents.entries, contents.heads).dropFirst(place?.told.map { count(of: $0, contents) } ?? 0)
            .filter { hook.wants($0.0.event) }
            .map { (entry: $0.0, head: $0.1) }
    }

    /// The number of lines up to a hook's last one, given its number and hash; 0 if the ledger does not contain it, unless a user was forgotten
    /// since, which changes hashes.
    private static func count(of told: String, _ contents: FleetLedger.Contents) -> Int {
        if let place = contents.heads.firstIndex(of: told) { return place + 1 }
        guard let number = told.split(separator: " ").first.flatMap({ Int($0) }), number >= 1 else { return 0 }
        let isForgotten = contents.entries.dropFirst(number).contains {
            if case .forgotten = $0.event { true } else { false }
        }
        return isForgotten ? number : 0
    }

    /// Delivers a hook's pending lines in order, until a delivery fails.
    ///
    /// - Parameters:
    ///   - deadline: when to begin no further line; nil for never.
    ///   - mayNote: whether progress may still be recorded.
    /// - Returns: how many lines were delivered and why it stopped; no reason if nothing is pending.
    func send(
        to hook: FleetPlan.Hook,
        until deadline: ContinuousClock.Instant? = nil,
        mayNote: () -> Bool = { true }
    ) -> (told: Int, failure: HookFailure?, problem: (any Error)?) {
        var told = 0
        do {
            let owed = Self.owed(hook, places[hook.name], try ledger.read())
            for (entry, head) in owed {
                if let deadline, told > 0, ContinuousClock.now >= deadline {
                    return (told, HookFailure("is slow, and got \(told) of \(owed.count) lines"), nil)
                }
                let message = try HookMessage(entry, fleet, to: hook)
                try HookProgram.deliver(message, to: hook)
                told += 1
                guard mayNote() else { return (told, nil, nil) }
                try places.update(hook.name) { $0 = .init(told: head, toldAt: Date()) }
            }
            if owed.isEmpty, places[hook.name]?.failure != nil {
                try places.update(hook.name) { ($0.failure, $0.failingSince) = (nil, nil) }
            }
            return (told, nil, nil)
        } catch let failure as HookFailure {
            do {
                try note(hook, failure, mayNote)
                return (told, failure, nil)
            } catch {
                return (told, failure, error)
            }
        } catch {
            return (told, HookFailure("cannot be notified: \(error)"), error)
        }
    }

    private func note(_ hook: FleetPlan.Hook, _ failure: HookFailure, _ mayNote: () -> Bool) throws {
        guard mayNote() else { return }
        try places.update(hook.name) { place in
            place.failure = failure.description
            place.failingSince = place.failingSince ?? Date()
        }
    }
}
