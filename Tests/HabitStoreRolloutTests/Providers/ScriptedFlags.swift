import FeatureFlags
import Foundation
import HabitStore
import Synchronization

@testable import HabitStoreRollout

/// A provider whose answers a test sets.
final class ScriptedFlags: RolloutFlagProvider {
    struct Failure: Error, CustomStringConvertible {
        let description = "the remote configuration\nis not there"
    }

    struct Script: Sendable {
        var flags: [String: FlagValue] = [:]
        var reason = Reason.static
        var version = 1
        /// The answers that replace flags, by key; the empty key replaces all.
        var faults: [String: @Sendable (Int) throws -> Resolution] = [:]
    }

    private let script = Mutex(Script())
    private let count = Mutex(0)
    private let listener = Mutex<(@Sendable () -> Void)?>(nil)

    /// How many flags were evaluated.
    var asked: Int { count.withLock { $0 } }

    init(_ stage: Stage?, of pair: EnginePair) {
        change { script in
            script.flags = [
                RolloutFlags.old: .string(pair.old.rawValue), RolloutFlags.new: .string(pair.new.rawValue),
                RolloutFlags.kill: .bool(false),
            ]
            script.flags[RolloutFlags.stage] = stage.map { .string($0.rawValue) }
        }
    }

    func change(_ body: (inout Script) -> Void) { script.withLock { body(&$0) } }

    func want(_ stage: Stage) { change { $0.flags[RolloutFlags.stage] = .string(stage.rawValue) } }

    /// Notifies the listener of a change.
    func tell() { listener.withLock { $0 }?() }

    var name: String { "scripted" }

    func watch(_ onChange: @escaping @Sendable () -> Void) { listener.withLock { $0 = onChange } }

    func resolve(_ key: String, as type: FlagValueType, context: EvaluationContext) throws -> Resolution {
        let number = count.withLock { count in
            count += 1
            return count
        }
        let script = script.withLock { $0 }
        if let fault = script.faults[key] ?? script.faults[""] { return try fault(number) }
        // Users whom the app declares testers get the testers' flags.
        let tested = context.attributes["isTester"] == .bool(true) ? script.flags["tester-\(key)"] : nil
        guard let value = tested ?? script.flags[key] else { return .missing(key) }
        return Resolution(
            value: value,
            variant: "v",
            reason: script.reason,
            flagMetadata: ["version": .int(Int64(script.version))]
        )
    }
}
