import Foundation

@_spi(Engines) @testable import HabitStore

/// How a store with a correct file answers wrongly.
enum Misanswer: String, Sendable, CaseIterable {
    /// A sorted fetch returns its records in the opposite order.
    case opposedOrder
    /// A sorted fetch exchanges two neighbours.
    case swappedNeighbours
    /// A later page begins one record too late.
    case shiftedPage
    /// An order by an optional attribute leaves out the records where it is nil.
    case lostNil
    /// A filtered fetch lacks its last record.
    case lostLast
    /// A filtered fetch returns its first record twice.
    case repeatedFirst
    /// A filtered fetch counts one record too many.
    case miscount
    /// A filtered and sorted fetch fails.
    case failure
    /// A lookup by identifier does not find the record.
    case lostByIdentifier

    /// Whether a fetch is answered wrongly. Plain walks over all records are not: they return the file's contents.
    func strikes(_ fetch: PreparedFetch, _ schema: Schema) -> Bool {
        let query = fetch.query
        let isSorted = query.order.count > 1
        let entity = schema.entities[query.entity]
        switch self {
        case .opposedOrder, .swappedNeighbours: return isSorted
        case .shiftedPage: return query.offset > 0
        case .lostNil: return isSorted && entity.attributes[query.order[0].position].isOptional
        case .lostLast, .repeatedFirst, .miscount: return entity.name == "Habit" && fetch.filter != .always
        case .failure: return isSorted && fetch.filter != .always
        case .lostByIdentifier: return false
        }
    }

    /// The wrong rows for a fetch.
    func change(_ rows: [EncodedRecord], _ fetch: PreparedFetch, _ layout: RecordLayout) throws -> [EncodedRecord] {
        switch self {
        case .opposedOrder: return rows.reversed()
        case .swappedNeighbours:
            var rows = rows
            if rows.count > 1 { rows.swapAt(0, 1) }
            return rows
        case .lostNil:
            let position = fetch.query.order[0].position
            return rows.filter { row in row.withView(layout) { !$0.isNull(at: position) } }
        case .lostLast: return rows.dropLast()
        case .repeatedFirst: return rows.prefix(1) + rows
        case .failure: throw HabitStoreError(.evaluationFailed, "this engine cannot do that")
        case .shiftedPage, .miscount, .lostByIdentifier: return rows
        }
    }
}
