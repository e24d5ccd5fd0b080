import Foundation
import HabitStore
import ShadowVerifier
import Testing

@testable import HabitStoreImport

/// An attribute that "allows external storage" stores its value after a byte that says where it is. The byte was imported too, so that no picture
/// could be
/// opened, and a reference to a file next to the store was imported as if it were a picture.
@Suite struct ExternalDataTests {
    private static let name = "5F2B7B1E-6A0B-4C39-9D6E-0F3C8A1D2E4B"
    private static let picture = Data([0xff, 0xd8, 0xff, 0xe0, 1, 2, 3])

    private func pictures(withModel: Bool = true) throws -> CoreDataFixture {
        let fixture = try CoreDataFixture()
        try fixture.metadata()
        if withModel {
            let picture = FixtureModel.Attribute(name: "picture", type: 1_000, isExternal: true)
            try fixture.model(FixtureModel(entities: [.init(name: "Photo", attributes: [picture])]))
        }
        try fixture.entities([(1, "Photo", 0, 3)])
        let reference = Data([2]) + Data(Self.name.utf8) + Data([0])
        try fixture.sql(
            """
            CREATE TABLE ZPHOTO (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZPICTURE BLOB);
            INSERT INTO ZPHOTO VALUES (1, 1, 1, x'01ffd8ffe0010203'), (2, 1, 1, x'\(reference.hexadecimal)'), (3, 1, 1, NULL);
            """
        )
        return fixture
    }

    private func beside(_ fixture: CoreDataFixture) throws {
        let folder = fixture.folder.appendingPathComponent(".app_SUPPORT/_EXTERNAL_DATA")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data("large".utf8).write(to: folder.appendingPathComponent(Self.name))
    }

    private func values(_ fixture: CoreDataFixture) throws -> [CoreDataValue] {
        let file = try CoreDataFile(path: fixture.path)
        defer { file.close() }
        let photo = try #require(file.model.entity("Photo"))
        #expect(photo.attribute("picture")?.allowsExternalStorage == true)
        var result: [CoreDataValue] = []
        try file.enumerate(photo) { row in
            result += row.values
            return true
        }
        return result
    }

    @Test(arguments: [true, false])
    func aValueIsWhatTheAppWroteWhereverItIsKept(_ withModel: Bool) throws {
        let fixture = try pictures(withModel: withModel)
        try beside(fixture)
        #expect(try values(fixture).map(\.value) == [.data(Self.picture), .data(Data("large".utf8)), .null])
    }

    @Test(arguments: TargetEngine.onDisk)
    func whatIsBesideIsBroughtOverAndVerified(_ engine: TargetEngine) throws {
        let fixture = try pictures()
        try beside(fixture)
        let target = try ImportTarget(engine)
        let report = try target.update(from: fixture.path)
        #expect(report.shortfalls.isEmpty, "\(report.shortfalls)")
        let verified = try target.verification(of: fixture.path)
        #expect(verified.verdict == .match, "\(verified.differences.map(\.message))")
        #expect(try target.unaccounted(of: fixture.path) == [])
    }

    @Test func aFileThatIsNotThereIsCountedAndItsNameIsKept() throws {
        let fixture = try pictures()
        #expect(try values(fixture).map(\.value) == [.data(Self.picture), .null, .null])
        let target = try ImportTarget(.sqlite)
        let report = try target.update(from: fixture.path)
        #expect(report.shortfalls.map(\.kind) == ["externalDataMissing"])
        #expect(try target.unaccounted(of: fixture.path) == [])
    }

    @Test func inspectShowsWhichAttributesMayBeKeptBeside() throws {
        let fixture = try pictures()
        let run = try CommandLineRun("inspect", fixture.path, home: fixture.folder)
        #expect(run.output.contains("external storage"), "\(run.output)\(run.errors)")
    }
}

extension Data {
    fileprivate var hexadecimal: String {
        map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0" + digits : digits
        }.joined()
    }
}
