import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

/// Stored records of every entity of a schema, which all stores of a fuzz run contain.
public struct FuzzData: Sendable {
    /// The name, for reports.
    public let name: String
    /// The schema of the records.
    public let schema: Schema
    /// The records of each entity, ascending by identifier.
    var records: [[FuzzRecord]]

    init(name: String, schema: Schema, records: [[FuzzRecord]]) {
        self.name = name
        self.schema = schema
        self.records = records.map { $0.sorted { $0.id.isBefore($1.id) } }
    }

    /// Copies the stored records of a store, including odd ones.
    public init(name: String, of store: some ReplicableStore) throws {
        let schema = store.schema
        let records = try store.replicaRead { replica in
            try schema.entities.indices.map { entity in
                var records: [FuzzRecord] = []
                try replica.enumerate(entity: entity, after: nil) { id, record in
                    records.append(try FuzzRecord(id: id, record: record, layout: schema.entities[entity].layout))
                    return true
                }
                return records
            }
        }
        self.init(name: name, schema: schema, records: records)
    }

    /// The number of records.
    public var count: Int { records.reduce(0) { $0 + $1.count } }

    /// Puts the records into an empty store unchanged.
    public func install(into store: some ReplicableStore) throws {
        try store.replicate { replica in
            for (entity, records) in records.enumerated() {
                for record in records { try replica.put(entity: entity, id: record.id, record.record) }
            }
        }
    }
}

/// A stored record.
struct FuzzRecord: Sendable {
    let id: UUID
    let record: EncodedRecord
    let values: [Value]

    init(id: UUID, record: EncodedRecord, layout: RecordLayout) throws {
        self.id = id
        self.record = record
        values = try record.values(layout)
    }

    /// Encodes values; the first is the identifier.
    init(_ values: [Value], layout: RecordLayout) throws {
        guard case .uuid(let id)? = values.first else {
            throw HabitStoreError(.invalidValue, "the first value of a record must be its identifier")
        }
        try self.init(id: id, record: EncodedRecord(values, layout: layout), layout: layout)
    }
}

extension FuzzData {
    /// Random records of the kit's schema: every kind of attribute, optional and not, and references and links of every kind, including dangling ones
    /// and
    /// cycles.
    public static func specimens(seed: UInt64, scale: Int = 1) throws -> FuzzData {
        let counts = [
            "Specimen": 40, "Folder": 16, "Hub": 5, "Item": 18, "Badge": 8, "Leaf": 6, "Bouquet": 12, "Wrapper": 10,
        ]
        return try FuzzData(
            name: "specimens",
            schema: ContractSchema.schema,
            seed: seed,
            counts: ContractSchema.schema.entities.map { (counts[$0.name] ?? 10) * scale }
        )
    }

    /// Random records of the built-in schema, fewer and odder than a user's.
    public static func habits(seed: UInt64, scale: Int = 1) throws -> FuzzData {
        let counts = ["Habit": 14, "Entry": 40, "Tag": 6, "Draft": 10]
        return try FuzzData(
            name: "habits",
            schema: HabitSchema.current,
            seed: seed,
            counts: HabitSchema.current.entities.map { (counts[$0.name] ?? 10) * scale }
        )
    }

    /// Random records; `counts` says how many of each entity.
    init(name: String, schema: Schema, seed: UInt64, counts: [Int]) throws {
        var random = SeededGenerator(seed: seed)
        let ids = counts.map { count in (0..<count).map { _ in EdgeValues.id(&random) } }
        var records: [[FuzzRecord]] = []
        for (entity, description) in schema.entities.enumerated() {
            var targets: [Int: Int] = [:]
            for relationship in schema.relationships[entity] where relationship.isStored {
                targets[relationship.attribute] = relationship.destination
            }
            records.append(
                try ids[entity].map { id in
                    let values = description.attributes.enumerated().map { position, attribute -> Value in
                        if position == 0 { return .uuid(id) }
                        if attribute.isOptional, random.chance(35) { return .null }
                        return Self.value(attribute, targets[position].map { ids[$0] }, &random)
                    }
                    return try FuzzRecord(values, layout: description.layout)
                }
            )
        }
        self.init(name: name, schema: schema, records: records)
    }

    private static func value(
        _ attribute: AttributeDescription,
        _ targets: [UUID]?,
        _ random: inout SeededGenerator
    ) -> Value {
        if let type = FuzzType(attribute)?.scalar {
            switch type {
            case .enumeration, .json: return sample(type.type, random.int(0...4))
            default: break
            }
        }
        switch attribute.kind {
        case .bool: return .bool(random.chance(50))
        case .int: return .int(Int64(EdgeValues.int(&random)))
        case .double: return .double(EdgeValues.double(&random))
        case .string: return .string(EdgeValues.text(&random))
        case .date: return .date(EdgeValues.date(&random))
        case .uuid: return .uuid(reference(targets, &random))
        case .data: return .data(Data((0..<random.int(0...3)).map { _ in UInt8(random.int(0...3)) }))
        case .strings: return .strings((0..<random.int(0...3)).map { _ in EdgeValues.text(&random) })
        case .links:
            return .links(
                Set((0..<random.int(0...3)).map { _ in reference(targets, &random) }).sorted { $0.isBefore($1) }
            )
        }
    }

