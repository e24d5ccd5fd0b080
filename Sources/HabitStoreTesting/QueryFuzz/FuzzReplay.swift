import Foundation
@_spi(Engines) import HabitStore

/// A small store with given records, for tests that a fuzz run has printed.
public final class FuzzReplay {
    /// A stored record.
    public struct Record: Sendable {
        let entity: String
        let content: Content

        enum Content: Sendable {
            case values([Value])
            case bytes(String)
        }

        /// A record with these values, in the order of the entity's attributes.
        public init(_ entity: String, _ values: [Value]) {
            self.entity = entity
            content = .values(values)
        }

        /// An encoded record in Base64, for one that no store would write today.
        public init(_ entity: String, encoded: String) {
            self.entity = entity
            content = .bytes(encoded)
        }
    }

    /// The store with the records.
    @_spi(Engines) public let store: any EngineBackedStore
    private let directory: URL

    /// Makes the store in a temporary directory.
    public init(_ subject: StoreUnderTest, schema: Schema, records: [Record]) throws {
        directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("fuzz-replay-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        store = try subject.open(directory, schema, UUID()) { Date() }
        try FuzzData(name: "replay", schema: schema, replaying: records).install(into: store)
    }

    /// Closes the store and removes the directory.
    public func close() {
        store.close()
        do {
            try FileManager.default.removeItem(at: directory)
        } catch {
            FileHandle.standardError.write(Data("the directory of a replay could not be removed: \(error)\n".utf8))
        }
    }
}

extension FuzzData {
    fileprivate init(name: String, schema: Schema, replaying list: [FuzzReplay.Record]) throws {
        var records: [[FuzzRecord]] = schema.entities.map { _ in [] }
        for record in list {
            let entity = try schema.position(ofEntity: record.entity)
            let layout = schema.entities[entity].layout
            switch record.content {
            case .values(let values): records[entity].append(try FuzzRecord(values, layout: layout))
            case .bytes(let text):
                guard let data = Data(base64Encoded: text) else {
                    throw HabitStoreError(.invalidValue, "an encoded record must be Base64")
                }
                let encoded = data.withUnsafeBytes { EncodedRecord(copying: $0) }
                guard case .uuid(let id)? = try encoded.values(layout).first else {
                    throw HabitStoreError(.invalidValue, "the first value of a record must be its identifier")
                }
                records[entity].append(try FuzzRecord(id: id, record: encoded, layout: layout))
            }
        }
        self.init(name: name, schema: schema, records: records)
    }
}
