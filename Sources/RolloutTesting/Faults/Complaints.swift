import HabitStoreTesting
import Synchronization

/// Collects violations from any thread.
package final class Complaints: Sendable {
    private let all = Mutex<[String]>([])

    /// Creates an empty collection.
    package init() {}

    /// Adds a violation.
    package func add(_ complaint: String) { all.withLock { $0.append(complaint) } }

    /// Adds a violation unless the claim holds.
    package func expect(_ holds: Bool, _ claim: @autoclosure () -> String) {
        if !holds { add("expected that \(claim())") }
    }

    /// - Throws: ``HabitStoreTesting/ContractViolation`` with all violations, if there are any.
    package func require() throws {
        let all = all.withLock { $0 }
        guard all.isEmpty else { throw ContractViolation(all.joined(separator: "\n")) }
    }
}
