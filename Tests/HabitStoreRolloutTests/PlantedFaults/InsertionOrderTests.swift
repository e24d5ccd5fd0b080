import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker
import ShadowVerifier
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// A store's digest does not depend on the order of its writes.
struct InsertionOrderTests {
    private static let dbhash = ["/usr/bin/dbhash", "/usr/local/bin/dbhash", "/opt/homebrew/bin/dbhash"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    /// SQLite's `dbhash` hashes every table in its order in the file, including the history and the store's identity: for it, two stores with the
    /// same records differ.
    @Test(arguments: EngineName.standard)
    func equalRecordsInAnotherOrderAreEqual(engine: EngineName) throws {
        let folder = try TemporaryFolder()
        let first = StoreAddress(.sqlite, path: folder.path("first"))
        let second = StoreAddress(engine, path: folder.path("second"))
        try Self.fill(first) { $0 }
        try Self.fill(second) { $0.reversed() }
        let stores = try [first, second].map { try $0.open(.readOnly, schema: HabitSchema.current) }
        defer { for store in stores { store.close() } }
        var options = VerificationOptions()
        options.queries = try ReadMix.queries()
        let sides = zip(["first", "second"], stores).map { ShadowVerifier.Side(name: $0, store: $1) }
        let report = try ShadowVerifier(sides[0], sides[1], options: options).run()
        #expect(report.verdict == .match, "\(CaughtFault(report: report).description)")
        #expect(report.a.counts == report.b.counts)
        if let dbhash = Self.dbhash, engine == .sqlite {
            #expect(try Self.run(dbhash, first.path) != Self.run(dbhash, second.path))
        }
    }

    private static func fill(_ address: StoreAddress, _ order: ([Entry]) -> [Entry]) throws {
        let contents = PlantedUser.contents
        let store = try address.open(.create, schema: HabitSchema.current)
        defer { store.close() }
        try store.write(author: "test") { transaction in
            for tag in contents.tags { try transaction.insert(tag) }
            for habit in contents.habits { try transaction.insert(habit) }
            for draft in contents.drafts { try transaction.insert(draft) }
            for entry in order(contents.entries) { try transaction.insert(entry) }
        }
    }

    /// The first word of the program's output.
    private static func run(_ program: String, _ path: String) throws -> String? {
        try ChildProcess.run(program, [path]).output.split(separator: " ").first.map(String.init)
    }
}
