import Foundation
import HabitStore

extension Comparison {
    /// What a query gave in one store.
    private struct Answer {
        var identifiers: [UUID] = []
        /// A digest of each record.
        var digests: [RecordDigest] = []
        var count = 0
        var error: HabitStoreError?
        var plan = ""
        var milliseconds = 0.0
    }

    /// Runs every query on both stores, and compares records, order, count and errors.
    ///
    /// - Returns: the number of queries.
    mutating func compareQueries(_ progress: (ShadowVerifier.Progress) throws -> Void) throws -> Int {
        for query in options.queries {
            let recordQuery = try query.recordQuery()
            let left = try answer(transactions.a, recordQuery)
            let right = try answer(transactions.b, recordQuery)
            let before = report.differenceCount
            compare(left, right, query)
            if left.error == nil, report.differenceCount == before { compareWithExpectation(left, query) }
            report.queries.append(
                QueryComparison(
                    name: query.name,
                    matches: report.differenceCount == before,
                    countA: left.error == nil ? left.identifiers.count : nil,
                    countB: right.error == nil ? right.identifiers.count : nil,
                    millisecondsA: left.milliseconds,
                    millisecondsB: right.milliseconds,
                    planA: left.plan,
                    planB: right.plan
                )
            )
            try advance(progress)
        }
        return options.queries.count
    }

    private func answer(_ transaction: any ReadTransaction, _ query: RecordQuery) throws -> Answer {
        var answer = Answer()
        let start = ContinuousClock.now
        do {
            let form = CanonicalForm()
            try transaction.enumerateRecords(query) { record in
                answer.identifiers.append(record.id)
                form.write(record.values)
                answer.digests.append(RecordDigest(form.bytes))
                return true
            }
            answer.milliseconds = (ContinuousClock.now - start) / .milliseconds(1)
            answer.count = try transaction.countRecords(query)
            answer.plan = try transaction.explain(query).description
        } catch let error as HabitStoreError where error.code.isAboutTheQuery {
            answer.error = error
        }
        return answer
    }

    private mutating func compare(_ left: Answer, _ right: Answer, _ query: QueryFile.Query) {
        if left.error?.code != right.error?.code {
            note(
                StoreDifference(
                    .queryError,
                    "query \"\(query.name)\" ends with \(left.error?.code.rawValue ?? "an answer") in \(stores.a.name) "
                        + "and with \(right.error?.code.rawValue ?? "an answer") in \(stores.b.name)",
                    entity: query.entity,
                    query: query.name
                )
            )
            return
        }
        let ids = (left.identifiers, right.identifiers)
        if ids.0 != ids.1 {
            let sameRecords = Set(ids.0) == Set(ids.1) && ids.0.count == ids.1.count
            let place = zip(ids.0, ids.1).enumerated().first { $1.0 != $1.1 }?.offset ?? min(ids.0.count, ids.1.count)
            note(
                StoreDifference(
                    sameRecords ? .queryOrder : .queryRecords,
                    "query \"\(query.name)\" gives \(ids.0.count) records in \(stores.a.name) and \(ids.1.count) in "
                        + "\(stores.b.name); the first difference is at position \(place + 1)",
                    entity: query.entity,
                    id: place < ids.0.count ? ids.0[place] : (place < ids.1.count ? ids.1[place] : nil),
                    query: query.name
                )
            )
        }
        let places = zip(left.digests, right.digests).enumerated()
        if ids.0 == ids.1, let place = places.first(where: { $1.0 != $1.1 })?.offset {
            note(
                StoreDifference(
                    .queryRecords,
                    "query \"\(query.name)\" gives the same identifiers in both stores, with other values in the record at "
                        + "position \(place + 1)",
                    entity: query.entity,
                    id: ids.0[place],
                    query: query.name
                )
            )
        }
        if left.count != right.count || left.count != left.identifiers.count || right.count != right.identifiers.count {
            note(
                StoreDifference(
                    .queryCount,
                    "query \"\(query.name)\" counts \(left.count) in \(stores.a.name) (and fetches \(ids.0.count)), "
                        + "\(right.count) in \(stores.b.name) (and fetches \(ids.1.count))",
                    entity: query.entity,
                    query: query.name
                )
            )
        }
    }

    private mutating func compareWithExpectation(_ answer: Answer, _ query: QueryFile.Query) {
        guard let expectations = options.expectations else { return }
        guard let expected = expectations.queries[query.name] else {
            note(
                StoreDifference(.unexpected, "query \"\(query.name)\" has no expected result", query: query.name)
            )
            return
        }
        let listed = Array(answer.identifiers.prefix(Expectations.listedIdentifiers))
        guard expected.count != answer.identifiers.count || expected.identifiers != listed else { return }
        note(
            StoreDifference(
                .unexpected,
                "query \"\(query.name)\" gives \(answer.identifiers.count) records in both stores, "
                    + (expected.count == answer.identifiers.count
                        ? "but not those that are expected, or in another order" : "\(expected.count) are expected"),
                entity: query.entity,
                query: query.name
            )
        )
    }
}

extension HabitStoreError.Code {
    /// Whether the error belongs to the query and is part of the answer; others mean that the store cannot be read.
    fileprivate var isAboutTheQuery: Bool {
        [.invalidQuery, .unknownEntity, .unknownAttribute, .evaluationFailed, .unsupported].contains(self)
    }
}
