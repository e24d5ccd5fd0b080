import HabitStoreTesting
import Synchronization

/// What was not as it should be, gathered on whatever thread it was seen.
package final class Complaints: Sendable {
    private let all = Mutex<[String]>([])

    /// Without any.
    package init() {}

    /// Adds one.
    package func add(_ complaint: String) { all.withLock { $0.append(complaint) } }

    /// Adds one unless the claim holds.
    package func expect(_ holds: Bool, _ claim: @autoclosure () -> String) {
        if !holds { add("expected that \(claim())") }
    }

    /// - Throws: ``HabitStoreTesting/ContractViolation`` with all of them, unless there are none.
    package func require() throws {
        let all = all.withLock { $0 }
        guard all.isEmpty else { throw ContractViolation(all.joined(separator: "\n")) }
    }
}
