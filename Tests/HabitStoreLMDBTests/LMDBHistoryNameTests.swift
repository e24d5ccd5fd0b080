import Foundation
@_spi(Engines) import HabitStore
import Testing

@testable import OrderedKeys

/// The names of changed attributes are encoded by hand if nothing in them needs escaping, to the same bytes as before.
@Suite("Names in LMDB's history")
struct LMDBHistoryNameTests {
    private static let lists = [
        [], [""], ["note"], ["note", "value"], ["a b/c,d[e]"], ["\"note\""], ["no\\te", "value"], ["naïve", "日付"],
        ["line\nbreak", "\u{7f}"],
    ]

    @Test(arguments: lists) func theyAreWhatAGeneralWriterWrites(names: [String]) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var bytes: [UInt8] = [1]
        try NameList.append(names, to: &bytes)
        #expect(bytes == [1] + Array(try encoder.encode(names)))
        #expect(try bytes.withUnsafeBytes { try NameList.names(UnsafeRawBufferPointer(rebasing: $0[1...])) } == names)
    }

    @Test(arguments: [" [ \"note\" , \"value\" ]", "[\"no\\u0074e\",\"value\"]", "[\"note\",\n\"value\"]"])
    func otherFormsOfTheSameAreRead(text: String) throws {
        #expect(try Array(text.utf8).withUnsafeBytes { try NameList.names($0) } == ["note", "value"])
    }

    @Test(arguments: [
        "", "[", "]", "[note]", "[\"note\"", "\"note\"]", "[,\"note\"]", "[\"a\"\"b\"]", "[\"note]",
        "[1]",
        "{\"a\":1}",
    ])
    func whatIsNotAListOfNamesIsRefused(text: String) {
        #expect(throws: DecodingError.self) { try Array(text.utf8).withUnsafeBytes { try NameList.names($0) } }
    }
}
