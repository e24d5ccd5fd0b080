import Foundation
@_spi(Engines) import HabitStore

/// A transaction as a value, so that it can be done to two stores.
struct RandomTransaction: CustomStringConvertible {
    enum Operation {
        case insert(any PersistentModel)
        case save(any PersistentModel)
        case delete(any PersistentModel.Type, UUID)
        case deleteWhere(any PersistentModel.Type, FilterExpression)
        /// Throws an error of the caller's own.
        case abandon
    }

    struct Step {
        let operation: Operation
        /// Whether an error of the operation is caught, and the transaction goes on.
        let isCaught: Bool
    }

    let steps: [Step]

    var count: Int { steps.count }

    var description: String { steps.map { "\($0.operation)\($0.isCaught ? " caught" : "")" }.joined(separator: "; ") }

    /// Does it.
    ///
    /// - Returns: what each operation answered.
    func perform(in store: some EngineBackedStore, author: String?) throws -> [String] {
        try store.write(author: author) { transaction in
            try steps.map { step in
                guard step.isCaught else { return try perform(step.operation, transaction) }
                return "\(Answer { try perform(step.operation, transaction) })"
            }
        }
    }

    private func perform(_ operation: Operation, _ transaction: any WriteTransaction) throws -> String {
        switch operation {
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
