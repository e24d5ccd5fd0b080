import Foundation
import HabitStore
import HabitTracker
import Testing

@testable import HabitStoreImport

/// A damaged export gives one error and changes nothing.
struct InterchangeDamageTests {
    let sandbox: InterchangeSandbox

    init() throws { sandbox = try InterchangeSandbox() }

    /// Exports a store with one tag.
    private func exported(_ format: InterchangeFormat) throws -> String {
        let source = try InMemoryHabitStore(schema: HabitSchema.current)
        try source.insert([Tag(name: "a")])
        return try sandbox.export(source, format)
    }

    private func expectRefusal(_ path: String, _ words: String) throws {
        let target = try InMemoryHabitStore(schema: HabitSchema.current)
        let error = #expect(throws: HabitStoreError.self) { try sandbox.open(path).fill(target) { _, _ in } }
        #expect(error?.message.contains(words) == true, "\(String(describing: error))")
        #expect(try target.currentToken() == .zero)
    }

    @Test func everyWayOfCuttingADocumentShortIsOneError() throws {
        let whole = try Data(contentsOf: URL(fileURLWithPath: try exported(.json)))
        for length in stride(from: 0, to: whole.count - 2, by: 3) {
            try sandbox.folder.write("cut", whole.prefix(length))
            do {
                // A part that ends before the format is known may be anything.
                guard try InterchangeImport(path: sandbox.folder.path("cut")) != nil else { continue }
                Issue.record("\(length) bytes of \(whole.count) were taken for all")
            } catch let error as HabitStoreError {
                #expect([.invalidSource, .limitExceeded].contains(error.code), "\(length) bytes: \(error)")
            }
        }
    }

    /// If a folder's file was cut within its last row, it still had the right number of rows, and the truncated last value was imported. Now every
    /// row of an
    /// export ends with a line break.
    @Test func everyWayOfCuttingATableShortIsOneError() throws {
        let source = try InMemoryHabitStore(schema: HabitSchema.current)
        try source.insert([Tag(name: "running"), Tag(name: "reading, long")])
        let path = try sandbox.export(source, .csv)
        let file = URL(fileURLWithPath: path + "/Tag.csv")
        let whole = try Data(contentsOf: file)
        for length in 0..<whole.count {
            try whole.prefix(length).write(to: file)
            for isEdited in [false, true] {
                // A cut between two rows changes only their number, which --edited accepts.
                if isEdited, length > 0, whole[length - 1] == UInt8(ascii: "\n") { continue }
                var options = InterchangeImport.Options()
                options.isEdited = isEdited
                let error = #expect(throws: HabitStoreError.self, "\(length) bytes of \(whole.count)") {
                    try sandbox.open(path, options).fill(try InMemoryHabitStore(schema: HabitSchema.current)) { _, _ in
                    }
                }
                #expect(error?.code == .invalidSource, "\(length) bytes: \(String(describing: error))")
            }
        }
        try whole.prefix(whole.count - 2).write(to: file)
        try expectRefusal(path, "line 3 ends without a line break")
        let error = #expect(throws: HabitStoreError.self) { try sandbox.open(path).check() }
        #expect(error?.location.path == file.path)
    }

    /// A table that the manifest does not name was silently skipped; an extra list in a document was refused.
    @Test func aTableOfNoEntityIsRefused() throws {
        let path = try exported(.csv)
        try sandbox.folder.write("out/._Tag.csv", "what a file system leaves")
        try sandbox.folder.write("out/notes.txt", "mine")
        try sandbox.open(path).check()
        for name in ["Tug.csv", "tag.CSV"] {
            try sandbox.folder.write("out/\(name)", "id,name\r\n")
            let error = #expect(throws: HabitStoreError.self) { try sandbox.open(path).check() }
            #expect(error?.code == .invalidSource)
            #expect(error?.location.path == "\(path)/\(name)")
            try FileManager.default.removeItem(atPath: "\(path)/\(name)")
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
        (",a\r\n", ",\"a\"b\r\n", "after its closing quote"),
        (",a\r\n", ",a\r\nnot an id,b\r\n", "line 3: id cannot be read"),
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
        let store = try InMemoryHabitStore(schema: HabitSchema.current)
        try sandbox.folder.write("here", "mine")
        for format in InterchangeFormat.allCases {
            #expect(throws: HabitStoreError.self) { try sandbox.export(store, format, "here") }
            #expect(throws: HabitStoreError.self) { try sandbox.export(store, format, "no/such/folder") }
        }
        #expect(try String(contentsOfFile: sandbox.folder.path("here"), encoding: .utf8) == "mine")
        #expect(try sandbox.folder.names() == ["here"])
    }
}
