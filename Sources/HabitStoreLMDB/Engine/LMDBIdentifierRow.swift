import Foundation
import HabitStore

/// A row of which nothing is known but the identifier: what an index key tells.
final class LMDBIdentifierRow: AttributeColumns {
    /// The identifier of the row.
    var id = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

    func uuid(_ position: Int) throws -> UUID {
        guard position == 0 else { throw missing(position) }
        return id
    }

    func value(_ position: Int) throws -> Value { .uuid(try uuid(position)) }

    func isNull(_ position: Int) throws -> Bool {
        guard position == 0 else { throw missing(position) }
        return false
    }

    func bool(_ position: Int) throws -> Bool { throw missing(position) }
    func int(_ position: Int) throws -> Int64 { throw missing(position) }
    func double(_ position: Int) throws -> Double { throw missing(position) }
    func text(_ position: Int) throws -> String { throw missing(position) }
    func data(_ position: Int) throws -> Data { throw missing(position) }
    func texts(_ position: Int) throws -> [String] { throw missing(position) }
    func links(_ position: Int) throws -> [UUID] { throw missing(position) }
    func encoded() throws -> EncodedRecord { throw missing(0) }

    private func missing(_ position: Int) -> HabitStoreError {
        HabitStoreError(
            .internalInconsistency,
            "attribute \(position) was read of a row that was asked for its identifier only"
        )
    }
}
