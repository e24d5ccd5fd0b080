import HabitStoreTesting

/// Lets stores fail, hang and fill their disks at random stages of a rollout while reads and writes go on, and holds what
/// callers were told against what both stores have in the end.
///
/// ```swift
/// let report = try await RolloutFaultTest(seed: seed).run(against: RolloutUnderTest(from: SQLiteProvider(), to: MyProvider()))
/// ```
public struct RolloutFaultTest: Sendable {
    /// What was done.
    public struct Report: Sendable, Equatable, CustomStringConvertible {
        /// The seed.
        public var seed: UInt64
        /// How many faults there were, each with a user of its own.
        public var faults = 0
        /// During how many of them the kill switch was pulled.
        public var kills = 0

        /// One line.
        public var description: String { "seed \(seed): \(faults) faults, the kill switch pulled during \(kills)" }
    }

    /// A user was told something that was not so, or was not served when the fault had gone.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// The seed that reproduces it.
        public let seed: UInt64
        /// The stage, the store and the fault.
        public let fault: String
        /// What was not as it should be.
        public let reason: String

        /// All of it.
        public var description: String { "seed \(seed), \(fault):\n\(reason)" }
    }

    /// The seed from which the faults follow.
    public let seed: UInt64
    /// How many faults there are.
    public let faults: Int

    /// How many of them are under way at the same time: they mostly wait for what hangs.
    private static let width = 4

    /// Plans a test.
    public init(seed: UInt64, faults: Int = 60) {
        self.seed = seed
        self.faults = faults
    }

    /// The faults that follow from the seed: one of four comes with a kill.
    var cells: [FaultCell] {
        var random = SeededGenerator(seed: seed)
        return (0..<faults).map { _ in random.pick(random.chance(25) ? FaultCell.kills : FaultCell.table) }
    }

    /// Runs the test, in folders of its own that are removed afterwards.
    ///
    /// - Throws: ``Failure`` with the seed for the first fault that was not survived.
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
