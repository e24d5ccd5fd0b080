import Foundation
@_spi(Engines) import HabitStore

/// A file of named queries that the verifier runs on both stores.
///
/// ```json
/// {"queries": [{"name": "heroes", "entity": "Habit", "filter": "streak >= 7", "sort": ["-streak", "name"], "limit": 10}]}
/// ```
public struct QueryFile: Sendable, Codable, Equatable {
    /// One query.
    public struct Query: Sendable, Codable, Equatable {
        /// Its name in reports.
        public var name: String
        /// The entity.
        public var entity: String
        /// The filter in its text form; none for all records.
        public var filter: String?
        /// The attributes to sort by, with `-` before those that descend.
        public var sort: [String]?
        /// How many records at most.
        public var limit: Int?
        /// How many are passed over first.
        public var offset: Int?
        /// Whether it was recorded without the user's values: its literals are neutral ones of their kinds.
        public var redacted: Bool?

        /// Makes a query.
        public init(
            name: String,
            entity: String,
            filter: String? = nil,
            sort: [String]? = nil,
            limit: Int? = nil,
            offset: Int? = nil,
            redacted: Bool? = nil
        ) {
            self.name = name
            self.entity = entity
            self.filter = filter
            self.sort = sort
            self.limit = limit
            self.offset = offset
            self.redacted = redacted
        }

        /// The query with its filter parsed.
        ///
        /// - Throws: ``HabitStoreError/Code/invalidQuery`` with the query's name and the column.
        public func recordQuery() throws -> RecordQuery {
            do {
                return RecordQuery(
                    entity: entity,
                    filter: try FilterExpression(text: filter ?? ""),
                    sort: (sort ?? []).map { key in
                        key.hasPrefix("-") ? .init(String(key.dropFirst()), ascending: false) : .init(key)
                    },
                    limit: limit,
                    offset: offset ?? 0
                )
            } catch let error as HabitStoreError {
                throw named(error)
            }
        }

        /// - Throws: ``HabitStoreError/Code/unknownEntity``, ``HabitStoreError/Code/unknownAttribute`` or
        ///   ``HabitStoreError/Code/invalidQuery`` when the query asks for something that no store of the schema has.
        func validate(for schema: Schema) throws {
            let query = try recordQuery()
            do {
                _ = try query.bound(to: schema)
            } catch let error as HabitStoreError {
                throw named(error)
            }
        }

        private func named(_ error: HabitStoreError) -> HabitStoreError {
            HabitStoreError(
                error.code,
                "query \"\(name)\": \(error.message)",
                at: error.location,
                detail: error.detail,
                underlying: error.underlying
            )
        }
    }

    /// The queries, in the order in which they are run.
    public var queries: [Query]

    /// Makes a file of queries.
    public init(queries: [Query]) { self.queries = queries }

    /// Reads a file of queries.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound``, ``HabitStoreError/Code/inputOutput`` or
    ///   ``HabitStoreError/Code/invalidQuery`` with what is wrong and where.
    public static func load(path: String) throws -> QueryFile {
        let file: QueryFile = try JSONFile.load(path: path, what: "a file of queries")
        var names: Set<String> = []
        for query in file.queries {
            guard names.insert(query.name).inserted else {
                throw HabitStoreError(.invalidQuery, "two queries are named \"\(query.name)\"", at: .init(path: path))
            }
            do {
                _ = try query.recordQuery()
            } catch let error as HabitStoreError {
                var location = error.location
                location.path = path
                throw HabitStoreError(error.code, error.message, at: location)
            }
        }
        return file
    }
}

/// A query's answer in one store: everything by which two answers are compared.
struct QueryAnswer: Sendable, Hashable, Codable {
    /// The identifiers of the records, in order.
    var identifiers: [UUID] = []
    /// The store's count.
    var count = 0
    /// The stable name of the error that the query ended with; nil when it was answered.
    var errorCode: String?

    /// How two answers to one query differ.
    ///
    /// - Parameter names: those of the two stores, for the sentences.
    static func differences(
        _ a: QueryAnswer,
        _ b: QueryAnswer,
        query: String,
        entity: String,
        names: (a: String, b: String)
    ) -> [StoreDifference] {
        if a.errorCode != b.errorCode {
            return [
                StoreDifference(
                    .queryError,
                    "query \"\(query)\" ends with \(a.errorCode ?? "an answer") in \(names.a) "
                        + "and with \(b.errorCode ?? "an answer") in \(names.b)",
                    entity: entity,
                    query: query,
                    a: a.errorCode ?? "an answer",
                    b: b.errorCode ?? "an answer"
                )
            ]
        }
        return [
            differenceOfRecords(a.identifiers, b.identifiers, query, entity, names),
            differenceOfCounts(a, b, query, entity, names),
        ].compactMap { $0 }
    }

    /// Where two lists of identifiers begin to differ; nil where they are equal.
    static func firstDifference(_ a: [UUID], _ b: [UUID]) -> Int? {
        if let place = zip(a, b).enumerated().first(where: { $1.0 != $1.1 })?.offset { return place }
        return a.count == b.count ? nil : min(a.count, b.count)
    }

    private static func differenceOfRecords(
        _ a: [UUID],
        _ b: [UUID],
        _ query: String,
        _ entity: String,
        _ names: (a: String, b: String)
    ) -> StoreDifference? {
        guard let place = firstDifference(a, b) else { return nil }
        let sameRecords = a.count == b.count && Set(a) == Set(b)
        return StoreDifference(
            sameRecords ? .queryOrder : .queryRecords,
            "query \"\(query)\" gives \(a.count) records in \(names.a) and \(b.count) in \(names.b); "
                + "the first difference is at position \(place + 1)",
            entity: entity,
            id: place < a.count ? a[place] : b[place],
            query: query,
            a: place < a.count ? a[place].uuidString : "no further record",
            b: place < b.count ? b[place].uuidString : "no further record"
        )
    }

    private static func differenceOfCounts(
        _ a: QueryAnswer,
        _ b: QueryAnswer,
        _ query: String,
        _ entity: String,
        _ names: (a: String, b: String)
    ) -> StoreDifference? {
        let (inA, inB) = (a.identifiers.count, b.identifiers.count)
        if a.count == b.count, a.count == inA, b.count == inB { return nil }
        return StoreDifference(
            .queryCount,
            "query \"\(query)\" counts \(a.count) in \(names.a) (and fetches \(inA)), "
                + "\(b.count) in \(names.b) (and fetches \(inB))",
            entity: entity,
            query: query,
            a: String(a.count),
            b: String(b.count)
        )
    }
}
