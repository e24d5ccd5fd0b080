import Foundation
import HabitStore

/// The identifiers of all records in an export.
struct InterchangeSurvey {
    private var identifiers: [Set<UUID>]

    init(_ schema: Schema) { identifiers = schema.entities.map { _ in [] } }

    /// - Returns: false if the identifier was added before.
    mutating func add(_ entity: Int, _ id: UUID) -> Bool { identifiers[entity].insert(id).inserted }

    func has(_ entity: Int, _ id: UUID) -> Bool { identifiers[entity].contains(id) }

    /// The number of records of each entity.
    var counts: [Int] { identifiers.map(\.count) }

    var total: Int { counts.reduce(0, +) }
}
