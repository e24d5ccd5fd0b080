import Foundation
@_spi(Engines) import HabitStore

extension Accountant {
    /// The tally of one column, for the rows that become one entity of the store.
    private struct Column {
        let name: String
        var count = 0
        var told = 0
        var kept = 0
        var missing = 0
        /// How many of the values found are in the attachment as well, so that the match may be a coincidence.
        var both = 0
        var example: Int64?
        /// The attributes that matched every value so far.
        var alive: [Int]

        /// Counts an unaccounted value.
        mutating func miss(_ key: Int64) {
            missing += 1
            example = example ?? key
        }

        /// The number of values found in the remaining attributes.
        var found: Int { count - told - kept - missing }
    }

    /// Accounts for a table of records column by column, reading its rows and the store's records in step.
    mutating func accountRecords(_ table: String, _ names: [String]) throws {
        var finder = RecordFinder(self, table)
        var columns: [Int: [Column]] = [:]
        var entityNames: [Int64: String] = [:]
        // Of several rows with the same key, the first has it.
        let hasUnusableKeys = file.tables.tablesWithUnusableKeys.contains(table)
        let order = hasUnusableKeys ? "Z_PK, rowid" : "Z_PK"
        let rows = try file.connection.prepare("SELECT * FROM \(Self.quoted(table)) ORDER BY \(order)")
        var last: Int64?
        guard let keyPlace = names.firstIndex(of: "Z_PK"), let entityPlace = names.firstIndex(of: "Z_ENT") else {
            return
        }
        while try rows.step() {
            if hasUnusableKeys {
                guard let key = rows.integer(keyPlace), key != last else {
                    try accountKeyless(
                        rows,
                        table,
                        names,
                        &columns[-1, default: names.map { Column(name: $0, alive: []) }]
                    )
                    continue
                }
                last = key
            }
            let (key, number) = (rows.optionalInt(keyPlace) ?? 0, rows.optionalInt(entityPlace) ?? 0)
            let record = try finder.record(key, number)
            let entity = record?.entity ?? -1
            var states =
                columns[entity]
                ?? names.map { name in
                    Column(name: name, alive: finder.attributes(of: entity, for: name, among: names))
                }
            for place in names.indices {
                let cell = rows.value(place)
                if cell.isNull { continue }
                try account(cell, table, key, record, &states[place], &entityNames)
            }
            columns[entity] = states
        }
        for (entity, states) in columns.sorted(by: { $0.key < $1.key }) { conclude(table, entity, states) }
    }

    /// Accounts for a row that cannot be a record because it has no key: it is in the attachment or lost.
    private func accountKeyless(
        _ row: SourceStatement,
        _ table: String,
        _ names: [String],
        _ columns: inout [Column]
    ) throws {
        let isKept = try kept.hadRow(table, words(row, names))
        for place in names.indices where !row.value(place).isNull {
            columns[place].count += 1
            if isKept { columns[place].kept += 1 } else { columns[place].missing += 1 }
        }
    }

    private func account(
        _ cell: SourceValue,
        _ table: String,
        _ key: Int64,
        _ record: RecordFinder.Found?,
        _ column: inout Column,
        _ entityNames: inout [Int64: String]
    ) throws {
        column.count += 1
        if try record != nil || kept.hasRecord(table, key), isTold(cell, column.name, record, &entityNames) {
            column.told += 1
            return
        }
        if let record, !Self.own.contains(column.name) {
            let fitting = try column.alive.filter { attribute in
                try has(record.values[attribute], cell, record.entity, attribute)
            }
            if !fitting.isEmpty {
                column.alive = fitting
                if case .text(let text) = cell, WitnessCell.hasReplacedCharacters(text),
                    try !kept.hasExactly(text, table, key, column.name)
                {
                    column.miss(key)
                } else if try kept.has(table, key, column.name, WitnessCell.forms(cell, file)) {
                    column.both += 1
                }
                return
            }
        }
        if try kept.has(table, key, column.name, WitnessCell.forms(cell, file)) {
            column.kept += 1
            return
        }
        column.miss(key)
    }

    /// Core Data's own columns in each table of records.
    private static let own: Set<String> = ["Z_PK", "Z_ENT", "Z_OPT"]

