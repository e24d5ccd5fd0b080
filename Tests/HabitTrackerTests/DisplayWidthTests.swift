import HabitStoreOperator
import Testing

/// ``displayWidth(of:)`` and ``TerminalText``.
@Suite
struct DisplayWidthTests {
    @Test(arguments: [
        ("", 0), ("Run", 3), ("Läufe", 5), ("La\u{308}ufe", 5), ("走る", 4), ("ﾊｼﾙ", 3), ("Ｒｕｎ", 6), ("달리기", 6),
        // Korean as conjoining jamo.
        ("\u{1112}\u{1161}\u{11AB}", 2),
        // Emoji: plain, with joiners, skin tone, selector, keycap, flag, half a flag, flag of England.
        ("🏃", 2), ("👩‍👩‍👧‍👦", 2), ("🏃🏽‍♀️", 2), ("👍🏿", 2), ("❤️", 2), ("❤", 1), ("1️⃣", 2), ("🇯🇵", 2), ("🇯", 1), ("🏴󠁧󠁢󠁥󠁮󠁧󠁿", 2),
        ("☝🏽", 2), ("⌚", 2), ("©", 1),
        ("שלום", 4), ("مرحبا", 5), ("مَرحَبًا", 5), ("हिन्दी", 5), ("ไทย", 3), ("ที่", 1),
        ("a\u{200B}b\u{FEFF}c\u{2060}", 3), ("a\u{AD}b", 3), ("│▁█·…", 5),
        ("𠀋", 2), ("：", 2), ("\u{3000}", 2), ("𝒳", 1),
    ])
    func textsAreAsWideAsATerminalShowsThem(_ text: String, _ width: Int) {
        #expect(displayWidth(of: text) == width, "\(text.unicodeScalars.map { String($0.value, radix: 16) })")
    }

    @Test func aControlCharacterHasNoWidth() {
        #expect(displayWidth(of: "\u{1B}[31m") == 4)
        #expect(displayWidth(of: "a\r\nb\tc") == 3)
    }

    @Test func everyControlCharacterIsEscaped() {
        for value in Array(0...0x1F) + Array(0x7F...0x9F) + Array(0x2028...0x202E) + Array(0x2066...0x2069) {
            guard let scalar = Unicode.Scalar(UInt32(value)) else { continue }
            let escaped = TerminalText.escaped("a\(Character(scalar))b")
            #expect(!escaped.unicodeScalars.contains(scalar))
            #expect(escaped.hasPrefix("a\\") && escaped.hasSuffix("b"), "\(escaped)")
        }
        #expect(TerminalText.escaped("a\u{1B}[2J\u{7}\r\n\tb\u{9B}1m") == "a\\u{1B}[2J\\u{7}\\r\\n\\tb\\u{9B}1m")
        // A control character hidden by a combining mark or in the middle of a cluster.
        #expect(TerminalText.escaped("\u{1B}\u{301}e") == "\\u{1B}\u{301}e")
    }

    @Test func ordinaryTextIsNotEscaped() {
        for text in ["C:\\Users", "走る 🏃🏽‍♀️", "שלום \u{200F}!", "e\u{301}", "100 % \"done\""] {
            #expect(TerminalText.escaped(text) == text)
        }
    }

    @Test(arguments: [
        ("Running", 7, "Running"), ("Running", 6, "Runni…"), ("Running", 1, "…"), ("Running", 0, ""), ("", 0, ""),
        ("走る走る", 7, "走る走…"), ("走る走る", 6, "走る…"), ("走る走る", 2, "…"), ("🏃🏽‍♀️🏃🏽‍♀️🏃🏽‍♀️", 4, "🏃🏽‍♀️…"),
        ("cafe\u{301}s", 5, "cafe\u{301}s"), ("cafe\u{301}s!", 5, "cafe\u{301}…"), ("שלום", 3, "של…"),
    ])
    func aTextIsCutBetweenCharactersAndNeverWider(_ text: String, _ width: Int, _ expected: String) {
        #expect(TerminalText.truncated(text, toWidth: width) == expected)
    }

    @Test func anAsciiEllipsisIsCutWhereThereIsNoRoomForIt() {
        #expect(TerminalText.truncated("Running", toWidth: 5, ellipsis: "...") == "Ru...")
        #expect(TerminalText.truncated("Running", toWidth: 2, ellipsis: "...") == "..")
        #expect(TerminalText.truncated("Running", toWidth: -1, ellipsis: "...") == "")
    }

    @Test func paddingIsByWidth() {
        #expect(TerminalText.padded("走る", toWidth: 6) == "走る  ")
        #expect(TerminalText.padded("走る", toWidth: 6, alignment: .right) == "  走る")
        #expect(TerminalText.padded("走る", toWidth: 3) == "走る")
    }
}
