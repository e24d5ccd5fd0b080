import Foundation
@_spi(Engines) import HabitStore
import JSONText

/// The source of an import, the conversion of its records, and what the import has found so far.
final class ImportWork {
    let file: CoreDataFile
    let plan: CoreDataPlan
    let options: CoreDataImporter.Options
    let resolver: IdentityResolver
    /// The conversion of each mapped entity's rows, by the entity's number.
    let makers: [Int: RecordMaker]
    /// Nil for a target without a path.
    let attachment: ImportAttachment?
    var report: CoreDataImportReport
    private let statement: ImportStatement?
    private let companionRules: DependentFields

    /// - Parameter notes: the base path of the files next to the target; nil for a target without a path.
    init(_ file: CoreDataFile, _ plan: CoreDataPlan, notes: String?, _ options: CoreDataImporter.Options) throws {
        (self.file, self.plan, self.options) = (file, plan, options)
        let resolver = try IdentityResolver(file, plan.identities)
        self.resolver = resolver
        makers = Dictionary(
            try plan.entities.map { ($0.source.number, try RecordMaker($0, plan, file, resolver)) },
            uniquingKeysWith: { first, _ in first }
        )
        companionRules = DependentFields(plan, file.model)
        let notes = notes.map { ImportNotes(base: $0) }
        attachment = try (options.attachmentPath ?? notes?.attachment).map { try ImportAttachment(path: $0) }
        statement = notes.map { ImportStatement(path: $0.statement) }
        report = try CoreDataImportReport(plan, file)
    }

    /// Saves what does not belong to the model before importing anything else, and lists what is not kept.
    func keepLeftovers() throws {
        let leftovers = UnmappedData(file: file, plan: plan) { [self] loss, line in
            report.count([loss])
            try attachment?.add(line)
        }
        try leftovers.keepAll()
        try attachment?.flush()
        report.notCarried = try leftovers.notCarried()
        try statement?.write(report.notCarried)
    }

    /// The report of a complete import.
    func finish() -> CoreDataImportReport {
        report.position = file.history?.last
        report.shortfalls = report.findShortfalls()
        if let attachment, !attachment.isEmpty { report.attachment = attachment.path }
        return report
    }

    // MARK: Records

    /// Converts every record of the mapped entities, in the order of entities and keys, and keeps the other records in the attachment.
    ///
    /// - Parameter begin: called before the records of each mapped entity.
    func forEachRecord(
        _ progress: (Int, Int) throws -> Void,
        begin: (CoreDataPlan.Entity) throws -> Void = { _ in },
        _ body: (RecordMaker.Made) throws -> Void
    ) throws {
        var done = 0
        for entity in file.model.entities {
            let maker = makers[entity.number]
            if let maker { try begin(maker.plan) }
            try file.enumerate(entity, maker?.reader ?? CoreDataRowReader(entity, in: file)) { row in
                if let maker { try body(try make(row, maker)) } else { try keep(row, of: entity) }
                done += 1
                if done % 1_024 == 0 { try progress(done, total) }
                return true
            }
        }
    }

    /// The number of records in the source.
    var total: Int { report.entities.reduce(0) { $0 + $1.records } }

    /// Converts a row, counts its losses and adds them to the attachment.
    func make(_ row: CoreDataRow, _ maker: RecordMaker) throws -> RecordMaker.Made {
        let made = try maker.make(row)
        try lose(made.losses)
        report.count(odd: made.odd)
        report.normalizedTexts += made.normalizedTexts
        report.replacedTexts += made.replacedTexts
        if made.record == nil { try refuse(row, of: maker.plan.source) }
        return made
    }

    func lose(_ losses: [ImportLoss]) throws {
        report.count(losses)
        try attachment?.add(losses)
    }

    /// Counts a record that the target cannot hold, and adds it to the attachment with its links.
    func refuse(_ row: CoreDataRow, of entity: CoreDataEntity) throws {
        report.note(entity.name) { $0.refused += 1 }
        try add(row, of: entity, "not brought over")
        for link in try UnmappedRow.links(of: row.key, entity, file) { try attachment?.add(link) }
    }

    /// Adds a record without an entity in the schema to the attachment.
    private func keep(_ row: CoreDataRow, of entity: CoreDataEntity) throws {
        let reason = "no entity in the schema"
        try add(row, of: entity, reason)
        report.count([
            ImportLoss(
                entity: entity.name,
                key: row.key,
                id: nil,
                property: nil,
                reason: reason,
                value: JSON(stored: Value.null)
            )
        ])
    }

