import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import Testing

@testable import HabitStoreRollout

/// Listing a log of 255 MiB took 103 s and 1.6 GB of memory, and a longer one could not be listed. Now the newest records are listed and the whole
/// log is checked, with memory that does not depend on its length.
struct EvidenceListingTests {
    private let folder: TemporaryFolder
    private let log: EvidenceLog

    init() throws {
        folder = try TemporaryFolder()
        log = EvidenceLog(path: folder.path(EvidenceLog.fileName))
    }

    private func expectSame(_ limit: Int, _ name: String) throws {
        let (chain, listing) = (try log.read(), try log.newest(limit))
        #expect(listing.records == Array(chain.records.suffix(limit)), "\(name)")
        #expect(listing.count == chain.records.count, "\(name)")
        #expect(listing.damage == chain.damage, "\(name)")
        #expect(listing.tornBytes == chain.tornBytes, "\(name)")
        #expect(listing.isIntact == chain.isIntact, "\(name)")
    }

    /// A changed byte is found just as by reading everything.
    @Test(arguments: 1...60 as ClosedRange<UInt64>)
    func itIsTheEndOfWhatReadingEverythingGives(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var all: [(EvidenceEvent, Date)] = []
        for number in 0..<Int.random(in: 1...60, using: &generator) {
            let event = EvidenceSample.events.randomElement(using: &generator) ?? .killed(trigger: "")
            all.append((event, EvidenceSample.start.addingTimeInterval(Double(number))))
        }
        var bytes = try EvidenceSample.bytes(all)
        try Data(bytes).write(to: URL(fileURLWithPath: log.path))
        for limit in [0, 1, 7, all.count, 1_000] { try expectSame(limit, "seed \(seed)") }
        switch seed % 3 {
        case 0: bytes[Int.random(in: 0..<bytes.count, using: &generator)] ^= 1
        case 1: bytes.removeLast(Int.random(in: 1..<bytes.count, using: &generator))
        default: bytes.insert(contentsOf: Array(repeating: UInt8(ascii: "x"), count: 70_000), at: bytes.count / 2)
        }
        try Data(bytes).write(to: URL(fileURLWithPath: log.path))
        for limit in [0, 1, 7, all.count, 1_000] { try expectSame(limit, "seed \(seed), damaged") }
    }

    @Test func aLogThatIsTooLongToBeReadIsListed() throws {
        try log.append([.killed(trigger: "first")], at: EvidenceSample.start)
        guard truncate(log.path, off_t(EvidenceLog.maximumFileBytes + 1)) == 0 else {
            throw CocoaError(.fileWriteUnknown)
        }
        #expect(throws: HabitStoreError.self) { try log.read() }
        let listing = try log.newest()
        #expect(listing.count == 1)
        #expect(listing.damage == .init(line: 2, reason: "it is longer than \(EvidenceLog.maximumLineBytes) bytes"))
    }

    @Test func thereIsNothingToListWithoutALog() throws {
        let listing = try log.newest()
        #expect(listing.records.isEmpty)
        #expect(listing.isIntact)
    }
}
