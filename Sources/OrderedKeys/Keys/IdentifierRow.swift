import Foundation
@_spi(Engines) import HabitStore

/// A row with nothing but its identifier, from an index key.
package final class IdentifierRow: AttributeColumns {
    /// The identifier of the row.
    package var id = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

    package override func uuid(_ position: Int) throws -> UUID { position == 0 ? id : try super.uuid(position) }

    package override func value(_ position: Int) throws -> Value { .uuid(try uuid(position)) }

    package override func isNull(_ position: Int) throws -> Bool { position == 0 ? false : try super.isNull(position) }
}
