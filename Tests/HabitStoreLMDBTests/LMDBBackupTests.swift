import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker
import Testing

@testable import HabitStoreLMDB

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A backup was written under its final name, so a killed one left half a file there, which the next one refused to replace. Now the file gets its
/// name only once it is complete and on the disk.
@Suite("LMDB's backups")
struct LMDBBackupTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted()
    }

    @Test func aCopyHasNoNameBeforeItIsWhole() throws {
        struct Stop: Error {}
        let path = folder.path("copy")
        #expect(throws: Stop.self) {
            try LMDBDraft.write(path, during: "testing") { descriptor in
                #expect(write(descriptor, "half", 4) == 4)
                #expect(!FileManager.default.fileExists(atPath: path))
                throw Stop()
            }
        }
        #expect(try names().isEmpty)
    }

    @Test func whatComesToThePathMeanwhileIsNotOverwritten() throws {
        let path = folder.path("copy")
        let error = #expect(throws: HabitStoreError.self) {
            try LMDBDraft.write(path, during: "testing") { _ in
                try Data("theirs".utf8).write(to: URL(fileURLWithPath: path))
            }
        }
        #expect(error?.code == .inputOutput)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("theirs".utf8))
        #expect(try names() == ["copy"])
    }

    @Test func aDraftThatAKilledProcessLeftIsNotInTheWay() throws {
        let store = try LMDBHabitStore(path: folder.store, schema: HabitSchema.current)
        defer { store.close() }
        try store.save(HabitTag(name: "a"))
        try Data("half".utf8).write(to: URL(fileURLWithPath: LMDBDraft.path(for: folder.path("copy"))))
        try store.backup(to: folder.path("copy"))
        let copy = try LMDBHabitStore(path: folder.path("copy"), schema: HabitSchema.current)
        #expect(try copy.all(HabitTag.self).map(\.name) == ["a"])
        copy.close()
    }

    @Test func aCopyThatIsMadeWhileOthersWriteIsOneMoment() throws {
        let (environment, database) = try folder.openRecords()
        defer { environment.close() }
        try environment.withWrite { transaction in
            for number in 0..<2_000 { try transaction.put(database, LMDBWrapperTestSample.key(number), [0]) }
        }
        let group = DispatchGroup()
        DispatchQueue.global().async(group: group) {
            // Each write changes all records alike.
            for round in UInt8(1)...40 {
                _ = try? environment.withWrite { transaction in
                    for number in 0..<2_000 {
                        try transaction.put(database, LMDBWrapperTestSample.key(number), [round])
                    }
                }
            }
        }
        for number in 0..<10 { try environment.copy(to: folder.path("copy-\(number)"), compact: false) }
        group.wait()
        for number in 0..<10 {
            #expect(try LMDBFileInspector.walk(path: folder.path("copy-\(number)")).isEmpty)
            let copy = try LMDBEnvironment.open(path: folder.path("copy-\(number)"))
            let records = try #require(try copy.openDatabases(names: ["records"], create: false).first)
            var rounds: Set<UInt8> = []
            try copy.withRead { try $0.forEach(records) { rounds.insert($0.value[0]).inserted || true } }
            #expect(rounds.count == 1)
            copy.close()
        }
    }
}
