import FeatureFlags
import Foundation
import HabitStore
import HabitTracker
import RolloutTesting
import StandardEngines
import Synchronization
import Testing

@testable import HabitStoreRollout

/// A provider with OpenFeature's interface as the source of the rollout's flags.
struct OpenFeatureFlagsTests {
    /// Forwards calls to a flag file's provider, as an app's wrapper does, and can be made to throw.
    private final class Wrapped: OpenFeatureEvaluating {
        private let inner: Mutex<OpenFeatureProvider>

        init(_ json: String) throws { inner = Mutex(try Self.provider(json)) }

        func serve(_ json: String) throws {
            let provider = try Self.provider(json)
            inner.withLock { $0 = provider }
        }

        private static func provider(_ json: String) throws -> OpenFeatureProvider {
            OpenFeatureProvider(try FlagSnapshot(json: Data(json.utf8), source: "a service"))
        }

        private var provider: OpenFeatureProvider { inner.withLock { $0 } }

        func getBooleanEvaluation(key: String, defaultValue: Bool, context: EvaluationContext?) throws
            -> OpenFeatureEvaluation<Bool>
        { provider.getBooleanEvaluation(key: key, defaultValue: defaultValue, context: context) }

        func getStringEvaluation(key: String, defaultValue: String, context: EvaluationContext?) throws
            -> OpenFeatureEvaluation<String>
        { provider.getStringEvaluation(key: key, defaultValue: defaultValue, context: context) }

        func getIntegerEvaluation(key: String, defaultValue: Int64, context: EvaluationContext?) throws
            -> OpenFeatureEvaluation<Int64>
        { provider.getIntegerEvaluation(key: key, defaultValue: defaultValue, context: context) }

        func getDoubleEvaluation(key: String, defaultValue: Double, context: EvaluationContext?) throws
            -> OpenFeatureEvaluation<Double>
        { provider.getDoubleEvaluation(key: key, defaultValue: defaultValue, context: context) }

        func getObjectEvaluation(key: String, defaultValue: FlagValue, context: EvaluationContext?) throws
            -> OpenFeatureEvaluation<FlagValue>
        { provider.getObjectEvaluation(key: key, defaultValue: defaultValue, context: context) }
    }

    private func flags(_ stage: String, targeting: String = "{}", kill: String = "off") -> String {
        """
        {"flags": {
          "habit-store-stage": {
            "state": "ENABLED", "variants": {"off": "off", "dualwrite": "dualwrite"}, "defaultVariant": "\(stage)",
            "targeting": \(targeting)
          },
          "habit-store-kill": {"state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "\(kill)"}
        }}
        """
    }

    @Test func aUserGoesWhereItLeadsAndIsKilledByIt() throws {
        let user = try StagedUser()
        let client = try Wrapped(flags("off", targeting: #"{"if": [true, "dualwrite", null]}"#))
        let store = try user.stores(flags: .openFeature(client, name: "a service")).store(for: "alice")
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        #expect(try store.advance()?.isOpen == true)
        #expect(try store.stage() == .dualwrite && store.notes.isEmpty)
        // Rules, either of which may contain a percentage.
        try client.serve(flags("dualwrite", targeting: #"{"if": [true, "off", null]}"#))
        store.reloadFlags()
        #expect(try store.stage() == .dualwrite && store.wantedStage == .off)
        try client.serve(flags("off"))
        store.reloadFlags()
        #expect(try store.stage() == .off)
        try client.serve(flags("off", kill: "on"))
        store.reloadFlags()
        #expect(try store.applyKill())
        // A flag with an unreadable value moves no user.
        try client.serve(
            #"{"flags": {"habit-store-stage": {"state": "ENABLED", "variants": {"v": 5}, "defaultVariant": "v"}}}"#
        )
        store.reloadFlags()
        _ = try store.stage()
        #expect(
            store.notes.contains {
                $0.contains("the flag provider a service changes nothing") && $0.contains("TYPE_MISMATCH")
            }
        )
    }

    /// Any flag evaluator becomes a provider by declaring the conformance.
    @Test func anEvaluatorIsAProviderByItsNameAlone() throws {
        let user = try StagedUser()
        let evaluator = Evaluator(snapshot: try FlagSnapshot(json: Data(flags("dualwrite").utf8), source: "a service"))
        let store = try user.stores(flags: .provider(evaluator)).store(for: "alice")
        defer { store.close() }
        _ = try store.stage()
        #expect(store.wantedStage == .dualwrite)
    }

    private struct Evaluator: FlagEvaluator, RolloutFlagProvider {
        let snapshot: FlagSnapshot

        func resolve(_ key: String, context: EvaluationContext) -> Resolution {
            snapshot.resolve(key, context: context)
        }
    }
}
