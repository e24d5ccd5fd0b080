import Foundation
import HabitStore
import Testing

@testable import HabitStoreImport

/// An export that is damaged is one error, and changes nothing.
struct InterchangeDamageTests {
    let sandbox: InterchangeSandbox

    init() throws { sandbox = try InterchangeSandbox() }

    /// A store with one tag, exported.
    private func exported(_ format: InterchangeFormat) throws -> String {
        let source = try InMemoryHabitStore()
        try source.insert([Tag(name: "a")])
        return try sandbox.export(source, format)
    }

    private func expectRefusal(_ path: String, _ words: String) throws {
        let target = try InMemoryHabitStore()
        let error = #expect(throws: HabitStoreError.self) { try sandbox.open(path).fill(target) { _, _ in } }
        #expect(error?.message.contains(words) == true, "\(String(describing: error))")
        #expect(try target.currentToken() == .zero)
    }

    @Test func everyWayOfCuttingADocumentShortIsOneError() throws {
        let whole = try Data(contentsOf: URL(fileURLWithPath: try exported(.json)))
        for length in stride(from: 0, to: whole.count - 2, by: 3) {
            try sandbox.folder.write("cut", whole.prefix(length))
            do {
                // What ends before it says what it is may be anything.
                guard try InterchangeImport(path: sandbox.folder.path("cut")) != nil else { continue }
                Issue.record("\(length) bytes of \(whole.count) were taken for all")
            } catch let error as HabitStoreError {
                #expect([.invalidSource, .limitExceeded].contains(error.code), "\(length) bytes: \(error)")
            }
        }
    }

    @Test(arguments: [
        ("\"version\" : 1", "\"version\" : 2", "version 2"), ("Tag\" : 1", "Tag\" : 2", "says 2"),
        ("\"name\": \"a\"", "\"name\": 5", "name cannot be read"),
        ("\"name\": \"a\"", "\"other\": \"a\"", "does not have"),
        ("\"name\": \"a\"", "\"name\": null", "name cannot be read"),
        ("\"name\": \"a\"", "\"name\": \"a\", \"name\": \"b\"", "twice"),
        ("\"habitstore-export\"", "\"habitstore-export\", \"x\": [1", "damaged"), ("\"Tag\" : [", "\"Tug\" : [", "Tug"),
    ])
    func whatIsWrongWithADocumentIsSaidInOneLine(_ old: String, _ new: String, _ words: String) throws {
        let text = try String(contentsOfFile: try exported(.json), encoding: .utf8)
        #expect(text.contains(old))
        try sandbox.folder.write("bad", text.replacingOccurrences(of: old, with: new))
        try expectRefusal(sandbox.folder.path("bad"), words)
    }

    @Test(arguments: [
        ("id,name", "id,title", "no column name"), ("id,name", "id,name,x", "does not have"),
        ("id,name", "id,id", "twice"), (",a\r\n", ",a,b\r\n", "line 2 has 3 fields"), (",a\r\n", ",\"a\r\n", "no end"),
        (",a\r\n", ",\"a\"b\r\n", "behind its quote"), (",a\r\n", ",a\r\nnot an id,b\r\n", "line 3: id cannot be read"),
    ])
    func whatIsWrongWithARowIsSaidWithItsLine(_ old: String, _ new: String, _ words: String) throws {
        let path = try exported(.csv)
        let file = URL(fileURLWithPath: path + "/Tag.csv")
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(text.contains(old))
        try Data(text.replacingOccurrences(of: old, with: new).utf8).write(to: file)
        try expectRefusal(path, words)
    }

    @Test func aRecordThatIsThereTwiceAndAFileThatIsMissingAreSaid() throws {
        let path = try exported(.csv)
        let file = path + "/Tag.csv"
        let text = try String(contentsOfFile: file, encoding: .utf8)
        let row = text.components(separatedBy: "\r\n")[1]
        try Data((text + row + "\r\n").utf8).write(to: URL(fileURLWithPath: file))
        try expectRefusal(path, "another record of this identifier")
        try FileManager.default.removeItem(atPath: file)
        try expectRefusal(path, "cannot be read")
    }

    @Test func nothingIsWrittenOverAndWhatFailsLeavesNothing() throws {
        let store = try InMemoryHabitStore()
        try sandbox.folder.write("here", "mine")
        for format in InterchangeFormat.allCases {
            #expect(throws: HabitStoreError.self) { try sandbox.export(store, format, "here") }
            #expect(throws: HabitStoreError.self) { try sandbox.export(store, format, "no/such/folder") }
        }
        #expect(try String(contentsOfFile: sandbox.folder.path("here"), encoding: .utf8) == "mine")
        #expect(try sandbox.folder.names() == ["here"])
    }
}
