import Foundation
import HabitStore
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// The folder was swapped, the store's file replaced, or the user deleted while a process had it open: on LMDB five of five writes were acknowledged
/// into the orphan. Now acknowledged writes are in the files of the present folder, and the next operation opens those, or reports that they are
/// missing.
struct MovedFilesTests {
    enum Way: CaseIterable {
        case folder, file, deletion
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let stage: Stage
        let old: EngineName
        let way: Way

        var testDescription: String { "\(way) at \(stage), from \(old)" }
    }

    static let cases = EngineName.standard.flatMap { old in
        [Stage.off, .live, .complete].flatMap { stage in Way.allCases.map { Case(stage: stage, old: old, way: $0) } }
    }

    /// If the file of an open store was replaced, and a mirror or a comparison noticed before any write did, the store was closed and reopened under
    /// the writers, whose writes all failed with "closed" until the user was moved. Now they find the reopened store.
    @Test(arguments: EngineName.standard)
    func aStoreThatAnotherThreadHasOpenedAnewIsWrittenToAndRead(engine: EngineName) throws {
        let fixture = try UserStoresFixture(engine)
        try fixture.with { opened in
            try opened.save(Draft(content: "one"))
            try opened.opened().pair.close(engine)
            _ = try opened.opened().pair.store(engine)
            try opened.save(Draft(content: "two"))
            try opened.opened().pair.close(engine)
            _ = try opened.opened().pair.store(engine)
            // A read in progress is not restarted; the next one succeeds.
            _ = try? opened.all(Draft.self)
            #expect(try opened.all(Draft.self).count == 2)
        }
    }

    @Test(arguments: cases)
    func whatIsAcknowledgedIsInTheFolder(each: Case) throws {
        let user = try StagedUser(old: each.old)
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try store.save(Draft(content: "before"))
        try user.bring(store, to: each.stage) { _ = try $0.all(Draft.self) }
        try store.save(Draft(content: "there"))
        let path = try user.directory.path
        let manager = FileManager.default
        switch each.way {
        case .folder:
            try manager.copyItem(atPath: path, toPath: user.folder.path("copy"))
            try manager.moveItem(atPath: path, toPath: user.folder.path("aside"))
            try manager.moveItem(atPath: user.folder.path("copy"), toPath: path)
        case .file:
            let file = try user.address(each.stage.authority).path
            try manager.copyItem(atPath: file, toPath: user.folder.path("file"))
            guard rename(user.folder.path("file"), file) == 0 else { throw CocoaError(.fileWriteUnknown) }
        case .deletion: try manager.removeItem(atPath: path)
        }
        var acknowledged: [String] = []
        for number in 0..<5 {
            do {
                try store.save(Draft(content: "ghost \(number)"))
                acknowledged.append("ghost \(number)")
            } catch let error as HabitStoreError {
                #expect([.fileMoved, .notFound, .staleStore, .notAuthoritative].contains(error.code), "\(error)")
            }
        }
        store.close()
        guard each.way != .deletion else {
            #expect(acknowledged.isEmpty)
            return
        }
        let other = try user.stores()
        do {
            let again = try other.store(for: "alice")
            defer { again.close() }
            let contents = Set(try again.all(Draft.self).map(\.content))
            #expect(contents.isSuperset(of: acknowledged), "acknowledged: \(acknowledged), there: \(contents)")
        } catch let error as HabitStoreError where error.code == .staleStore {
            // A file copied without its log is older than what was acknowledged, and is refused as such.
            #expect(each.way == .file)
            #expect(acknowledged.isEmpty)
        }
    }
}
