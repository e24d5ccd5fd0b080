import Foundation
import HabitStore
import HabitTracker
import ShadowVerifier

/// The records of a test store.
enum SampleRecords {
    static let referenceDate = Date(timeIntervalSinceReferenceDate: 700_000_000)

    /// Identifiers in the order of their numbers.
    static func id(_ number: Int) -> UUID {
        let digits = String(number, radix: 16)
        let text = "00000000-0000-0000-0000-" + String(repeating: "0", count: 12 - digits.count) + digits
        return UUID(uuidString: text) ?? UUID()
    }

    /// Inserts two habits with a tag, and entries in several transactions.
    static func fill(_ store: any HabitStore, entries: Int = 20) throws {
        try store.write(author: "test") { transaction in
            try transaction.insert(Tag(id: id(1), name: "sport"))
            try transaction.insert(Habit(id: id(2), name: "Run", createdAt: referenceDate, tagIDs: [id(1)]))
            try transaction.insert(Habit(id: id(3), name: "Read", createdAt: referenceDate))
        }
        for start in stride(from: 0, to: entries, by: 7) {
            try store.write(author: "test") { transaction in
                for number in start..<min(entries, start + 7) {
                    try transaction.insert(entry(100 + number))
                }
            }
        }
    }

    static func entry(_ number: Int, note: String? = nil) -> Entry {
        let date = referenceDate.addingTimeInterval(Double(number) * 3_600.125)
        return Entry(id: id(number), date: date, note: note, habitID: id(number.isMultiple(of: 2) ? 2 : 3))
    }

    /// The verifier's verdict on two stores.
    static func verdict(_ a: any MaintainableStore, _ b: any MaintainableStore) throws -> VerificationReport.Verdict {
        try ShadowVerifier(.init(name: "A", store: a), .init(name: "B", store: b)).run().verdict
    }
}
