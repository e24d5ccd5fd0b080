import CZlib
import Foundation
import HabitStore
import Testing

@testable import HabitStoreImport
@testable import HabitTrackerImport

/// Loop's export, as a folder and as a zip, valid and malicious.
struct LoopExportTests {
    let sandbox: TrackerSandbox

    static let files = [
        "Habits.csv": """
        Position,Name,Type,Question,Description,FrequencyNumerator,FrequencyDenominator,Color,Unit,Target Type,Target Value,Archived?
        001,Meditate,YES_NO,Did you?,,1,1,#FF8F00,,,,false
        002,"Run, fast",NUMERICAL,,memo,1,30,#00897B,km,AT_LEAST,12.5,true
        003,Meditate,YES_NO,,,3,7,#00897B,,,,false

        """,
        "001 Meditate/Checkmarks.csv":
            "Date,Value,Notes\n2024-03-01,YES_MANUAL,\"a \"\"note\"\", with\"\n2024-02-29,SKIP,ill\n",
        "002 Run fast/Checkmarks.csv": "Date,Value,Notes\n2024-03-01,1500,\n2024-02-29,UNKNOWN,\n2024-02-28,oops,\n",
        "001 Meditate/Scores.csv": "Date,Score\n2024-03-01,0.5\n",
        "Checkmarks.csv":
            "Date,Meditate,\"Run, fast\",Meditate,\n2024-03-01,YES_MANUAL,1500,YES_MANUAL,\n2024-02-29,SKIP,UNKNOWN,NO,\n",
    ]

    init() throws { sandbox = try TrackerSandbox() }

    private func expectAll(_ report: TrackerReport) throws {
        #expect(report.format == .loopCSV)
        #expect(
            try sandbox.entries() == [
                "Meditate 2024-03-01", "Meditate 2024-03-01 a \"note\", with", "Run, fast 2024-03-01 1.5",
            ]
        )
        #expect(report.kept("check marks: skipped") == 1)
        #expect(report.kept("check marks: unknown") == 1)
        #expect(report.kept("check marks: not done") == 1)
        #expect(report.kept("check marks: of a value that is not known") == 1)
        #expect(report.kept("scores: computed by the app") == 1)
        #expect(report.odd("habits without a file of check marks, read from the table of all") == 1)
        #expect(report.odd("habits with the name of another one") == 1)
        let run = try sandbox.habit("Run, fast")
        #expect((run.unit, run.target, run.periodDays, run.isArchived) == ("km", 12.5, 30, true))
    }

    @Test func aFolderIsRead() throws {
        for (name, text) in Self.files { try sandbox.folder.write("export/" + name, text) }
        try expectAll(try sandbox.run("export"))
        #expect(try sandbox.run("export").entries == .init(inSource: 3, added: 0, known: 3))
    }

    @Test(arguments: [0, 8], ["", "Loop Habits CSV/"])
    func aZipIsReadStoredOrDeflatedAlsoWithAFolderAroundIt(_ method: Int, _ prefix: String) throws {
        let members = Self.files.sorted { $0.key < $1.key }.map { ZipWriter.Member(prefix + $0.key, $0.value, method) }
        try sandbox.folder.write("export.bin", ZipWriter.zip(members))
        try expectAll(try sandbox.run("export.bin"))
    }

    @Test func theZipAndTheFolderGiveTheSameIdentifiers() throws {
        for (name, text) in Self.files { try sandbox.folder.write("export/" + name, text) }
        try sandbox.run("export")
        try sandbox.folder.write("export.zip", ZipWriter.zip(Self.files.map { ZipWriter.Member($0.key, $0.value, 8) }))
        #expect(try sandbox.run("export.zip").entries == .init(inSource: 3, added: 0, known: 3))
    }

    @Test func whatAFinderAddsToAZipIsLeftOut() throws {
        let members = Self.files.map { ZipWriter.Member("Loop/" + $0.key, $0.value, 8) }
        let added = ["__MACOSX/Loop/._Habits.csv", "Loop/.hidden.csv"].map { ZipWriter.Member($0, "\u{0}", 0) }
        try sandbox.folder.write("x", ZipWriter.zip(added + members))
        try expectAll(try sandbox.run("x"))
    }

    @Test func oldExportsHaveNeitherHeadersNorWords() throws {
        try sandbox.folder.write("e/Habits.csv", "Name,Description,NumRepetitions,Interval,Color\nRun,why,2,7,#fff\n")
        try sandbox.folder.write("e/001 Run/Checkmarks.csv", "2024-02-29,2\n2024-02-28,1\n2024-02-27,0\n")
        let report = try sandbox.run("e")
        #expect(try sandbox.entries() == ["Run 2024-02-29"])
        #expect(report.kept("check marks: filled in by the app") == 1)
        #expect(try sandbox.habit("Run").timesPerPeriod == 2)
    }

    @Test func everyWayOfCuttingAZipShortIsOneError() throws {
        let whole = ZipWriter.zip(Self.files.sorted { $0.key < $1.key }.map { ZipWriter.Member($0.key, $0.value, 8) })
        for length in stride(from: 4, to: whole.count, by: 7) {
            try sandbox.folder.write("x", whole.prefix(length))
            #expect(throws: HabitStoreError.self, "\(length) bytes") { try sandbox.run("x") }
        }
        #expect(try sandbox.store.currentToken() == .zero)
    }

    @Test func flippedBitsInAZipAreErrorsOrChangeNothing() throws {
        let whole = ZipWriter.zip(Self.files.sorted { $0.key < $1.key }.map { ZipWriter.Member($0.key, $0.value, 8) })
        var refused = 0
        for byte in whole.indices {
            var damaged = whole
            damaged[byte] ^= 0x10
            try sandbox.folder.write("x", damaged)
            do {
                _ = try TrackerImport(path: sandbox.folder.path("x"), sandbox.options)
            } catch is HabitStoreError {
                refused += 1
            }
        }
        #expect(refused > whole.count / 2)
    }

    @Test(arguments: ["../evil.csv", "/etc/evil.csv", "a/../../evil.csv", "a\\..\\evil.csv"])
    func aNameThatLeadsElsewhereIsRefused(_ name: String) throws {
        let members = Self.files.map { ZipWriter.Member($0.key, $0.value, 8) } + [.init(name, "x", 0)]
        try sandbox.folder.write("x", ZipWriter.zip(members))
        let error = #expect(throws: HabitStoreError.self) { try sandbox.run("x") }
        #expect(error?.message.contains("leads elsewhere") == true)
    }

    @Test func aZipThatUnpacksToMoreThanItSaysIsRefused() throws {
        var member = ZipWriter.Member("Habits.csv", String(repeating: "a", count: 10_000_000), 8)
        member.statedSize = 1_000
        try sandbox.folder.write("x", ZipWriter.zip([member]))
        #expect(throws: HabitStoreError.self) { try sandbox.run("x") }
        member.statedSize = SourceFiles.maximumBytes + 1
        try sandbox.folder.write("x", ZipWriter.zip([member]))
        let error = #expect(throws: HabitStoreError.self) { try sandbox.run("x") }
        #expect(error?.message.contains("more data") == true)
    }
}

