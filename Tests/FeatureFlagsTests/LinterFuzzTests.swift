import Foundation
import HabitStoreTesting
import Testing

@testable import FeatureFlags
@testable import FlagTools

/// The linter and the editor on randomly damaged files.
@Suite struct LinterFuzzTests {
    private static let linter = FlagLinter(
        stages: [StageOrder(flagKey: "habit-store-stage", values: ["off", "dualwrite", "shadow", "live"])],
        configuration: FlagConfiguration(killFlags: ["habit-store-kill"])
    )
    /// Fragments that change the rules of a file.
    private static let pieces = [
        "\"if\"", "\"fractional\"", "\"in\"", "\"sem_ver\"", "\"==\"", "\"and\"", "\"$ref\"", "\"var\"", "[]", "{}",
        "null",
        "true", "-1", "1e9", "1e999", "\"\"", "[[", "}}", ",", ":", "\"off\"", "\"DISABLED\"", "\"targeting\"",
        "\"defaultVariant\"",
    ]

    private static func mutated(_ bytes: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...4, using: &generator) where bytes.count > 40 {
            let start = Int.random(in: 0..<(bytes.count - 30), using: &generator)
            let length = Int.random(in: 0...12, using: &generator)
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: bytes[start] = UInt8.random(in: 0...255, using: &generator)
            case 1: bytes.removeSubrange(start..<(start + length))
            default:
                // Replaces a whole text or number, so that the file often stays valid.
                let quote = bytes[start...].firstIndex(of: UInt8(ascii: "\"")) ?? start
                let end = bytes[(quote + 1)...].firstIndex(of: UInt8(ascii: "\"")) ?? quote
                let piece = pieces[Int.random(in: 0..<pieces.count, using: &generator)]
                bytes.replaceSubrange(quote..<min(bytes.count, end + 1), with: Array(piece.utf8))
            }
        }
        return bytes
    }

    @Test func theLinterIsNeverKinderThanTheLoaderAndTheEditorNeverBreaksAFile() throws {
        let seed = SeededGenerator.seedForThisRun()
        var generator = SeededGenerator(seed: seed)
        let rounds = ProcessInfo.processInfo.environment["FLAGS_LINT_ROUNDS"].flatMap { Int($0) } ?? 300
        let folder = repositoryRoot.appendingPathComponent("Flags/examples")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        let files = try names.map { Array(try Data(contentsOf: folder.appendingPathComponent($0))) }
        var parsed = 0
        for _ in 0..<rounds {
            let file = files[Int.random(in: 0..<files.count, using: &generator)]
            let bytes = Self.mutated(file, &generator)
            let report = try Self.linter.lint(Data(bytes), source: "fuzz.json", against: Data(file))
            guard report.isReadable else { continue }
            parsed += 1
            let text = try FlagFileText(bytes: bytes, source: "fuzz.json")
            do throws(FlagError) {
                let snapshot = try text.snapshot()
                #expect(snapshot.quarantined.isEmpty || report.hasErrors, "seed \(seed)")
            } catch {
                #expect(report.hasErrors, "seed \(seed)")
            }
            for key in ["habit-store-kill", "habit-store-backend"] {
                do throws(FlagError) {
                    let killed = try text.killing(key)
                    #expect(try killed.snapshot().resolve(key).value == true, "seed \(seed)")
                    _ = try killed.rearming(key, users: ["ada"]).rearming(key).settingState(.disabled, of: key)
                } catch {
                    #expect(error.code != .general, "seed \(seed): \(error)")
                }
            }
        }
        #expect(parsed > 0)
    }
}
