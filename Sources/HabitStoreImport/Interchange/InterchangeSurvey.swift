import Foundation
import HabitStore

/// Which records an export has.
struct InterchangeSurvey {
    private var identifiers: [Set<UUID>]

    init(_ schema: Schema) { identifiers = schema.entities.map { _ in [] } }

    /// - Returns: false when there is one already.
    mutating func add(_ entity: Int, _ id: UUID) -> Bool { identifiers[entity].insert(id).inserted }

    func has(_ entity: Int, _ id: UUID) -> Bool { identifiers[entity].contains(id) }

    /// The number of records of each entity.
    var counts: [Int] { identifiers.map(\.count) }

    /// The number of all records.
    var total: Int { counts.reduce(0, +) }
}
