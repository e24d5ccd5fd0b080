import Foundation
@_spi(Engines) import HabitStore

extension ShadowReader {
    /// The comparison has timed out; its watch has already counted it.
    struct TimedOut: Error {}

    /// The other store's token compared with the wanted one.
    private enum Moment {
        case there, behind, passed
    }

    /// The most jobs to compare in one snapshot, which would otherwise keep a store's old pages forever.
    private static let jobsInOneMoment = 64
    /// How often to check for further jobs at a token before the snapshot is released. A store that takes writes first is soon past that token, while
    /// readers of the other store are not.
    private static let looksForMore = 10
    /// The pause between two checks for the token.
    private static let pauseMicroseconds: UInt32 = 100

    /// Compares the first job, and other jobs at its token, in one snapshot of the other store.
    func compareFirst(of jobs: inout [Job]) {
        let job = jobs.removeFirst()
        var (count, isCompared) = (job.reads.count, false)
        var differences: [ShadowDifference] = []
        // Differences are reported before the places are released, so that callers that wait for comparisons see them.
        defer { release(count) }
        watch.begin(count)
        do {
            let store = try theirs()
            let deadline = ContinuousClock.now + .seconds(options.tokenWaitSeconds)
            var moment = Moment.behind
            while moment == .behind {
                moment = try store.read { transaction in
                    let token = try transaction.currentToken()
                    guard token == job.token else { return token < job.token ? .behind : .passed }
                    // From here on each question has its own deadline.
                    guard watch.end() else { throw TimedOut() }
                    isCompared = true
                    compare(job, transaction, &differences)
                    var left = Self.jobsInOneMoment
                    while differences.isEmpty, left > 0 {
                        release(count)
                        count = 0
                        guard let others = more(at: token, &jobs, left) else { break }
                        left -= others.count
                        for other in others {
                            count += other.reads.count
                            compare(other, transaction, &differences)
                        }
                    }
                    return .there
                }
                guard moment == .behind else { break }
                guard ContinuousClock.now < deadline, !watch.isLate else { break }
                usleep(Self.pauseMicroseconds)
            }
            switch moment {
            case .there: break
            case .behind: if watch.end() { note(.skewed, count) }
            case .passed: try rerun(job, &isCompared, &differences)
            }
        } catch {
            if !isCompared, watch.end() { noteFailure(error, job.reads.count) }
        }
        for difference in differences { onDifference(difference) }
    }

    /// Takes the jobs at a token that are waiting, or arrive in a moment unless other jobs do.
    private func more(at token: HistoryToken, _ jobs: inout [Job], _ limit: Int) -> [Job]? {
        for attempt in 0..<Self.looksForMore {
            if attempt > 0 { usleep(Self.pauseMicroseconds) }
            jobs += queue.takeNow()
            var found: [Job] = []
            jobs.removeAll { job in
                guard job.token == token, found.count < limit else { return false }
                found.append(job)
                return true
            }
            if !found.isEmpty { return found }
            if !jobs.isEmpty { return nil }
        }
        return nil
    }

    /// Compares the caller's answers.
    private func compare(
        _ job: Job,
        _ transaction: any ReadTransaction,
        _ differences: inout [ShadowDifference]
    ) {
        for read in job.reads {
            compare(read, &differences) { answer in
                guard let kind = read.answer.difference(from: answer) else { return nil }
                var found = difference(kind, read.question, (read.answer, answer), at: job.token)
                found.records = records(read.question, at: job.token, transaction)
                return found
            } _: {
                try self.answer(read.question, transaction)
            }
        }
    }

    /// Asks a job's questions of both stores again, at a token that both are at.
    private func rerun(_ job: Job, _ isCompared: inout Bool, _ differences: inout [ShadowDifference]) throws {
        let stores = (mine: try mine(), theirs: try theirs())
        let deadline = ContinuousClock.now + .seconds(options.tokenWaitSeconds)
        while !isCompared, ContinuousClock.now < deadline, !watch.isLate {
            try stores.mine.read { left in
                let token = try left.currentToken()
                var moment = Moment.behind
                while moment == .behind, ContinuousClock.now < deadline, !watch.isLate {
                    moment = try stores.theirs.read { right in
                        let other = try right.currentToken()
                        guard other == token else { return other < token ? .behind : .passed }
                        guard watch.end() else { throw TimedOut() }
                        isCompared = true
                        compareAgain(job, left, right, token, &differences)
                        return .there
                    }
                    if moment == .behind { usleep(Self.pauseMicroseconds) }
                }
            }
        }
        if !isCompared, watch.end() { note(.skewed, job.reads.count) }
        isCompared = true
    }

    private func compareAgain(
        _ job: Job,
        _ left: any ReadTransaction,
        _ right: any ReadTransaction,
        _ token: HistoryToken,
        _ differences: inout [ShadowDifference]
    ) {
        for read in job.reads {
            var here = read.answer
            compare(read, &differences, agreed: .rerun) { answer in
                guard let kind = here.difference(from: answer) else { return nil }
                var found = difference(kind, read.question, (here, answer), at: token)
                found.isRerun = true
                found.records = records(read.question, left, right)
                return found
            } _: {
                here = try self.answer(read.question, left)
                return try self.answer(read.question, right)
            }
        }
    }

    /// Makes one comparison, with its deadline.
    private func compare(
        _ read: RecordedRead,
        _ differences: inout [ShadowDifference],
        agreed: ShadowVerdict = .match,
        _ judge: (ReadAnswer) -> ShadowDifference?,
        _ ask: () throws -> ReadAnswer
    ) {
        let start = ContinuousClock.now
        watch.begin(1)
        do {
            let answer = try ask()
            stopwatch?.stop(since: start)
            guard watch.end() else { return }
            // Details of a difference are found after the deadline was met.
            guard let difference = judge(answer) else { return note(agreed) }
            note(.mismatch)
            differences.append(difference)
        } catch {
            if watch.end() { noteFailure(error, 1) }
        }
    }