    private func add(_ row: CoreDataRow, of entity: CoreDataEntity, _ reason: String) throws {
        let id = try resolver.identifier(root: entity.root, key: row.key)
        try attachment?.add(ImportedRow(row, of: entity, id: id, reason: reason))
    }

    /// The row with a key, and the conversion of its current entity; nil if the source has none that is mapped.
    func row(_ key: Int64, in table: String) throws -> (row: CoreDataRow, maker: RecordMaker)? {
        guard let number = try file.entityNumber(of: key, in: table), let maker = makers[number],
            let row = try file.row(maker.plan.source, maker.reader, key: key)
        else { return nil }
        return (row, maker)
    }

    /// The records that may have changed along with a changed one.
    ///
    /// - Parameter stored: finds the keys of the target's records to which a rule applies.
    func companions(
        of change: CoreDataChange,
        _ entity: CoreDataPlan.Entity,
        stored: (DependentFields.Rule) throws -> [Int64]
    ) throws -> [(entity: CoreDataEntity, key: Int64)] {
        var result: [(CoreDataEntity, Int64)] = []
        for rule in companionRules.rules(for: entity.source.number, change.kind) {
            let statement = try file.connection.prepare(rule.keys, .int(change.key))
            while try statement.step() {
                if let key = statement.optionalInt(0) { result.append((rule.entity.source, key)) }
            }
            result += try stored(rule).map { (rule.entity.source, $0) }
        }
        return result
    }
}

/// Finds records that may change along with another record without an entry in the source's history: a link is stored on one side and may
/// be recorded on the other; the same holds for the place in an order and for a to-many relationship without an inverse.
struct DependentFields {
    /// How to find a record's companions, which are of one entity.
    struct Rule {
        /// The SQL query for the keys of the companions in the source; its parameter is the record's key.
        let keys: String
        let entity: CoreDataPlan.Entity
        /// The target's attribute that leads from a companion to the record.
        let attribute: String
        /// Whether the attribute holds links rather than one reference.
        let isLinks: Bool
        /// Whether the rule only applies to deletions: the source records other changes of these companions.
        var isForDeletions = false

        /// The query for the companions in the target's last state.
        func query(leadingTo id: UUID, _ schema: Schema) -> RecordQuery {
            let (attribute, id) = (
                FilterExpression.attribute(AttributePath(attribute)), FilterExpression.literal(.uuid(id))
            )
            return RecordQuery(
                entity: schema.entities[entity.target].name,
                filter: isLinks ? .text(.contains, attribute, id) : .compare(.equal, attribute, id)
            )
        }
    }

    private var rules: [Int: [Rule]] = [:]

    init(_ plan: CoreDataPlan, _ model: CoreDataModel) {
        for entity in plan.entities {
            let attributes = plan.schema.entities[entity.target].attributes
            for (attribute, field) in zip(attributes, entity.fields) {
                switch field {
                case .links(let name): addLinks(name, attribute.name, entity, model)
                case .owner(let column, let root):
                    for owner in model.entities where owner.root == root {
                        add(column, attribute.name, entity, to: owner)
                    }
                case .reference(let name): addReference(name, attribute.name, entity, model)
                default: break
                }
            }
        }
    }

    func rules(for number: Int, _ kind: CoreDataChange.Kind) -> [Rule] {
        (rules[number] ?? []).filter { kind == .delete || !$0.isForDeletions }
    }

    private mutating func addLinks(
        _ name: String,
        _ attribute: String,
        _ entity: CoreDataPlan.Entity,
        _ model: CoreDataModel
    ) {
        guard let relationship = entity.source.relationship(name), relationship.declaredIn == entity.source.name,
            case .table(let table, let here, let there) = relationship.storage, here != "REFLEXIVE"
        else { return }
        let names = (SourceConnection.quoted(table), SourceConnection.quoted(here), SourceConnection.quoted(there))
        let rule = Rule(
            keys: "SELECT \(names.1) FROM \(names.0) WHERE \(names.2) = ?1",
            entity: entity,
            attribute: attribute,
            isLinks: true
        )
        let root = model.entity(relationship.destination)?.root
        for other in model.entities where other.root == root { rules[other.number, default: []].append(rule) }
    }

