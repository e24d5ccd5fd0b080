import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker
import Testing

@testable import HabitStoreImport
@testable import HabitTrackerImport

/// Importing drafts from a preferences file: none is lost and none is duplicated, whatever stops a run.
struct PreferencesImportTests {
    typealias Format = PropertyListSerialization.PropertyListFormat

    let folder: TemporaryFolder
    let store: InMemoryHabitStore

    init() throws {
        folder = try TemporaryFolder()
        store = try InMemoryHabitStore(schema: HabitSchema.current)
    }

    @discardableResult
    private func write(
        _ texts: Any?,
        _ others: [String: Any] = ["theme": "dark"],
        format: Format = .binary,
        name: String = "app.plist"
    ) throws -> String {
        var root = others
        root["draft_posts"] = texts
        let data = try PropertyListSerialization.data(fromPropertyList: root, format: format, options: 0)
        return try folder.write(name, data)
    }

    private func read(_ name: String = "app.plist") throws -> [String: Any] {
        let data = try Data(contentsOf: URL(fileURLWithPath: folder.path(name)))
        return try #require(
            try PropertyListSerialization.propertyList(from: data, options: [], format: nil) as? [String: Any]
        )
    }

    private func work(_ name: String = "app.plist") -> PreferencesImport {
        PreferencesImport(path: folder.path(name), key: "draft_posts", into: store, journalsIn: folder.path("imports"))
    }

    private func drafts() throws -> [String] {
        try store.fetch(FetchDescriptor<Draft>(sortBy: [SortDescriptor(\.creationDate)])).map(\.content)
    }

    private func expectNothingLeft() throws {
        #expect(try folder.names().filter { $0.hasPrefix(".") } == [])
        let imports = folder.path("imports")
        guard FileManager.default.fileExists(atPath: imports) else { return }
        #expect(try FileManager.default.contentsOfDirectory(atPath: imports) == [])
    }

    // MARK: Regular imports

    /// The store keeps text in NFC, which replaces some characters, and the key was emptied: the originals were lost.
    @Test func theOriginalOfATextWhoseCharactersNFCReplacesIsKept() throws {
        try write(["caf\u{65}\u{301}", "\u{FA18}", "\u{212B}"])
        let outcome = try work().run()
        #expect((outcome.made, outcome.normalized) == (3, 3))
        let text = try String(contentsOfFile: try #require(outcome.originals), encoding: .utf8)
        #expect(text.unicodeScalars.contains("\u{FA18}") && text.unicodeScalars.contains("\u{212B}"))
        #expect(text.split(separator: "\n").count == 2)
        #expect(try read()["draft_posts"] as? [String] == [])
        try write(["plain"])
        #expect(try work().run().originals == nil)
    }

    @Test(arguments: [Format.binary, .xml])
    func textsBecomeDraftsInTheirOrderAndTheKeyIsEmptied(_ format: Format) throws {
        try write(["first", "", "🏃‍♂️ <&>\n", "first"], format: format)
        let outcome = try work().run()
        #expect(outcome.made == 4)
        #expect(outcome.isEmptied && !outcome.wasInterrupted)
        #expect(try drafts() == ["first", "", "🏃‍♂️ <&>\n", "first"])
        let after = try read()
        #expect((after["draft_posts"] as? [Any])?.isEmpty == true)
        #expect(after["theme"] as? String == "dark")
        try expectNothingLeft()
    }

    @Test func aSecondRunDoesNothingAndTheSameTextWrittenLaterIsAnotherDraft() throws {
        try write(["a", "b"])
        _ = try work().run()
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.path("app.plist")))
        #expect(try work().run() == PreferencesImport.Outcome(isEmptied: true))
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path("app.plist"))) == before)
        #expect(try drafts() == ["a", "b"])
        try write(["a"])
        #expect(try work().run().made == 1)
        #expect(try drafts().sorted() == ["a", "a", "b"])
    }

    @Test func aRehearsalChangesNothing() throws {
        try write(["a", "b"])
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.path("app.plist")))
        #expect(try work().rehearse().made == 2)
        #expect(try drafts().isEmpty)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path("app.plist"))) == before)
        #expect(try folder.names() == ["app.plist"])
    }

    @Test func theFilesPermissionsStayAndALinkStaysALink() throws {
        let path = try write(["a"], name: "real.plist")
        #expect(chmod(path, 0o640) == 0)
        try FileManager.default.createSymbolicLink(atPath: folder.path("app.plist"), withDestinationPath: "real.plist")
        _ = try work().run()
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o640)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.path("app.plist")) == "real.plist")
        #expect((try read("real.plist")["draft_posts"] as? [Any])?.isEmpty == true)
        #expect(try drafts() == ["a"])
    }

    // MARK: Refusals

    @Test(arguments: [
        ("numbers", #"<array><integer>1</integer></array>"#, "a number as item 1"),
        ("mixed", #"<array><string>a</string><true/></array>"#, "a truth value as item 2"),
        ("text", #"<string>a</string>"#, "a text, not a list"),
        ("dictionary", #"<dict/>"#, "a dictionary, not a list"),
        ("nested", #"<array><array/></array>"#, "a list as item 1"),
        ("date", #"<date>2026-01-31T00:00:00Z</date>"#, "a date, not a list"),
    ])
    func aKeyThatHoldsAnythingButTextsIsRefused(_ name: String, _ value: String, _ words: String) throws {
        let text = "<plist version=\"1.0\"><dict><key>draft_posts</key>\(value)</dict></plist>"
        try folder.write("app.plist", text)
        let error = #expect(throws: HabitStoreError.self) { try work().run() }
        #expect(error?.code == .invalidSource)
        #expect(error?.message.contains(words) == true, "\(name): \(String(describing: error))")
        #expect(try String(contentsOfFile: folder.path("app.plist"), encoding: .utf8) == text)
        #expect(try folder.names() == ["app.plist"])
    }

    @Test func aMissingKeyIsAnErrorAndAnEmptyListIsNone() throws {
        try write(nil)
        #expect(throws: HabitStoreError.self) { try work().run() }
        try write([String]())
        #expect(try work().run() == PreferencesImport.Outcome(isEmptied: true))
        #expect(try folder.names() == ["app.plist"])
    }

    @Test func everyWayOfCuttingAFileShortIsOneError() throws {
        for format in [Format.binary, .xml] {
            try write(["a", "b"], ["n": 1, "when": Date(timeIntervalSince1970: 0)], format: format)
            let whole = try Data(contentsOf: URL(fileURLWithPath: folder.path("app.plist")))
            // A file without its last line break is still complete.
            let end = format == .xml ? whole.count - 2 : whole.count
            for length in 0..<end {
                try folder.write("app.plist", whole.prefix(length))
                let error = #expect(throws: HabitStoreError.self, "\(length) bytes") { try work().run() }
                #expect(error?.code == .invalidSource, "\(length) bytes: \(String(describing: error))")
            }
            #expect(try drafts().isEmpty)
        }
    }

    @Test func flippedBitsNeverLeaveAFileHalfChanged() throws {
        try write(["alpha", "beta"], ["n": 1, "list": ["x"], "data": Data([1, 2, 3])])
        let whole = try Data(contentsOf: URL(fileURLWithPath: folder.path("app.plist")))
        var refused = 0
        for bit in 0..<(whole.count * 8) {
            var damaged = whole
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            try folder.write("app.plist", damaged)
            do {
                _ = try work().run()
                let left = try PreferencesImport.count(in: folder.path("app.plist"), key: "draft_posts")
                #expect(left == 0, "bit \(bit)")
            } catch let error as HabitStoreError {
                refused += 1
                #expect(error.code == .invalidSource, "bit \(bit): \(error)")
                #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path("app.plist"))) == damaged, "bit \(bit)")
            }
            try expectNothingLeft()
        }
        #expect(refused > 0)
    }

    @Test func whatIsNoFileOrNoneOfTheFormsIsOneError() throws {
        #expect(throws: HabitStoreError.self) { try work("missing.plist").run() }
        #expect(throws: HabitStoreError.self) { try work(".").run() }
        let texts = [
            "{ draft_posts = (a, b); }", "{\"draft_posts\": [\"a\"]}", "", "bplist00", "[1]", "<plist><array/></plist>",
        ]
        for text in texts {
            try folder.write("app.plist", text)
            let error = #expect(throws: HabitStoreError.self, "\(text)") { try work().run() }
            #expect(error?.code == .invalidSource)
            #expect(try String(contentsOfFile: folder.path("app.plist"), encoding: .utf8) == text)
        }
        let deep = String(repeating: "<array>", count: 100_000)
        try folder.write("app.plist", "<plist><dict><key>draft_posts</key>\(deep)")
        #expect(throws: HabitStoreError.self) { try work().run() }
        #expect(try drafts().isEmpty)
    }

    @Test func whereNoFileCanBeMadeNothingHappens() throws {
        try write(["a"])
        var work = work()
        let stored = store
        // The folder for notes is a file, so the journal cannot be written.
        try folder.write("imports", "in the way")
        let error = #expect(throws: HabitStoreError.self) { try work.run() }
        #expect([.permissionDenied, .inputOutput].contains(try #require(error).code))
        #expect(try stored.all(Draft.self).isEmpty)
        #expect(try read()["draft_posts"] as? [String] == ["a"])
        try FileManager.default.removeItem(atPath: folder.path("imports"))
        work = self.work()
        #expect(try work.run().made == 1)
    }

    // MARK: An app that keeps writing

    @Test func whatAnAppWritesBetweenReadingAndReplacingIsNotLost() throws {
        try write(["a", "b"])
        var work = work()
        // `run` calls the closure on this thread.
        nonisolated(unsafe) var writes = 0
        work.beforeReplacing = {
            writes += 1
            if writes == 1 { try write(["a", "b", "c", "a"], ["theme": "light"]) }
            // The app has removed an imported draft and added another.
            if writes == 2 { try write(["b", "d"], ["theme": "blue"]) }
        }
        let outcome = try work.run()
        #expect(outcome.made == 5)
        #expect(try drafts() == ["a", "b", "c", "a", "d"])
        #expect((try read()["draft_posts"] as? [Any])?.isEmpty == true)
        #expect(try read()["theme"] as? String == "blue")
        try expectNothingLeft()
    }

    @Test func anAppThatNeverStopsWritingIsToldAndTheNextRunFinishes() throws {
        try write(["a"])
        var work = work()
        // `run` calls the closure on this thread.
        nonisolated(unsafe) var count = 0
        work.beforeReplacing = {
            count += 1
            try write(["a"], ["count": count])
        }
        let error = #expect(throws: HabitStoreError.self) { try work.run() }
        #expect(error?.code == .busy)
        #expect(try drafts() == ["a"])
        let outcome = try self.work().run()
        #expect(outcome.wasInterrupted && outcome.made == 0 && outcome.madeBefore == 1)
        #expect(try drafts() == ["a"])
        try expectNothingLeft()
    }

    @Test func aDraftThatWasDeletedSinceAnInterruptedRunDoesNotComeBack() throws {
        try write(["a", "b"])
        struct Stop: Error {}
        var work = work()
        work.beforeReplacing = { throw Stop() }
        #expect(throws: Stop.self) { try work.run() }
        let draft = try #require(try store.all(Draft.self).first { $0.content == "a" })
        try store.delete(draft)
        let outcome = try self.work().run()
        #expect(outcome.made == 0 && outcome.isEmptied)
        #expect(try drafts() == ["b"])
        try expectNothingLeft()
    }

    @Test func aFileThatWasMovedAfterAnInterruptionIsKnownByItsContent() throws {
        try write(["a", "b"])
        struct Stop: Error {}
        var work = work()
        work.beforeReplacing = { throw Stop() }
        #expect(throws: Stop.self) { try work.run() }
        try FileManager.default.moveItem(atPath: folder.path("app.plist"), toPath: folder.path("moved.plist"))
        let outcome = try self.work("moved.plist").run()
        #expect(outcome.wasInterrupted && outcome.made == 0)
        #expect(try drafts() == ["a", "b"])
        #expect((try read("moved.plist")["draft_posts"] as? [Any])?.isEmpty == true)
    }
}
