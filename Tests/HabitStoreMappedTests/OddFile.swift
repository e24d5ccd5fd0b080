import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreMapped
import HabitStoreTesting
import RawStoreFiles
import Testing

struct Item: PersistentModel, Equatable {
    var id = UUID()
    var name = ""
    var alias: String?
    var date: Date?

    static let entity = EntityDescription(
        Item.self,
        attributes: [
            .id(\Item.id), .attribute("name", \Item.name), .attribute("alias", \Item.alias),
            .attribute("date", \Item.date),
        ]
    )

    init(_ name: String, alias: String? = nil) { (self.name, self.alias) = (name, alias) }

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        name = try row.nextString()
        alias = try row.nextOptionalString()
        date = try row.nextOptionalDate()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(name)
        row.append(alias)
        try row.append(date)
    }
}

/// An adopted file with a table of items as some app might declare it.
final class OddFile {
    let folder: TemporaryFolder
    let path: String
    let mapping: TableMapping
    private var opened: MappedSQLiteStore?

    static let schema = Schema([Item.self])

    /// - Parameters:
    ///   - sql: creates the table `item` and its rows.
    ///   - attributes: those of the mapping, as JSON.
    ///   - more: further members of the table in the mapping.
    ///   - leavesOut: a further table of the mapping.
    init(
        _ sql: String,
        _ attributes: String = #""name": "name", "alias": "alias""#,
        more: String = "",
        leavesOut: String? = nil,
        adopts: Bool = true
    ) throws {
        folder = try TemporaryFolder()
        path = folder.path("app.sqlite")
        mapping = try TableMapping(
            parsing: Data(
                #"{"format": 2, "namespace": "odd", "tables": [{"table": "item", "entity": "Item"\#(more), "attributes": {\#(attributes)}}\#(leavesOut.map { ", " + $0 } ?? "")]}"#
                    .utf8
            )
        )
        let database = try RawDatabase(path: path)
        try database.execute(sql)
        database.close()
        if adopts { try adopt() }
    }

    deinit { opened?.close() }

    func adopt() throws { try MappedSQLiteStore.adopt(path, mapping: mapping, schema: Self.schema) }

    var store: MappedSQLiteStore {
        get throws {
            if let opened { return opened }
            let store = try MappedSQLiteStore(
                path: path,
                mapping: mapping,
                schema: Self.schema,
                options: .init(busyLimitSeconds: 1)
            )
            opened = store
            return store
        }
    }

    /// Runs statements as the app's old code would.
    func old(_ sql: String) throws {
        let database = try RawDatabase(path: path)
        defer { database.close() }
        try database.execute("PRAGMA busy_timeout = 2000; " + sql)
    }

    /// The first column of a statement's rows.
    func rows(_ sql: String) throws -> [String] {
        let database = try RawDatabase(path: path)
        defer { database.close() }
        return try database.run(sql)
    }
}

/// Follows a store by its history, as a mirror would, and compares what it knows with what the store has.
final class HistoryFollower {
    private let store: MappedSQLiteStore
    private var token: HistoryToken
    private var known: [String: [UUID: [Value]]]

    init(_ store: MappedSQLiteStore) throws {
        self.store = store
        (token, known) = try store.read { (try $0.currentToken(), try Self.contents($0, store.schema)) }
    }

    private static func contents(
        _ transaction: any ReadTransaction,
        _ schema: Schema
    ) throws -> [String: [UUID: [Value]]] {
        var contents: [String: [UUID: [Value]]] = [:]
        for entity in schema.entities {
            let records = try transaction.records(RecordQuery(entity: entity.name))
            #expect(Set(records.map(\.id)).count == records.count, "two records of one identifier")
            contents[entity.name] = Dictionary(
                records.map { ($0.id, $0.values) },
                uniquingKeysWith: { first, _ in first }
            )
        }
        return contents
    }

    /// Records, history and digests agree.
    func expectAgreement(_ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let (now, next, history) = try store.read { transaction in
            (
                try Self.contents(transaction, store.schema), try transaction.currentToken(),
                try transaction.fetchHistory(after: token)
            )
        }
        func expect(_ holds: Bool, _ claim: String) {
            #expect(holds, "\(claim) \(comment?.rawValue ?? "")", sourceLocation: sourceLocation)
        }
        for entity in store.schema.entities {
            let (before, after) = (known[entity.name] ?? [:], now[entity.name] ?? [:])
            var there = Set(before.keys)
            var told: [UUID: Set<String>] = [:]
            for change in history.flatMap(\.changes) where change.entity == entity.name {
                switch change.kind {
                case .insert:
                    expect(there.insert(change.id).inserted, "the history inserts a record that is there")
                    told[change.id] = Set(entity.attributes.map(\.name))
                case .update(let names):
                    expect(there.contains(change.id), "the history updates a record that is not there")
                    told[change.id, default: []].formUnion(names)
                case .delete: expect(there.remove(change.id) != nil, "the history deletes a record that is not there")
                }
            }
            expect(there == Set(after.keys), "the history has other records of \(entity.name)")
            for (id, values) in after {
                guard let old = before[id] else { continue }
                for (position, attribute) in entity.attributes.enumerated() where old[position] != values[position] {
                    expect(told[id]?.contains(attribute.name) == true, "\(attribute.name) changed unheard")
                }
            }
        }
        expect(try store.checkDigests() == [], "the digests are right")
        expect(try store.check { _ in }.allSatisfy { $0.severity == .anomaly }, "the check finds nothing")
        (known, token) = (now, next)
    }
}
