import Foundation
@_spi(Engines) import HabitStore

/// Imports the records of an export into a store, all or none, and reads them back afterwards.
///
/// A store without records accepts everything unchanged, including dangling references and duplicate unique values, which it would refuse
/// from an app. A store with records, or one that routes its writes, receives the records like an app's writes: existing records stay
/// unchanged, and dangling references are written to a file next to the store.
public struct InterchangeImport {
    /// Options of an import.
    public struct Options: Sendable {
        /// Whether to update records that differ from the export.
        public var updates = false
        /// Whether to accept another number of records than the export states.
        public var isEdited = false

        /// Default options.
        public init() {}
    }

    static let author = "habitstore import"

    let source: InterchangeSource
    let options: Options
    private let surveyed = Surveyed()

    /// The result of a complete read, reused if it is needed again before anything is stored.
    private final class Surveyed {
        var result: (schema: StoredSchema, survey: InterchangeSurvey)?
    }

    /// Recognizes an export; nil if the path is anything else.
    ///
    /// - Throws: ``HabitStoreError/Code/newerVersion`` and ``HabitStoreError/Code/invalidSource`` if it cannot be read.
    public init?(path: String, _ options: Options = Options()) throws {
        guard let source = try InterchangeSource(path: path) else { return nil }
        self.source = source
        self.options = options
    }

    /// The format of the export.
    public var format: InterchangeFormat { source.format }

    /// The schema of a new store that takes everything unchanged.
    ///
    /// - Parameter app: The app's schema, which is used if it has the shape of the export's.
    public func schema(preferring app: Schema? = nil) throws -> Schema {
        try source.header.derivedSchema(preferring: app)
    }

    /// Reads the whole export, so that no store is created for one that is unreadable.
    public func check() throws {
        let schema = try schema()
        surveyed.result = (StoredSchema(schema), try survey(schema))
    }

    /// Reports what ``run(into:attachmentsIn:progress:)`` would do, by doing it in a transaction that is rolled back.
    ///
    /// - Throws: the errors for which the run would be refused.
    public func rehearse(into store: any HabitStore) throws -> InterchangeReport {
        struct Rehearsed: Error {
            let report: InterchangeReport
        }
        try RecordStoring.requireTypes(store.schema)
        let survey = try survey(store.schema)
        let cut = try danglingReferences(store, survey)
        do {
            return try store.write(author: Self.author) { transaction -> InterchangeReport in
                throw Rehearsed(report: try bring(store.schema, survey, cut, transaction) { _, _ in })
            }
        } catch let rehearsed as Rehearsed {
            return rehearsed.report
        }
    }

    /// Whether ``fill(_:progress:)`` can import into a store: it is empty, or has an unfinished import.
    ///
    /// - Throws: ``HabitStoreError/Code/unsupported`` for the unfinished target of a copy, ``HabitStoreError/Code/notAuthoritative`` for a
    ///   store in a rollout.
    public func canFill(_ store: any ReplicableStore) throws -> Bool { try BulkLoad.isPossible(in: store) }

    /// Reads the whole export and reports what ``fill(_:progress:)`` would do with a store of a schema.
    public func rehearseFilling(_ schema: Schema) throws -> InterchangeReport {
        var report = InterchangeReport(self, schema, try survey(schema))
        try forEach(schema) { entity, _, _ in report.note(entity, .new) }
        return report
    }

