import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Synchronization

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

/// A kind of store to run the kit against.
public struct StoreUnderTest: Sendable, CustomStringConvertible {
    /// Opens the store in a directory, or creates it.
    ///
    /// The arguments are the existing directory, the schema, the identity of a new store, and the clock that stamps history transactions.
    @_spi(Engines) public typealias Opening =
        @Sendable (URL, Schema, UUID, @escaping @Sendable () -> Date) throws -> any EngineBackedStore

    /// The name, for reports.
    public let name: String
    /// Whether a closed store can be opened again in the same directory.
    public let isDurable: Bool
    /// Opens the store.
    @_spi(Engines) public let open: Opening

    /// Describes a kind of store.
    @_spi(Engines) public init(name: String, isDurable: Bool, open: @escaping Opening) {
        self.name = name
        self.isDurable = isDurable
        self.open = open
    }

    /// The name.
    public var description: String { name }
}

extension StoreUnderTest {
    /// The reference implementation: the store in memory.
    public static let inMemory = StoreUnderTest(name: "in memory", isDurable: false) { _, schema, identity, clock in
        try InMemoryHabitStore(schema: schema, identity: identity, now: clock)
    }
}

/// The environment of a clause: a kind of store and a directory.
final class ContractBench: Sendable {
    let subject: StoreUnderTest
    private let directory: URL
    private let opened = Mutex<[any EngineBackedStore]>([])

    init(_ subject: StoreUnderTest) throws {
        self.subject = subject
        directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("store-contract-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    /// Opens the store in a folder of the directory, or creates it.
    func open(
        _ schema: Schema,
        folder: String = "store",
        identity: UUID = UUID(),
        clock: @escaping @Sendable () -> Date = { Date() }
    ) throws -> any EngineBackedStore {
        let folder = directory.appendingPathComponent(folder, isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let store = try subject.open(folder, schema, identity, clock)
        opened.withLock { $0.append(store) }
        return store
    }

    /// A new store with the built-in schema.
    func habits() throws -> any EngineBackedStore { try open(HabitSchema.current) }

    /// A new store with the kit's schema.
    func contract() throws -> any EngineBackedStore { try open(ContractSchema.schema) }

    /// Closes the opened stores and removes the directory.
    func clear() {
        for store in opened.withLock({ $0 }) { store.close() }
        do {
            try FileManager.default.removeItem(at: directory)
        } catch {
            FileHandle.standardError.write(Data("the directory of a clause could not be removed: \(error)\n".utf8))
        }
    }
}

/// The code of a store's error; nil without one.
package func errorCode(_ body: () throws -> Void) -> HabitStoreError.Code? {
    do {
        try body()
        return nil
    } catch { return (error as? HabitStoreError)?.code }
}

/// Throws unless the claim holds.
package func expect(_ holds: Bool, _ claim: String, fileID: String = #fileID, line: Int = #line) throws {
    guard holds else { throw ContractViolation("expected that \(claim)", fileID: fileID, line: line) }
}

/// Throws unless both are equal.
package func expectEqual<T: Equatable>(
    _ found: T,
    _ expected: T,
    _ what: String = "the answer",
    fileID: String = #fileID,
    line: Int = #line
) throws {
    guard found == expected else {
        throw ContractViolation("\(what): found \(found), expected \(expected)", fileID: fileID, line: line)
    }
}

/// Throws if the value is nil.
package func require<T>(_ value: T?, _ what: String, fileID: String = #fileID, line: Int = #line) throws -> T {
    guard let value else { throw ContractViolation("\(what) is missing", fileID: fileID, line: line) }
    return value
}

/// Throws unless `body` throws an error with the code, and with the given parts of a location.
@discardableResult
func expectError<R>(
    _ code: HabitStoreError.Code,
    entity: String? = nil,
    attribute: String? = nil,
    id: UUID? = nil,
    fileID: String = #fileID,
    line: Int = #line,
    _ body: () throws -> R
) throws -> HabitStoreError {
    do {
        let result = try body()
        throw ContractViolation("expected the error \(code), but got \(result)", fileID: fileID, line: line)
    } catch let error as HabitStoreError {
        guard error.code == code else {
            throw ContractViolation(
                "expected the error \(code), but got \(error.code): \(error)",
                fileID: fileID,
                line: line
            )
        }
        try expectPart(error.location.entity, entity, "entity", error, fileID, line)
        try expectPart(error.location.attribute, attribute, "attribute", error, fileID, line)
        try expectPart(error.location.id, id, "id", error, fileID, line)
        return error
    }
}

/// Throws unless `body` ends with the error ``StoreContract/Abandoned``, which a closure in it throws.
func expectAbandoned<R>(fileID: String = #fileID, line: Int = #line, _ body: () throws -> R) throws {
    do {
        _ = try body()
    } catch is StoreContract.Abandoned {
        return
    }
    throw ContractViolation("a closure's own error was not rethrown", fileID: fileID, line: line)
}

private func expectPart<T: Equatable>(
    _ found: T?,
    _ expected: T?,
    _ part: String,
    _ error: HabitStoreError,
    _ fileID: String,
    _ line: Int
) throws {
    guard let expected, found != expected else { return }
    let named = found.map { "\($0)" } ?? "none"
    throw ContractViolation(
        "the error names the \(part) \(named), not \(expected): \(error)",
        fileID: fileID,
        line: line
    )
}

/// A store violated the contract.
public struct ContractViolation: Error, Sendable, CustomStringConvertible {
    /// The expectation and the finding.
    public let message: String
    /// The kit's file that contains the failed expectation.
    public let fileID: String
    /// The line of the failed expectation.
    public let line: Int

    /// Makes a violation.
    public init(_ message: String, fileID: String = #fileID, line: Int = #line) {
        self.message = message
        self.fileID = fileID
        self.line = line
    }

    /// The place and the message.
    public var description: String { "\(fileID):\(line): \(message)" }
}

extension HabitStore {
    /// Inserts records of any entities in one transaction, in this order.
    func insertAll(_ models: [any PersistentModel]) throws {
        try write { transaction in
            for model in models { try transaction.insert(model) }
        }
    }
}

extension StoreContract {
    /// Thrown to abandon a transaction.
    struct Abandoned: Error {}
}
