import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Testing

@testable import HabitStoreRollout

/// Control files with extreme numbers in their cells, and matching complements and checks: an epoch of 2^64 - 1 crashed the process that claimed the
/// next one, and one of 2^60 would have been written into a store that no version can read.
struct ControlFileNumberTests {
    static let extremes: [UInt64] = [
        0, 1, .max, .max - 1, 1 << 31, (1 << 31) - 1, 1 << 32, 1 << 47, (1 << 47) - 1, 1 << 56, 1 << 63, (1 << 63) - 1,
    ]
    /// The first cells of numbers with a complement, and the cells with a check or with neither.
    private static let (pairs, singles) = ([1, 3, 5, 8, 11, 12, 15, 17, 21, 23], [0, 7, 10, 13, 14, 19, 20, 511])

    /// Every way to put one number into the file, as values by cell.
    private static let damages: [[Int: UInt64]] = extremes.flatMap { number in
        let check = number << 16 | ((number & 0xFFFF_FFFF_FFFF) &+ 1) &* 0x9E37_79B9_7F4A_7C15 >> 48
        return pairs.map { [$0: number, $0 + 1: ~number] } + pairs.map { [$0: number] }
            + singles.flatMap { [[$0: number], [$0: check]] }
    }

    private static func damage(_ path: String, _ cells: [Int: UInt64]) throws {
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        for (cell, number) in cells {
            withUnsafeBytes(of: number.littleEndian) { bytes.replaceSubrange(cell * 8..<cell * 8 + 8, with: $0) }
        }
        // In place, so that processes that have mapped the file see it.
        let file = try #require(FileHandle(forWritingAtPath: path))
        try file.write(contentsOf: bytes)
        try file.close()
    }

    @Test func noNumberOfACellEndsAnythingAndEpochsGoOn() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("control")
        let sound = try ControlFile(path: path)
        sound.publish(.live, epoch: 3)
        sound.noteAcknowledged(HistoryToken(rawValue: 40))
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        let greatest = Int(HistoryToken.greatest.rawValue)
        for cells in Self.damages {
            try whole.write(to: URL(fileURLWithPath: path))
            try Self.damage(path, cells)
            let control = try ControlFile(path: path)
            let numbers = [control.floor, control.confirmed, Int(control.mark.rawValue)]
            #expect(numbers.allSatisfy { (0...greatest * 2).contains($0) }, "\(cells)")
            #expect(control.floor < greatest && control.confirmed < greatest, "\(cells)")
            _ = (control.stage, control.lineage, control.isCopy, control.isKilled, control.isWhole, control.isInPlace)
            let claimed = control.claim(above: 3)
            #expect(claimed > 3 && claimed <= greatest, "\(cells)")
            control.raise(claimed)
            control.addPendingDifference()
            control.clearPendingDifferences(control.owedDifferences)
            control.noteAcknowledged(HistoryToken(rawValue: 41))
            control.noteKilled(claimed)
            control.forgetKill()
            control.notePassing(claimed)
            control.publish(.shadow, epoch: claimed)
            control.noteRecovered(claimed)
            // No process can claim an epoch after the greatest one.
            #expect(control.floor >= claimed || claimed == greatest, "\(cells)")
        }
    }

    /// Whatever a user's control file contains, the user is served or refused with a message. Without the file, the user is served again.
    @Test func aUserWithAnyNumbersIsServedOrRefusedAndNeverLost() throws {
        let user = try StagedUser(at: .dualwrite) { try SampleRecords.fill($0) }
        let path = try user.directory.path + "/control"
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        for cells in Self.damages where cells.count == 2 || cells.values.contains(.max) {
            let file = try #require(FileHandle(forWritingAtPath: path))
            try file.write(contentsOf: whole)
            try file.close()
            try Self.damage(path, cells)
            let stores = try user.stores()
            do {
                let store = try stores.store(for: "alice")
                defer { store.close() }
                #expect(try store.all(Habit.self).count == 2, "\(cells)")
                try store.write { try $0.insert(Tag(name: UUID().uuidString)) }
            } catch let error as HabitStoreError {
                #expect(!error.message.isEmpty && !error.message.contains("\n"), "\(cells)")
            }
            do { _ = try stores.status(of: "alice") } catch is HabitStoreError { continue }
        }
        try FileManager.default.removeItem(atPath: path)
        let mended = try user.stores().store(for: "alice")
        defer { mended.close() }
        #expect(try mended.all(Habit.self).count == 2)
    }
}
