import Foundation
import GRDB

/// GRDB's request interface on a copy of the SQLite file, with one kind of entry record.
struct GRDBContestant<Record: GRDBEntry>: PlanContestant {
    private static var habit: BelongsToAssociation<Record, GRDBHabit> {
        Record.belongsTo(GRDBHabit.self, using: ForeignKey(["habitID"], to: ["id"]))
    }

    private let queue: DatabaseQueue

    init(_ path: String) throws {
        var configuration = Configuration()
        configuration.readonly = true
        // The same as on the other sides.
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA cache_size = -16384") }
        queue = try DatabaseQueue(path: path, configuration: configuration)
    }

    func answer(_ question: PlanQuestion) throws -> UInt64 {
        switch question.plan {
        case .prefix, .anyEntry, .anyTag: try habits(question)
        case .count, .countResidual: try count(question)
        case .values, .dates, .identifiers: try columns(question)
        case .regex: try matches()
        default: try entries(question)
        }
    }

    private func entries(_ question: PlanQuestion) throws -> UInt64 {
        let request = entryRequest(question)
        var checksum = PlanChecksum()
        let entries = try queue.read { try request.fetchAll($0) }
        for index in entries.indices { checksum.append(entries[index].checksum) }
        return checksum.sum
    }

    private func entryRequest(_ question: PlanQuestion) -> QueryInterfaceRequest<Record> {
        let byIdentifier = Column("id")
        switch question.plan {
        case .range: return range(question).order(byIdentifier)
        case .rangeLimit: return range(question).order(Column("date"), byIdentifier).limit(question.limit)
        case .newest: return Record.order(Column("date").desc, byIdentifier).limit(question.limit)
        case .top: return Record.order(Column("value").desc, byIdentifier).limit(question.limit)
        case .membership: return Record.filter(question.habits.contains(Column("habitID"))).order(byIdentifier)
        case .joinName:
            return Record.joining(required: Self.habit.filter(Column("name") == question.text)).order(byIdentifier)
        case .joinArchived:
            return Record.joining(required: Self.habit.filter(Column("isArchived") == true)).order(byIdentifier)
        case .contains: return Record.filter(Column("note").like("%\(question.text)%")).order(byIdentifier)
        case .arithmetic:
            return Record.filter((Column("value") ?? 0) * 2 + 1 > question.number).order(byIdentifier)
        default: return Record.filter(Column("habitID") == question.habit).order(byIdentifier)
        }
    }

    private func range(_ question: PlanQuestion) -> QueryInterfaceRequest<Record> {
        let date = Column("date")
        return Record.filter(Column("habitID") == question.habit)
            .filter(date >= question.from.timeIntervalSinceReferenceDate)
            .filter(date < question.to.timeIntervalSinceReferenceDate)
    }

    private func habits(_ question: PlanQuestion) throws -> UInt64 {
        let request = habitRequest(question).order(Column("id")).including(all: GRDBHabit.links)
        var checksum = PlanChecksum()
        for habit in try queue.read({ try request.fetchAll($0) }) { checksum.append(habit.checksum) }
        return checksum.sum
    }

    private func habitRequest(_ question: PlanQuestion) -> QueryInterfaceRequest<GRDBHabit> {
        switch question.plan {
        case .prefix:
            // `like` would not use the index.
            let name = Column("name")
            return GRDBHabit.filter(name >= question.text && name < question.text + "\u{10FFFF}")
        case .anyEntry:
            let owners = Record.filter(Column("value") > question.number).select(Column("habitID"))
            return GRDBHabit.filter(owners.contains(Column("id")))
        default: return GRDBHabit.joining(required: GRDBHabit.tags.filter(Column("name") == question.text))
        }
    }

    private func count(_ question: PlanQuestion) throws -> UInt64 {
        var request = Record.filter(Column("habitID") == question.habit)
        if question.plan == .countResidual { request = request.filter(Column("value") > question.number) }
        let counted = request
        return PlanChecksum(count: try queue.read { try counted.fetchCount($0) }).sum
    }

    private func columns(_ question: PlanQuestion) throws -> UInt64 {
        let (date, byIdentifier) = (Column("date"), Column("id"))
        var checksum = PlanChecksum()
        switch question.plan {
        case .identifiers:
            let request = range(question).order(date, byIdentifier).select(byIdentifier, as: UUID.self)
            for id in try queue.read({ try request.fetchAll($0) }) { checksum.append(id) }
        default:
            let column = question.plan == .values ? Column("value") : date
            let request = Record.filter(Column("habitID") == question.habit).order(date, byIdentifier)
                .select(column, as: Double?.self)
            for number in try queue.read({ try request.fetchAll($0) }) { checksum.append(number) }
        }
        return checksum.sum
    }

    /// SQL has no regular expressions: notes are searched in Swift.
    private func matches() throws -> UInt64 {
        let regex = /rain [0-9]+$/
        let request = Record.filter(Column("note") != nil).order(Column("id"))
        let found = try queue.read { database in
            var found: [Record] = []
            let entries = try request.fetchCursor(database)
            while let entry = try entries.next() {
                if entry.note?.contains(regex) == true { found.append(entry) }
            }
            return found
        }
        var checksum = PlanChecksum()
        for index in found.indices { checksum.append(found[index].checksum) }
        return checksum.sum
    }
}
