import Foundation
import Testing

@testable import HabitStoreRollout

/// Crash points in the sources that were missing from the list were never swept, and nothing reported it.
struct CrashPointTests {
    @Test(.enabled(if: !CrashPoint.all.isEmpty, "only debug builds have crash points"))
    func theListNamesEveryPointInTheSources() throws {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let sources = tests.deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Sources/HabitStoreRollout")
        let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
        var names: [String] = []
        while let file = files?.nextObject() as? URL {
            guard file.pathExtension == "swift" else { continue }
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            where line.contains("CrashPoint.reach(") {
                names += line.matches(of: /"([a-zA-Z]+\.[a-zA-Z]+)"/).map { String($0.output.1) }
            }
        }
        let known = CrashPoint.all + CrashPoint.keeping + CrashPoint.shared
        #expect(names.count >= known.count)
        #expect(Set(names) == Set(known))
        #expect(known.count == Set(known).count)
    }
}
