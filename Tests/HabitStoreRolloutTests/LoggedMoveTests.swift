import Foundation
import HabitStore
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// Opening a user reads the evidence log only if a move may be missing in it.
struct LoggedMoveTests {
    private let user: StagedUser

    init() throws {
        user = try StagedUser()
        let stores = try user.stores()
        let store = try stores.store(for: "alice")
        try user.bring(store, to: .dualwrite)
        store.close()
    }

    /// Overwrites the log with empty lines: an opening that reads it finds the last move missing.
    private func spoilTheLog(keepingBytes count: Int? = nil) throws {
        let path = try EvidenceLog(user.directory).path
        let size = try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
        try Data(repeating: UInt8(ascii: "\n"), count: count ?? size).write(to: URL(fileURLWithPath: path))
    }

    private func openAndClose() throws {
        #expect(try user.with { try $0.stage() } == .dualwrite)
    }

    private func recoveries() throws -> [Int] {
        try EvidenceLog(user.directory).read().records.compactMap { record in
            guard case .stageChanged(_, .dualwrite, let epoch, _, .recovered, _, _) = record.event else { return nil }
            return epoch
        }
    }

    private func control() throws -> ControlFile { try ControlFile(path: user.directory.path + "/control") }

    /// Overwrites cells of the control file.
    private func setCells(_ cells: Range<Int>, to value: UInt8 = 0) throws {
        let file = try #require(FileHandle(forUpdatingAtPath: user.directory.path + "/control"))
        defer { try? file.close() }
        try file.seek(toOffset: UInt64(cells.lowerBound * 8))
        try file.write(contentsOf: Data(repeating: value, count: cells.count * 8))
    }

    @Test func aMoveThatIsKnownToBeLoggedIsNotLookedForAgain() throws {
        try spoilTheLog()
        try openAndClose()
        #expect(try recoveries().isEmpty)
    }

    /// As in the control file of an earlier version, or one that was deleted.
    @Test func aControlFileThatSaysNothingOfTheLogHasItRead() throws {
        try spoilTheLog()
        try setCells(5..<8)
        try openAndClose()
        #expect(try recoveries().count == 1)
        try openAndClose()
        #expect(try recoveries().count == 1)
    }

    /// A kill does not search the log: with an earlier version's log of 100 MiB it waited for 3.6 s. The kill's own lines begin another stay in any
    /// case.
    @Test func aKillLooksForNothingInTheLog() throws {
        try spoilTheLog()
        try setCells(5..<8)
        try user.want("dualwrite", kill: true)
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        #expect(try store.applyKill())
        #expect(try recoveries().isEmpty)
        let events = try EvidenceLog(user.directory).read().records.map(\.event)
        #expect(
            events.contains {
                if case .stageChanged(.dualwrite, .off, _, _, .killed, _, _) = $0 { true } else { false }
            }
        )
        #expect(store.files.leases.present?.actual.epoch == (try EvidenceLog(user.directory).summary().evidence.epoch))
    }

    /// A process may be killed between writing a number and its complement.
    @Test(arguments: [5, 6])
    func aNoteThatIsHalfWrittenIsNone(cell: Int) throws {
        try spoilTheLog()
        try setCells(cell..<cell + 1, to: 7)
        try openAndClose()
        #expect(try recoveries().count == 1)
    }

    @Test func aLogThatHasBecomeShorterIsRead() throws {
        try spoilTheLog(keepingBytes: 1)
        try openAndClose()
        #expect(try recoveries().count == 1)
    }

    @Test func aLogThatWasDeletedIsBegunAnew() throws {
        try FileManager.default.removeItem(atPath: try EvidenceLog(user.directory).path)
        try openAndClose()
        #expect(try recoveries().count == 1)
    }

    /// The process was killed when the store had the next epoch and the log did not: the last move known to be logged is the one before.
    @Test func aMoveBehindTheLastLoggedOneIsMadeUpFor() throws {
        let stores = try user.stores()
        let pair = StorePair(directory: try user.directory, schema: stores.schema, engines: stores.engines)
        defer { pair.close() }
        let change = StageSwitch(pair: pair, control: try control(), stepLimitSeconds: 5)
        let actual = try #require(try change.recover(Engines.standard.pair(old: .sqlite)))
        let back = try change.move(actual, to: .off)
        let again = try change.move(back, to: .dualwrite)
        #expect(again.epoch == actual.epoch + 2)
        let log = EvidenceLog(try user.directory)
        #expect(try control().hasLogged(actual.epoch, in: log))
        #expect(try !control().hasLogged(again.epoch, in: log))
        // The stage is the logged one, but the stay is another: earlier evidence does not count in it.
        try openAndClose()
        #expect(try recoveries().count == 1)
        #expect(try control().hasLogged(again.epoch, in: log))
        let off = try change.move(try #require(try change.recover(Engines.standard.pair(old: .sqlite))), to: .off)
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        #expect(try store.stage() == .off)
        let last = try #require(try log.read().records.last)
        guard case .stageChanged(.dualwrite, .off, let epoch, _, .recovered, _, _) = last.event else {
            Issue.record("the last record is \(last.event)")
            return
        }
        #expect(epoch == off.epoch)
    }
}
