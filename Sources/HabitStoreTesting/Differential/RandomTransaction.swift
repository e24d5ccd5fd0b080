import Foundation
@_spi(Engines) import HabitStore

/// A transaction as a value, to run it in two stores.
struct RandomTransaction: CustomStringConvertible {
    /// A record's type and identifier.
    typealias Named = (type: any PersistentModel.Type, id: UUID)

    enum Operation {
        case insert(any PersistentModel)
        case save(any PersistentModel)
        /// Saves the record's state from before the transaction, which an app may still hold.
        case saveAgain(any PersistentModel.Type, UUID)
        case delete(any PersistentModel.Type, UUID)
        case deleteWhere(any PersistentModel.Type, FilterExpression)
        /// Throws the caller's own error.
        case abandon
    }

    struct Step {
        let operation: Operation
        /// Whether the transaction catches the operation's error and continues.
        let isCaught: Bool
    }

    let steps: [Step]

    var count: Int { steps.count }

    var description: String { steps.map { "\($0.operation)\($0.isCaught ? " caught" : "")" }.joined(separator: "; ") }

    /// Runs the transaction.
    ///
    /// - Returns: the answer of each operation.
    func perform(in store: some EngineBackedStore, author: String?) throws -> [String] {
        let models = try store.read { transaction in try steps.map { try held($0.operation, transaction) } }
        return try store.write(author: author) { transaction in
            try zip(steps, models).map { step, held in
                guard step.isCaught else { return try perform(step.operation, held, transaction) }
                return "\(Answer { try perform(step.operation, held, transaction) })"
            }
        }
    }

    private func held(_ operation: Operation, _ transaction: any ReadTransaction) throws -> (any PersistentModel)? {
        guard case .saveAgain(let type, let id) = operation else { return nil }
        func model<M: PersistentModel>(_ type: M.Type) throws -> (any PersistentModel)? {
            try transaction.model(type, id: id)
        }
        return try model(type)
    }

    private func perform(
        _ operation: Operation,
        _ held: (any PersistentModel)?,
        _ transaction: any WriteTransaction
    ) throws -> String {
        switch operation {
        case .saveAgain:
            guard let held else { return "not there" }
            try transaction.save(held)
        case .insert(let model): try transaction.insert(model)
        case .save(let model): try transaction.save(model)
        case .delete(let type, let id): return "\(try transaction.delete(type, id: id))"
        case .deleteWhere(let type, let filter): return "\(try delete(type, filter, transaction))"
        case .abandon: throw StoreContract.Abandoned()
        }
        return "done"
    }

    private func delete<M: PersistentModel>(
        _ type: M.Type,
        _ filter: FilterExpression,
        _ transaction: any WriteTransaction
    ) throws -> Int {
        try transaction.delete(FetchDescriptor<M>(filter: filter))
    }
}
