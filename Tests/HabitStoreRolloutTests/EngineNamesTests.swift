import Foundation
import Testing

/// Engines are plug-ins as long as nothing above them asks for one by name.
struct EngineNamesTests {
    private static let above = [
        "Sources/HabitStoreRollout", "Sources/ShadowVerifier", "Sources/HabitStoreOperator",
        "Tracker/HabitStoreCommand", "Lab/Trials/Fuzz/Soak.swift", "Lab/Trials/Fuzz/SoakWriters.swift",
    ]
    /// States of the first versions name only the old engine, one of the two that existed then.
    private static let exception = "RolloutState+Codable.swift"

    @Test func noFileAboveTheEnginesNamesOne() throws {
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        var files = 0
        for place in Self.above {
            let path = root.appendingPathComponent(place).path
            let names =
                place.hasSuffix(".swift")
                ? [place]
                : try FileManager.default.subpathsOfDirectory(atPath: path).map { place + "/" + $0 }
            for name in names where name.hasSuffix(".swift") && !name.hasSuffix(Self.exception) {
                files += 1
                let text = try String(contentsOfFile: root.path + "/" + name, encoding: .utf8)
                for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
                where line.contains("sqlite") || line.contains("lmdb") || line.hasPrefix("import") {
                    let isNamed =
                        line.contains(/(case|==|!=|\?\?|=|\() *\.(sqlite|lmdb)\b/)
                        || line.contains(/^import HabitStore(SQLite|LMDB)/) || line.contains(/"(sqlite|lmdb)"/)
                    #expect(!isNamed, "\(name):\(number + 1) names an engine: \(line)")
                }
            }
        }
        #expect(files > 100)
    }
}
