import Foundation
import Testing

@testable import HabitStoreImport
@testable import HabitTrackerImport

/// Emptying a key changes its value, and no other byte or type.
struct PreferencesBytesTests {
    private func parsed(_ bytes: [UInt8]) throws -> NSDictionary {
        try #require(
            try PropertyListSerialization.propertyList(from: Data(bytes), options: [], format: nil) as? NSDictionary
        )
    }

    @Test func nothingButTheValueChangesInXML() throws {
        let text = """
            \u{FEFF}  <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <!-- <key>draft_posts</key><array/> -->
            <plist version="1.0"><dict>
              <key>nested</key><dict><key>draft_posts</key><array><string>stays</string></array></dict>
              <key>real</key><real>1.50</real><key>yes</key><true/><key>hex</key><integer>0x1F</integer>
              <key>draft_<!-- comment -->p<![CDATA[o]]>s&#116;s</key>
              <array>
                <string>a &lt; b</string><!-- </array> --><string><![CDATA[</array>]]></string>
              </array>
              <key>date</key><date>2026-01-31T00:00:00Z</date><key>empty</key><string/>
            </dict></plist>

            """
        let changed = try XMLPreferences(Array(text.utf8), path: "x").emptying("draft_posts")
        let value = """
            <array>
                <string>a &lt; b</string><!-- </array> --><string><![CDATA[</array>]]></string>
              </array>
            """
        let parts = text.components(separatedBy: value)
        #expect(parts.count == 2)
        #expect(String(decoding: changed, as: UTF8.self) == parts.joined(separator: "<array/>"))
    }

    @Test func aKeyThatIsThereTwiceIsRefused() {
        let text = "<plist><dict><key>k</key><array/><key>k</key><array/></dict></plist>"
        #expect(throws: (any Error).self) { try XMLPreferences(Array(text.utf8), path: "x").emptying("k") }
    }

    @Test func numbersOfEveryWidthDatesDataAndArchiveIdentifiersStayWhatTheyAre() throws {
        // Hand-made objects: Foundation writes no 128-bit integers and no identifiers.
        var objects: [[UInt8]] = [
            [0xD7] + (1...7).map { UInt8($0) } + (8...14).map { UInt8($0) },
            [0x51, 0x61], [0x51, 0x62], [0x51, 0x63], [0x51, 0x64], [0x51, 0x65], [0x51, 0x66], [0x51, 0x6B],
            [0x14] + [UInt8](repeating: 0, count: 8) + [0xFF] + [UInt8](repeating: 1, count: 7),
            [0x22, 0x3F, 0xC0, 0x00, 0x00],
            [0x81, 0x01, 0x02],
            [0x33, 0xC1, 0xCD, 0x27, 0xE4, 0x40, 0x00, 0x00, 0x00],
            [0x44, 1, 2, 3, 4],
            [0x62, 0x00, 0xE4, 0xD8, 0x3C],
            [0xA2, 15, 16],
        ]
        objects += [[0x55] + Array("draft".utf8), [0x51, 0x61]]
        let changed = try BinaryPreferences(Self.file(objects), path: "x").emptying("k")
        // Every simple object that is still referenced is in the new file, byte for byte.
        for object in objects[8...13] {
            #expect(changed.indices.contains { changed[$0...].starts(with: object) }, "\(object)")
        }
        #expect(!changed.indices.contains { changed[$0...].starts(with: Array("draft".utf8)) })
        let again = try BinaryPreferences(changed, path: "x").emptying("k")
        #expect(again == changed)
    }

    @Test func aListThatTwoKeysShareStaysWithTheOther() throws {
        let objects: [[UInt8]] = [
            [0xD2, 1, 2, 3, 3], [0x51, 0x61], [0x51, 0x6B], [0xA1, 4], [0x51, 0x78],
        ]
        let after = try parsed(try BinaryPreferences(Self.file(objects), path: "x").emptying("k"))
        #expect(after["a"] as? [String] == ["x"])
        #expect((after["k"] as? [Any])?.isEmpty == true)
    }

    @Test func aContainerThatHoldsItselfIsRefused() {
        let objects: [[UInt8]] = [[0xD1, 1, 2], [0x51, 0x6B], [0xA1, 2]]
        #expect(throws: (any Error).self) { try BinaryPreferences(Self.file(objects), path: "x") }
    }

    @Test(arguments: [10, 300, 70_000])
    func listsOfAnyLengthAreReadAndLeaveTheOthersAsTheyWere(_ count: Int) throws {
        let root: [String: Any] = [
            "k": (0..<count).map { "text \($0)" }, "numbers": (0..<count).map { $0 }, "real": 0.1, "flag": true,
            "when": Date(timeIntervalSinceReferenceDate: 0.5), "schön": ["日本": "語"],
        ]
        let data = try PropertyListSerialization.data(fromPropertyList: root, format: .binary, options: 0)
        let changed = try BinaryPreferences(Array(data), path: "x").emptying("k")
        var expected = root
        expected["k"] = [Any]()
        #expect(try parsed(changed).isEqual(NSDictionary(dictionary: expected)))
    }

    /// A binary property list of objects; the first one is the root.
    private static func file(_ objects: [[UInt8]]) -> [UInt8] {
        var bytes = Array("bplist00".utf8)
        var offsets: [UInt8] = []
        for object in objects {
            offsets.append(UInt8(bytes.count))
            bytes += object
        }
        let table = UInt8(bytes.count)
        bytes += offsets + [0, 0, 0, 0, 0, 0, 1, 1]
        bytes += [0, 0, 0, 0, 0, 0, 0, UInt8(objects.count)] + [UInt8](repeating: 0, count: 8)
        return bytes + [0, 0, 0, 0, 0, 0, 0, table]
    }
}