    /// Imports the records unchanged into a store that has none. Batches take effect only with the last one, which also adds all records to
    /// the history. No reader is served from the store before that.
    ///
    /// - Throws: the errors of ``canFill(_:)``; ``HabitStoreError/Code/busy`` if the store is not empty or another process has taken it
    ///   over.
    public func fill(_ store: any ReplicableStore, progress: (Int, Int) -> Void) throws -> InterchangeReport {
        let survey = try knownSurvey(store.schema)
        var report = InterchangeReport(self, store.schema, survey)
        var filling = try BulkLoad(store)
        var told: [Int: SpilledIdentifiers] = [:]
        var batch: BulkLoad.Batch = []
        var done = 0
        try forEach(store.schema) { entity, record, _ in
            let id = try record.withView(store.schema.entities[entity].layout) { try $0.identifier() }
            batch.append((entity, id, record))
            let ids = told[entity] ?? SpilledIdentifiers()
            told[entity] = ids
            try ids.append(id)
            report.note(entity, .new)
            done += 1
            if batch.count == BulkLoad.batch {
                try filling.put(batch)
                batch = []
                progress(done, survey.total)
            }
        }
        guard done == survey.total else {
            throw HabitStoreError(.busy, "the export was changed while it was read", at: .init(path: source.path))
        }
        try filling.finish(batch) { transaction in
            try BulkLoad.tell(told, author: Self.author, at: Date(), store.schema, transaction)
        }
        progress(done, survey.total)
        report.differences = try compare(store, cut: [:])
        return report
    }

    /// Imports the records like an app's writes.
    ///
    /// - Parameter folder: the folder for the file with dangling references. If the import is refused, nothing is written there.
    public func run(
        into store: any HabitStore,
        attachmentsIn folder: String,
        progress: (Int, Int) -> Void
    ) throws -> InterchangeReport {
        try RecordStoring.requireTypes(store.schema)
        let survey = try survey(store.schema)
        let cut = try danglingReferences(store, survey)
        var report = try store.write(author: Self.author) { transaction in
            var report = try bring(store.schema, survey, cut, transaction, progress)
            // All records are accepted; write the dangling references to disk before the commit.
            report.attachment = try InterchangeAttachment.write(cut, of: self, store.schema, in: folder)
            return report
        }
        report.differences = try compare(store, cut: cut)
        return report
    }

    private func bring(
        _ schema: Schema,
        _ survey: InterchangeSurvey,
        _ cut: InterchangeReferences.Cut,
        _ transaction: any WriteTransaction,
        _ progress: (Int, Int) -> Void
    ) throws -> InterchangeReport {
        var report = InterchangeReport(self, schema, survey)
        report.cut = cut.values.reduce(0) { $0 + $1.count }
        var done = 0
        try forEach(schema) { entity, record, place in
            let record = try InterchangeReferences.cutting(cut, entity, record, schema)
            let presence = try presence(entity, record, transaction)
            report.note(entity, presence)
            if presence == .new || (presence == .different && options.updates) {
                try RecordStoring.save(record, of: entity, transaction, place, source.path)
            }
            done += 1
            progress(done, survey.total)
        }
        return report
    }

    // MARK: Reading

    func forEach(_ schema: Schema, _ body: (Int, EncodedRecord, String) throws -> Void) throws {
        try source.forEachRecord(schema) { entity, values, place in
            try body(entity, try EncodedRecord(values, layout: schema.entities[entity].layout), place)
        }
    }

    private func presence(
        _ entity: Int,
        _ record: EncodedRecord,
        _ transaction: any ReadTransaction
    ) throws -> InterchangeReport.Presence {
        let layout = transaction.schema.entities[entity].layout
        let id = try record.withView(layout) { try $0.identifier() }
        var presence = InterchangeReport.Presence.new
        _ = try transaction.withRow(entity: entity, id: id) { row in
            presence = try row.encoded().values(layout) == record.values(layout) ? .same : .different
        }
        return presence
    }

    /// The result of ``check()`` if it was for the same schema, which is used once; otherwise a new survey.
    private func knownSurvey(_ schema: Schema) throws -> InterchangeSurvey {
        defer { surveyed.result = nil }
        if let known = surveyed.result, StoredSchema(schema).differences(from: known.schema).isEmpty {
            return known.survey
        }
        return try survey(schema)
    }

