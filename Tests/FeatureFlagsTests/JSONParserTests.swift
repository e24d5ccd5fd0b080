import Foundation
import JSONText
import Testing

@testable import FeatureFlags

@Suite struct JSONParserTests {
    private func parse(_ bytes: [UInt8]) throws -> (JSONNode, [FlagWarning], SourceText) {
        let source = try SourceText(bytes: bytes, name: "test.json")
        var warnings = FlagWarningList()
        let node = try source.json(warnings: &warnings)
        return (node, warnings.warnings, source)
    }

    private func value(_ json: String) throws -> FlagValue { try parse(Array(json.utf8)).0.flagValue }

    @Test(
        arguments: [
            ("null", .null), (" \t\r\n true ", true), ("false", false), ("0", 0), ("-0", 0), ("-12", -12),
            ("9223372036854775807", .int(.max)), ("-9223372036854775808", .int(.min)), ("1.0", .double(1)),
            ("1e2", .double(100)), ("1E+2", .double(100)), ("25e-2", .double(0.25)), ("1e-400", .double(0)),
            ("-1.5", .double(-1.5)), (#""""#, ""), (#""a\"\\\/\b\f\n\r\t""#, "a\"\\/\u{8}\u{C}\n\r\t"),
            (#""\u00e9\u20AC\ud83d\uDE00""#, "é€😀"), (#""é€😀""#, "é€😀"), (#""\u0000""#, "\0"),
            ("\"\u{7F}\"", "\u{7F}"),
            ("[]", []), ("[ ]", []), ("{}", [:]), ("{ }", [:]), ("[1,[2,[]],{}]", [1, [2, []], [:]]),
            (#"{"a": {"b": [1]}, "": 2}"#, ["a": ["b": [1]], "": 2]),
        ] as [(String, FlagValue)]
    )
    func validTextIsRead(json: String, expected: FlagValue) throws {
        #expect(try value(json) == expected)
    }

    @Test func everyNodeKnowsItsBytes() throws {
        let json = #" {"a": [1, "é", {"b": null}] , "c": -2.5} "#
        let (node, _, source) = try parse(Array(json.utf8))
        func text(_ range: Range<Int>) -> String { String(decoding: source.bytes[range], as: UTF8.self) }
        #expect(text(node.range) == #"{"a": [1, "é", {"b": null}] , "c": -2.5}"#)
        let list = try #require(node.member("a"))
        #expect(text(list.keyRange) == #""a""#)
        #expect(text(list.value.range) == #"[1, "é", {"b": null}]"#)
        guard case .array(let elements) = list.value.value else {
            Issue.record("not an array")
            return
        }
        #expect(elements.map { text($0.range) } == ["1", #""é""#, #"{"b": null}"#])
        #expect(text(try #require(node.member("c")).value.range) == "-2.5")
        #expect(source.location(at: try #require(node.member("c")).value.range.lowerBound).column == 37)
    }

    struct Malformed: Sendable, CustomTestStringConvertible {
        let json: String
        let line: Int
        let column: Int
        let message: String
        var testDescription: String { String(json.prefix(40)) }

        init(_ json: String, _ line: Int, _ column: Int, _ message: String) {
            self.json = json
            self.line = line
            self.column = column
            self.message = message
        }
    }

    static let malformed: [Malformed] = [
        Malformed("", 1, 1, "the file is empty"),
        Malformed(" \n ", 2, 2, "the file is empty"),
        Malformed("{\n  \"a\": 1,\n}", 2, 9, "a comma before the closing bracket"),
        Malformed("[1,]", 1, 3, "a comma before the closing bracket"),
        Malformed("[,1]", 1, 2, "a value is expected here"),
        Malformed("{,}", 1, 2, "a name in quotes is expected here"),
        Malformed("{\"a\" 1}", 1, 6, "\":\" is expected here"),
        Malformed("{\"a\":}", 1, 6, "a value is expected here"),
        Malformed("{a: 1}", 1, 2, "a name in quotes is expected here"),
        Malformed("{'a': 1}", 1, 2, "a name in quotes is expected here"),
        Malformed("[1 2]", 1, 4, "\",\" or \"]\" is expected here"),
        Malformed("{\"a\": 1 \"b\": 2}", 1, 9, "\",\" or \"}\" is expected here"),
        Malformed("[1}", 1, 3, "\",\" or \"]\" is expected here"),
        Malformed("{\r\n  // why\r\n}", 2, 3, "JSON has no comments"),
        Malformed("# flags\n{}", 1, 1, "JSON has no comments"),
        Malformed("{} {}", 1, 4, "unexpected text after the JSON value"),
        Malformed("nul", 1, 1, "a value is expected here"),
        Malformed("True", 1, 1, "a value is expected here"),
        Malformed("nullx", 1, 5, "unexpected text after"),
        Malformed("NaN", 1, 1, "a value is expected here"),
        Malformed("+1", 1, 1, "a value is expected here"),
        Malformed("01", 1, 1, "must not begin with a zero"),
        Malformed("-01", 1, 1, "must not begin with a zero"),
        Malformed("-", 1, 1, "lacks a digit"),
        Malformed("1.", 1, 1, "lacks a digit"),
        Malformed("1e+", 1, 1, "lacks a digit"),
        Malformed("0x10", 1, 2, "unexpected text after"),
        Malformed("\"abc", 1, 1, "the string that begins here is not closed"),
        Malformed("[\"a\\", 1, 4, "the file ends inside an escape"),
        Malformed("\"\\n", 1, 1, "the string that begins here is not closed"),
        Malformed("\"a\\x\"", 1, 3, "a backslash must be followed"),
        Malformed("\"\\u12g4\"", 1, 2, "four hexadecimal digits"),
        Malformed("\"\\ud800\\u12\"", 1, 8, "four hexadecimal digits"),
        Malformed("\"a\nb\"", 1, 3, "a control character or a line end"),
        Malformed("\"\\t\tb\"", 1, 4, "a control character or a line end"),
        Malformed("{\"a\": [1, 2", 1, 12, "the array that begins at line 1, column 7 is not closed"),
        Malformed("{\n \"a\": {\n", 3, 1, "the object that begins at line 2, column 7 is not closed"),
        Malformed("[\"äöü😀\", x]", 1, 10, "a value is expected here"),
        Malformed("[1,\r2,\r\n3,\nx]", 4, 1, "a value is expected here"),
        Malformed("[\u{A0}1]", 1, 2, "a value is expected here"),
    ]

    @Test(arguments: malformed)
    func malformedTextIsAnErrorWithItsPlace(malformed: Malformed) throws {
        let error = try loadingError(Array(malformed.json.utf8))
        #expect(error.code == .parseError)
        #expect(error.message.contains(malformed.message), "\(error)")
        #expect(
            error.location == FlagError.Location(file: "test.json", line: malformed.line, column: malformed.column),
            "\(error)"
        )
    }

    /// The bytes come after `["ä` on the second line, so the error is in column 4.
    @Test(
        arguments: [
            [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82],
            [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xF0, 0x9F, 0x98], [0xFF],
        ] as [[UInt8]]
    )
    func invalidUTF8IsAnErrorWithItsPlace(bytes: [UInt8]) throws {
        for ending in [Array("\"]".utf8), []] {
            let error = try loadingError(Array("\n[\"ä".utf8) + bytes + ending)
            #expect(error.message.contains("not valid UTF-8"), "\(error)")
            #expect(error.location == FlagError.Location(file: "test.json", line: 2, column: 4), "\(error)")
        }
    }

    /// UTF-32's mark begins with UTF-16's and was reported as UTF-16; without a mark the error was about a name in quotes.
    @Test(
        arguments: [
            (String.Encoding.utf16BigEndian, [0xFE, 0xFF], "UTF-16"), (.utf16LittleEndian, [0xFF, 0xFE], "UTF-16"),
            (.utf32BigEndian, [0, 0, 0xFE, 0xFF], "UTF-32"), (.utf32LittleEndian, [0xFF, 0xFE, 0, 0], "UTF-32"),
        ] as [(String.Encoding, [UInt8], String)]
    )
    func anotherEncodingIsNamed(encoding: String.Encoding, mark: [UInt8], name: String) throws {
        let content = Array(try #require(#"{"flags": {}}"#.data(using: encoding)))
        for bytes in [content, mark + content] {
            let error = try loadingError(bytes)
            #expect(error.message == "the file is \(name); save it as UTF-8")
            #expect(error.location == FlagError.Location(file: "test.json", line: 1, column: 1))
        }
        // A single zero byte is damage, and the rest can still be searched.
        #expect(try loadingError([0x7B, 0, 0x22, 0x61, 0x22]).message.contains("in quotes"))
    }

    @Test func aByteOrderMarkIsSkippedAndAWarning() throws {
        let snapshot = try makeSnapshot("\u{FEFF}{\"flags\": {}}")
        #expect(snapshot.warnings.map(\.location.column) == [1])
        #expect(try loadingError([0xEF, 0xBB, 0xBF] + Array("{x".utf8)).location.column == 2)
    }

    @Test func ofDuplicateKeysTheLastWinsWithAWarning() throws {
        let few = try parse(Array("{\"a\": 1,\n \"b\": 2, \"a\": 3}".utf8))
        #expect(few.0.flagValue == ["a": 3, "b": 2])
        #expect(few.1.map(\.description) == [#"test.json:2:10: "a" occurs twice in one object; the last one counts"#])
        // Larger objects find duplicates in a different way.
        let members = (0..<40).map { "\"k\($0)\": \($0)" } + (0..<40).map { "\"k\($0)\": \(-$0)" }
        let many = try parse(Array("{\(members.joined(separator: ","))}".utf8))
        #expect(many.0.flagValue.objectValue?.count == 40)
        #expect(many.0.flagValue.objectValue?["k39"] == -39)
        #expect(many.1.count == 40)
    }

    @Test(arguments: [
        #""\ud800""#, #""\udc00""#, #""\ud800x""#, #""\ud800\u0041""#, #""\ud800\ud800""#, #""\ude00\ud83d""#,
    ])
    func aLoneSurrogateIsReplacedWithAWarning(json: String) throws {
        let (node, warnings, _) = try parse(Array(json.utf8))
        let expected = try #require(Self.withReplacements(json))
        #expect(node.flagValue == .string(expected))
        #expect(!warnings.isEmpty)
        #expect(warnings.allSatisfy { $0.message.contains("lone surrogate") })
    }

    /// The string with U+FFFD for each lone surrogate, computed from its code units alone.
    private static func withReplacements(_ json: String) -> String? {
        var units: [UInt16] = []
        var rest = json.dropFirst().dropLast()
        while let first = rest.first {
            if first == "\\" {
                guard let unit = UInt16(rest.dropFirst(2).prefix(4), radix: 16) else { return nil }
                units.append(unit)
                rest = rest.dropFirst(6)
            } else {
                units.append(contentsOf: String(first).utf16)
                rest = rest.dropFirst()
            }
        }
        return String(decoding: units, as: UTF16.self)
    }

    @Test func anIntegerBeyond64BitsIsRoundedWithAWarning() throws {
        let (node, warnings, _) = try parse(Array("[9223372036854775808]".utf8))
        #expect(node.flagValue == [.double(9_223_372_036_854_775_808)])
        #expect(warnings.map(\.location.column) == [2])
    }

    @Test func warningsHaveALimit() throws {
        let (_, warnings, _) = try parse(
            Array("[\(Array(repeating: "1e0,99999999999999999999", count: 500).joined(separator: ","))]".utf8)
        )
        #expect(warnings.count == FlagLimits.warnings)
        #expect(warnings.last?.message == "further warnings of this file are left out")
    }

    @Test(arguments: [("[", "]"), (#"{"a":"#, "}")])
    func depthHasALimit(open: String, close: String) throws {
        func nested(_ depth: Int) -> String {
            String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
        }
        _ = try value(nested(FlagLimits.jsonDepth))
        let error = try loadingError(Array(nested(FlagLimits.jsonDepth + 1).utf8))
        #expect(error.message.contains("more than 256 deep"))
        #expect(error.location.column == FlagLimits.jsonDepth * open.count + 1)
        #expect(try loadingError(Array(String(repeating: open, count: 1_000_000).utf8)).code == .parseError)
    }

    @Test func placesAreRightFarIntoAFile() throws {
        let source = try SourceText(bytes: Array(String(repeating: "é\r\n\nab\r", count: 2000).utf8), name: "x")
        var line = 1
        var column = 1
        var previous: UInt8 = 0
        for (offset, byte) in source.bytes.enumerated() {
            let place = source.location(at: offset)
            guard place.line == line, place.column == column else {
                Issue.record("offset \(offset): \(place), expected \(line):\(column)")
                return
            }
            if byte == 13 || (byte == 10 && previous != 13) {
                line += 1
                column = 1
            } else if byte != 10, byte & 0xC0 != 0x80 {
                column += 1
            }
            previous = byte
        }
    }

    @Test(arguments: [("[]", "must be an object"), ("{}", #"no "flags""#), (#"{"flags": 1}"#, #""flags" must be"#)])
    func jsonThatIsNoFlagFileIsAnError(json: String, message: String) throws {
        let error = try loadingError(Array(json.utf8))
        #expect(error.code == .parseError)
        #expect(error.message.contains(message))
        #expect(error.location.line == 1)
    }
}
