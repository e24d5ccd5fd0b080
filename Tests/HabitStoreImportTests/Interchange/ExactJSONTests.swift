import Foundation
import JSONText
import Testing

@testable import HabitStoreImport

/// The parser of records accepts exactly what RFC 8259 defines, to the last bit.
struct ExactJSONTests {
    private func parse(_ text: String) throws -> JSON { try JSON(parsing: Array(text.utf8)) }

    @Test func valuesAreWhatTheyAreWritten() throws {
        #expect(try parse(" 9223372036854775807 ") == .int(.max))
        #expect(try parse("-9223372036854775808") == .int(.min))
        #expect(try parse("9223372036854775808") == .double(9_223_372_036_854_775_808))
        #expect(try parse("0.1") == .double(0.1))
        #expect(try parse("5e-324") == .double(.leastNonzeroMagnitude))
        #expect(try parse("-0") == .int(0))
        #expect(try parse(#""\u00e9\ud83c\udfc3\n\/\\\"""#) == .string("é🏃\n/\\\""))
        let object = try parse(#"{"a": [true, false, null, {}], "": []}"#)
        #expect(object == .object(["a": .array([.bool(true), .bool(false), .null, .object([:])]), "": .array([])]))
    }

    @Test(arguments: [
        "", "{", "[1,]", "{\"a\":1,}", "{\"a\"}", "01", "1.2.3", "+1", ".5", "NaN", "Infinity", "1e999", "tru",
        "\"\n\"", "\"\\x\"", "\"\\ud83c\"", "\"\\udfc3\"", "\"\\u12g4\"", "{\"a\":1,\"a\":2}", "1 2", "[1 2]", "'a'",
        "\"abc", "-", "[", "\"\\",
    ])
    func whatIsNoJSONIsRefused(_ text: String) {
        #expect(throws: JSONFailure.self) { try parse(text) }
    }

    @Test func textThatIsNoUnicodeAndDepthWithoutEndAreRefused() {
        #expect(throws: JSONFailure.self) { try JSON(parsing: [0x22, 0xFF, 0x22]) }
        #expect(throws: JSONFailure.self) { try parse(String(repeating: "[", count: 100_000)) }
    }

    @Test func aMemberThatIsNilIsNullOrLeftOut() throws {
        let missing: String? = nil
        var object: JSONObject = ["b": missing, "a": 1, "list": [Int](), "in": ["x": missing, "y": 2.5] as JSONObject]
        object["c"] = missing
        #expect(try JSON.encoded(object) == #"{"a":1,"b":null,"c":null,"in":{"x":null,"y":2.5},"list":[]}"#)
        #expect(try JSON.encoded(object.omittingNil) == #"{"a":1,"in":{"x":null,"y":2.5},"list":[]}"#)
    }
}