    private func difference(
        _ kind: ShadowDifference.Kind,
        _ question: RecordedRead.Question,
        _ answers: (ReadAnswer, ReadAnswer),
        at token: HistoryToken
    ) -> ShadowDifference {
        ShadowDifference(
            kind: kind,
            token: token,
            shape: question.text(schema),
            answers: (answers.0.text, answers.1.text)
        )
    }

    /// A store's answer to a question.
    ///
    /// - Throws: why it cannot be read, and ``TimedOut``.
    func answer(_ question: RecordedRead.Question, _ transaction: any ReadTransaction) throws -> ReadAnswer {
        do {
            switch question {
            case .rows(let request, let limit):
                var digest = RowDigest()
                try transaction.enumerateRows(try request.fetch(in: transaction)) { row in
                    if watch.isLate { throw TimedOut() }
                    try digest.add(row, request.query.projection)
                    return limit.map { digest.rows < $0 } ?? true
                }
                return .rows(digest)
            case .count(let request): return .count(try transaction.count(try request.fetch(in: transaction)))
            case .record(let entity, let id):
                var digest = RowDigest()
                _ = try transaction.withRow(entity: entity, id: id) { try digest.add($0, nil) }
                return .rows(digest)
            case .preparation(let remake, _):
                _ = try remake(transaction)
                return .rows(RowDigest())
            }
        } catch let error as HabitStoreError where error.code.isPartOfTheAnswer {
            return .failure(error.code)
        }
    }
}

extension ShadowReader {
    /// The most rows of each store to search for those that differ.
    private static let maximumRows = 10_000

    /// Records that differ between two stores, if the caller's store is still at the token; empty if they cannot be found.
    func records(
        _ question: RecordedRead.Question,
        at token: HistoryToken,
        _ theirs: any ReadTransaction
    ) -> [UUID] {
        watch.begin(0)
        defer { _ = watch.end() }
        // A failure here does not change the verdict.
        let found = try? mine().read { transaction in
            try transaction.currentToken() == token ? try differing(question, transaction, theirs) : []
        }
        return found ?? []
    }

    /// Records that differ between two snapshots; empty if they cannot be found.
    func records(
        _ question: RecordedRead.Question,
        _ mine: any ReadTransaction,
        _ theirs: any ReadTransaction
    ) -> [UUID] {
        watch.begin(0)
        defer { _ = watch.end() }
        return (try? differing(question, mine, theirs)) ?? []
    }

    private struct Row: Hashable {
        let id: UUID
        let high: UInt64
        let low: UInt64
    }

    private func differing(
        _ question: RecordedRead.Question,
        _ mine: any ReadTransaction,
        _ theirs: any ReadTransaction
    ) throws -> [UUID] {
        let (left, right) = (try rows(question, mine), try rows(question, theirs))
        let sides = (Set(left), Set(right))
        var found = left.filter { !sides.1.contains($0) } + right.filter { !sides.0.contains($0) }
        if found.isEmpty { found = zip(left, right).filter { $0 != $1 }.map(\.0) }
        var named: [UUID] = []
        for row in found where !named.contains(row.id) && named.count < ShadowDifference.namedRecords {
            named.append(row.id)
        }
        return named
    }

    private func rows(_ question: RecordedRead.Question, _ transaction: any ReadTransaction) throws -> [Row] {
        var rows: [Row] = []
        func take(_ row: borrowing AttributeReader, _ projection: [Int]?) throws {
            if watch.isLate { throw TimedOut() }
            let hash = try RowDigest.hash(row, projection)
            rows.append(Row(id: try row.identifier(), high: hash.high, low: hash.low))
        }
        switch question {
        case .rows(let request, let limit):
            let most = min(limit ?? Self.maximumRows, Self.maximumRows)
            try transaction.enumerateRows(try request.fetch(in: transaction)) { row in
                try take(row, request.query.projection)
                return rows.count < most
            }
        case .count(let request):
            try transaction.enumerateRows(try request.fetch(in: transaction)) { row in
                try take(row, [0])
                return rows.count < Self.maximumRows
            }
        case .record(let entity, let id):
            if try !transaction.withRow(entity: entity, id: id, { try take($0, nil) }) {
                rows.append(Row(id: id, high: 0, low: 0))
            }
        case .preparation: break
        }
        return rows
    }
}

/// A question that two stores answered differently at one token.
struct ShadowDifference: Sendable {
    /// How the answers differ.
    enum Kind: String, Sendable {
        /// Other records, or other contents of them.
        case records
        /// The same records in another order.
        case order
        case count
        /// One store failed, or both did for different reasons.
        case error
    }

    /// How many records to name.
    static let namedRecords = 3

    let kind: Kind
    let token: HistoryToken
    /// The question, without its literals.
    let shape: String
    /// The two answers, without the user's values.
    let answers: (mine: String, theirs: String)
    /// Records that differ, at most ``namedRecords``; none if a store was past the token.
    var records: [UUID] = []
    /// Whether both stores were asked again, because one was past the caller's token.
    var isRerun = false

    /// One line, without the user's values.
    var message: String {
        let what =
            switch kind {
            case .records: "other records"
            case .order: "the same records in another order"
            case .count: "another count"
            case .error: "another outcome"
            }
        let ids = records.map(\.uuidString).joined(separator: ", ")
        return "a shadow read gave \(what): \(shape): \(answers.mine) here and \(answers.theirs) in the other store"
            + (ids.isEmpty ? "" : "; look at \(ids)") + (isRerun ? " (asked again of both)" : "")
    }
}
