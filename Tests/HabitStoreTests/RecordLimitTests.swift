import Foundation
@_spi(Engines) import HabitStore
import Testing

/// A text of more than SQLite's 1,000,000,000 bytes was stored on LMDB and refused on SQLite as "string or blob too big", and a record of more than 4
/// GiB crashed the process.
@Suite("How large values may be")
struct RecordLimitTests {
    /// It is refused before it is copied, which would take as much memory again.
    @Test func aValueAboveTheLimitIsRefusedWhereItIsGiven() throws {
        let store = try InMemoryHabitStore(schema: Schema([Picture.self]))
        let bytes = Data(count: RecordLimits.largestRecord + 1)
        let picture = Picture(bytes: bytes)
        let error = #expect(throws: HabitStoreError.self) { try store.save(picture) }
        #expect(error?.code == .limitExceeded)
        #expect(error?.location == .init(entity: "Picture", attribute: "bytes", id: picture.id))
        #expect(error?.message.hasPrefix("Picture.bytes has 500000001 bytes, and a value may have 500000000;") == true)
        #expect(try store.all(Picture.self) == [])
    }

    /// Larger values that a store has already are read.
    @Test func whatIsThereAlreadyIsEncodedBeyondTheLimit() throws {
        let layout = Schema([Picture.self], largestRecord: 100).entities[0].layout
        let values: [Value] = [.uuid(UUID()), .data(Data(count: 200))]
        #expect(throws: HabitStoreError.self) { try EncodedRecord(values, layout: layout) }
        var writer = AttributeWriter(layout: layout, refusesLargeValues: false)
        for value in values { try writer.append(value: value) }
        #expect(try writer.finish { EncodedRecord(copying: $0) }.values(layout) == values)
    }
}

private struct Picture: PersistentModel {
    var id = UUID()
    var bytes: Data

    static let entity = EntityDescription(
        Picture.self,
        attributes: [.id(\Picture.id), .attribute("bytes", \Picture.bytes)]
    )

    init(bytes: Data) { self.bytes = bytes }

    init(row: inout AttributeReader) throws { (id, bytes) = (try row.nextUUID(), try row.nextData()) }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(bytes)
    }
}
