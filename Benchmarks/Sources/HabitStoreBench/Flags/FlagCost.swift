import CYardstick
import Foundation

/// The cost of an evaluation on one core.
struct FlagCost {
    /// The median over the rounds.
    let nanoseconds: Double
    /// The allocations in all evaluations of one round; nil if allocations are not counted.
    let allocations: UInt64?
    /// The number of evaluations in a round.
    let evaluations: Int

    /// Evaluates in rounds, each of which should take long compared with the clock's resolution.
    ///
    /// - Throws: A ``BenchError`` for a wrong answer, or for an allocation if none is allowed.
    init(_ path: FlagPath, rounds: Int, evaluations: Int) throws {
        _ = try Self.round(path, evaluations)
        var times: [Double] = []
        var allocations: UInt64 = 0
        for _ in 0..<rounds {
            let round = try Self.round(path, evaluations)
            times.append(round.nanoseconds / Double(evaluations))
            allocations = max(allocations, round.allocations)
        }
        guard !path.mustNotAllocate || allocations == 0 else {
            throw BenchError(
                "\(path.name): \(allocations) allocations in \(evaluations) evaluations; none is allowed"
            )
        }
        nanoseconds = times.sorted()[times.count / 2]
        self.allocations = cy_counts_allocations() != 0 ? allocations : nil
        self.evaluations = evaluations
    }

    /// Fails if allocations are not counted, so that a zero is meaningful.
    static func checkCounting() throws {
        guard cy_counts_allocations() != 0 else { return }
        final class Box {}
        var boxes: [Box] = []
        boxes.reserveCapacity(1000)
        let before = cy_thread_allocations()
        for _ in 0..<1000 { boxes.append(Box()) }
        let counted = cy_thread_allocations() - before
        guard counted == 1000, boxes.count == 1000 else {
            throw BenchError("counted \(counted) allocations for 1000 objects; the counter does not work")
        }
    }

    private static func round(
        _ path: FlagPath,
        _ evaluations: Int
    ) throws -> (nanoseconds: Double, allocations: UInt64) {
        let evaluate = path.evaluate
        var right = 0
        let allocations = cy_thread_allocations()
        let start = processorNanoseconds()
        for number in 0..<evaluations where try evaluate(number) { right += 1 }
        let end = processorNanoseconds()
        let allocated = cy_thread_allocations() - allocations
        guard right == evaluations else { throw BenchError("\(path.name): \(evaluations - right) answers are wrong") }
        return (end - start, allocated)
    }

    /// The processor time of this thread, which excludes other threads on the core.
    private static func processorNanoseconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
}
