import Foundation
import Synchronization

/// How flag files are read and evaluated.
public struct FlagConfiguration: Sendable {
    /// The algorithm of `fractional`. A change of it moves users between variants.
    public var fractional: FractionalGeneration
    /// The flags whose value `true` switches something off, such as a kill switch, by key.
    ///
    /// Such a flag is honoured also from a file that cannot be read as a whole: where its own definition can be read in
    /// full, has no error, only boolean variants, and gives `true`. Where it gives anything else, the flag is what it was
    /// before: a damaged file can switch off, and can never end that, nor can a file that is gone. For the same reason
    /// the last good definition stays in force where the newest one, in a file that is whole, cannot be understood, and
    /// an earlier file's `true` where a later file defines the flag wrongly.
    public var killFlags: Set<String>
    /// Gives `$flagd.timestamp`, in seconds since 1970.
    public var clock: @Sendable () -> Int64

    /// The system's time in seconds since 1970.
    public static let systemClock: @Sendable () -> Int64 = { Int64(time(nil)) }

    /// Makes a configuration; what is left out is as flagd has it.
    public init(
        fractional: FractionalGeneration = .v2,
        killFlags: Set<String> = [],
        clock: @escaping @Sendable () -> Int64 = Self.systemClock
    ) {
        self.fractional = fractional
        self.killFlags = killFlags
        self.clock = clock
    }
}

/// How a flag file is written. Both say the same.
public enum FlagFormat: String, Sendable, CaseIterable {
    /// JSON (RFC 8259).
    case json
    /// YAML 1.2.
    case yaml

    /// The format of a path by its extension: YAML for `.yaml` and `.yml`, and JSON for all others.
    public init(path: String) {
        let name = path.split(separator: "/").last ?? ""
        let suffix = name.split(separator: ".").last?.lowercased() ?? ""
        self = suffix == "yaml" || suffix == "yml" ? .yaml : .json
    }
}

/// The algorithm of `fractional`. Each generation puts every user into another bucket, so changing it moves users between variants: it is chosen
/// by name, and never changes automatically.
public enum FractionalGeneration: String, Sendable, CaseIterable {
    /// flagd before core 0.15.0: `abs(int32(hash)) / (2^31 - 1) × 100`, its whole part against cumulative percentages.
    case v1
    /// flagd core 0.15.0 and later, and the default here: `(hash × total weight) >> 32` over the text's UTF-8 bytes.
    case v2
    /// flagd's decision of 2025-12: as v2, over the value's deterministic CBOR encoding (RFC 8949, 4.2.1), so that
    /// numbers and booleans can be bucketed by; without a bucketing value it is the array of flag key and targeting key.
    case v3
}

/// The stated limits of flag files and of evaluations.
public enum FlagLimits {
    /// The largest file that is read, in bytes: 16 MiB.
    public static let fileSizeBytes = 16 << 20
    /// The largest file that is read as YAML, in bytes: 1 MiB. YAML is slower to read than JSON.
    public static let yamlSizeBytes = 1 << 20
    /// How many aliases (`*name`) a YAML file may have. With more, a small file could stand for an endless one.
    public static let yamlAliases = 16
    /// How many values the aliases and merge keys of a YAML file may add to those that stand in it. A file with more is
    /// refused as a whole.
    public static let yamlRepeatedValues = 10_000
    /// How deep rules may stand in rules. A deeper rule quarantines its flag.
    public static let ruleDepth = 64
    /// How many operators and computed lists a flag's rule may have, evaluators included. A larger rule quarantines its
    /// flag.
    public static let ruleSize = 10_000
    /// How many values the `$evaluators` of a file may have, each evaluator counted again at every `$ref` to it. The flag
    /// whose reference exceeds it is quarantined.
    public static let sharedValues = 2_000_000
    /// How much work an evaluation may be, in steps: about one for each operator that is evaluated, each element of a
    /// list that is gone through, and each 64 bytes of a text that are read. A longer evaluation is an error.
    public static let evaluationWork = 100_000
    /// How deep arrays and objects may stand in each other. A deeper file is refused as a whole: four levels lie
    /// around a rule, each operator takes two, and the rest is room for object variants.
    public static let jsonDepth = 256
    /// How many values a file may have. A file with more is refused as a whole.
    public static let jsonValues = 1_000_000
    /// The longest number that is read, in bytes. A longer one quarantines its flag.
    public static let numberLengthBytes = 1024
    /// How many warnings are kept for one file.
    public static let warnings = 200
    /// How many definitions of a kill flag are kept that were read out of damaged files, one after the other.
    public static let salvagedDefinitions = 16
    /// How many steps an explanation of an evaluation has at most.
    public static let traceSteps = 1_000
    /// How many symbolic links a watched path may lead through.
    public static let linkDepth = 40
}

/// Counts what reading and evaluating flags is made of: bytes that are searched, values that are made, operators that are
/// compiled, and the steps of evaluations that are explained. The count is the same on every machine, however busy.
///
/// It is for tests and for the fuzzer; without one there is nothing to count in.
package final class WorkMeter: Sendable {
    /// Where work of the current task is counted.
    @TaskLocal package static var current: WorkMeter?

    private let count = Atomic<Int>(0)

    package init() {}

    /// The count so far.
    package var total: Int { count.load(ordering: .relaxed) }

    /// Counts more.
    package func add(_ work: Int) { count.add(work, ordering: .relaxed) }
}
