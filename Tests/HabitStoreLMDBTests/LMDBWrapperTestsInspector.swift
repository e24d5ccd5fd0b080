import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import Testing

@testable import HabitStoreLMDB

@Suite struct LMDBWrapperInspectorTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func inspectCode(_ path: String) -> HabitStoreError.Code? {
        do {
            try LMDBFileInspector.inspect(path: path, waitMilliseconds: 0)
            return nil
        } catch { return (error as? HabitStoreError)?.code }
    }

    private func write(_ bytes: some Sequence<UInt8>, _ name: String = "damaged") throws -> String {
        try Data(bytes).write(to: URL(fileURLWithPath: folder.path(name)))
        return folder.path(name)
    }

    private func sample(seed: UInt64 = 1, records: Int = 60) throws -> [UInt8] {
        try LMDBWrapperTestSample.make(path: folder.store, seed: seed, records: records)
        return [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.store)))
    }

    @Test func whatIsNoStoreIsSaidToBeNone() throws {
        #expect(inspectCode(folder.path("none")) == .notFound)
        #expect(inspectCode(folder.url.path) == .notAStore)
        #expect(inspectCode(try write([])) == .notAStore)
        #expect(
            inspectCode(try write(Array("SQLite format 3\0".utf8) + [UInt8](repeating: 0, count: 9_000))) == .notAStore
        )
        #expect(inspectCode(try write([UInt8](repeating: 0, count: 100))) == .notAStore)
    }

    @Test func eachKindOfMetaDamageHasItsCode() throws {
        let whole = try sample()
        func changed(_ offset: Int, _ value: UInt8) throws -> HabitStoreError.Code? {
            var bytes = whole
            bytes[offset] = value
            return inspectCode(try write(bytes))
        }
        let pageSize = 4_096
        #expect(inspectCode(folder.store) == nil)
        #expect(try changed(16, 0) == .corrupt)
        #expect(try changed(pageSize + 16, 0) == .corrupt)
        #expect(try changed(20, 2) == .newerVersion)
        #expect(try changed(pageSize + 20, 2) == .newerVersion)
        #expect(try changed(20, 0) == .corrupt)
        #expect(try changed(10, 2) == .corrupt)
        #expect(try changed(41, 0x11) == .corrupt, "page size")
        for meta in [0, pageSize] {
            #expect(try changed(meta + 143, 1) == .corrupt, "last page")
            #expect(try changed(meta + 150, 1) == .corrupt, "transaction")
        }
        let newer = whole[144] > whole[pageSize + 144] ? 0 : pageSize
        #expect(try changed(newer + 88 + 45, 1) == .corrupt, "root of the main database")
        #expect(try changed(newer + 40 + 45, 1) == .corrupt, "root of the free list")
        var both = whole
        both[16] = 0
        both[pageSize + 16] = 0
        #expect(inspectCode(try write(both)) == .notAStore)
    }

    @Test func everyTruncationIsFound() throws {
        _ = try sample()
        // Without free pages: a file that lacks only free pages is complete.
        let environment = try LMDBEnvironment.open(path: folder.store)
        try environment.copy(to: folder.path("compact"), compact: true)
        let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.path("compact"))))
        for length in [10, 100, 152, 4_095, 4_096, 8_191, 8_192, 20_000, whole.count - 4_096, whole.count - 1] {
            let code = inspectCode(try write(whole.prefix(length)))
            #expect(
                code == .corrupt || (length < 20 && code == .notAStore),
                "\(length) bytes: \(String(describing: code))"
            )
        }
        #expect(
            inspectCode(try write(whole + [UInt8](repeating: 0, count: 5_000))) == nil,
            "a longer file is not damaged"
        )
    }

    @Test func aDamagedFileIsRefusedWhenItIsOpened() throws {
        var bytes = try sample()
        bytes[4_096 + 16] ^= 1
        let path = try write(bytes)
        #expect(throws: HabitStoreError.self) { try LMDBEnvironment.open(path: path) }
        bytes[4_096 + 16] ^= 1
        _ = try write(bytes)
        try LMDBEnvironment.open(path: path).close()
    }

    /// A transaction that needs pages at the end of the file and frees them before it commits never writes them: the file ends before its last page,
    /// and is sound.
    @Test func aFileThatEndsInFreePagesIsWhole() throws {
        let environment = try LMDBEnvironment.open(path: folder.store, options: LMDBWrapperTestSample.options())
        let database = try #require(try environment.openDatabases(names: ["records"], create: true).first)
        var length = 0
        var used = 0
        for round in 1...40 where length >= used {
            try environment.withWrite { transaction in
                for number in 0..<round * 20 {
                    try transaction.put(
                        database,
                        LMDBWrapperTestSample.key(number),
                        [UInt8](repeating: 1, count: 1_500)
                    )
                }
                for number in (3..<round * 20).reversed() {
                    try transaction.delete(database, LMDBWrapperTestSample.key(number))
                }
            }
            used = try environment.statistics().usedBytes
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.store)
            length = try #require(attributes[.size] as? Int)
        }
        environment.close()
        try #require(length < used, "liblmdb wrote every page: the case is not covered")
        #expect(inspectCode(folder.store) == nil)
        #expect(try LMDBFileInspector.walk(path: folder.store).isEmpty)
        let again = try LMDBEnvironment.open(path: folder.store)
        let found = try again.openDatabases(names: ["records"], create: true)
        #expect(try again.withRead { try $0.count(found[0]) } == 3)
    }

    @Test(arguments: [11, 12, 13, 14] as [UInt64]) func aHealthyFileHasNoFindings(seed: UInt64) throws {
        print("seed \(seed)")
        try LMDBWrapperTestSample.make(path: folder.store, seed: seed, records: 1_500)
        #expect(try LMDBFileInspector.walk(path: folder.store) == [])
        let environment = try LMDBEnvironment.open(path: folder.store)
        #expect(try LMDBFileInspector.walk(path: folder.store) == [], "through the open file's descriptor")
        try LMDBFileInspector.inspect(path: folder.store)
        let databases = try environment.openDatabases(names: LMDBWrapperTestSample.names, create: false)
        try environment.withWrite { for database in databases { try $0.removeAll(database) } }
        #expect(try LMDBFileInspector.walk(path: folder.store) == [])
    }

    @Test func eachKindOfPageDamageIsFoundWhereItIs() throws {
        let whole = try sample()
        let newer = whole[144] > whole[4_096 + 144] ? 0 : 4_096
        let mainRoot = Int(number(whole, newer + 88 + 40))
        let name = Array("records".utf8)
        let nameOffset = try #require(
            (mainRoot * 4_096..<(mainRoot + 1) * 4_096 - 54).first { Array(whole[$0..<$0 + name.count]) == name }
        )
        let tree = nameOffset + name.count
        let root = Int(number(whole, tree + 40))
        let firstNode = root * 4_096 + Int(number(whole, root * 4_096 + 16) & 0xFFFF)
        let changes: [(what: String, offset: Int, page: Int)] = [
            ("number of the page", root * 4_096, root), ("type", root * 4_096 + 10, root),
            ("end of the node table", root * 4_096 + 12, root), ("begin of the nodes", root * 4_096 + 15, root),
            ("offset of a node", root * 4_096 + 17, root), ("child", firstNode + 2, root),
            ("key of the second node", secondKey(whole, root), root), ("branch pages", tree + 8, root),
            ("leaf pages", tree + 16, root), ("overflow pages", tree + 24, root), ("records", tree + 32, root),
            ("depth", tree + 6, root), ("flags", tree + 4, mainRoot), ("root", tree + 45, mainRoot),
        ]
        for change in changes {
            var bytes = whole
            bytes[change.offset] ^= change.what.hasSuffix("pages") ? 1 : 0x55
            let findings = try LMDBFileInspector.walk(path: try write(bytes), waitMilliseconds: 0)
            #expect(findings.contains { $0.severity != .leak }, "\(change.what)")
            let pages = findings.compactMap(\.page)
            #expect(change.what == "depth" || pages.contains(UInt64(change.page)), "\(change.what): \(findings)")
        }
    }

    private func number(_ bytes: [UInt8], _ offset: Int) -> UInt64 {
        bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
    }

    /// The position of a branch page's second key.
    private func secondKey(_ bytes: [UInt8], _ page: Int) -> Int {
        page * 4_096 + Int(number(bytes, page * 4_096 + 18) & 0xFFFF) + 8
    }

    @Test func aLeakedPageIsNotedAndNotCalledDamage() throws {
        var bytes = try sample()
        // One more page at the end, which nothing refers to.
        let lastPage = bytes.withUnsafeBytes { buffer in
            [0, 4_096].map { buffer.loadUnaligned(fromByteOffset: $0 + 136, as: UInt64.self) }
        }
        let newest = try #require(lastPage.max())
        for meta in [0, 4_096] {
            withUnsafeBytes(of: newest + 1) { bytes.replaceSubrange(meta + 136..<meta + 144, with: $0) }
        }
        bytes += [UInt8](repeating: 0, count: max(0, Int(newest + 2) * 4_096 - bytes.count))
        let findings = try LMDBFileInspector.walk(path: try write(bytes), waitMilliseconds: 0)
        #expect(findings.map(\.severity) == [.leak])
        #expect(findings.first?.page == newest + 1)
    }

    /// The inspector reads while a process commits all the time, and never reports the file as damaged.
    @Test(.enabled(if: LMDBWrapperTestHelper.isAvailable, "needs a C compiler for the second process"))
    func aFileThatIsBeingWrittenIsNotCalledDamaged() async throws {
        _ = try sample()
        let program = try LMDBWrapperTestHelper.build(in: folder)
        let path = folder.store
        async let writer = LMDBWrapperTestHelper.run(program, ["write", path, "400"])
        var looks = 0
        let end = Date(timeIntervalSinceNow: 2)
        while Date() < end {
            try LMDBFileInspector.inspect(path: path)
            looks += 1
        }
        #expect(try await writer.status == 0)
        #expect(looks > 20)
        #expect(try LMDBFileInspector.walk(path: path) == [])
    }

    /// Flips and truncations: the check never traps, and liblmdb can read and write any file that it accepts, without a crash or an error. That is
    /// tried in another process, which may die.
    @Test(.enabled(if: LMDBWrapperTestHelper.isAvailable, "needs a C compiler for the second process"))
    func whatPassesTheCheckIsSafeForTheLibrary() throws {
        let seed: UInt64 = 20_261
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let whole = try sample(seed: seed, records: 40)
        let structural = structuralOffsets(whole)
        var passed: [String] = []
        var found = 0
        for round in 0..<4_000 {
            var bytes = whole
            let line: String
            if round % 10 == 0 {
                let length = Int.random(in: 0..<whole.count, using: &random)
                bytes.removeLast(whole.count - length)
                line = "t \(length) 0"
            } else {
                // Half of them in the structure: random ones would mostly hit values or unused space.
                let offset =
                    round.isMultiple(of: 2)
                    ? structural[Int.random(in: 0..<structural.count, using: &random)]
                    : Int.random(in: 0..<whole.count, using: &random)
                let mask =
                    round % 3 == 0
                    ? UInt8.random(in: 1...255, using: &random) : 1 << UInt8.random(in: 0..<8, using: &random)
                bytes[offset] ^= mask
                line = "f \(offset) \(mask)"
            }
            let path = try write(bytes)
            do {
                let findings = try LMDBFileInspector.walk(path: path, waitMilliseconds: 0)
                if findings.isEmpty { passed.append(line) } else { found += 1 }
            } catch is HabitStoreError {
                found += 1
            }
        }
        print("\(found) of 4000 were found, \(passed.count) passed")
        #expect(found > 700)
        try #require(!passed.isEmpty)
        let program = try LMDBWrapperTestHelper.build(in: folder)
        let list = folder.path("list")
        try passed.joined(separator: "\n").write(toFile: list, atomically: true, encoding: .utf8)
        let outcome = try LMDBWrapperTestHelper.run(program, ["mutate", folder.store, folder.path("scratch"), list])
        let end = outcome.output.split(separator: "\n").suffix(2).joined(separator: " ")
        #expect(outcome.isSuccess, "seed \(seed), status \(outcome.status), last: \(end)")
    }

    /// The offsets of headers, node tables, node headers and keys.
    private func structuralOffsets(_ bytes: [UInt8]) -> [Int] {
        var offsets: [Int] = Array(0..<152) + Array(4_096..<4_248)
        for page in 2..<bytes.count / 4_096 {
            offsets += Array(page * 4_096..<page * 4_096 + 40)
            let lower = Int(bytes[page * 4_096 + 12]) | Int(bytes[page * 4_096 + 13]) << 8
            guard lower < 4_096, lower >= 16 else { continue }
            for slot in stride(from: 16, to: lower - 1, by: 2) {
                let node = Int(bytes[page * 4_096 + slot]) | Int(bytes[page * 4_096 + slot + 1]) << 8
                if node + 20 < 4_096 { offsets += Array(page * 4_096 + node..<page * 4_096 + node + 20) }
            }
        }
        return offsets
    }
}
