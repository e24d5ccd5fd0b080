import Foundation
import HabitStore
import Testing

@testable import HabitStoreRollout

/// The control file's record of marks, pending differences and epochs.
struct ControlFileTests {
    private let folder: TemporaryFolder
    private var path: String { folder.path("control") }

    init() throws { folder = try TemporaryFolder() }

    /// The check had more bits than fit, so nearly every token was read as 0, and no restored store was detected.
    @Test func theLastTokenThatWasAcknowledgedIsReadBack() throws {
        let control = try ControlFile(path: path)
        for token in Array(0...2_000) + [1 << 20, 1 << 33, 1 << 46] {
            control.noteAcknowledged(HistoryToken(rawValue: Int64(token)))
            #expect(control.mark == HistoryToken(rawValue: Int64(token)))
        }
        control.noteAcknowledged(HistoryToken(rawValue: 7))
        #expect(control.mark == HistoryToken(rawValue: 1 << 46))
        #expect(try ControlFile(copying: path).mark == control.mark)
    }

    /// Two processes may each add a pending difference: clearing one must not clear the other.
    @Test func aDifferenceThatCameMeanwhileStaysOwed() throws {
        let (first, second) = (try ControlFile(path: path), try ControlFile(path: path))
        first.addPendingDifference()
        let owed = first.owedDifferences
        #expect(owed == 1)
        second.addPendingDifference()
        first.clearPendingDifferences(owed)
        #expect(first.owedDifferences == 2)
        second.clearPendingDifferences(2)
        #expect(first.owedDifferences == 0)
    }

    @Test func aFileThatWasCopiedKnowsIt() throws {
        let control = try ControlFile(path: path)
        control.publish(.live, epoch: 3)
        #expect(!control.isCopy)
        try FileManager.default.copyItem(atPath: path, toPath: folder.path("copy"))
        let copy = try ControlFile(path: folder.path("copy"))
        #expect(copy.isCopy)
        copy.noteCopy()
        #expect(!copy.isCopy)
        #expect(copy.confirmed == 3)
    }

    /// A kill that bypassed the lock may be reading what the lock's holder serves, so no process may publish an older epoch from then on.
    @Test func nothingIsPublishedBelowTheEpochOfAKillThatPassedBy() throws {
        let control = try ControlFile(path: path)
        control.notePassing(5)
        control.publish(.complete, epoch: 4)
        #expect(control.word == 0)
        control.publish(.off, epoch: 5)
        #expect(control.word == ControlFile.word(.off, epoch: 5))
    }

    @Test func whoOnlyLooksChangesNothing() throws {
        #expect(throws: HabitStoreError.self) { try ControlFile(copying: path) }
        #expect(!FileManager.default.fileExists(atPath: path))
        let control = try ControlFile(path: path)
        let copy = try ControlFile(copying: path)
        copy.noteKilled(9)
        #expect(copy.isKilled)
        #expect(!control.isKilled)
    }

    /// `rollout status` waited forever for a process to write into a FIFO.
    @Test func whatIsNotAFileIsRefusedAtOnce() throws {
        #expect(mkfifo(path, 0o600) == 0)
        let error = #expect(throws: HabitStoreError.self) { try ControlFile.copy(of: path) }
        #expect(error?.code == .inputOutput)
        #expect(throws: HabitStoreError.self) { try ControlFile(path: path) }
    }
}
