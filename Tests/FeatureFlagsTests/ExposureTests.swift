import Foundation
import Hashing
import Synchronization
import Testing

@testable import FeatureFlags

/// The provider's reports of its evaluations, and the evaluation of all flags in one call.
@Suite struct ExposureTests {
    private static let file = """
        {"metadata": {"version": "7"}, "flags": {
          "stage": {"state": "ENABLED", "variants": {"off": "off", "live": "live"}, "defaultVariant": "off",
            "targeting": {"if": [{"in": [{"var": "targetingKey"}, ["ada"]]}, "live"]}},
          "bad": {"state": "ENABLED", "variants": {"a": 1}, "targeting": {"nope": []}},
          "gone": {"state": "DISABLED", "variants": {"a": 1}, "defaultVariant": "a"}}}
        """

    private final class Exposures: Sendable {
        private let list = Mutex<[FlagExposure]>([])

        func add(_ exposure: FlagExposure) { list.withLock { $0.append(exposure) } }

        /// The reports since the last call.
        func take() -> [FlagExposure] {
            list.withLock { list in
                defer { list = [] }
                return list
            }
        }
    }

    private func withProvider(
        _ hooks: [FlagExposureHook],
        clock: @escaping @Sendable () -> Int64 = { 1_700_000_000 },
        _ body: (FlagProvider) throws -> Void
    ) throws {
        try withTemporaryDirectory { directory in
            let file = directory.appendingPathComponent("flags.json")
            try write(Self.file, to: file)
            try body(
                FlagProvider(
                    sources: [FlagSource(path: file.path)],
                    killSwitch: KillSwitchTriggers(flagKey: "stage"),
                    configuration: FlagConfiguration(clock: clock),
                    logger: silentLogger,
                    hooks: hooks
                )
            )
        }
    }

    @Test func eachEvaluationIsToldWithTheKeyHashed() throws {
        let (first, second) = (Exposures(), Exposures())
        let key = Data((0..<32).map { UInt8($0) })
        let hooks = [
            FlagExposureHook(hashKey: key) { first.add($0) }, FlagExposureHook(hashKey: Data([1])) { second.add($0) },
        ]
        try withProvider(hooks) { provider in
            let ada = EvaluationContext(targetingKey: "ada", attributes: ["email": "ada@x.org"])
            #expect(provider.string("stage", default: "", context: ada).value == "live")
            let told = first.take()
            // HMAC-SHA256, computed with Python's hmac module.
            let subject = "9556fd532c3b9e35076ea008688401f9cb99ba974b3efedbb0c450109b523c97"
            #expect(told.count == 1)
            #expect(told.first?.flagKey == "stage")
            #expect(told.first?.variant == "live")
            #expect(told.first?.reason == .targetingMatch)
            #expect(told.first?.errorCode == nil)
            #expect(told.first?.version == "7")
            #expect(told.first?.subject == subject)
            #expect(told.first?.subject?.utf8.count == 64)
            #expect(second.take().first?.subject != told.first?.subject)
            #expect(!"\(told)".contains("ada"))

            // A value of another type is an error for the caller, and is reported as one.
            _ = provider.int("stage", default: 0, context: ada)
            #expect(first.take().map(\.errorCode) == [.typeMismatch])
            _ = provider.resolve("stage", context: EvaluationContext(targetingKey: ""))
            #expect(first.take().map(\.subject) == [nil])
            _ = provider.resolve("nobody")
            #expect(first.take().map(\.errorCode) == [.flagNotFound])
            // Neither the kill switch nor a snapshot counts as a program's evaluation.
            _ = provider.killSignal(context: ada)
            _ = provider.snapshot.resolve("stage", context: ada)
            #expect(first.take().isEmpty)
        }
    }

    @Test func allFlagsAreEvaluatedInOneCallAsOfOneTime() throws {
        let (told, ticks) = (Exposures(), Counter())
        let hook = FlagExposureHook(hashKey: Data([7])) { told.add($0) }
        try withProvider(
            [hook],
            clock: {
                ticks.add(); return 1_700_000_000
            }
        ) { provider in
            let context = EvaluationContext(targetingKey: "ada")
            let all = provider.resolveAll(context: context)
            #expect(ticks.value == 1)
            #expect(all.keys.sorted() == ["bad", "gone", "stage"])
            #expect(all["stage"]?.variant == "live")
            #expect(all["bad"]?.errorCode == .parseError)
            #expect(all["gone"]?.reason == .disabled)
            for (key, resolution) in all { #expect(provider.snapshot.resolve(key, context: context) == resolution) }
            #expect(told.take().map(\.flagKey) == ["bad", "gone", "stage"])
        }
    }

    @Test func aTypeIsCheckedWhereAFlagIsAskedForByType() throws {
        let snapshot = try makeSnapshot(Self.file)
        for type in FlagValueType.allCases {
            let resolution = snapshot.resolve("stage", as: type, context: EvaluationContext())
            #expect(resolution.errorCode == (type == .string ? nil : .typeMismatch), "\(type)")
            #expect((resolution.value == nil) == (type != .string))
        }
    }
}
