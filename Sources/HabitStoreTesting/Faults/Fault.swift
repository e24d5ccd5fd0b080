import HabitStore

/// Something that goes wrong in a store: where, when and how.
public struct Fault: Sendable, CustomStringConvertible {
    /// What a store is asked to do.
    public enum Operation: String, Sendable, CaseIterable {
        /// Opening the file.
        case open
        /// A read transaction of the app.
        case read
        /// A read transaction of the replication.
        case replicaRead
        /// A write transaction of the app.
        case write
        /// A write transaction of the replication.
        case replicate
    }

    /// When it goes wrong. Reads and opening have only a beginning.
    public enum Moment: String, Sendable {
        /// Before the operation has done anything.
        case beginning
        /// When a write transaction is about to commit: nothing of it has happened.
        case beforeCommit
        /// When a write transaction has committed, and its caller does not know yet.
        case afterCommit
    }

    /// What happens then.
    public enum Effect: Sendable, Equatable {
        /// The operation throws an error of this code.
        case fail(HabitStoreError.Code)
        /// The operation stands still until ``FaultPlan/heal()``, and goes on then.
        case hang
    }

    /// What it strikes.
    public let operations: Set<Operation>
    /// When it strikes.
    public let moment: Moment
    /// What it does.
    public let effect: Effect
    /// How many operations that fit it lets pass first.
    public let passing: Int
    /// How many operations it strikes; nil for all, until ``FaultPlan/heal()``.
    public let times: Int?

    /// Describes a fault.
    ///
    /// - Parameters:
    ///   - effect: what it does.
    ///   - operations: what it strikes.
    ///   - moment: when it strikes.
    ///   - passing: how many operations that fit it lets pass first.
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

    /// One line.
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
    /// Everything that a store can be asked for.
    public static let all = Self(Fault.Operation.allCases)
}
