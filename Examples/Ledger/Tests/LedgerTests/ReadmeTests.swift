import Foundation
import Testing

/// The README's commands print what it says.
struct ReadmeTests {
    @Test func everyCommandPrintsWhatTheReadmeShows() throws {
        let commands = try Commands()
        var expected: [(command: String, lines: [String])] = []
        var isInBlock = false
        for line in try Commands.readme.components(separatedBy: "\n") {
            if line.hasPrefix("```") {
                isInBlock = line == "```terminal"
            } else if isInBlock, line.hasPrefix("$ ") {
                expected.append((String(line.dropFirst(2)), []))
            } else if isInBlock, !expected.isEmpty, !line.isEmpty {
                expected[expected.count - 1].lines.append(line)
            }
        }
        #expect(expected.count > 20)
        for (command, lines) in expected {
            let found = try commands.run(command).lines
            #expect(Self.matches(found, lines), "\(command) printed\n\(found.joined(separator: "\n"))")
        }
        try commands.remove()
    }

    /// Whether lines are those that are shown, where `…` stands for any text, and a line of it for any lines.
    private static func matches(_ found: [String], _ shown: [String]) -> Bool {
        guard let first = shown.first else { return found.isEmpty }
        if first == "…" {
            return (0...found.count).contains { matches(Array(found.dropFirst($0)), Array(shown.dropFirst())) }
        }
        guard let line = found.first else { return false }
        let parts = first.components(separatedBy: "…")
        let isLike =
            parts.count == 1
            ? line == first
            : line.hasPrefix(parts[0]) && line.hasSuffix(parts[parts.count - 1])
                && parts.allSatisfy { $0.isEmpty || line.contains($0) }
        return isLike && matches(Array(found.dropFirst()), Array(shown.dropFirst()))
    }
}
