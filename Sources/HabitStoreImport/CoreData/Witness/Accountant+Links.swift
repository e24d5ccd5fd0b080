import Foundation
@_spi(Engines) import HabitStore

/// An attribute of the store whose links may be the rows of a table.
struct LinkPlace: Hashable {
    let entity: Int
    let attribute: Int
    let destination: Int
}

extension Accountant {
    /// A possible reading of a table as links: one column refers to the record that has the links, another to their targets.
    private struct LinkReading {
        let place: LinkPlace
        let here: Int
        let there: Int
    }

    /// The result of reading a table one way.
    private struct LinkResult {
        var found = 0
        var kept = 0
        var missing = 0
        var example: Int64?
    }

    /// Accounts for a table whose rows have no keys, which is most often a link table.
    mutating func accountLinks(_ table: String, _ columns: [String], _ taken: inout Set<LinkPlace>) throws {
        var item = CoreDataAccount.Item(table, nil, count: try count("*", table))
        item.kept = try countRows(table, columns) { try kept.take(table, $1) }
        guard item.unaccounted > 0 else { return add(item) }
        // Identical rows share one line in the attachment.
        item.kept = try countRows(table, columns) { try kept.hadRow(table, $1) }
        var best: (reading: LinkReading, result: LinkResult)?
        for reading in readings(columns) where !taken.contains(reading.place) {
            let result = try read(table, columns, reading)
            if best.map({ result.missing < $0.result.missing }) ?? (result.found > 0) { best = (reading, result) }
            if result.missing == 0, result.found > 0 { break }
        }
        guard let (reading, result) = best, result.found > 0 else { return add(item) }
        item.carried = result.found
        item.kept = result.kept
        item.example = result.example
        let entity = schema.entities[reading.place.entity]
        item.place = "\(entity.name).\(entity.attributes[reading.place.attribute].name)"
        taken.insert(reading.place)
        add(item)
        try accountOrder(table, columns, reading)
    }

    /// The number of rows that satisfy a condition on the row and its words.
    private func countRows(
        _ table: String,
        _ columns: [String],
        where isCounted: (SourceStatement, [String: String]) throws -> Bool
    ) throws -> Int {
        let statement = try file.connection.prepare("SELECT * FROM \(Self.quoted(table))")
        var count = 0
        while try statement.step() { if try isCounted(statement, words(statement, columns)) { count += 1 } }
        return count
    }

    func words(_ statement: SourceStatement, _ columns: [String]) -> [String: String] {
        var result: [String: String] = [:]
        for (place, column) in columns.enumerated() {
            let value = statement.value(place)
            if !value.isNull { result[column] = WitnessCell.words(value) }
        }
        return result
    }

    /// All pairs of columns that may be links of the store, similar names first.
    private func readings(_ columns: [String]) -> [LinkReading] {
        var result: [(nearness: Int, reading: LinkReading)] = []
        let places = columns.indices.filter { !columns[$0].hasPrefix("Z_FOK_") }
        for (entity, relationships) in schema.relationships.enumerated() {
            for relationship in relationships where relationship.isStored {
                let attribute = schema.entities[entity].attributes[relationship.attribute]
                guard attribute.kind == .links else { continue }
                let place = LinkPlace(
                    entity: entity,
                    attribute: relationship.attribute,
                    destination: relationship.destination
                )
                let last = attribute.name.split(separator: ".").last.map(String.init) ?? attribute.name
                let word = (last.hasSuffix("IDs") ? String(last.dropLast(3)) : last).uppercased()
                for here in places {
                    for there in places where there != here {
                        let isCalled = Self.isCalled(columns[there], word)
                        // In a derived schema, links are named after the column that refers to their targets.
                        if mapping == nil, !isCalled { continue }
                        let near = isCalled ? 1 : 0
                        result.append((near, LinkReading(place: place, here: here, there: there)))
                    }
                }
            }
        }
        return result.enumerated().sorted {
            ($1.element.nearness, $0.offset) < ($0.element.nearness, $1.offset)
        }.map(\.element.reading)
    }

    /// Whether a column's name is `Z_`, a number and the word, with or without a number after it.
    private static func isCalled(_ column: String, _ word: String) -> Bool {
        guard column.hasPrefix("Z_") else { return false }
        let name = column.dropFirst(2).drop { $0.isNumber }
        return name.hasPrefix(word) && name.dropFirst(word.count).allSatisfy(\.isNumber)
    }

    private func read(_ table: String, _ columns: [String], _ reading: LinkReading) throws -> LinkResult {
        var result = LinkResult()
        let isReflexive = columns[reading.here] == "REFLEXIVE" || columns[reading.there] == "REFLEXIVE"
        let rows = try file.connection.prepare(
            "SELECT * FROM \(Self.quoted(table)) ORDER BY \(Self.quoted(columns[reading.here]))"
        )
        var seen: (key: Int64, targets: Set<Int64>)?
        var ends = LinkEndsCache()
        while try rows.step() {
            let isKept = try kept.hadRow(table, words(rows, columns))
            guard let here = rows.integer(reading.here), let there = rows.integer(reading.there) else {
                if isKept { result.kept += 1 } else { result.missing += 1 }
                continue
            }
            if seen?.key != here { seen = (here, []) }
            // A duplicated row is one link.
            var isFound = false
            if seen?.targets.insert(there).inserted == true {
                let forth = try ends.of(here) { try self.ends(of: here, reading.place) }
                isFound = leads(forth, to: there)
                if !isFound, isReflexive {
                    isFound = leads(try ends.of(there) { try self.ends(of: there, reading.place) }, to: here)
                }
            }
            if isFound { result.found += 1 } else if isKept { result.kept += 1 } else { result.missing += 1 }
            if !isFound, !isKept, result.example == nil { result.example = here }
            // Nothing fits at all, so these are other links.
            if result.found == 0, result.missing > 20 { return result }
        }
        return result
    }

