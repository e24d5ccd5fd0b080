import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreTesting
import HabitTracker
@_spi(Engines) import JournalEngine
import Testing

/// Tests of what is particular to this engine: its file, and what can happen to it.
struct JournalFileTests {
    private let folder: TestFolder
    private var path: String { folder.path + "/user/store.journal" }

    init() throws {
        folder = try TestFolder()
        try FileManager.default.createDirectory(atPath: folder.path + "/user", withIntermediateDirectories: true)
    }

    private func open(_ access: StoreAccess = .create) throws -> JournalStore {
        try JournalStore(path: path, schema: HabitSchema.current, access: access)
    }

    private func names(_ store: JournalStore) throws -> [String] { try store.all(Draft.self).map(\.content).sorted() }

    private func change(_ body: (inout Data) -> Void) throws {
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        body(&bytes)
        try bytes.write(to: URL(fileURLWithPath: path))
    }

    /// Fills the file with a commit for each name, and returns where the last one begins.
    private func fill(_ names: [String]) throws -> Int {
        let store = try open()
        defer { store.close() }
        var size = 0
        for name in names {
            size = try Data(contentsOf: URL(fileURLWithPath: path)).count
            try store.save(Draft(content: name))
        }
        return size
    }

    @Test(arguments: [1, 15, 16, 40])
    func aTornEndIsCutOffByTheNextWrite(kept: Int) throws {
        let last = try fill(["one", "two", "torn"])
        try change { $0 = $0.prefix(last + kept) }
        let reader = try open(.readOnly)
        #expect(try names(reader) == ["one", "two"])
        let store = try open()
        #expect(try names(store) == ["one", "two"])
        try store.save(Draft(content: "three"))
        #expect(try names(reader) == ["one", "three", "two"])
        reader.close()
        store.close()
        let again = try open()
        defer { again.close() }
        #expect(try names(again) == ["one", "three", "two"])
        #expect(try again.check { _ in } == [])
    }

    @Test func aDamagedCommitBeforeASoundOneIsAnErrorAndTheFileIsUntouched() throws {
        let last = try fill(["one", "two", "three"])
        try change { $0[last - 20] ^= 1 }
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        for access in [StoreAccess.readOnly, .readWrite, .create] {
            let error = #expect(throws: HabitStoreError.self) { try open(access) }
            #expect(error?.code == .corrupt && error?.isDamage == true)
            #expect(error?.location.path == path)
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    }

    @Test func damageUnderAnOpenStoreIsFoundByACheck() throws {
        let last = try fill(["one", "two"])
        let store = try open()
        defer { store.close() }
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.seek(toOffset: UInt64(last + 30))
        try file.write(contentsOf: Data([0xFF, 0xFE, 0xFD]))
        try file.close()
        #expect(try store.check { _ in }.map(\.kind) == ["frameDamaged"])
    }

    @Test func aFileThatIsCutOffUnderAnOpenStoreIsDamaged() throws {
        let last = try fill(["one", "two"])
        let store = try open()
        defer { store.close() }
        #expect(truncate(path, off_t(last)) == 0)
        let error = #expect(throws: HabitStoreError.self) { try names(store) }
        #expect(error?.isDamage == true)
    }

    @Test func foreignNewerAndMissingFilesAreTold() throws {
        func code(_ access: StoreAccess = .create) -> HabitStoreError.Code? {
            #expect(throws: HabitStoreError.self) { try open(access) }?.code
        }
        #expect(code(.readWrite) == .notFound)
        for text in ["", "something else", String(repeating: "x", count: 100)] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            #expect(code() == .notAStore)
        }
        try FileManager.default.removeItem(atPath: path)
        _ = try fill(["one"])
        try change { $0[8] = 2 }
        #expect(code() == .newerVersion)
        #expect(!JournalProvider().recognizes(Data("SQLite format 3".utf8)))
        #expect(JournalProvider().recognizes(try Data(contentsOf: URL(fileURLWithPath: path)).prefix(32)))
    }

    @Test func twoHandlesSeeEachOthersCommits() throws {
        let (one, two) = (try open(), try open())
        defer {
            one.close()
            two.close()
        }
        for number in 0..<20 {
            try (number.isMultiple(of: 2) ? one : two).save(Draft(content: "\(number)"))
            #expect(try one.fetchCount(FetchDescriptor<Draft>()) == number + 1)
            #expect(try two.currentToken().rawValue == Int64(number + 1))
        }
    }

    @Test(arguments: FileTampering.allCases)
    func aWriteToAFileThatWasMovedIsRefused(fate: FileTampering) throws {
        let kept = fate == .fileDeleted ? [] : [MovedFile<JournalStore>.kept]
        let outcome = try MovedFile<JournalStore>(path: path).write(after: fate)
        #expect(outcome.code == .fileMoved && !outcome.hasRun)
        #expect(outcome.names == kept && outcome.findings.isEmpty)
    }

    @Test(arguments: FileTampering.allCases)
    func aFileThatIsMovedDuringAWriteIsNotCommittedTo(fate: FileTampering) throws {
        let kept = fate == .fileDeleted ? [] : [MovedFile<JournalStore>.kept]
        let outcome = try MovedFile<JournalStore>(path: path).write(during: fate)
        #expect(outcome.code == .fileMoved && outcome.hasRun)
        #expect(outcome.names == kept && outcome.findings.isEmpty)
    }

    @Test func anOutlineNeedsNoSchema() throws {
        _ = try fill(["one"])
        let outline = try JournalProvider().outline(at: path)
        #expect(outline.version == HabitSchema.current.version)
        #expect(outline.information.token.rawValue == 1)
    }
}
