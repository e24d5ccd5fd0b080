import Foundation
import HabitStore
import HabitStoreTesting
import Testing

@testable import HabitStoreImport

/// Comma-separated values according to RFC 4180.
struct CSVReaderTests {
    private func rows(_ text: String) throws -> [[String]] {
        var reader = CSVReader(Array(text.utf8), path: "x")
        var rows: [[String]] = []
        while let row = try reader.next() { rows.append(row.map { $0.isQuoted ? "<\($0.text)>" : $0.text }) }
        return rows
    }

    @Test func fieldsRowsAndQuotesAreTold() throws {
        #expect(try rows("") == [])
        #expect(try rows("a,b\r\n,\"\"\n") == [["a", "b"], ["", "<>"]])
        #expect(try rows("\u{FEFF}a\n\nb") == [["a"], [""], ["b"]])
        #expect(try rows("\"a,\"\"b\"\"\r\nc\",d") == [["<a,\"b\"\r\nc>", "d"]])
        #expect(try rows("a\"b,c") == [["a\"b", "c"]])
        #expect(try rows("a\rb\r\n") == [["a\rb"]])
        #expect(try rows("a,") == [["a", ""]])
    }

    @Test(arguments: ["\"a", "\"a\"b", "\"a\" ,b"])
    func aQuoteThatDoesNotFitIsRefused(_ text: String) {
        #expect(throws: HabitStoreError.self) { try rows(text) }
    }

    @Test func linesAreCountedWithinFieldsToo() throws {
        var reader = CSVReader(Array("a\n\"b\nc\"\nd".utf8), path: "x")
        var lines: [Int] = []
        while try reader.next() != nil { lines.append(reader.line) }
        #expect(lines == [1, 2, 4])
    }

    @Test func aFileIsReadAPieceAtATime() throws {
        let folder = try TemporaryFolder()
        let field = String(repeating: "ä\"\n,", count: 50_000)
        let text = "x," + ValueText.quoted(field) + "\r\n"
        try folder.write("big.csv", String(repeating: text, count: 3))
        var reader = try CSVReader(path: folder.path("big.csv"))
        for _ in 0..<3 { #expect(try reader.next()?.last?.text == field) }
        #expect(try reader.next() == nil)
    }
}
