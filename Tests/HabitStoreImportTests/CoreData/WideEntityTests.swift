import Foundation
import HabitStore
import Testing

@testable import HabitStoreImport

/// The output for an entity of hundreds of attributes.
@Suite struct WideEntityTests {
    /// The attributes of a store's entity were in one line: 5,598 characters for 200 of them.
    @Test func whatIsSaidOfAWideTableIsReadableAndJSONHasAllOfIt() throws {
        let fixture = try CoreDataFixture.library(history: false)
        let names = (0..<200).map { "ZCOLUMN\($0)" }
        for name in names { try fixture.sql("ALTER TABLE ZTAG ADD COLUMN \(name) VARCHAR DEFAULT 'x'") }
        fixture.close()
        let store = fixture.folder.appendingPathComponent("store.sqlite").path
        func run(_ arguments: String...) throws -> CommandLineRun {
            try CommandLineRun(arguments, home: fixture.folder)
        }
        let imported = try run("import", "coredata", fixture.path, "--into", "sqlite:\(store)")
        #expect(imported.status == 1)
        #expect(imported.output.contains("360 of 180 more properties, which --format json lists"))
        #expect(imported.output.contains("LOSS unknownToModel: 400 "))
        for text in [imported.output, try run("inspect", fixture.path).output, try run("inspect", store).output] {
            let longest = text.split(separator: "\n").map(\.count).max() ?? 0
            #expect(longest < 300, "\(text)")
        }
        let other = fixture.folder.appendingPathComponent("other.sqlite").path
        let whole = try run("import", "coredata", fixture.path, "--into", "sqlite:\(other)", "--format", "json")
        for name in names { #expect(whole.output.contains("\"\(name) belongs to nothing")) }
    }
}
