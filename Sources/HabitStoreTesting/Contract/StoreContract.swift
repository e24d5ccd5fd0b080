import HabitStore

/// The requirements on every store, as clauses that can be verified one by one.
///
/// One line in a test file verifies all of them for an engine:
/// ```swift
/// @Test(arguments: StoreContract.clauses)
/// func keepsTheContract(_ clause: StoreContract.Clause) async throws { try await clause.verify(.sqlite) }
/// ```
public enum StoreContract {
    /// One clause of the contract.
    public struct Clause: Sendable, Identifiable, CustomStringConvertible {
        /// The claim.
        public let name: String
        private let body: @Sendable (ContractBench) async throws -> Void

        init(_ name: String, _ body: @escaping @Sendable (ContractBench) throws -> Void) {
            self.name = name
            self.body = { try body($0) }
        }

        init(_ name: String, async body: @escaping @Sendable (ContractBench) async throws -> Void) {
            self.name = name
            self.body = body
        }

        /// The claim.
        public var id: String { name }

        /// The claim.
        public var description: String { name }

        /// Verifies the clause on new stores of a kind, in a temporary directory that is removed afterwards.
        ///
        /// - Throws: ``ContractViolation`` if the store violates the contract; errors of the store that no clause expects.
        public func verify(_ store: StoreUnderTest) async throws {
            let bench = try ContractBench(store)
            let result: Result<Void, any Error>
            do {
                try await body(bench)
                result = .success(())
            } catch {
                result = .failure(error)
            }
            bench.clear()
            try result.get()
        }
    }

    /// All clauses.
    public static let clauses: [Clause] = [
        valueClauses, unreadableClauses, writingClauses, uniquenessClauses, combinationClauses, isolationClauses,
        escapingClauses,
        relationshipClauses,
        referenceClauses, nameClauses,
        deleteRuleClauses, forwardRuleClauses, twoOperationClauses, orderClauses, fetchingClauses, pagingClauses,
        predicateClauses,
        optionalPredicateClauses, collectionPredicateClauses, languageClauses, shapeClauses, filterTextClauses,
        historyClauses,
        netChangeClauses, asyncClauses, asyncFormClauses, sharedCommitClauses, durabilityClauses, roleClauses,
        replicationClauses,
        digestClauses, checkingClauses, clusteringClauses, batchClauses,
    ].flatMap { $0 }
}
