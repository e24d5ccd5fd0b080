import Foundation
import Testing

@testable import HabitStore

/// The compiler refuses the same names as stores: a macro cannot use `HabitStore`, so it has a separate list.
struct ReservedNamesTests {
    @Test func theMacroHasTheNamesThatStoresKeepForThemselves() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Sources/HabitStoreMacrosPlugin/ReservedNames.swift")
        let source = try String(contentsOf: file, encoding: .utf8)
        let written = Set(source.matches(of: /"([^"]+)"/).map { String($0.output.1) })
        let kept = ModelNames.databases.union(ModelNames.tables).union([ModelNames.tablePrefix])
        #expect(written == kept.union(["entity", "hashValue", "_"]))
    }
}