    /// The targets of the links of the record with a key, each looked up once.
    private func ends(of key: Int64, _ place: LinkPlace) throws -> LinkEnds {
        var result = LinkEnds()
        let keyPlace = schema.entities[place.destination].position(of: "coreDataKey")
        for id in try links(of: key, place) {
            if let ledger {
                result.keys.formUnion(try ledger.keys(of: id))
                result.unknown.insert(id)
            } else if let keyPlace, let values = try values(id, place.destination) {
                if case .int(let key) = values[keyPlace] { result.keys.insert(key) }
            } else if keyPlace != nil {
                result.unknown.insert(id)
            }
        }
        return result
    }

    /// Whether one of the targets is the record with a key, in any table of the source.
    private func leads(_ ends: LinkEnds, to key: Int64) -> Bool {
        if ends.keys.contains(key) { return true }
        guard !ends.unknown.isEmpty else { return false }
        return entities.values.contains { $0.parent == 0 && ends.unknown.contains(derived($0.name, key)) }
    }

    private func links(of key: Int64, _ place: LinkPlace) throws -> [UUID] {
        guard let values = try record(of: key, place.entity), case .links(let ids) = values[place.attribute] else {
            return []
        }
        return ids
    }

    /// The values of the record that was made from a source key; nil if there is none.
    private func record(of key: Int64, _ entity: Int) throws -> [Value]? {
        if let ledger {
            let name = schema.entities[entity].name
            for source in mapping?.entities ?? [] where source.target == name {
                let root = entities.first { $0.value.name == source.source }.flatMap { ancestry($0.key).last }
                guard let id = try ledger.id(of: "\(root ?? source.source) \(key)") else { continue }
                if let values = try values(id, entity) { return values }
            }
            return nil
        }
        let query = RecordQuery(
            entity: schema.entities[entity].name,
            filter: .compare(.equal, .attribute(AttributePath("coreDataKey")), .literal(.int(key))),
            limit: 1
        )
        guard schema.entities[entity].position(of: "coreDataKey") != nil else { return nil }
        return try store.records(query).first?.values
    }

    // MARK: Order

    /// Accounts for the other columns of a link table, which hold positions in an order.
    private mutating func accountOrder(_ table: String, _ columns: [String], _ reading: LinkReading) throws {
        for (place, column) in columns.enumerated() where place != reading.here && place != reading.there {
            var item = CoreDataAccount.Item(table, column, count: try count(Self.quoted(column), table))
            guard item.count > 0 else { continue }
            // Rows in the attachment include their positions.
            item.kept = try countRows(table, columns) { try !$0.value(place).isNull && kept.hadRow(table, $1) }
            for (entity, here, there) in [
                (reading.place.entity, reading.here, reading.there),
                (reading.place.destination, reading.there, reading.here),
            ] where item.unaccounted > 0 {
                let names = [here, place, there].map { Self.quoted(columns[$0]) }
                let wanted =
                    "SELECT \(names[0]), \(names[2]) FROM \(Self.quoted(table)) WHERE \(names[1]) NOT NULL "
                    + "ORDER BY \(names.joined(separator: ", "))"
                for (attribute, description) in schema.entities[entity].attributes.enumerated()
                where description.kind == .strings {
                    guard try isOrder(wanted, entity, attribute) else { continue }
                    item.carried = item.unaccounted
                    item.place = "\(schema.entities[entity].name).\(description.name)"
                    break
                }
            }
            add(item)
        }
    }

    /// Whether an attribute has the keys that each record leads to, in order. The statement returns them record by record.
    private func isOrder(_ sql: String, _ entity: Int, _ attribute: Int) throws -> Bool {
        let rows = try file.connection.prepare(sql)
        var key: Int64?
        var targets: [Int64] = []
        while try rows.step() {
            guard let from = rows.optionalInt(0), let to = rows.optionalInt(1) else { continue }
            if let key, key != from {
                guard try isOrder(targets, of: key, entity, attribute) else { return false }
                targets = []
            }
            key = from
            targets.append(to)
        }
        return try key.map { try isOrder(targets, of: $0, entity, attribute) } ?? true
    }

    private func isOrder(_ targets: [Int64], of key: Int64, _ entity: Int, _ attribute: Int) throws -> Bool {
        guard let values = try record(of: key, entity) else { return true }
        guard case .strings(let texts) = values[attribute] else { return false }
        var position = texts.startIndex
        for target in targets {
            while position < texts.endIndex {
                let id = UUID(uuidString: texts[position])
                position += 1
                if let id, try schema.entities.indices.contains(where: { try leads(id, to: target, entity: $0) }) {
                    break
                }
                if position == texts.endIndex { return false }
            }
        }
        return true
    }
}

/// The targets of one record's links: known keys, and identifiers that only the source's keys can resolve.
private struct LinkEnds {
    var keys: Set<Int64> = []
    var unknown: Set<UUID> = []
}

/// The targets of recently read records, limited by their total number.
private struct LinkEndsCache {
    private var known: [Int64: LinkEnds] = [:]
    private var room = mostKnown

    private static let mostKnown = 50_000

    mutating func of(_ key: Int64, _ read: () throws -> LinkEnds) rethrows -> LinkEnds {
        if let ends = known[key] { return ends }
        let ends = try read()
        let size = ends.keys.count + ends.unknown.count + 1
        if size > room { (known, room) = ([:], Self.mostKnown) }
        known[key] = ends
        room -= size
        return ends
    }
}