    /// Whether a value follows from the record itself: its key, which found it, or its entity.
    private func isTold(
        _ cell: SourceValue,
        _ column: String,
        _ record: RecordFinder.Found?,
        _ entityNames: inout [Int64: String]
    ) -> Bool {
        if column == "Z_PK" { return true }
        // The number of saves only matters to Core Data.
        if column == "Z_OPT" { return true }
        if column == "Z_ENT", case .int(let number) = cell {
            guard mapping == nil, let record, let place = schema.entities[record.entity].position(of: "coreDataEntity")
            else {
                return true
            }
            guard case .string(let name) = record.values[place] else { return false }
            if let known = entityNames[number] { return known == name }
            guard !entityNames.values.contains(name) else { return false }
            entityNames[number] = name
            return true
        }
        // The number of the target's entity, in the column next to a reference.
        if case .int(let number) = cell, column.hasPrefix("Z"), column.dropFirst().first?.isNumber == true {
            let digits = column.dropFirst().prefix { $0.isNumber }
            return column.dropFirst(1 + digits.count).first == "_" && entities[number] != nil
        }
        return false
    }

    private func has(_ value: Value, _ cell: SourceValue, _ entity: Int, _ attribute: Int) throws -> Bool {
        guard case .int(let key) = cell else { return WitnessCell.equals(cell, value, file) }
        let ids: [UUID]
        switch value {
        case .uuid(let id): ids = [id]
        case .links(let links): ids = links
        default: return WitnessCell.equals(cell, value, file)
        }
        guard let destination = destination(entity, attribute) else { return false }
        return try ids.contains { try leads($0, to: key, entity: destination) }
    }

    private func destination(_ entity: Int, _ attribute: Int) -> Int? {
        schema.relationships[entity].first { $0.isStored && $0.attribute == attribute }?.destination
    }

    /// Assigns each column a different attribute, as far as there are enough.
    private mutating func conclude(_ table: String, _ entity: Int, _ columns: [Column]) {
        let wanting = columns.filter { $0.found > $0.both }
        let places = Assignment.make(
            wanting.map { column in column.alive.sorted { nearness(column, $0, entity) > nearness(column, $1, entity) }
            }
        )
        let chosen = Dictionary(
            zip(wanting.map(\.name), places).compactMap { name, place in place.map { (name, $0) } },
            uniquingKeysWith: { first, _ in first }
        )
        for column in columns where column.count > 0 {
            var item = CoreDataAccount.Item(table, column.name, count: column.count)
            item.kept = column.kept + (column.found == column.both ? column.both : 0)
            item.named = column.told
            item.example = column.example
            if let attribute = chosen[column.name] {
                item.carried = column.found
                let description = schema.entities[entity]
                item.place = "\(description.name).\(description.attributes[attribute].name)"
            }
            add(item)
        }
    }

    /// Ranks the attributes that have all of a column's values by the similarity of their names.
    private func nearness(_ column: Column, _ attribute: Int, _ entity: Int) -> Int {
        let name = schema.entities[entity].attributes[attribute].name.uppercased()
        let words = column.name.dropFirst()
        if name == words || name == words + "ID" { return 2 }
        return name.contains(words) || words.contains(name) ? 1 : 0
    }
}

/// Finds the store's record that was made from a row of a table.
struct RecordFinder {
    struct Found {
        let entity: Int
        let values: [Value]
    }

    private let accountant: Accountant
    private let root: String
    /// The derived schema's entity for the table.
    private let entity: Int?
    private var batch: [Record] = []
    private var position = 0
    private var isAtEnd = false
    private var targets: [Int64: Int?] = [:]

    private static let batchSize = 500

    init(_ accountant: Accountant, _ table: String) {
        self.accountant = accountant
        root = accountant.root(of: table) ?? table
        entity = accountant.mapping == nil ? Self.entity(root, accountant) : nil
    }

    /// The entity with the source's name, with or without underscores appended.
    static func entity(_ root: String, _ accountant: Accountant) -> Int? {
        let entities = accountant.schema.entities
        let derived = entities.indices.filter { entities[$0].position(of: "coreDataKey") != nil }
        if let same = derived.first(where: { entities[$0].name.trimmingSuffix("_") == root.trimmingSuffix("_") }) {
            return same
        }
        // Renamed in the model, but not yet in the file's list.
        let roots = Set(accountant.entities.values.filter { $0.parent == 0 }.map { $0.name.trimmingSuffix("_") })
        let others = derived.filter { !roots.contains(entities[$0].name.trimmingSuffix("_")) }
        return others.count == 1 ? others[0] : nil
    }

