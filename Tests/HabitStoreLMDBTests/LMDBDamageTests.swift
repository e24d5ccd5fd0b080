import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker
import Testing

@testable import HabitStoreLMDB

@Suite("LMDB stores that were damaged")
struct LMDBDamageTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Reads everything from a store.
    ///
    /// - Returns: the errors on the way and the damage that the check found.
    private func readEverything(_ path: String) -> (errors: [any Error], findings: Int) {
        var errors: [any Error] = []
        var findings = 0
        func attempt(_ body: () throws -> Void) { do { try body() } catch { errors.append(error) } }
        attempt {
            let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
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
        let store = try LMDBHabitStore(path: path, schema: HabitSchema.current)
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

    // MARK: Below a valid mark

    /// A medium that loses bytes changes neither the file's times nor the mark: this writes the mark that the file would still have.
    private func markAsSound(_ path: String) throws {
        let source = try LMDBPageSource(path: path)
        defer { source.close() }
        guard let header = try? LMDBFileHeader(source) else { return }
        let file = try #require(LMDBSoundFile(store: path, isMaking: true))
        file.mark = LMDBSoundMark(
            boot: try #require(LMDBBoot.current),
            file: try #require(try LMDBFileState(path: path)),
            transaction: header.current.transaction,
            walkedAt: Int64(Date().timeIntervalSince1970)
        )
    }

    /// A page that was damaged after its file had been found sound led liblmdb out of the file: SIGSEGV ended `verify` and every command over many
    /// users, without saying whose file it was. Now a damaged page is an error that names the page.
    @Test(arguments: [66, 67, 68, 69] as [UInt64])
    func aPageThatRotsBelowAValidMarkIsAnErrorValueOrAFinding(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let whole = try sample()
        let pages = stride(from: 8_192, to: whole.count, by: 4_096).filter { whole[$0 + 10] & 7 != 0 }
        let extremes: [UInt16] = [0, 1, 15, 16, 0x7FFF, 0xFFF0, 0xFFFF]
        var noticed = 0
        for round in 0..<150 {
            var bytes = whole
            let page = pages[Int.random(in: 0..<pages.count, using: &random)]
            let place =
                switch Int.random(in: 0..<4, using: &random) {
                // The header, the node offsets, anything, and the node headers.
                case 0: Int.random(in: 0..<8, using: &random) * 2
                case 1: 16 + Int.random(in: 0..<20, using: &random) * 2
                case 2: Int.random(in: 0..<2_048, using: &random) * 2
                default: nodePlace(bytes, page, &random) + Int.random(in: 0..<5, using: &random) * 2
                }
            let value = extremes.randomElement(using: &random).flatMap { Bool.random(using: &random) ? $0 : nil }
            let number = value ?? UInt16.random(in: .min ... .max, using: &random)
            bytes[page + min(place, 4_094)] = UInt8(truncatingIfNeeded: number)
            bytes[page + min(place, 4_094) + 1] = UInt8(truncatingIfNeeded: number >> 8)
            let path = folder.path("rotten-\(round)")
            try bytes.write(to: URL(fileURLWithPath: path))
            try markAsSound(path)
            let (errors, findings) = readEverything(path)
            for error in errors {
                #expect(error is HabitStoreError, "seed \(seed), round \(round): \(error)")
            }
            if !errors.isEmpty || findings > 0 { noticed += 1 }
        }
        #expect(noticed > 50, "seed \(seed)")
    }

    private func nodePlace(_ bytes: Data, _ page: Int, _ random: inout SeededGenerator) -> Int {
        let count = (Int(bytes[page + 12]) | Int(bytes[page + 13]) << 8) / 2 - 8
        guard count > 0 else { return 16 }
        let pointer = page + 16 + Int.random(in: 0..<count, using: &random) * 2
        return min(4_080, Int(bytes[pointer]) | Int(bytes[pointer + 1]) << 8)
    }

    /// With a valid mark every reader trusted the node offsets.
    @Test func everyPageWhoseNodesLeadOutOfItIsNoticedBelowAValidMark() throws {
        let whole = try sample()
        let path = folder.path("rotten")
        for page in stride(from: 8_192, to: whole.count, by: 4_096) where [1, 2].contains(whole[page + 10]) {
            var bytes = whole
            let isUsed = try isReached(page / 4_096)
            for place in stride(from: page + 16, to: page + Int(bytes[page + 12]) + Int(bytes[page + 13]) << 8, by: 2) {
                bytes[place] = 0xF0
                bytes[place + 1] = 0xFF
            }
            try bytes.write(to: URL(fileURLWithPath: path))
            try markAsSound(path)
            let (errors, findings) = readEverything(path)
            #expect(!isUsed || !errors.isEmpty || findings > 0, "page \(page / 4_096)")
            #expect(errors.allSatisfy { ($0 as? HabitStoreError)?.code == .corrupt }, "page \(page / 4_096): \(errors)")
            try FileManager.default.removeItem(atPath: path)
        }
    }

    /// Whether a page of the sample is in use.
    private func isReached(_ page: Int) throws -> Bool {
        let source = try LMDBPageSource(path: folder.path("sample"))
        defer { source.close() }
        let walker = try LMDBFileWalker(source: source, header: try LMDBFileHeader(source))
        _ = try walker.walkFile()
        return !walker.claim(UInt64(page), as: .free, from: nil)
            && walker.findings.contains { $0.message == "is in use and listed as free" }
    }
}
