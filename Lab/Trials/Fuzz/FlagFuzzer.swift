import ArgumentParser
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

/// Feeds damaged flag files and rules to `FeatureFlags` for a while, and fails on the first input that takes too much work. If an input crashes the
/// process, it is in the file of the current input. Work is counted instead of timed, so that the load on the machine does not matter.
struct FlagFuzzCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fuzz-flags",
        abstract: "Feed damaged flag files and rules to the module that reads them."
    )

    @Option(help: "How long to run.")
    var seconds = 10

    @Option(help: "The seed of the mutations; the same seed makes the same inputs.")
    var seed: UInt64?

    @Option(help: "The file of the current input, which remains if the process crashes.")
    var currentInput = NSTemporaryDirectory() + "flag-fuzz-input"

    @Option(
        help: "The maximum work for one input, in steps: bytes, values, operators and evaluation steps."
    )
    var limitSteps = 3_000_000

    mutating func run() throws {
        let seed = seed ?? UInt64.random(in: 0...UInt64.max)
        print("seed \(seed); the current input is in \(currentInput)")
        let record = try FlagInputRecord(path: currentInput)
        var fuzzer = FlagFuzzer(seed: seed, record: record)
        let monitor = HangMonitor(processorSeconds: 10, seconds: 600)
        let deadline = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < deadline {
            for _ in 0..<100 {
                monitor.begin(orPrint: "an input hangs; it is in the file of the current input")
                fuzzer.step()
                monitor.end()
            }
            if fuzzer.hardest.steps > limitSteps { break }
        }
        let peak = FlagFuzzer.peakMemoryMegabytes
        print(
            """
            \(fuzzer.inputs) inputs: \(fuzzer.loaded) accepted, \(fuzzer.refused) refused; \
            \(fuzzer.evaluations) evaluations, \(fuzzer.corpusCount) kinds of behavior
            the hardest input took \(fuzzer.hardest.steps) steps, the slowest \(Int(fuzzer.longestMilliseconds)) ms; \
            peak memory \(peak) MB
            """
        )
        if fuzzer.hardest.steps > limitSteps {
            try Data(fuzzer.hardest.input).write(to: URL(fileURLWithPath: currentInput + "-hard"))
            print("too much work; the input is in \(currentInput)-hard")
            throw ExitCode.failure
        }
        if peak > Self.memoryMegabytes {
            print("too much memory")
            throw ExitCode.failure
        }
    }

    private static let memoryMegabytes = 1024
}

/// An input and how it is read.
struct FlagFuzzInput {
    enum Kind: CaseIterable {
        case json
        case yaml
        case rule
    }

    var kind: Kind
    var bytes: [UInt8]
}

/// The current input in a memory-mapped file: after a crash, the file contains the input that caused it. The first eight bytes are its length, little
/// endian.
final class FlagInputRecord {
    private let memory: UnsafeMutableRawBufferPointer

    private static let sizeBytes = 1 << 20

    init(path: String) throws {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0, ftruncate(descriptor, off_t(Self.sizeBytes)) == 0,
            let address = mmap(nil, Self.sizeBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
            address != MAP_FAILED
        else {
            throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: path])
        }
        close(descriptor)
        memory = UnsafeMutableRawBufferPointer(start: address, count: Self.sizeBytes)
    }

    deinit { munmap(memory.baseAddress, memory.count) }

    func set(_ input: [UInt8]) {
        let length = min(input.count, memory.count - 8)
        memory.storeBytes(of: UInt64(length).littleEndian, as: UInt64.self)
        UnsafeMutableRawBufferPointer(rebasing: memory[8...]).copyBytes(from: input.prefix(length))
    }
}
