import HabitStoreTesting

/// What a rollout between any two engines has to keep, as clauses that a test runs one by one:
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
/// ``RolloutFaultTest`` is the part of it that is drawn at random.
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

        /// Verifies the clause on a user of its own, in a folder that is removed afterwards.
        ///
        /// - Throws: ``HabitStoreTesting/ContractViolation`` when the user was not served as the contract says; errors that no
        ///   clause expects.
        public func verify(_ rollout: RolloutUnderTest) throws { try body(rollout) }
    }

    /// All clauses.
    public static let clauses: [Clause] = [
        stageClauses, killClauses, journeyClauses, differenceClauses, turningClauses,
    ].flatMap { $0 }
}
