import Foundation
@_spi(Engines) import HabitStore

/// A target's source (the file and the version of the app's model) and the last imported transaction. It is a record of the target, so that it
/// changes in the same transaction as the data.
struct SourcePosition: Hashable {
    /// The source's identity.
    let storeID: String
    /// A hash over the hashes of the app's model.
    var model: String
    /// The identity attributes, by root entity.
    var identities: [String: String]
    /// The last source transaction in the target; nil if the source has no history.
    var transaction: Int64?
    /// Identifies the state of the source that the target last equaled, to detect earlier states; nil in targets of earlier versions.
    var age: SourceAge?

    /// The identifier of the record, one per source.
    var id: UUID { IdentityRule.derived(storeID: storeID, root: DerivedSchema.sourceEntity, key: 0) }

    init(
        storeID: String,
        model: String,
        identities: [String: String],
        transaction: Int64?,
        age: SourceAge? = nil
    ) {
        (self.storeID, self.model, self.identities) = (storeID, model, identities)
        (self.transaction, self.age) = (transaction, age)
    }

    /// The current position of a file.
    init(_ file: CoreDataFile, identities: [String: String]) {
        self.init(
            storeID: file.metadata.storeID,
            model: file.modelHash,
            identities: identities,
            transaction: file.history?.last,
            age: file.age
        )
    }

    /// Decodes the values of the target's record.
    init(_ values: [Value]) throws {
        guard [5, 6].contains(values.count), case .string(let storeID) = values[1], case .string(let model) = values[2],
            case .string(let text) = values[3],
            let identities = try? JSONDecoder().decode([String: String].self, from: Data(text.utf8))
        else {
            throw HabitStoreError(.corrupt, "the store's position in its source cannot be read")
        }
        self.storeID = storeID
        self.model = model
        self.identities = identities
        transaction = if case .int(let number) = values[4] { number } else { nil }
        if values.count == 6, case .string(let text) = values[5] {
            age = try? JSONDecoder().decode(SourceAge.self, from: Data(text.utf8))
        }
    }

    /// The record; targets of earlier versions have no attribute for the age.
    func record(_ layout: RecordLayout) throws -> EncodedRecord {
        var values: [Value] = [
            .uuid(id), .string(storeID), .string(model), .string(try Self.json(identities)),
            transaction.map { .int($0) } ?? .null,
        ]
        if layout.kinds.count == 6 { values.append(try age.map { .string(try Self.json($0)) } ?? .null) }
        return try EncodedRecord(values, layout: layout)
    }

    private static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}
