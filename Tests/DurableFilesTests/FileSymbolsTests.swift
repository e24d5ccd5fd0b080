import Foundation
import Testing

/// Only `DurableFiles` decides what survives a power cut and who may read it.
struct FileSymbolsTests {
    private static let words = [
        "flock", "rename", "fsync", "fdatasync", "F_FULLFSYNC", "O_DIRECTORY", "O_EXCL",
    ]

    @Test func noOtherTargetLocksSyncsOrRenamesFilesByItself() throws {
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let folder = root.appendingPathComponent("Sources").path
        let names = try #require(FileManager.default.enumerator(atPath: folder)).compactMap { $0 as? String }
        var files = 0
        for name in names where name.hasSuffix(".swift") {
            let target = name.prefix { $0 != "/" }
            guard target != "DurableFiles" else { continue }
            files += 1
            let text = try String(contentsOfFile: folder + "/" + name, encoding: .utf8)
            // Expressions take minutes for all lines of all sources.
            guard Self.words.contains(where: text.contains) else { continue }
            for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
                let isOwn = line.contains(/\b(flock|rename|renameat|renameat2|renamex_np|fsync|fdatasync)\(/)
                #expect(
                    !isOwn && !line.contains(/\b(F_FULLFSYNC|O_DIRECTORY|O_EXCL \| O_CLOEXEC)\b/),
                    "\(name):\(number + 1) does what DurableFiles is for: \(line)"
                )
            }
        }
        #expect(files > 300)
    }
}
