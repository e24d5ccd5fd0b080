import Foundation
@_spi(Engines) import HabitStore

extension ReplicableStore {
    /// Removes the first record of the schema's first entity without recording it in the history, as a program outside the rollout might.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` if there is none.
    package func loseARecord() throws {
        try replicate { replica in
            var first: UUID?
            try replica.enumerate(entity: 0, after: nil) { id, _ in
                first = id
                return false
            }
            guard let first else { throw HabitStoreError(.notFound, "there is no record to be lost") }
            try replica.remove(entity: 0, id: first)
        }
    }
}