/// Makes small zips.
enum ZipWriter {
    struct Member {
        let name: String
        let content: [UInt8]
        let method: Int
        var statedSize: Int

        init(_ name: String, _ text: String, _ method: Int) {
            self.name = name
            content = Array(text.utf8)
            self.method = method
            statedSize = content.count
        }
    }

    static func zip(_ members: [Member]) -> Data {
        var (body, list) = (Data(), Data())
        for member in members {
            let packed = member.method == 8 ? deflated(member.content) : member.content
            let checksum = UInt32(truncatingIfNeeded: crc32(0, member.content, UInt32(member.content.count)))
            var shared = Data()
            shared.append(20, 2)
            shared.append(0, 2)
            shared.append(member.method, 2)
            shared.append(0, 4)
            shared.append(Int(checksum), 4)
            shared.append(packed.count, 4)
            shared.append(member.statedSize, 4)
            shared.append(member.name.utf8.count, 2)
            shared.append(0, 2)
            let offset = body.count
            body.append(0x0403_4B50, 4)
            body += shared + Data(member.name.utf8) + packed
            list.append(0x0201_4B50, 4)
            list.append(20, 2)
            list += shared
            list.append(0, 10)
            list.append(offset, 4)
            list += Data(member.name.utf8)
        }
        var end = Data()
        end.append(0x0605_4B50, 4)
        end.append(0, 4)
        end.append(members.count, 2)
        end.append(members.count, 2)
        end.append(list.count, 4)
        end.append(body.count, 4)
        end.append(0, 2)
        return body + list + end
    }

    private static func deflated(_ bytes: [UInt8]) -> [UInt8] {
        var stream = z_stream()
        guard czlib_deflate_init(&stream, -15) == Z_OK else { return [] }
        defer { deflateEnd(&stream) }
        var output = [UInt8](repeating: 0, count: bytes.count + 1_024)
        var input = bytes
        let made = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                _ = deflate(&stream, Z_FINISH)
                return output.count - Int(stream.avail_out)
            }
        }
        return Array(output[..<made])
    }
}

extension Data {
    fileprivate mutating func append(_ number: Int, _ size: Int) {
        for shift in 0..<size { append(shift < 8 ? UInt8(truncatingIfNeeded: number >> (8 * shift)) : 0) }
    }
}
