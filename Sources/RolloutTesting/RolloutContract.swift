import HabitStoreTesting

/// The contract of a rollout between any two engines, in clauses that a test runs one by one:
///
/// ```swift
/// extension RolloutUnderTest {
///     static let toMine = RolloutUnderTest(from: SQLiteProvider(), to: MyProvider())
/// }
///
/// @Test(arguments: RolloutContract.clauses)
/// func moves(_ clause: RolloutContract.Clause) throws { try clause.verify(.toMine) }
/// ```
///
/// ``RolloutFaultTest`` is its randomised part.
public enum RolloutContract {
    /// One clause of the contract.
    public struct Clause: Sendable, Identifiable, CustomStringConvertible {
        /// The claim.
        public let name: String
        private let body: @Sendable (RolloutUnderTest) throws -> Void

        init(_ name: String, _ body: @escaping @Sendable (RolloutUnderTest) throws -> Void) {
            self.name = name
            self.body = body
        }

        /// The claim.
        public var id: String { name }

        /// The claim.
        public var description: String { name }

        /// Verifies the clause for a new user in a temporary folder.
        ///
        /// - Throws: ``HabitStoreTesting/ContractViolation`` if the rollout violated the contract; other errors that the clause does not expect.
        public func verify(_ rollout: RolloutUnderTest) throws { try body(rollout) }
    }

    /// All clauses.
    public static let clauses: [Clause] = [
        stageClauses, killClauses, journeyClauses, differenceClauses, turningClauses,
    ].flatMap { $0 }
}
