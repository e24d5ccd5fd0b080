import Foundation
import HabitStore

/// A row of which nothing is known but the identifier: what an index key tells.
final class LMDBIdentifierRow: AttributeColumns {
    /// The identifier of the row.
    var id = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

    override func uuid(_ position: Int) throws -> UUID { position == 0 ? id : try super.uuid(position) }

    override func value(_ position: Int) throws -> Value { .uuid(try uuid(position)) }

    override func isNull(_ position: Int) throws -> Bool { position == 0 ? false : try super.isNull(position) }
}
