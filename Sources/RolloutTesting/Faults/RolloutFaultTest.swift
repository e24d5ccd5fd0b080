import HabitStoreTesting

/// Makes stores fail, hang and run out of space at random stages of a rollout, during reads and writes, and compares the outcomes that callers got
/// with the final contents of both stores.
///
/// ```swift
/// let report = try await RolloutFaultTest(seed: seed).run(against: RolloutUnderTest(from: SQLiteProvider(), to: MyProvider()))
/// ```
public struct RolloutFaultTest: Sendable {
    /// A summary of the test.
    public struct Report: Sendable, Equatable, CustomStringConvertible {
        /// The seed.
        public var seed: UInt64
        /// How many faults were injected, each for a separate user.
        public var faults = 0
        /// During how many of them the kill switch was pulled.
        public var kills = 0

        /// The summary in one line.
        public var description: String { "seed \(seed): \(faults) faults, the kill switch pulled during \(kills)" }
    }

    /// A user got a false outcome, or was not served after the fault had ended.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// The seed that reproduces it.
        public let seed: UInt64
        /// The stage, the store and the fault.
        public let fault: String
        /// The violations.
        public let reason: String

        /// The seed, the fault and the violations.
        public var description: String { "seed \(seed), \(fault):\n\(reason)" }
    }

    /// The seed that determines the faults.
    public let seed: UInt64
    /// The number of faults.
    public let faults: Int

    /// How many of them run at the same time: they mostly wait for what hangs.
    private static let width = 4

    /// Creates a test.
    public init(seed: UInt64, faults: Int = 60) {
        self.seed = seed
        self.faults = faults
    }

    /// The faults for the seed: a quarter of them with a kill.
    var cells: [FaultCell] {
        var random = SeededGenerator(seed: seed)
        return (0..<faults).map { _ in random.pick(random.chance(25) ? FaultCell.kills : FaultCell.table) }
    }

    /// Runs the test in temporary folders.
    ///
    /// - Throws: ``Failure`` with the seed for the first fault that was not handled correctly.
    public func run(against rollout: RolloutUnderTest) async throws -> Report {
        var report = Report(seed: seed)
        try await withThrowingTaskGroup(of: FaultCell.self) { group in
            for (number, cell) in cells.enumerated() {
                if number >= Self.width, let done = try await group.next() { report.count(done) }
                group.addTask {
                    do {
                        try await cell.verify(rollout)
                    } catch {
                        throw Failure(seed: seed, fault: "\(rollout) at \(cell)", reason: "\(error)")
                    }
                    return cell
                }
            }
            for try await done in group { report.count(done) }
        }
        return report
    }
}

extension RolloutFaultTest.Report {
    fileprivate mutating func count(_ cell: FaultCell) {
        faults += 1
        if cell.pullsKillSwitch { kills += 1 }
    }
}
