import Foundation
import HabitStore
import HabitTracker
import Testing

@testable import Trials

/// The checks of the live query trial find impossible streams.
struct LiveFollowerTests {
    private func transaction(_ token: Int64, _ author: String = "write 1") -> HistoryTransaction {
        HistoryTransaction(
            token: HistoryToken(rawValue: token),
            timestamp: Date(timeIntervalSince1970: 0),
            author: author,
            changes: []
        )
    }

    private func feed(_ tokens: Int64...) -> LiveFeed {
        let feed = LiveFeed(after: HistoryToken(rawValue: 1))
        for token in tokens { feed.take(transaction(token)) }
        return feed
    }

    @Test func aHistoryThatIsToldOnceAndInOrderIsFine() {
        let feed = feed(2, 3)
        #expect(feed.faults == [])
        #expect(feed.compare((1...3).map { transaction($0) }) == nil)
    }

    @Test func aTransactionThatIsSkippedOrToldTwiceIsFound() {
        #expect(feed(2, 4).faults == ["token 4 was received after token 2"])
        #expect(feed(2, 3, 3).faults == ["token 3 was received after token 3"])
        #expect(feed(1).faults == ["token 1 was received after token 1"])
    }

    @Test func aTransactionThatIsMissingOrAnotherOneIsFound() throws {
        let missing = try #require(feed(2, 3).compare((1...4).map { transaction($0) }))
        #expect(missing == "received 2 transactions, but the history has 3")
        let other = try #require(feed(2, 3).compare([transaction(2), transaction(3, "write 2")]))
        #expect(other.hasPrefix("the transaction received at token 3 differs from the history"))
    }

    /// A follower that gets these draft counts.
    private func drafts(_ told: (token: Int64, cause: ResultsChangeCause, count: Int)...) -> LiveAnswers<Int> {
        let answers = LiveAnswers("drafts", seed: 1, busyMilliseconds: 0) { _, _ in
        } fetch: {
            try $0.fetchCount(FetchDescriptor<Draft>())
        }
        for (token, cause, count) in told {
            let token = HistoryToken(rawValue: token)
            _ = answers.take(.init(token: token, cause: cause, answer: count, isConsistent: true))
        }
        return answers
    }

    @Test func aTokenThatDoesNotRiseAndAQueryThatIsAskedAnewAreFound() {
        #expect(drafts((1, .first, 1), (2, .changed, 2)).faults == [])
        #expect(drafts((2, .first, 2), (1, .changed, 1)).faults.count == 1)
        #expect(drafts((2, .first, 2), (2, .changed, 2)).faults.count == 1)
        #expect(drafts((1, .first, 1), (2, .requeried, 2)).faults == ["token 2: unexpected cause requeried"])
    }

    @Test func aDifferenceThatDoesNotMakeTheAnswerIsFound() {
        let answers = drafts()
        _ = answers.take(.init(token: .zero, cause: .first, answer: 0, isConsistent: false))
        #expect(answers.faults == ["token 0: the previous answer plus the difference is not the answer"])
    }

    @Test func anAnswerThatNoFetchGivesIsFound() throws {
        let store = try InMemoryHabitStore(schema: HabitSchema.current)
        for number in 1...3 {
            try store.write(author: ConcurrentWorkload.author(number)) { try ConcurrentWorkload.write(number, in: $0) }
        }
        let (history, contents) = try store.read { (try $0.fetchHistory(after: .zero), try Contents($0)) }
        let right = drafts((0, .first, 0), (2, .changed, 2), (3, .changed, 3))
        let wrong = drafts((0, .first, 0), (2, .changed, 3), (4, .changed, 4))
        let reference = LiveReference(history)
        let fine = try reference.compare([right], final: contents)
        #expect(fine.violations == [] && fine.compared == 3)
        let found = try reference.compare([right, wrong], final: contents).violations
        #expect(found.count == 2, "\(found)")
        let lost = try LiveReference(Array(history.dropLast())).compare([], final: contents).violations
        #expect(lost == ["the records do not match the 2 writes"])
        let gap = try LiveReference(Array(history.dropFirst())).compare([], final: contents).violations
        #expect(gap.count == 2, "\(gap)")
    }
}
