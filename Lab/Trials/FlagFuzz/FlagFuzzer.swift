import FeatureFlags
import Foundation
import HabitStoreTesting

/// A mutation fuzzer that keeps the inputs that showed new behavior.
struct FlagFuzzer {
    private(set) var inputs = 0
    private(set) var loaded = 0
    private(set) var refused = 0
    private(set) var evaluations = 0
    /// The input that took the most work, in steps of ``WorkMeter``.
    private(set) var hardest: (steps: Int, input: [UInt8]) = (0, [])
    /// The longest processor time of an input, in milliseconds; higher on a busy machine.
    private(set) var longestMilliseconds = 0.0

    private var generator: SeededGenerator
    private var corpus = Dictionary(grouping: FlagFuzzCorpus.inputs, by: \.kind)
    private var corpusSize = FlagFuzzCorpus.inputs.count
    private var seenBehaviors: Set<Int> = []
    private let record: FlagInputRecord

    private static let corpusLimit = 5000
    private static let evaluatedFlags = 8

    private static let configurations = FractionalGeneration.allCases.map {
        FlagConfiguration(fractional: $0, killFlags: ["kill"], clock: { 1_700_000_000 })
    }

    private static let contexts: [EvaluationContext] = [
        EvaluationContext(),
        EvaluationContext(
            targetingKey: "ada",
            attributes: [
                "x": "y", "email": "ada@example.org", "v": "1.2.3", "app": ["v": 4], "a": ["b": ["c": nil]],
                "list": [1, 2.5, "3", nil, true, [4, ["5"]], ["k": "v"]], "on": "on", "n": .double(.nan),
            ]
        ),
    ]

    init(seed: UInt64, record: FlagInputRecord) {
        generator = SeededGenerator(seed: seed)
        self.record = record
    }

    var corpusCount: Int { seenBehaviors.count }

    /// Makes one input and reads it.
    mutating func step() {
        guard let base = randomInput(), let other = randomInput() else { return }
        let input = FlagInputMutator.mutated(base, with: other, &generator)
        record.set(input.bytes)
        let start = ProcessorTime.milliseconds()
        let meter = WorkMeter()
        let behavior = WorkMeter.$current.withValue(meter) { run(input, meter) }
        longestMilliseconds = max(longestMilliseconds, ProcessorTime.milliseconds() - start)
        inputs += 1
        if meter.total > hardest.steps { hardest = (meter.total, input.bytes) }
        if corpusSize < Self.corpusLimit, seenBehaviors.insert(behavior).inserted {
            corpus[input.kind, default: []].append(input)
            corpusSize += 1
        }
    }

    /// YAML takes many times longer to read than JSON, so only one input in sixteen is YAML.
    private mutating func randomInput() -> FlagFuzzInput? {
        let number = Int.random(in: 0..<16, using: &generator)
        let kind: FlagFuzzInput.Kind = number == 0 ? .yaml : number < 8 ? .json : .rule
        return corpus[kind]?.randomElement(using: &generator)
    }

    /// A hash of the input's behavior.
    private mutating func run(_ input: FlagFuzzInput, _ meter: WorkMeter) -> Int {
        let configuration = Self.configurations[inputs % Self.configurations.count]
        var hasher = Hasher()
        switch input.kind {
        case .rule: runRule(input.bytes, configuration, meter, &hasher)
        case .json: runFile(input.bytes, .json, configuration, &hasher)
        case .yaml: runFile(input.bytes, .yaml, configuration, &hasher)
        }
        return hasher.finalize()
    }

    private mutating func runRule(
        _ bytes: [UInt8],
        _ configuration: FlagConfiguration,
        _ meter: WorkMeter,
        _ hasher: inout Hasher
    ) {
        do throws(FlagError) {
            let rule = try JsonLogicRule(json: Data(bytes), configuration: configuration)
            loaded += 1
            for context in Self.contexts {
                evaluations += 2
                meter.add(rule.work(flagKey: "f", context: context))
                note(try rule.evaluate(flagKey: "f", context: context), &hasher)
                note(try rule.evaluate(.object(context.attributes)), &hasher)
            }
        } catch {
            refused += 1
            note(error, &hasher)
        }
    }

    private mutating func runFile(
        _ bytes: [UInt8],
        _ format: FlagFormat,
        _ configuration: FlagConfiguration,
        _ hasher: inout Hasher
    ) {
        do throws(FlagError) {
            let data = Data(bytes)
            let snapshot: FlagSnapshot =
                switch format {
                case .json: try FlagSnapshot(json: data, source: "fuzz", configuration: configuration)
                case .yaml: try FlagSnapshot(yaml: data, source: "fuzz", configuration: configuration)
                }
            loaded += 1
            for key in snapshot.keys.prefix(Self.evaluatedFlags) {
                if let error = snapshot.quarantined[key] { note(error, &hasher) }
                for context in Self.contexts {
                    evaluations += 2
                    let resolution = snapshot.resolve(key, context: context)
                    let explained = snapshot.explain(key, context: context)
                    hasher.combine(resolution.reason)
                    hasher.combine(explained.steps.map(\.operator))
                    require(explained.resolution == resolution, "an explanation differs from the evaluation")
                    require((resolution.value == nil) == (resolution.variant == nil), "a value without a variant")
                    require((resolution.errorCode != nil) == (resolution.reason == .error), "an error without a code")
                }
            }
        } catch {
            refused += 1
            note(error, &hasher)
            var damaged = DamagedFile(bytes: bytes, name: "fuzz", configuration: configuration)
            hasher.combine(damaged?.killFlagKeys(format))
        }
    }

    private func note(_ error: FlagError, _ hasher: inout Hasher) {
        // Without numbers and names, which would make every input a new behavior.
        hasher.combine(error.message.prefix { $0 != "\"" && !$0.isNumber })
    }

    private func note(_ value: FlagValue, _ hasher: inout Hasher) {
        switch value {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .int: hasher.combine(1)
        case .double(let value): hasher.combine(value.isNaN ? 2 : 3)
        case .string(let text): hasher.combine(min(text.utf8.count, 4))
        case .list(let elements): hasher.combine(10 + min(elements.count, 4))
        case .object: hasher.combine(20)
        }
    }

    /// Ends the process like a crash, so that the input stays in its file.
    private func require(_ condition: Bool, _ message: String) {
        guard !condition else { return }
        print("\(message); the input is in the file of the current input")
        exit(3)
    }

    /// The process's peak memory.
    static var peakMemoryMegabytes: Int {
        var usage = rusage()
        #if canImport(Darwin)
        getrusage(RUSAGE_SELF, &usage)
        return usage.ru_maxrss >> 20
        #else
        getrusage(Int32(truncatingIfNeeded: RUSAGE_SELF.rawValue), &usage)
        return usage.ru_maxrss >> 10
        #endif
    }
}
