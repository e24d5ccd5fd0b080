import Foundation
import HabitStore
import HabitTracker

/// A workload of numbered writes. The effect of each follows from its number, so the expected contents of a store follow from the writes in it.
///
/// Each write increments a counter, and leaves a draft with its number that stays.
protocol NumberedWrites {
    /// The kinds of records, which are part of their identifiers.
    associatedtype Kind: RawRepresentable<Int>

    static var counterID: UUID { get }

    /// Write `number`.
    static func write(_ number: Int, in transaction: any WriteTransaction) throws
}

extension NumberedWrites {
    static func id(_ kind: Kind, _ number: Int) -> UUID {
        let digits = String(max(0, number), radix: 16)
        let padded = String(repeating: "0", count: 12 - digits.count) + digits
        return UUID(uuidString: "00000000-0000-4000-800\(kind.rawValue)-\(padded)") ?? UUID()
    }

    static func date(_ number: Int) -> Date { Date(timeIntervalSinceReferenceDate: 8e8 + Double(number) / 4) }

    /// A write's author in the history.
    static func author(_ number: Int) -> String { "write \(number)" }

    /// The number of a write with this author in the history; nil for other authors.
    static func number(_ author: String?) -> Int? {
        guard let author, author.hasPrefix("write ") else { return nil }
        return Int(author.dropFirst("write ".count))
    }

    /// The numbers of the writes in a store, from the draft that each has left.
    static func numbers(_ transaction: any ReadTransaction) throws -> [Int] {
        try transaction.all(Draft.self).compactMap { Int($0.content) }
    }

    /// The contradiction that a reader sees in a store; nil if it sees a state between two writes.
    static func contradiction(_ transaction: any ReadTransaction) throws -> String? {
        let count = try transaction.model(Habit.self, id: counterID)?.streak ?? 0
        let written = try transaction.fetchCount(FetchDescriptor<Draft>())
        return count == written ? nil : "the counter is \(count), but \(written) writes exist"
    }

    /// Runs write `number` on a store, and reports its begin and its outcome to the parent.
    ///
    /// - Parameter more: what else its transaction does.
    static func tell(
        _ number: Int,
        to store: some HabitStore,
        _ more: (any WriteTransaction) throws -> Void = { _ in }
    ) throws {
        Report.Line.begun.tell("\(number)")
        do {
            try store.write(author: author(number)) { transaction in
                try write(number, in: transaction)
                try more(transaction)
            }
            Report.Line.acknowledged.tell("\(number)")
        } catch let error as HabitStoreError where error.code == .outcomeUnknown {
            Report.Line.unknown.tell("\(number)")
            throw error
        } catch {
            Report.Line.failed.tell("\(number) \(Report.text(error))")
            throw error
        }
    }
}

/// The outcomes of numbered writes that their callers were told.
struct WriteLedger {
    var begun: Set<Int> = []
    var acknowledged: Set<Int> = []
    /// Writes that the store reported as failed.
    var failed: Set<Int> = []

    /// Writes whose outcome is open: the one in progress, and those that the store reported as unknown.
    var open: Set<Int> { begun.subtracting(acknowledged).subtracting(failed) }

    /// A ledger of the writes of several callers, whose numbers differ.
    static func + (one: WriteLedger, other: WriteLedger) -> WriteLedger {
        WriteLedger(
            begun: one.begun.union(other.begun),
            acknowledged: one.acknowledged.union(other.acknowledged),
            failed: one.failed.union(other.failed)
        )
    }

    /// Acknowledged writes that a store lacks, in words.
    ///
    /// - Parameters:
    ///   - numbers: the writes in the store.
    ///   - base: the writes that existed before.
    func losses(_ numbers: Set<Int>, base: Set<Int> = []) -> [String] {
        let lost = base.union(acknowledged).subtracting(numbers)
        return lost.isEmpty ? [] : ["acknowledged writes are lost: \(lost.sorted())"]
    }

    /// Writes in a store that no caller made or that failed, in words.
    func additions(_ numbers: Set<Int>, base: Set<Int> = []) -> [String] {
        let undead = failed.intersection(numbers)
        let foreign = numbers.subtracting(base).subtracting(begun)
        return (undead.isEmpty ? [] : ["failed writes exist: \(undead.sorted())"])
            + (foreign.isEmpty ? [] : ["writes exist that no process made: \(foreign.sorted())"])
    }
}