    /// The attributes of an entity that may have the values of a column.
    ///
    /// In a derived schema an attribute is named after its column; if that column exists, the attribute belongs to no other.
    func attributes(of entity: Int, for column: String, among columns: [String]) -> [Int] {
        guard entity >= 0 else { return [] }
        let attributes = accountant.schema.entities[entity].attributes
        guard let mapping = accountant.mapping else {
            return attributes.indices.filter { place in
                let attribute = attributes[place]
                if ["coreDataKey", "coreDataEntity"].contains(attribute.name) || attribute.kind == .links {
                    return false
                }
                let natural = Self.natural(attribute)
                let isNatural = columns.contains { Self.isNumbered($0, natural) }
                return place == 0 || !isNatural || Self.isNumbered(column, natural)
            }
        }
        let used = mapping.entities.filter { $0.target == accountant.schema.entities[entity].name }
        let mapped = Set(used.flatMap { $0.attributes.values }.compactMap { $0 })
        let constant = Set(used.flatMap { $0.constants.keys }).subtracting(mapped)
        return attributes.indices.filter { !constant.contains(attributes[$0].name) }
    }

    /// The column that an attribute's name derives from.
    private static func natural(_ attribute: AttributeDescription) -> String {
        var name = attribute.name.split(separator: ".").last.map(String.init) ?? attribute.name
        if attribute.kind == .uuid, name.hasSuffix("ID"), name.count > 2 { name.removeLast(2) }
        return "Z" + name.uppercased()
    }

    private static func isNumbered(_ column: String, _ name: String) -> Bool {
        column.uppercased().hasPrefix(name) && column.dropFirst(name.count).allSatisfy(\.isNumber)
    }

    mutating func record(_ key: Int64, _ number: Int64) throws -> Found? {
        if accountant.mapping != nil {
            guard let entity = target(number), let id = try accountant.ledger?.id(of: "\(root) \(key)"),
                let values = try accountant.values(id, entity)
            else { return nil }
            return Found(entity: entity, values: values)
        }
        guard let entity else { return nil }
        while let record = try current(entity), let found = Self.key(record, accountant) {
            if found == key { return Found(entity: entity, values: record.values) }
            if found > key { return nil }
            position += 1
        }
        return nil
    }

    private static func key(_ record: Record, _ accountant: Accountant) -> Int64? {
        guard let place = accountant.schema.entities[record.entity].position(of: "coreDataKey"),
            case .int(let key) = record.values[place]
        else { return nil }
        return key
    }

    /// The store's next record in the order of keys.
    private mutating func current(_ entity: Int) throws -> Record? {
        if position < batch.count { return batch[position] }
        guard !isAtEnd else { return nil }
        var filter = FilterExpression.always
        if let last = batch.last.flatMap({ Self.key($0, accountant) }) {
            filter = .compare(.greater, .attribute(AttributePath("coreDataKey")), .literal(.int(last)))
        }
        let query = RecordQuery(
            entity: accountant.schema.entities[entity].name,
            filter: filter,
            sort: [.init("coreDataKey")],
            limit: Self.batchSize
        )
        batch = try accountant.store.records(query)
        position = 0
        isAtEnd = batch.isEmpty
        return batch.first
    }

    /// The mapped entity for an entity's number: its own, or that of its nearest mapped ancestor.
    private mutating func target(_ number: Int64) -> Int? {
        if let known = targets[number] { return known }
        let mapped = accountant.ancestry(number).compactMap { name in
            accountant.mapping?.entities.first { $0.source == name }
        }.first
        let target = mapped?.target.flatMap { name in accountant.schema.entities.firstIndex { $0.name == name } }
        targets[number] = .some(target)
        return target
    }
}

extension String {
    /// The text in lowercase, without trailing repeats of `character`.
    fileprivate func trimmingSuffix(_ character: Character) -> Substring {
        var result = lowercased()[...]
        while result.last == character { result.removeLast() }
        return result
    }
}

/// Assigns different choices to several candidates.
enum Assignment {
    /// - Parameter wishes: the possible choices of each candidate, best first.
    /// - Returns: the choice of each candidate; nil if none is left for it.
    static func make(_ wishes: [[Int]]) -> [Int?] {
        var owner: [Int: Int] = [:]
        func give(_ who: Int, _ visited: inout Set<Int>) -> Bool {
            for wish in wishes[who] where visited.insert(wish).inserted {
                if let other = owner[wish], !give(other, &visited) { continue }
                owner[wish] = who
                return true
            }
            return false
        }
        for who in wishes.indices {
            var visited: Set<Int> = []
            _ = give(who, &visited)
        }
        var result = [Int?](repeating: nil, count: wishes.count)
        for (what, who) in owner { result[who] = what }
        return result
    }
}
