import Foundation
import HabitStore

/// What hooks are owed: the lines of the ledger after the one that each was told last.
struct HookOutbox: Sendable {
    let fleet: FleetName
    let ledger: FleetLedger
    let places: HookPlaces

    /// The lines that a hook is owed, the earliest first, with their numbers and hashes.
    static func owed(
        _ hook: FleetPlan.Hook,
        _ place: HookPlaces.Place?,
        _ contents: FleetLedger.Contents
    ) -> [(entry: FleetLedger.Entry, head: String)] {
        zip(contents.entries, contents.heads).dropFirst(place?.told.map { count(of: $0, contents) } ?? 0)
            .filter { hook.wants($0.0.event) }
            .map { (entry: $0.0, head: $0.1) }
    }

    /// How many lines a hook was told whose last one had a number and a hash. A place that the ledger has not come to, or has no more, is
    /// none; unless a user was forgotten since, for whom lines were given other hashes.
    private static func count(of told: String, _ contents: FleetLedger.Contents) -> Int {
        if let place = contents.heads.firstIndex(of: told) { return place + 1 }
        guard let number = told.split(separator: " ").first.flatMap({ Int($0) }), number >= 1 else { return 0 }
        let isForgotten = contents.entries.dropFirst(number).contains {
            if case .forgotten = $0.event { true } else { false }
        }
        return isForgotten ? number : 0
    }

    /// Tells a hook what it is owed, line after line, until one cannot be told.
    ///
    /// - Parameters:
    ///   - deadline: when no further line is begun with; nil for never.
    ///   - mayNote: whether what was told may still be written down.
    /// - Returns: why it stopped; nil where nothing is owed any more.
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
                    return (told, HookFailure("is slow, and was told \(told) of \(owed.count) lines"), nil)
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
            return (told, HookFailure("cannot be told: \(error)"), error)
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
