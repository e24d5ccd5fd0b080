import Foundation
import HabitStoreTesting
import Testing

@testable import FeatureFlags

/// A clock that stands still at 1,700,000,000, and else what is the default.
let testConfiguration = FlagConfiguration(clock: { 1_700_000_000 })

/// The flags of a JSON text; the clock stands still at 1,700,000,000.
func makeSnapshot(_ json: String) throws -> FlagSnapshot {
    try FlagSnapshot(json: Data(json.utf8), source: "test.json", configuration: testConfiguration)
}

/// A file with one flag `f` of the string variants `a`, `b`, `true` and `false`, default `b`, and the given targeting.
func makeSnapshot(targeting: String) throws -> FlagSnapshot {
    try makeSnapshot(
        """
        {"flags": {"f": {
          "state": "ENABLED",
          "variants": {"a": "A", "b": "B", "true": "yes", "false": "no"},
          "defaultVariant": "b",
          "targeting": \(targeting)
        }}}
        """
    )
}

/// What a rule evaluates to. Fails if the rule quarantines its flag.
func evaluate(
    _ rule: String,
    _ context: EvaluationContext = EvaluationContext(),
    flagKey: String = "f"
) throws -> FlagValue {
    try JsonLogicRule(json: Data(rule.utf8), configuration: testConfiguration)
        .evaluate(flagKey: flagKey, context: context)
}

/// The error that loading the bytes gives.
func loadingError(_ bytes: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) throws -> FlagError {
    try #require(
        throws: FlagError.self,
        sourceLocation: sourceLocation,
        performing: { _ = try FlagSnapshot(json: Data(bytes), source: "test.json") }
    )
}

extension SeededGenerator {
    /// A seed that is new in every run and is printed; `FLAGS_TEST_SEED` brings an old one back.
    static func seedForThisRun() -> UInt64 {
        let given = ProcessInfo.processInfo.environment["FLAGS_TEST_SEED"].flatMap { UInt64($0) }
        let seed = given ?? UInt64.random(in: 0...UInt64.max)
        print("seed: FLAGS_TEST_SEED=\(seed)")
        return seed
    }
}

/// The repository's root, from this file's place in it.
let repositoryRoot = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

/// A new empty directory that is removed when the body is done.
func withTemporaryDirectory(_ body: (URL) throws -> Void) throws {
    let directory = FileManager.default.temporaryDirectory
        .appendingPathComponent("FeatureFlagsTests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer {
        do { try FileManager.default.removeItem(at: directory) } catch { Issue.record(error) }
    }
    try body(directory)
}

/// The result of `work`, and the processor time that its thread took: a limit on it holds however many tests run next to this one.
func withThreadTime<R>(_ work: () throws -> R) rethrows -> (R, Duration) {
    let start = threadTime()
    let result = try work()
    return (result, threadTime() - start)
}

private func threadTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}