    /// Reads the whole export, collects the identifiers and checks the number of records.
    private func survey(_ schema: Schema) throws -> InterchangeSurvey {
        try source.header.require(schema, path: source.path)
        try source.requireKnownFiles()
        var survey = InterchangeSurvey(schema)
        try source.forEachRecord(schema) { entity, values, place in
            guard case .uuid(let id) = values[0] else { return }
            guard survey.add(entity, id) else {
                throw HabitStoreError(
                    .invalidSource,
                    "\(place): there is another record of this identifier",
                    at: .init(path: source.path, entity: schema.entities[entity].name, id: id)
                )
            }
        }
        guard !options.isEdited else { return survey }
        for (position, entity) in schema.entities.enumerated() {
            let (stated, found) = (source.header.counts[entity.name] ?? 0, survey.counts[position])
            guard stated == found else {
                throw HabitStoreError(
                    .invalidSource,
                    "there are \(found) records of \(entity.name), and the export says \(stated): it was cut short, or "
                        + "edited; give --edited to import it anyway",
                    at: .init(path: source.path)
                )
            }
        }
        return survey
    }

    /// The references of each record to records that neither the export nor the store has.
    private func danglingReferences(
        _ store: any HabitStore,
        _ survey: InterchangeSurvey
    ) throws -> InterchangeReferences.Cut {
        try store.read { transaction in
            var cut: InterchangeReferences.Cut = [:]
            try source.forEachRecord(store.schema) { entity, values, _ in
                guard case .uuid(let id) = values[0] else { return }
                let dangling = try InterchangeReferences.targets(of: values, entity, store.schema).filter { target in
                    guard !survey.has(target.entity, target.id) else { return false }
                    return try !transaction.withRow(entity: target.entity, id: target.id) { _ in }
                }
                if !dangling.isEmpty { cut[id] = dangling }
            }
            return cut
        }
    }

    /// Reads the whole export again and compares it with the store.
    private func compare(_ store: any HabitStore, cut: InterchangeReferences.Cut) throws -> Int {
        try store.read { transaction in
            var differences = 0
            try forEach(store.schema) { entity, record, _ in
                let record = try InterchangeReferences.cutting(cut, entity, record, store.schema)
                if try presence(entity, record, transaction) != .same { differences += 1 }
            }
            return differences
        }
    }
}

/// The result of importing an export.
public struct InterchangeReport: Sendable, Codable, Equatable {
    /// The record counts of an entity.
    public struct Count: Sendable, Codable, Equatable {
        /// The entity.
        public let entity: String
        /// Records in the export.
        public var inSource = 0
        /// Records added to the store.
        public var added = 0
        /// Records that were already in the store and equal.
        public var known = 0
        /// Records that were already in the store and differ; they are kept unless updates were requested.
        public var differing = 0
    }

    enum Presence {
        case new
        case same
        case different
    }

    /// The format of the export.
    public let format: InterchangeFormat
    /// The path of the export.
    public let path: String
    /// The counts of each entity.
    public var entities: [Count]
    /// The number of dangling references that were removed.
    public var cut = 0
    /// The file with the removed references; nil if there are none.
    public var attachment: String?
    /// The number of records that differ from the export when read back after the import; nil for a rehearsal.
    public var differences: Int?

    init(_ work: InterchangeImport, _ schema: Schema, _ survey: InterchangeSurvey) {
        format = work.format
        path = work.source.path
        entities = zip(schema.entities, survey.counts).map { Count(entity: $0.name, inSource: $1) }
    }

    mutating func note(_ entity: Int, _ presence: Presence) {
        switch presence {
        case .new: entities[entity].added += 1
        case .same: entities[entity].known += 1
        case .different: entities[entity].differing += 1
        }
    }
}

/// Finds and removes references in records.
enum InterchangeReferences {
    /// A reference to another record.
    struct Target: Hashable {
        /// The index of the attribute with the reference.
        let attribute: Int
        /// The index of the destination entity.
        let entity: Int
        let id: UUID
    }

