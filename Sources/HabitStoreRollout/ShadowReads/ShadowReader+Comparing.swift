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
        for look in 0..<Self.looksForMore {
            if look > 0 { usleep(Self.pauseMicroseconds) }
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
