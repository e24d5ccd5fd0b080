import HabitStore

/// A fault in a store: where, when and how it strikes.
public struct Fault: Sendable, CustomStringConvertible {
    /// An operation of a store.
    public enum Operation: String, Sendable, CaseIterable {
        /// Opening the file.
        case open
        /// A read transaction of the app.
        case read
        /// A read transaction of replication.
        case replicaRead
        /// A write transaction of the app.
        case write
        /// A write transaction of replication.
        case replicate
    }

    /// The moment of a fault. Reads and opening have only a beginning.
    public enum Moment: String, Sendable {
        /// Before the operation has done anything.
        case beginning
        /// Immediately before a write transaction commits: none of it has happened.
        case beforeCommit
        /// After a write transaction has committed, before its caller knows.
        case afterCommit
    }

    /// The effect of a fault.
    public enum Effect: Sendable, Equatable {
        /// The operation throws an error with this code.
        case fail(HabitStoreError.Code)
        /// The operation hangs until ``FaultPlan/heal()`` and then continues.
        case hang
    }

    /// The operations that it strikes.
    public let operations: Set<Operation>
    /// When it strikes.
    public let moment: Moment
    /// Its effect.
    public let effect: Effect
    /// How many matching operations pass before it strikes.
    public let passing: Int
    /// How many operations it strikes; nil for all until ``FaultPlan/heal()``.
    public let times: Int?

    /// Describes a fault.
    ///
    /// - Parameters:
    ///   - effect: what the fault does.
    ///   - operations: the operations that it strikes.
    ///   - moment: when it strikes.
    ///   - passing: how many matching operations pass before it strikes.
    ///   - times: how many operations it strikes; nil for all.
    public init(
        _ effect: Effect,
        on operations: Set<Operation>,
        at moment: Moment = .beginning,
        passing: Int = 0,
        times: Int? = nil
    ) {
        self.effect = effect
        self.operations = operations
        self.moment = moment
        self.passing = passing
        self.times = times
    }

    /// The fault in one line.
    public var description: String {
        let what =
            switch effect {
            case .fail(let code): code.rawValue
            case .hang: "hang"
            }
        let names = operations.map(\.rawValue).sorted().joined(separator: ", ")
        let first = passing > 0 ? "after \(passing) of them, " : ""
        return "\(what) at \(moment.rawValue) of \(names), \(first)\(times.map { "\($0) times" } ?? "for ever")"
    }
}

extension Set<Fault.Operation> {
    /// Reads of either kind.
    public static let reads: Self = [.read, .replicaRead]
    /// Writes of either kind.
    public static let writes: Self = [.write, .replicate]
    /// All operations.
    public static let all = Self(Fault.Operation.allCases)
}
