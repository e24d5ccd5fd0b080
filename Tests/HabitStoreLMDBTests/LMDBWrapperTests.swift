import CLMDB
import Foundation
import HabitStore
import HabitStoreTesting
import Testing

@testable import HabitStoreLMDB

@Suite struct LMDBWrapperTests {
    let folder: TemporaryFolder
    let environment: LMDBEnvironment
    let database: LMDBDatabase

    init() throws {
        folder = try TemporaryFolder()
        (environment, database) = try folder.openRecords()
    }

    // MARK: One environment per file

    @Test func oneFileHasOneEnvironmentByEveryName() throws {
        try FileManager.default.createSymbolicLink(atPath: folder.path("symbolic"), withDestinationPath: folder.store)
        try FileManager.default.linkItem(atPath: folder.store, toPath: folder.path("hard"))
        for name in ["store.lmdb", "symbolic", "hard", "../\(folder.url.lastPathComponent)/store.lmdb"] {
            let other = try LMDBEnvironment.open(path: folder.path(name))
            #expect(other.core === environment.core, "\(name)")
            #expect(try other.openDatabases(names: ["records"], create: false) == [database])
            other.close()
        }
        try environment.withWrite { try $0.put(database, [1], [2]) }
        #expect(!FileManager.default.fileExists(atPath: folder.path("symbolic-lock")))
    }

    /// A folder has two names: a file at a path in it is the same file by both, or another one with the same lock file.
    @Test func aFolderByAnotherNameHoldsTheSamePlaces() throws {
        let alias = folder.path("alias")
        try FileManager.default.createSymbolicLink(atPath: alias, withDestinationPath: folder.url.path)
        let other = try LMDBEnvironment.open(path: alias + "/store.lmdb")
        #expect(other.core === environment.core)
        other.close()
        try FileManager.default.moveItem(atPath: folder.store, toPath: folder.path("moved"))
        #expect(errorCode { _ = try LMDBEnvironment.open(path: folder.store) } == .notFound)
        try FileManager.default.copyItem(atPath: folder.path("moved"), toPath: folder.store)
        #expect(errorCode { _ = try LMDBEnvironment.open(path: alias + "/store.lmdb") } == .busy)
        #expect(errorCode { _ = try LMDBEnvironment.open(path: folder.store) } == .busy)
        environment.close()
        let replaced = try LMDBEnvironment.open(path: alias + "/store.lmdb")
        defer { replaced.close() }
        #expect(replaced.path == alias + "/store.lmdb")
        #expect(try LMDBEnvironment.open(path: folder.store).core === replaced.core)
    }

    @Test func theLastCloseClosesAndAClosedHandleRefuses() throws {
        let core = environment.core
        let other = try LMDBEnvironment.open(path: folder.store)
        environment.close()
        environment.close()
        #expect(core.environment != nil)
        #expect(errorCode { try environment.withRead { _ in } } == .closed)
        #expect(errorCode { try environment.withWrite { _ in } } == .closed)
        try other.withRead { _ in }
        other.close()
        #expect(core.environment == nil)
        let again = try LMDBEnvironment.open(path: folder.store)
        #expect(again.core !== core)
    }

    @Test func closingInsideATransactionLetsItFinish() throws {
        let core = environment.core
        try environment.withWrite { transaction throws in
            environment.close()
            try transaction.put(database, [1], [2])
        }
        #expect(core.environment == nil)
        let again = try LMDBEnvironment.open(path: folder.store)
        let found = try again.openDatabases(names: ["records"], create: false)
        #expect(try again.withRead { try $0.get(found[0], [1]).map(Array.init) } == [2])
    }