    private static func sample(_ type: any FuzzValue.Type, _ position: Int) -> Value { type.probe(position: position) }

    private static func reference(_ targets: [UUID]?, _ random: inout SeededGenerator) -> UUID {
        guard let target = random.pickAny(targets ?? []), random.chance(94) else { return EdgeValues.id(&random) }
        return target
    }
}

/// The same data in every store, in a temporary directory.
final class FuzzBench {
    let data: FuzzData
    private let profile: FuzzProfile
    private let oracle: FuzzOracle
    private let stores: [(name: String, store: any EngineBackedStore)]
    private let directory: URL

    /// One query in this many is written as text and JSON and read again.
    private static let roundTripDistance = 4
    /// One query in this many is explained.
    private static let explainDistance = 16

    init(_ data: FuzzData, _ subjects: [StoreUnderTest]) throws {
        self.data = data
        profile = FuzzProfile(data)
        oracle = try FuzzOracle(data)
        directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("query-fuzz-\(UUID().uuidString)", isDirectory: true)
        var stores: [(String, any EngineBackedStore)] = []
        for (index, subject) in subjects.enumerated() {
            let folder = directory.appendingPathComponent("\(index)", isDirectory: true)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let store = try subject.open(folder, data.schema, UUID()) { Date() }
            stores.append((subject.name, store))
            try data.install(into: store)
        }
        self.stores = stores
    }

    /// Closes the stores and removes the directory.
    func close() {
        for (_, store) in stores { store.close() }
        do {
            try FileManager.default.removeItem(at: directory)
        } catch {
            FileHandle.standardError.write(Data("the directory of a fuzz run could not be removed: \(error)\n".utf8))
        }
    }

    /// Asks queries, each store in one transaction; returns the first disagreement.
    func ask(_ numbers: Range<Int>, of fuzz: QueryFuzz, _ report: inout QueryFuzzReport) throws -> FuzzFailure? {
        let questions = try oracle.run {
            try numbers.map { number in
                let query = fuzz.query(number, profile)
                if number % Self.roundTripDistance == 0 { try FuzzRoundTrip.check(query, data.schema) }
                return (number, try query.question(oracle))
            }
        }
        for (index, (name, store)) in stores.enumerated() {
            let failure: FuzzFailure? = try store.read { transaction in
                for (number, question) in questions {
                    if number % Self.explainDistance == 0 {
                        try count(question, transaction, &report.methods[name, default: .init()])
                    }
                    let answer = question.ask(transaction)
                    guard !question.expected.agrees(with: answer) else { continue }
                    return FuzzFailure(
                        number: number,
                        query: question.query,
                        subject: index,
                        expected: question.expected,
                        found: answer
                    )
                }
                return nil
            }
            if let failure { return failure }
        }
        report.queries += questions.count
        for (_, question) in questions {
            if question.query.form != .filter { report.predicates += 1 }
            switch question.expected {
            case .failure: report.failed += 1
            case .records([]), .count(0): break
            default: report.answered += 1
            }
        }
        return nil
    }

    private func count(
        _ question: any FuzzAsking,
        _ transaction: any ReadTransaction,
        _ methods: inout QueryFuzzReport.Methods
    ) throws {
        guard let method = try? question.explain(transaction).method else { return }
        switch method {
        case .native: methods.native += 1
        case .nativeAndResidual: methods.residual += 1
        case .scan: methods.scan += 1
        }
    }

    /// Foundation's answer to a query, and the stores' answers.
    func answers(_ query: FuzzQuery) throws -> (expected: FuzzAnswer, found: [FuzzAnswer]) {
        let question = try oracle.run { try query.question(oracle) }
        return (question.expected, try stores.map { _, store in try store.read { question.ask($0) } })
    }
}

/// A store's wrong answer.
struct FuzzFailure: Sendable {
    let number: Int
    let query: FuzzQuery
    let subject: Int
    let expected: FuzzAnswer
    let found: FuzzAnswer
}

/// A filter that changed when it was written and read again.
struct FuzzRoundTrip: Error, CustomStringConvertible {
    let text: String
    let form: String

    var description: String { "the filter \(text) changed when its \(form) was read" }

    static func check(_ query: FuzzQuery, _ schema: Schema) throws {
        guard query.form == .filter, let filter = query.condition.filter(schema) else { return }
        let text = filter.description
        guard try FilterExpression(text: text) == filter else { throw FuzzRoundTrip(text: text, form: "text form") }
        let json = try JSONEncoder().encode([filter])
        guard try JSONDecoder().decode([FilterExpression].self, from: json) == [filter] else {
            throw FuzzRoundTrip(text: text, form: "JSON")
        }
    }
}

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
