import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

/// A store through its public API, with one transaction per query, as in an app.
struct StoreContestant: PlanContestant {
    let store: any EngineBackedStore

    func answer(_ question: PlanQuestion) throws -> UInt64 {
        var checksum = PlanChecksum()
        switch PlanRequest(question) {
        case .entries(let descriptor):
            let entries = try store.fetch(descriptor)
            for index in entries.indices { checksum.append(entries[index].checksum) }
        case .habits(let descriptor):
            for habit in try store.fetch(descriptor) { checksum.append(habit.checksum) }
        case .count(let descriptor):
            checksum = PlanChecksum(count: try store.fetchCount(descriptor))
        case .identifiers(let descriptor):
            for id in try store.fetchIdentifiers(descriptor) { checksum.append(id) }
        case .values(let descriptor):
            for row in try store.project(descriptor, [\.value]) { checksum.append(row[\.value] ?? nil) }
        case .dates(let descriptor):
            for row in try store.project(descriptor, [\.date]) {
                checksum.append(row[\.date]?.timeIntervalSinceReferenceDate)
            }
        }
        return checksum.sum
    }

    /// The store's plan for a query, and the records that it examines.
    func analyze(_ question: PlanQuestion) throws -> QueryAnalysis {
        try store.read { transaction in
            switch PlanRequest(question) {
            case .entries(let descriptor), .count(let descriptor), .identifiers(let descriptor),
                .values(let descriptor), .dates(let descriptor):
                return try transaction.analyze(descriptor)
            case .habits(let descriptor): return try transaction.analyze(descriptor)
            }
        }
    }
}

extension Habit {
    /// The same checksum over all fields as in the yardstick.
    fileprivate var checksum: UInt64 {
        func length(_ text: String?) -> UInt64 { UInt64(bitPattern: Int64(text.map { $0.utf8.count } ?? -1)) }
        func bits(_ number: Int) -> UInt64 { UInt64(bitPattern: Int64(number)) }
        var sum = createdAt.timeIntervalSinceReferenceDate.bitPattern &+ UInt64(id.uuid.0)
        sum &+= length(name) &* 17 &+ length(category) &* 19 &+ length(unit) &* 23
        sum &+= bits(streak) &* 29 &+ bits(timesPerPeriod) &* 37 &+ bits(periodDays) &* 41
        if isArchived { sum &+= 43 }
        if let target { sum &+= target.bitPattern &* 31 }
        for tag in tagIDs { sum &+= UInt64(tag.uuid.15) }
        return sum
    }
}
