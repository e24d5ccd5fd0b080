import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import Testing

@testable import HabitStoreLMDB

@Suite("LMDB stores that were damaged")
struct LMDBDamageTests {
    private let folder: LMDBWrapperTestFolder

    init() throws { folder = try LMDBWrapperTestFolder() }

    /// Reads everything that a store can be asked for.
    ///
    /// - Returns: the errors on the way and the damage that the check found.
    private func readEverything(_ path: String) -> (errors: [any Error], findings: Int) {
        var errors: [any Error] = []
        var findings = 0
        func attempt(_ body: () throws -> Void) { do { try body() } catch { errors.append(error) } }
        attempt {
            let store = try LMDBHabitStore(path: path)
            defer { store.close() }
            attempt { _ = try store.all(Habit.self) }
            attempt { _ = try store.all(Entry.self) }
            attempt { _ = try store.all(HabitTag.self) }
            attempt { _ = try store.fetch(FetchDescriptor<Habit>(sortBy: [SortDescriptor(\.name, order: .reverse)])) }
            attempt { _ = try store.fetch(FetchDescriptor<Entry>(sortBy: [SortDescriptor(\.date)])) }
            attempt {
                _ = try store.fetchCount(FetchDescriptor<Habit>(filter: FilterExpression(text: "category == nil")))
            }
            attempt { _ = try store.fetchHistory(after: .zero) }
            attempt { _ = try store.information() }
            attempt { findings = try store.check { _ in }.count { $0.severity == .damage } }
            attempt { try store.save(Habit(name: "after")) }
        }
        return (errors, findings)
    }

    private func sample() throws -> Data {
        let path = folder.path("sample")
        let store = try LMDBHabitStore(path: path)
        let tags = (0..<8).map { HabitTag(name: "tag \($0)") }
        try store.insert(tags)
        let habits = (0..<40).map { number in
            Habit(
                name: String(repeating: "name ", count: number % 7 == 0 ? 900 : 1) + "\(number)",
                category: number % 3 == 0 ? nil : "c\(number % 3)",
                tagIDs: [tags[number % 8].id]
            )
        }
        try store.insert(habits)
        for round in 0..<4 {
            try store.insert(
                (0..<60).map { number in
                    Entry(
                        date: Date(timeIntervalSinceReferenceDate: Double(round * 1_000 + number)),
                        note: number % 5 == 0 ? "note" : nil,
                        habitID: habits[number % 40].id
                    )
                }
            )
        }
        try store.delete(habits[3])
        store.close()
        return try Data(contentsOf: URL(fileURLWithPath: path))
    }

    @Test(arguments: [61, 62, 63] as [UInt64])
    func anythingFlippedIsAnErrorValueOrAFinding(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let whole = try sample()
        var noticed = 0
        for round in 0..<120 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            }
            let path = folder.path("flipped-\(round)")
            try bytes.write(to: URL(fileURLWithPath: path))
            let (errors, findings) = readEverything(path)
            for error in errors {
                #expect(error is HabitStoreError, "seed \(seed), round \(round): \(error)")
            }
            if !errors.isEmpty || findings > 0 { noticed += 1 }
            try FileManager.default.removeItem(atPath: path)
        }
        #expect(noticed > 10, "seed \(seed)")
    }

    @Test(arguments: [64, 65] as [UInt64])
    func aPageOfNoiseIsAnErrorValueOrAFinding(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let whole = try sample()
        for page in stride(from: 0, to: whole.count, by: 4_096) {
            var bytes = whole
            let length = Bool.random(using: &random) ? 4_096 : 64
            bytes.replaceSubrange(page..<page + length, with: random.bytes(length))
            let path = folder.path("noise-\(page)")
            try bytes.write(to: URL(fileURLWithPath: path))
            for error in readEverything(path).errors {
                #expect(error is HabitStoreError, "seed \(seed), page \(page / 4_096): \(error)")
            }
            try FileManager.default.removeItem(atPath: path)
        }
    }

    @Test func everyTruncationIsAnErrorValueOrAFinding() throws {
        let whole = try sample()
        for length in stride(from: 0, to: whole.count, by: 4_096 * 3 + 100) {
            let path = folder.path("short")
            try whole.prefix(length).write(to: URL(fileURLWithPath: path))
            let (errors, findings) = readEverything(path)
            #expect(!errors.isEmpty || findings > 0, "\(length) bytes")
            #expect(errors.allSatisfy { $0 is HabitStoreError })
            try FileManager.default.removeItem(atPath: path)
        }
    }
}