    @Test func aReplacedFileIsNotOpenedBesideTheOldOne() throws {
        try FileManager.default.removeItem(atPath: folder.store)
        #expect(errorCode { _ = try LMDBEnvironment.open(path: folder.store) } == .notFound)
        #expect(
            errorCode { _ = try LMDBEnvironment.open(path: folder.store, options: LMDBWrapperTestSample.options()) }
                == .busy
        )
        environment.close()
        let fresh = try LMDBEnvironment.open(path: folder.store, options: LMDBWrapperTestSample.options())
        #expect(errorCode { _ = try fresh.openDatabases(names: ["records"], create: false) } == .notFound)
    }

    @Test func filesAreForTheirOwnerOnly() throws {
        for name in ["store.lmdb", "store.lmdb-lock"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.path(name))
            #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
        #expect(names.sorted() == ["store.lmdb", "store.lmdb-lock"])
    }

    @Test func openingNothingOrSomethingElseIsATypedError() throws {
        #expect(errorCode { _ = try LMDBEnvironment.open(path: folder.path("none")) } == .notFound)
        #expect(errorCode { _ = try LMDBEnvironment.open(path: folder.url.path) } == .notAStore)
        #expect(errorCode { _ = try LMDBEnvironment.open(path: folder.path("no/such/folder")) } == .notFound)
        let make = LMDBWrapperTestSample.options()
        #expect(errorCode { _ = try LMDBEnvironment.open(path: folder.path("no/folder"), options: make) } == .notFound)
        try FileManager.default.createSymbolicLink(atPath: folder.path("dangling"), withDestinationPath: "nowhere")
        #expect(errorCode { _ = try LMDBEnvironment.open(path: folder.path("dangling"), options: make) } == .notFound)
    }

    /// liblmdb follows a link at the lock file's path: opening the store overwrote whatever file the link led to, or created one if there was none. A
    /// link, a pipe or a folder there is refused before the library sees it.
    @Test(arguments: [true, false]) func aLinkInThePlaceOfTheLockFileIsNotFollowed(isReadOnly: Bool) throws {
        environment.close()
        let (lock, theirs) = (folder.store + "-lock", folder.path("theirs"))
        try Data("theirs".utf8).write(to: URL(fileURLWithPath: theirs))
        let places: [() throws -> Void] = [
            { try FileManager.default.createSymbolicLink(atPath: lock, withDestinationPath: theirs) },
            { try FileManager.default.createSymbolicLink(atPath: lock, withDestinationPath: folder.path("nothing")) },
            { try FileManager.default.createDirectory(atPath: lock, withIntermediateDirectories: false) },
            { try #require(mkfifo(lock, 0o600) == 0) },
        ]
        var options = LMDBOptions()
        options.isReadOnly = isReadOnly
        for place in places {
            try? FileManager.default.removeItem(atPath: lock)
            try place()
            let error = #expect(throws: HabitStoreError.self) {
                _ = try LMDBEnvironment.open(path: folder.store, options: options)
            }
            #expect(error?.code == .permissionDenied)
            #expect(error?.location.path == lock)
            #expect(error?.message.contains("lock file") == true)
        }
        #expect(try String(contentsOfFile: theirs, encoding: .utf8) == "theirs")
        #expect(!FileManager.default.fileExists(atPath: folder.path("nothing")))
        try FileManager.default.removeItem(atPath: lock)
        try LMDBEnvironment.open(path: folder.store, options: options).close()
    }

    @Test func aReadOnlyHandleReadsAndAWriterMakesTheFileWritable() throws {
        try environment.withWrite { try $0.put(database, [1], [2]) }
        environment.close()
        var options = LMDBOptions()
        options.isReadOnly = true
        let reader = try LMDBEnvironment.open(path: folder.store, options: options)
        let found = try reader.openDatabases(names: ["records"], create: false)
        #expect(errorCode { _ = try reader.openDatabases(names: ["none"], create: true) } == .notFound)
        #expect(errorCode { try reader.withWrite { _ in } } == .permissionDenied)
        let writer = try LMDBEnvironment.open(path: folder.store)
        try writer.withWrite { try $0.put(found[0], [3], [4]) }
        #expect(try reader.withRead { try $0.get(found[0], [3]).map(Array.init) } == [4])
        #expect(errorCode { try reader.withWrite { _ in } } == .permissionDenied)
        #expect(errorCode { _ = try writer.withRead { try $0.put(found[0], [3], [4]) } } == .permissionDenied)
    }

    // MARK: Operations

    @Test func valuesComeBackAsTheyWerePut() throws {
        try environment.withWrite { transaction throws in
            #expect(try transaction.put(database, [1], []))
            #expect(try transaction.put(database, [2], [9], mode: .noOverwrite))
            #expect(try !transaction.put(database, [2], [8], mode: .noOverwrite))
            try transaction.put(database, [3], [UInt8](repeating: 7, count: 100_000), mode: .append)
            _ = try [UInt8]([4]).withUnsafeBytes { key in
                try transaction.put(database, key, reserving: 3) { $0.copyBytes(from: [5, 6, 7]) }
            }
        }
        try environment.withRead { transaction throws in
            #expect(try transaction.get(database, [1])?.count == 0)
            #expect(try transaction.get(database, [2]).map(Array.init) == [9])
            #expect(try transaction.get(database, [3])?.count == 100_000)
            #expect(try transaction.get(database, [4]).map(Array.init) == [5, 6, 7])
            #expect(try transaction.get(database, [5]) == nil)
            #expect(try transaction.count(database) == 4)
        }
        try environment.withWrite { transaction throws in
            #expect(try transaction.delete(database, [4]))
            #expect(try !transaction.delete(database, [4]))
            try transaction.removeAll(database)
            #expect(try transaction.count(database) == 0)
        }
    }

    @Test func keysOfImpossibleLengthAreTypedErrors() throws {
        let longest = [UInt8](repeating: 1, count: 511)
        try environment.withWrite { transaction throws in
            #expect(errorCode { try transaction.put(database, [], [1]) } == .invalidValue)
            #expect(errorCode { try transaction.put(database, longest + [1], [1]) } == .limitExceeded)
            #expect(errorCode { _ = try transaction.get(database, longest + [1]) } == .limitExceeded)
            #expect(errorCode { try transaction.delete(database, []) } == .invalidValue)
            try transaction.put(database, longest, [1])
        }
        #expect(try environment.withRead { try $0.get(database, longest).map(Array.init) } == [1])
    }

    @Test func cursorsFindWhatASortedListFinds() throws {
        let seed: UInt64 = 7_001
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        var keys = Set<[UInt8]>()
        while keys.count < 500 { keys.insert(random.bytes(Int.random(in: 1...3, using: &random))) }
        let sorted = keys.sorted { $0.lexicographicallyPrecedes($1) }
        try environment.withWrite { transaction throws in
            for key in keys { try transaction.put(database, key, key) }
            for _ in 0..<500 {
                let probe = random.bytes(Int.random(in: 1...3, using: &random))
                let upper = random.bytes(Int.random(in: 1...3, using: &random))
                let cursor = try transaction.cursor(database)
                let expected = sorted.firstIndex { !$0.lexicographicallyPrecedes(probe) }
                #expect(try cursor.seek(probe).map { Array($0.key) } == expected.map { sorted[$0] })
                #expect(try cursor.current().map { Array($0.value) } == expected.map { sorted[$0] })
                #expect(try (cursor.seekExact(probe) != nil) == keys.contains(probe))
                let range = sorted.filter {
                    !$0.lexicographicallyPrecedes(probe) && $0.lexicographicallyPrecedes(upper)
                }
                let prefixed = sorted.filter { $0.starts(with: probe.prefix(1)) }
                let prefix = Array(probe.prefix(1))
                let forwards = try collect { try transaction.forEach(database, from: probe, to: upper, $0) }
                let backwards = try collect {
                    try transaction.forEach(database, from: probe, to: upper, reverse: true, $0)
                }
                let withPrefix = try collect { try transaction.forEach(database, prefix: prefix, $0) }
                let withPrefixBackwards = try collect {
                    try transaction.forEach(database, prefix: prefix, reverse: true, $0)
                }
                #expect(forwards == range)
                #expect(backwards == range.reversed())
                #expect(withPrefix == prefixed)
                #expect(withPrefixBackwards == prefixed.reversed())
            }
            let cursor = try transaction.cursor(database)
            #expect(try cursor.current() == nil)
            #expect(try cursor.previous().map { Array($0.key) } == sorted.last)
            #expect(try cursor.next() == nil)
            #expect(try cursor.first().map { Array($0.key) } == sorted.first)
            #expect(try cursor.previous() == nil)
        }
    }

    private func collect(_ scan: ((LMDBRecord) throws -> Bool) throws -> Void) rethrows -> [[UInt8]] {
        var keys: [[UInt8]] = []
        try scan {
            keys.append(Array($0.key))
            return true
        }
        return keys
    }

    @Test func aTransactionAndItsCursorEndWithTheClosure() throws {
        var escaped: (LMDBTransaction, LMDBCursor)?
        try environment.withRead { escaped = ($0, try $0.cursor(database)) }
        let read = try #require(escaped)
        #expect(!read.0.isActive)
        #expect(errorCode { _ = try read.0.get(database, [1]) } == .transactionEnded)
        #expect(errorCode { _ = try read.1.next() } == .transactionEnded)
        try environment.withWrite { escaped = ($0, try $0.cursor(database)) }
        let write = try #require(escaped)
        #expect(errorCode { try write.0.put(database, [1], [1]) } == .transactionEnded)
        #expect(errorCode { _ = try write.1.current() } == .transactionEnded)
        escaped = nil
        #expect(errorCode { try environment.withRead { _ in } } == nil)
    }

    // MARK: Writers

    @Test func anErrorInAnyPathLetsTheWriterGo() throws {
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try environment.withWrite { transaction throws in
                try transaction.put(database, [1], [1])
                throw Stop()
            }
        }
        // Swallowing the error does not save the transaction.
        #expect(
            errorCode {
                try environment.withWrite { transaction throws in
                    try transaction.put(database, [2], [2])
                    _ = try? transaction.put(database, [1], [1], mode: .append)
                }
            } == .internalInconsistency
        )
        #expect(throws: Stop.self) {
            try environment.withWrite { transaction throws in
                _ = try [UInt8]([3]).withUnsafeBytes { key in
                    try transaction.put(database, key, reserving: 8) { _ in throw Stop() }
                }
            }
        }
        #expect(errorCode { try environment.withWrite { _ in try environment.withWrite { _ in } } } == .unsupported)
        #expect(try environment.withWrite { try $0.count(database) } == 0)
    }

    @Test func aReadInsideATransactionOfTheSameThreadWorks() throws {
        try environment.withWrite { transaction throws in
            try transaction.put(database, [1], [1])
            #expect(try environment.withRead { try $0.get(database, [1]) } == nil)
        }
        try environment.withRead { outer throws in
            try environment.withWrite { try $0.put(database, [2], [2]) }
            #expect(try outer.get(database, [2]) == nil)
            #expect(try environment.withRead { try $0.get(database, [2]) } != nil)
        }
    }

    @Test func moreReadersThanSlotsIsATypedError() throws {
        environment.close()
        var options = LMDBWrapperTestSample.options()
        options.maxReaders = 3
        let small = try LMDBEnvironment.open(path: folder.path("small"), options: options)
        func nest(_ depth: Int) throws { try small.withRead { _ in if depth > 1 { try nest(depth - 1) } } }
        let slots = try small.statistics().maxReaders
        try nest(slots)
        #expect(errorCode { try nest(slots + 1) } == .limitExceeded)
        try nest(slots)
    }

    @Test func moreDatabasesThanStatedIsATypedError() throws {
        let names = (0..<40).map { "database-\($0)" }
        #expect(errorCode { _ = try environment.openDatabases(names: names, create: true) } == .limitExceeded)
        let opened = try environment.openDatabases(names: Array(names.prefix(31)) + ["records"], create: true)
        #expect(opened.count == 32)
        #expect(opened.last == database)
    }

    // MARK: Backup

    @Test(arguments: [false, true]) func aCopyIsWholeAndNeverOverwrites(compact: Bool) throws {
        try environment.withWrite { transaction throws in
            for number in 0..<2_000 { try transaction.put(database, LMDBWrapperTestSample.key(number), [1, 2, 3]) }
        }
        try environment.withWrite {
            for number in 0..<500 { try $0.delete(database, LMDBWrapperTestSample.key(number)) }
        }
        try environment.copy(to: folder.path("copy"), compact: compact)
        #expect(errorCode { try environment.copy(to: folder.path("copy"), compact: compact) } == .inputOutput)
        #expect(errorCode { try environment.copy(to: folder.path("no/copy"), compact: compact) } == .notFound)
        #expect(
            errorCode {
                try environment.withWrite { _ in try environment.copy(to: folder.path("other"), compact: compact) }
            } == .unsupported
        )
        #expect(!FileManager.default.fileExists(atPath: folder.path("other")))
        #expect(try LMDBFileInspector.walk(path: folder.path("copy")).isEmpty)
        let copy = try LMDBEnvironment.open(path: folder.path("copy"))
        let found = try copy.openDatabases(names: ["records"], create: false)
        #expect(try copy.withRead { try $0.count(found[0]) } == 1_500)
    }
}
