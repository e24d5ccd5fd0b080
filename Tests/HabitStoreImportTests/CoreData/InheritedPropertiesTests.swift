import Foundation
import HabitStore
import ShadowVerifier
import Testing

@testable import HabitStoreImport

/// In the models of many apps an inherited property is a stand-in for the parent's property. These were skipped, so that one app's 159 messages came
/// without their timestamps, senders and conversations: `inspect` did not show them, the import reported nothing, and the comparison found no
/// difference.
@Suite struct InheritedPropertiesTests {
    private static let model: FixtureModel = {
        var model = CoreDataFixture.libraryModel
        model.usesProxies = true
        model.entities.insert(
            .init(name: "Annual", parent: "Comic", attributes: [.init(name: "year", type: 200)]),
            at: 2
        )
        return model
    }()

    private func library() throws -> CoreDataFixture {
        let fixture = try CoreDataFixture.library(history: false)
        try fixture.sql(
            """
            DELETE FROM Z_MODELCACHE;
            INSERT INTO Z_PRIMARYKEY VALUES (6, 'Annual', 2, 0);
            ALTER TABLE ZBOOK ADD COLUMN ZYEAR INTEGER;
            INSERT INTO ZBOOK VALUES (3, 6, 1, 1, 12, 4.5, 'Annual', NULL, x'CC84E164CAFB4AD89ACDEBB399FF372A', NULL, 1977);
            INSERT INTO Z_1TAGS VALUES (3, 1);
            """
        )
        try fixture.model(Self.model)
        return fixture
    }

    @Test func anEntityHasWhatItInheritsThroughAStandIn() throws {
        let fixture = try library()
        let file = try CoreDataFile(path: fixture.path)
        let comic = try #require(file.model.entity("Comic"))
        #expect(
            comic.attributes.map(\.name) == ["cover", "isColoured", "isbn", "link", "price", "published", "title"]
        )
        #expect(comic.attribute("title")?.declaredIn == "Book")
        #expect(comic.relationship("tags")?.storage == .table("Z_1TAGS", here: "Z_1BOOKS", there: "Z_5TAGS"))
        let annual = try #require(file.model.entity("Annual"))
        #expect(annual.attribute("title")?.column == "ZTITLE")
        #expect(annual.attribute("isColoured")?.declaredIn == "Comic")
        #expect(annual.notStored == ["cached"])
        #expect(file.oddities.isEmpty, "\(file.oddities)")
    }

    @Test(arguments: TargetEngine.onDisk)
    func whatIsInheritedIsBroughtOverAndAccountedFor(_ engine: TargetEngine) throws {
        let fixture = try library()
        let target = try ImportTarget(engine)
        let report = try target.update(from: fixture.path)
        #expect(report.lost == 0, "\(report.losses)")
        let contents = try target.contents(of: fixture.path)
        let annual = try #require(contents["Book CC84E164-CAFB-4AD8-9ACD-EBB399FF372A"])
        #expect(annual["title"] == "\"Annual\"")
        #expect(annual["year"] == "1977")
        #expect(annual["tagsIDs"]?.contains("links([\"") == true)
        let verified = try target.verification(of: fixture.path)
        #expect(verified.verdict == .match, "\(verified.differences.map(\.message))")
        #expect(try target.unaccounted(of: fixture.path) == [])
    }
}
