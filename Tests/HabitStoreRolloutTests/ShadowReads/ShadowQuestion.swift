import Foundation
import HabitStore
import HabitTracker

/// Each kind of read that a store has, with its answer as text.
enum ShadowQuestion: String, CaseIterable, Sendable {
    case model, missing, fetch, sorted, predicate, opaque, identifiers, projection, count, page, stopped, record
    case failingQuery, refusedQuery, callersError

    struct CallersError: Error {}

    /// Whether the answer consists of rows, not of one record, a number or an error.
    var hasRows: Bool {
        switch self {
        case .fetch, .sorted, .predicate, .opaque, .identifiers, .projection, .page, .stopped, .record: true
        case .model, .missing, .count, .failingQuery, .refusedQuery, .callersError: false
        }
    }

    /// Runs the read; an error is an answer too.
    func ask(_ transaction: any ReadTransaction) -> String {
        do {
            return try answer(transaction)
        } catch let error as HabitStoreError {
            return "error \(error.code.rawValue)"
        } catch {
            return "error \(error)"
        }
    }

    private static let byName = FetchDescriptor<Habit>(sortBy: [SortDescriptor(\.name, order: .reverse)])

    private func answer(_ transaction: any ReadTransaction) throws -> String {
        switch self {
        case .model: return try transaction.model(Habit.self, id: SampleRecords.id(2))?.name ?? "none"
        case .missing: return try transaction.model(Habit.self, id: SampleRecords.id(99))?.name ?? "none"
        case .fetch: return try transaction.all(Habit.self).map(\.name).joined(separator: " ")
        case .sorted: return try transaction.fetch(Self.byName).map(\.name).joined(separator: " ")
        case .predicate:
            let descriptor = FetchDescriptor(predicate: #Predicate<Habit> { $0.streak >= 2 })
            return try transaction.fetch(descriptor).map(\.name).joined(separator: " ")
        case .opaque:
            // Filters cannot express regular expressions.
            let descriptor = FetchDescriptor(predicate: #Predicate<Habit> { $0.name.contains(/e/) })
            return try transaction.fetch(descriptor).map(\.name).joined(separator: " ")
        case .identifiers: return try transaction.fetchIdentifiers(Self.byName).map(\.uuidString).joined()
        case .projection:
            return try transaction.project(Self.byName, [\Habit.streak]).map { "\($0[\.streak] ?? -1)" }.joined()
        case .count: return "\(try transaction.fetchCount(FetchDescriptor<Habit>()))"
        case .page: return try transaction.fetchPage(Self.byName, size: 3).models.map(\.name).joined(separator: " ")
        case .stopped:
            var names: [String] = []
            try transaction.enumerate(Self.byName) { habit in
                names.append(habit.name)
                return names.count < 2
            }
            return names.joined(separator: " ")
        case .record: return try transaction.records(RecordQuery(entity: "Habit")).map(\.id.uuidString).joined()
        case .failingQuery:
            let filter = try FilterExpression(text: "10 / streak == 1")
            return try transaction.fetch(FetchDescriptor<Habit>(filter: filter)).map(\.name).joined()
        case .refusedQuery:
            let filter = try FilterExpression(text: "colour == 1")
            return try transaction.fetch(FetchDescriptor<Habit>(filter: filter)).map(\.name).joined()
        case .callersError:
            try transaction.enumerate(Self.byName) { _ in throw CallersError() }
            return "none"
        }
    }
}
