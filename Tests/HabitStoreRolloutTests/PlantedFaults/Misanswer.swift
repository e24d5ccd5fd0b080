import Foundation

@_spi(Engines) @testable import HabitStore

/// How a store whose file is right answers wrongly.
enum Misanswer: String, Sendable, CaseIterable {
    /// The records of a sorted fetch in the opposite order.
    case opposedOrder
    /// Two neighbours of a sorted fetch in each other's place.
    case swappedNeighbours
    /// A later page begins one record too late.
    case shiftedPage
    /// An order by something that may be nil leaves out the records that have nil there.
    case lostNil
    /// The last record of a filtered fetch is missing.
    case lostLast
    /// The first record of a filtered fetch comes twice.
    case repeatedFirst
    /// A filtered fetch counts one more than it has.
    case miscount
    /// A filtered and sorted fetch fails.
    case failure
    /// A record that is asked for by its identifier is not found.
    case lostByIdentifier

    /// Whether a fetch is answered wrongly. Plain walks over all records are not: those show what the file holds.
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

    /// What becomes of the rows of a fetch that is answered wrongly.
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
