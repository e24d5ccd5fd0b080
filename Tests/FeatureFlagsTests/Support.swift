import Foundation
import HabitStoreTesting
import Testing

@testable import FeatureFlags

/// The default configuration with a clock fixed at 1,700,000,000.
let testConfiguration = FlagConfiguration(clock: { 1_700_000_000 })

/// Loads a JSON text; the clock is fixed at 1,700,000,000.
func makeSnapshot(_ json: String) throws -> FlagSnapshot {
    try FlagSnapshot(json: Data(json.utf8), source: "test.json", configuration: testConfiguration)
}

/// Loads a file with one flag `f` with the string variants `a`, `b`, `true` and `false`, the default `b`, and the given targeting.
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

/// Evaluates a rule. Fails if the rule quarantines its flag.
func evaluate(
    _ rule: String,
    _ context: EvaluationContext = EvaluationContext(),
    flagKey: String = "f"
) throws -> FlagValue {
    try JsonLogicRule(json: Data(rule.utf8), configuration: testConfiguration)
        .evaluate(flagKey: flagKey, context: context)
}

/// The error when loading the bytes.
func loadingError(_ bytes: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) throws -> FlagError {
    try #require(
        throws: FlagError.self,
        sourceLocation: sourceLocation,
        performing: { _ = try FlagSnapshot(json: Data(bytes), source: "test.json") }
    )
}

extension SeededGenerator {
    /// A new seed for every run, which is printed; `FLAGS_TEST_SEED` sets an old one.
    static func seedForThisRun() -> UInt64 {
        let given = ProcessInfo.processInfo.environment["FLAGS_TEST_SEED"].flatMap { UInt64($0) }
        let seed = given ?? UInt64.random(in: 0...UInt64.max)
        print("seed: FLAGS_TEST_SEED=\(seed)")
        return seed
    }
}

/// The repository's root, relative to this file.
let repositoryRoot = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

/// Calls `body` with a new empty directory, which is removed afterwards.
func withTemporaryDirectory(_ body: (URL) throws -> Void) throws {
    let directory = FileManager.default.temporaryDirectory
        .appendingPathComponent("FeatureFlagsTests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer {
        do { try FileManager.default.removeItem(at: directory) } catch { Issue.record(error) }
    }
    try body(directory)
}

/// The result of `work`, and the processor time of its thread: a limit on it does not depend on other tests running at the same time.
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
