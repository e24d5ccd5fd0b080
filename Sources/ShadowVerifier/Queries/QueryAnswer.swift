import Foundation
import HabitStore

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