    /// Adds the rules for records that refer to a deleted one, and for records of an ordered relationship, which store their own place.
    private mutating func addReference(
        _ name: String,
        _ attribute: String,
        _ entity: CoreDataPlan.Entity,
        _ model: CoreDataModel
    ) {
        guard let relationship = entity.source.relationship(name), relationship.declaredIn == entity.source.name,
            case .column(let column, _) = relationship.storage,
            let destination = model.entity(relationship.destination)
        else { return }
        let inverse = relationship.inverse.flatMap { destination.relationship($0) }
        for owner in model.entities where owner.root == destination.root {
            add(column, attribute, entity, to: owner, isForDeletions: inverse?.orderColumn == nil)
        }
    }

    private mutating func add(
        _ column: String,
        _ attribute: String,
        _ entity: CoreDataPlan.Entity,
        to owner: CoreDataEntity,
        isForDeletions: Bool = false
    ) {
        let (name, table) = (SourceConnection.quoted(column), SourceConnection.quoted(entity.source.table))
        let sql = "SELECT Z_PK FROM \(table) WHERE \(name) = ?1"
        if rules[owner.number]?.contains(where: { $0.keys == sql && $0.attribute == attribute }) == true { return }
        rules[owner.number, default: []].append(
            Rule(keys: sql, entity: entity, attribute: attribute, isLinks: false, isForDeletions: isForDeletions)
        )
    }
}

extension SourceAge {
    /// Describes a table with changes since another state that the file's history does not record; nil if the history explains all counts
    /// of records, keys and saves.
    ///
    /// - Parameter file: the file in this state.
    func untold(since then: SourceAge, _ file: CoreDataFile) throws -> String? {
        for (name, before) in then.tables.sorted(by: { $0.key < $1.key }) {
            guard let now = tables[name] else { continue }
            guard let last = then.transaction, let newest = transaction, last < newest else {
                guard (now.rows, now.highestKey, now.saves) != (before.rows, before.highestKey, before.saves) else {
                    continue
                }
                return
                    "\(name) has \(now.rows) records, of keys up to \(now.highestKey), saved \(now.saves) times, and had "
                    + "\(before.rows), \(before.highestKey) and \(before.saves)"
            }
            let told = try toldChanges(of: name, since: last, file)
            let (here, there) = (Int(now.rows) - told.here, Int(before.rows) - told.before)
            guard here != there else { continue }
            return "\(name) has \(here) records that no new transaction mentions, and had \(there)"
        }
        return nil
    }

    /// Of the records that transactions after `last` mention, the number that exist now and the number that existed before.
    private func toldChanges(
        of table: String,
        since last: Int64,
        _ file: CoreDataFile
    ) throws -> (here: Int, before: Int) {
        let numbers = file.model.entities.filter { $0.table == table }.map { String($0.number) }.joined(separator: ", ")
        // With `min`, SQLite takes the other columns from the row with the minimum.
        let first =
            "SELECT ZENTITYPK AS key, ZCHANGETYPE AS kind, min(Z_PK) FROM ACHANGE "
            + "WHERE ZTRANSACTIONID > \(last) AND ZENTITY IN (\(numbers)) AND ZENTITYPK NOT NULL GROUP BY ZENTITYPK"
        let rows = try file.connection.prepare(
            "SELECT total(key IN (SELECT Z_PK FROM \(SourceConnection.quoted(table)))), total(kind <> 0) FROM (\(first))"
        )
        guard try rows.step() else { return (0, 0) }
        return (Int(rows.optionalInt(0) ?? 0), Int(rows.optionalInt(1) ?? 0))
    }
}

extension CoreDataImportReport {
    /// The counts of values, which start over if every record is compared after the history was followed.
    struct Tally {
        let losses: [Loss]
        let odd: [Loss]
        let normalizedTexts: Int
    }

    var tally: Tally { Tally(losses: losses, odd: odd, normalizedTexts: normalizedTexts) }

    /// Reports that the history is incomplete, and discards the counts made while following it.
    mutating func compareInstead(_ untold: String, from tally: Tally) {
        (losses, odd, normalizedTexts) = (tally.losses, tally.odd, tally.normalizedTexts)
        let message =
            "the file's history does not record every change, so every record was compared: \(untold)"
        oddities.note("historyIncomplete", message)
    }
}
