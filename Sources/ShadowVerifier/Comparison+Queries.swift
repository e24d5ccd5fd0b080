import Foundation
@_spi(Engines) import HabitStore

extension Comparison {
    /// Runs every query on both stores, and compares records, order, count and errors.
    ///
    /// - Returns: the number of queries.
    mutating func compareQueries(_ progress: (ShadowVerifier.Progress) throws -> Void) throws -> Int {
        for query in options.queries {
            let recordQuery = try query.recordQuery()
            let left = try run(recordQuery, in: transactions.a)
            let right = try run(recordQuery, in: transactions.b)
            let before = report.differenceCount
            let observed = { MismatchEvidence.answers(RecordedQuery(query), a: left.answer, b: right.answer) }
            for difference in QueryAnswer.differences(
                left.answer,
                right.answer,
                query: query.name,
                entity: query.entity,
                names: (stores.a.name, stores.b.name)
            ) {
                note(difference, observed: observed)
            }
            compareValues(left, right, query)
            if left.answer.errorCode == nil, report.differenceCount == before {
                compareWithExpectation(left.answer, query)
            }
            report.queries.append(
                QueryComparison(
                    name: query.name,
                    matches: report.differenceCount == before,
                    countA: left.answer.errorCode == nil ? left.answer.identifiers.count : nil,
                    countB: right.answer.errorCode == nil ? right.answer.identifiers.count : nil,
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

    /// A query's answer, how it came about, and how long that took.
    private struct Run {
        var answer = QueryAnswer()
        /// A digest of each record.
        var digests: [RecordDigest] = []
        var plan = ""
        var milliseconds = 0.0
    }

    private func run(_ query: RecordQuery, in transaction: any ReadTransaction) throws -> Run {
        var run = Run()
        let start = ContinuousClock.now
        do {
            let form = CanonicalForm()
            try transaction.enumerateRecords(query) { record in
                run.answer.identifiers.append(record.id)
                form.write(record.values)
                run.digests.append(RecordDigest(form.bytes))
                return true
            }
            run.milliseconds = (ContinuousClock.now - start) / .milliseconds(1)
            run.answer.count = try transaction.countRecords(query)
            let plan = try transaction.explain(query).description
            run.plan = options.showsValues ? plan : plan.hidingQuotedText
        } catch let error as HabitStoreError where error.code.isAboutTheQuery {
            run.answer.errorCode = error.code.rawValue
        }
        return run
    }

    /// The same identifiers, one of them with other values.
    private mutating func compareValues(_ left: Run, _ right: Run, _ query: QueryFile.Query) {
        guard left.answer.identifiers == right.answer.identifiers,
            let place = zip(left.digests, right.digests).enumerated().first(where: { $1.0 != $1.1 })?.offset
        else { return }
        note(
            StoreDifference(
                .queryRecords,
                "query \"\(query.name)\" gives the same identifiers in both stores, with other values in the record at "
                    + "position \(place + 1)",
                entity: query.entity,
                id: left.answer.identifiers[place],
                query: query.name
            )
        )
    }

    private mutating func compareWithExpectation(_ answer: QueryAnswer, _ query: QueryFile.Query) {
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
