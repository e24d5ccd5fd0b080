import HabitStoreTesting

/// Texts that are hard to align, and texts with terminal control sequences.
enum RandomText {
    private static let pieces = [
        "a", "Run", " ", "走", "る", "달", "🏃", "🏃🏽‍♀️", "👩‍👩‍👧‍👦", "🇯🇵", "🇯", "❤️", "שלום", "مرحبا", "e\u{301}", "\u{301}",
        "\u{200D}",
        "\u{200F}", "\u{FE0F}", "\u{1B}[31m", "\u{1B}]0;x\u{7}", "\n", "\r", "\r\n", "\t", "\u{9B}2J", "\u{202E}",
        "\u{0}",
        "हिन्दी", "1️⃣", "\\", "\u{1100}", "\u{1161}",
    ]

    static func text(pieces count: Int, using generator: inout SeededGenerator) -> String {
        (0..<count).reduce(into: "") { text, _ in text += pieces.randomElement(using: &generator) ?? "" }
    }

    /// Whether a terminal would treat any part of a line as something other than text.
    static func hasControls(_ line: String) -> Bool {
        line.unicodeScalars.contains { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: true
            default: scalar == "\u{202E}"
            }
        }
    }
}
