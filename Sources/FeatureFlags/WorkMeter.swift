import Synchronization

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
