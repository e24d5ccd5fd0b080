import Foundation
@_spi(Engines) import HabitStore

/// Brings the records of an export into a store, all or none, and reads them back afterwards.
///
/// A store without records takes everything as it is, also what it would refuse from an app: references that lead nowhere, and
/// unique values that are there twice. A store that has records, or that routes its writes, takes records as an app's: what
/// is there is left as it is, and references that lead nowhere are kept in a file beside it.
public struct InterchangeImport {
    /// How an import is done.
    public struct Options: Sendable {
        /// Takes over what differs here from the export.
        public var updates = false
        /// Takes another number of records than the export says to have.
        public var isEdited = false

        /// The ordinary way.
        public init() {}
    }

    static let author = "habitstore import"

    let source: InterchangeSource
    let options: Options
    private let surveyed = Surveyed()

    /// What a reading of all records has found, for whoever asks again before anything is stored.
    private final class Surveyed {
        var result: (schema: StoredSchema, survey: InterchangeSurvey)?
    }

    /// Looks at an export; nil when the path leads to anything else.
    ///
    /// - Throws: ``HabitStoreError/Code/newerVersion`` and ``HabitStoreError/Code/invalidSource`` for one that cannot be read.
    public init?(path: String, _ options: Options = Options()) throws {
        guard let source = try InterchangeSource(path: path) else { return nil }
        self.source = source
        self.options = options
    }

    /// The form.
    public var format: InterchangeFormat { source.format }

    /// The schema of a new store that takes everything unchanged.
    ///
    /// - Parameter app: The app's schema, which is used if it has the shape of the export's.
    public func schema(preferring app: Schema? = nil) throws -> Schema {
        try source.header.derivedSchema(preferring: app)
    }

    /// Reads all of it without a store, so that none has to be made for an export that cannot be read.
    public func check() throws {
        let schema = try schema()
        surveyed.result = (StoredSchema(schema), try survey(schema))
    }

    /// Says what ``run(into:attachmentsIn:progress:)`` would do, by doing it in a transaction that is undone.
    ///
    /// - Throws: what the run would be refused for.
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

    /// Whether a store takes the records as they are, by ``fill(_:progress:)``: it is empty, or an import into it was stopped.
    ///
    /// - Throws: ``HabitStoreError/Code/unsupported`` for the unfinished target of a copy, ``HabitStoreError/Code/notAuthoritative``
    ///   for a store of a rollout.
    public func canFill(_ store: any ReplicableStore) throws -> Bool { try FillingAnEmptyStore.isPossible(in: store) }

    /// Reads all of it, and says what ``fill(_:progress:)`` would do with a store of a schema.
    public func rehearseFilling(_ schema: Schema) throws -> InterchangeReport {
        var report = InterchangeReport(self, schema, try survey(schema))
        try forEach(schema) { entity, _, _ in report.note(entity, .new) }
        return report
    }

    /// Brings the records into a store that has none yet, as they are: a batch at a time, of which nothing counts before the
    /// last, which tells the history of all of them. Until then nobody is served from the store.
    ///
    /// - Throws: also what ``canFill(_:)`` throws; ``HabitStoreError/Code/busy`` where the store is not empty, or somebody else
    ///   has taken it over meanwhile.
    public func fill(_ store: any ReplicableStore, progress: (Int, Int) -> Void) throws -> InterchangeReport {
        let survey = try knownSurvey(store.schema)
        var report = InterchangeReport(self, store.schema, survey)
        var filling = try FillingAnEmptyStore(store)
        var told: [Int: SpilledIdentifiers] = [:]
        var batch: FillingAnEmptyStore.Batch = []
        var done = 0
        try forEach(store.schema) { entity, record, _ in
            let id = try record.withView(store.schema.entities[entity].layout) { try $0.identifier() }
            batch.append((entity, id, record))
            let ids = told[entity] ?? SpilledIdentifiers()
            told[entity] = ids
            try ids.append(id)
            report.note(entity, .new)
            done += 1
            if batch.count == FillingAnEmptyStore.batch {
                try filling.put(batch)
                batch = []
                progress(done, survey.total)
            }
        }
        guard done == survey.total else {
            throw HabitStoreError(.busy, "the export was changed while it was read", at: .init(path: source.path))
        }
        try filling.finish(batch) { transaction in
            try FillingAnEmptyStore.tell(told, author: Self.author, at: Date(), store.schema, transaction)
        }
        progress(done, survey.total)
        report.differences = try compare(store, cut: [:])
        return report
    }

    /// Brings the records into a store as an app's.
    ///
    /// - Parameter folder: where the references that lead nowhere are kept; nothing is left there where the import is refused.
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
            // Everything is taken; before it is committed, what was cut from it is safe.
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
            let standing = try standing(entity, record, transaction)
            report.note(entity, standing)
            if standing == .new || (standing == .different && options.updates) {
                try RecordStoring.save(record, of: schema.entities[entity], transaction, place, source.path)
            }
            done += 1
            progress(done, survey.total)
        }
        return report
    }

    // MARK: Reading

    /// Hands each record to `body`, encoded.
    func forEach(_ schema: Schema, _ body: (Int, EncodedRecord, String) throws -> Void) throws {
        try source.forEachRecord(schema) { entity, values, place in
            try body(entity, try EncodedRecord(values, layout: schema.entities[entity].layout), place)
        }
    }

    private func standing(
        _ entity: Int,
        _ record: EncodedRecord,
        _ transaction: any ReadTransaction
    ) throws -> InterchangeReport.Standing {
        let layout = transaction.schema.entities[entity].layout
        let id = try record.withView(layout) { try $0.identifier() }
        var standing = InterchangeReport.Standing.new
        _ = try transaction.withRow(entity: entity, id: id) { row in
            standing = try row.encoded().values(layout) == record.values(layout) ? .same : .different
        }
        return standing
    }

    /// What ``check()`` has found for the same schema, once, or else what is found now.
    private func knownSurvey(_ schema: Schema) throws -> InterchangeSurvey {
        defer { surveyed.result = nil }
        if let known = surveyed.result, StoredSchema(schema).differences(from: known.schema).isEmpty {
            return known.survey
        }
        return try survey(schema)
    }

    /// Reads everything once: which identifiers there are, and whether there are as many records as there should be.
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
                        + "edited; give --edited to import it as it is",
                    at: .init(path: source.path)
                )
            }
        }
        return survey
    }

    /// What each record refers to that neither the export nor the store has.
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

    /// Reads everything once more, and holds it against what the store has now.
    private func compare(_ store: any HabitStore, cut: InterchangeReferences.Cut) throws -> Int {
        try store.read { transaction in
            var differences = 0
            try forEach(store.schema) { entity, record, _ in
                let record = try InterchangeReferences.cutting(cut, entity, record, store.schema)
                if try standing(entity, record, transaction) != .same { differences += 1 }
            }
            return differences
        }
    }
}
