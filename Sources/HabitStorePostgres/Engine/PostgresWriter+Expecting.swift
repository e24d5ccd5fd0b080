import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

/// Combines expected queries into one round trip.
@_spi(Engines) extension PostgresWriter {
    /// A query and the handler of its answer.
    struct Question {
        let call: PostgresCall
        let take: (PostgresResult) throws -> Void
    }

    /// Sends the queries in one round trip, if there are any.
    func answers(to questions: [Question]) throws -> [PostgresResult] {
        guard !questions.isEmpty else { return [] }
        let answers = try ask(questions.map(\.call))
        for (question, answer) in zip(questions, answers) { try question.take(answer) }
        return answers
    }

    /// Sends all queries with unknown answers in one round trip. Earlier expectations are discarded.
    public func expect(_ questions: ExpectedQuestions) throws {
        sharers.removeAll()
        let (number, batch) = (try number(questions.entity), questions.records)
        var asked: [Question] = []
        if batch.count == 1 {
            let key = RecordKey(entity: number, id: batch.identifier(at: 0))
            let isKnown = isThere[key] == false || records[key] != nil || looked?.key == key
            if !isKnown { asked += looking(key) }
        } else {
            asked += looking(number, (0..<batch.count).map { batch.identifier(at: $0) }) + lookingForLeaves(number)
        }
        for (entity, ids) in questions.targets { asked += looking(try self.number(entity), ids) }
        for attributes in questions.unique { asked += try looking(questions.entity, attributes, batch) }
        _ = try answers(to: asked)
    }

    /// The queries for a record and for the digest that covers it.
    func looking(_ key: RecordKey) -> [Question] {
        let store = PostgresValue.uuid(catalog.store)
        let record = Question(call: PostgresCall(.record, store, .int2(key.entity), .uuid(key.id))) { [self] answer in
            isThere[key] = answer.count > 0
            looked = (key, answer)
        }
        guard knownLeaf(key.entity, covering: key.id) == nil else { return [record] }
        let digest = Question(call: PostgresCall(.digest, store, .int2(key.entity), .uuid(key.id))) { [self] answer in
            if let leaf = try leaves(answer).first { remember(leaf, key.entity) }
        }
        return [record, digest]
    }

    /// The query for which of the records exist.
    func looking(_ entity: Int16, _ ids: [UUID]) -> [Question] {
        let unknown = Set(ids).filter { isThere[RecordKey(entity: entity, id: $0)] == nil }
        guard !unknown.isEmpty else { return [] }
        let call = PostgresCall(.taken, .uuid(catalog.store), .int2(entity), .uuids(Array(unknown)))
        return [
            Question(call: call) { [self] answer in
                for id in unknown { isThere[RecordKey(entity: entity, id: id)] = false }
                for row in 0..<answer.count { isThere[RecordKey(entity: entity, id: try answer.uuid(row, 0))] = true }
            }
        ]
    }

    /// The query for all digests of an entity.
    func lookingForLeaves(_ entity: Int16) -> [Question] {
        guard !knownLeaves.contains(entity) else { return [] }
        let call = PostgresCall(.digests, .uuid(catalog.store), .int2(entity))
        return [
            Question(call: call) { [self] answer in
                // Deferred changes were sent before.
                leaves[entity] = try leaves(answer)
                knownLeaves.insert(entity)
            }
        ]
    }

    /// The query for the records that share a batch's values in some attributes; empty if no index alone can answer it.
    private func looking(_ entity: Int, _ attributes: [Int], _ batch: RecordBatch) throws -> [Question] {
        guard let index = index(entity, of: attributes) else { return [] }
        let number = try number(index)
        var wanted: Set<[UInt8]> = []
        for place in 0..<batch.count {
            if let values = try values(of: batch[place], in: index) { wanted.insert(values) }
        }
        guard !wanted.isEmpty else { return [] }
        let (low, high) = PostgresBounds.values(wanted.map { KeyRange(prefix: $0) }, .keys, isSingle: false)
        let call = PostgresCall(
            .walkSeveral(.keys, reverse: false),
            .uuid(catalog.store),
            .int2(number),
            low,
            high,
            .int8(Int64.max)
        )
        return [
            Question(call: call) { [self] answer in
                for values in wanted { sharers[EntryKey(number: number, key: values)] = [] }
                for row in 0..<answer.count {
                    guard let key = answer.bytes(row, 0), key.count > KeyFormat.identifierLength else { continue }
                    let values = Array(key.dropLast(KeyFormat.identifierLength))
                    sharers[EntryKey(number: number, key: values)]?.append(try answer.uuid(row, 1))
                }
            }
        ]
    }

    /// The records with a record's values in some attributes, if that was expected.
    public func expectedIdentifiers(entity: Int, attributes: [Int], of record: RecordView) throws -> [UUID]? {
        guard !sharers.isEmpty, let index = index(entity, of: attributes),
            let values = try values(of: record, in: index)
        else { return nil }
        return sharers[EntryKey(number: try number(index), key: values)]
    }

    /// The index of exactly these attributes, in any order.
    private func index(_ entity: Int, of attributes: [Int]) -> KeyIndex? {
        catalog.keys.tables[entity].indexes.first { index in
            index.layout.linksPosition == nil && index.layout.parts.count == attributes.count && isComplete(index)
                && index.layout.holds(attributes)
        }
    }

    /// The prefix of an index's keys for a record's values; nil if one is nil or too long for keys.
    private func values(of record: RecordView, in index: KeyIndex) throws -> [UInt8]? {
        guard !index.layout.holdsNil(of: record) else { return nil }
        var values: [UInt8]?
        try withUnsafeBytes(of: try record.identifier().uuid) { id in
            try indexKeys.forEach(index, record, id) { key in
                if !buffer.isCut { values = Array(key.dropLast(KeyFormat.identifierLength)) }
            }
        }
        return values
    }
}