    /// Dangling references, by the identifier of the record that has them.
    typealias Cut = [UUID: [Target]]

    static func targets(of values: [Value], _ entity: Int, _ schema: Schema) -> [Target] {
        schema.relationships[entity].filter(\.isStored).flatMap { relationship -> [Target] in
            let ids: [UUID]
            switch values[relationship.attribute] {
            case .uuid(let id): ids = [id]
            case .links(let links): ids = links
            default: ids = []
            }
            return ids.map { Target(attribute: relationship.attribute, entity: relationship.destination, id: $0) }
        }
    }

    /// A record without its dangling references.
    static func cutting(_ cut: Cut, _ entity: Int, _ record: EncodedRecord, _ schema: Schema) throws -> EncodedRecord {
        guard !cut.isEmpty else { return record }
        let layout = schema.entities[entity].layout
        guard let targets = cut[try record.withView(layout) { try $0.identifier() }] else { return record }
        var values = try record.values(layout)
        for target in targets {
            if case .links(let ids) = values[target.attribute] {
                values[target.attribute] = .links(ids.filter { $0 != target.id })
            } else {
                guard schema.entities[entity].attributes[target.attribute].isOptional else {
                    throw HabitStoreError(
                        .danglingReference,
                        "a \(schema.entities[entity].name) must refer to a record, and the one that it refers to is "
                            + "neither in the export nor in the store",
                        at: .init(entity: schema.entities[entity].name)
                    )
                }
                values[target.attribute] = .null
            }
        }
        return try EncodedRecord(values, layout: layout)
    }
}

/// The file with dangling references, which a store does not accept from apps.
enum InterchangeAttachment {
    private struct Line: Codable {
        let id: UUID
        let attribute: String
        let target: UUID
    }

    /// - Returns: the path of the file; nil if there are no such references.
    static func write(
        _ cut: InterchangeReferences.Cut,
        of work: InterchangeImport,
        _ schema: Schema,
        in folder: String
    ) throws -> String? {
        guard !cut.isEmpty else { return nil }
        var names: [UUID: Int] = [:]
        try work.source.forEachRecord(schema) { entity, values, _ in
            if case .uuid(let id) = values[0], cut[id] != nil { names[id] = entity }
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        var bytes = Data()
        for (id, targets) in cut.sorted(by: { $0.key.uuidString < $1.key.uuidString }) {
            for target in targets {
                let entity = schema.entities[names[id] ?? 0]
                let attribute = "\(entity.name).\(entity.attributes[target.attribute].name)"
                bytes += try encoder.encode(Line(id: id, attribute: attribute, target: target.id))
                bytes.append(UInt8(ascii: "\n"))
            }
        }
        return try ContentNamedFile.write(bytes, as: "export", in: folder)
    }
}

/// Stores encoded records through the models of a schema, so that all rules for an app's records apply.
enum RecordStoring {
    /// Throws unless each entity has a Swift type; without one, a model only knows a record's identifier.
    static func requireTypes(_ schema: Schema) throws {
        for entity in schema.entities where entity.attributes.count > 1 {
            // Without types, every attribute has the identifier's key path.
            guard entity.attributes[1].keyPath == entity.attributes[0].keyPath else { continue }
            throw HabitStoreError(
                .unsupported,
                "the store's schema has no Swift types in this program; import into a new store",
                at: .init(entity: entity.name)
            )
        }
    }

    static func save(
        _ record: EncodedRecord,
        of entity: Int,
        _ transaction: any WriteTransaction,
        _ place: String,
        _ path: String
    ) throws {
        do {
            try transaction.save(record, entity: entity)
        } catch let error as HabitStoreError {
            throw HabitStoreError(
                error.code,
                "\(place): \(error.message); a new store (--into) takes everything unchanged",
                at: .init(
                    path: path,
                    entity: error.location.entity,
                    attribute: error.location.attribute,
                    id: error.location.id
                ),
                underlying: error
            )
        }
    }
}
