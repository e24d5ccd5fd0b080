import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// Shadow reads of two stores that agree, and of two that do not.
struct ShadowReadTests {
    @Test(arguments: [Stage.shadow, .live], EngineName.standard)
    func everyKindOfReadOfEqualStoresMatches(stage: Stage, old: EngineName) throws {
        let user = try ShadowedUser(at: stage, old: old)
        for question in ShadowQuestion.allCases { _ = try user.store.read { question.ask($0) } }
        #expect(try user.counts() == [.match: ShadowQuestion.allCases.count])
    }

    @Test func theQuestionsOfOneTransactionAreComparedOneByOne() throws {
        let user = try ShadowedUser()
        user.lie(.miscounted)
        try user.store.read { transaction in
            for question in [ShadowQuestion.count, .fetch, .model, .count] { _ = question.ask(transaction) }
        }
        #expect(try user.counts() == [.match: 2, .mismatch: 2])
    }

    @Test(arguments: ShadowQuestion.allCases.filter(\.hasRows))
    func aMissingRecordIsNamed(question: ShadowQuestion) throws {
        let user = try ShadowedUser()
        user.lie(.missing)
        _ = try user.store.read { question.ask($0) }
        // A caller that stops before the end has not seen the missing record.
        guard question != .stopped else {
            #expect(try user.counts() == [.match: 1])
            return
        }
        #expect(try user.counts() == [.mismatch: 1])
        let message = try #require(try user.differences().first)
        #expect(message.contains("other records"), "\(message)")
        let lost = SampleRecords.id(question == .fetch || question == .record ? 5 : 1)
        let isPage = question == .page
        let isFiltered = [.predicate, .opaque].contains(question)
        let expected = isPage ? SampleRecords.id(2) : isFiltered ? SampleRecords.id(5) : lost
        #expect(message.contains(expected.uuidString), "\(message)")
    }

    @Test func theSameRecordsInAnotherOrderAreToldApartFromOthers() throws {
        let user = try ShadowedUser()
        user.lie(.reversed)
        for question in [ShadowQuestion.sorted, .identifiers, .projection] {
            _ = try user.store.read { question.ask($0) }
        }
        #expect(try user.counts() == [.mismatch: 3])
        let messages = try user.differences()
        #expect(messages.count == 3)
        for message in messages {
            #expect(message.contains("the same records in another order"), "\(message)")
            #expect(message.contains("Habit by -name"), "\(message)")
        }
    }

    @Test func anotherCountNamesBoth() throws {
        let user = try ShadowedUser()
        user.lie(.miscounted)
        _ = try user.store.fetchCount(FetchDescriptor(predicate: #Predicate<Habit> { $0.name != "Ada" }))
        #expect(try user.counts() == [.mismatch: 1])
        let message = try #require(try user.differences().first)
        #expect(message.contains("another count: the count of Habit where name != ?"), "\(message)")
        #expect(message.contains("the count 4 here and the count 5 in the other store"), "\(message)")
    }

    @Test func aQueryThatFailsInOneStoreOnlyDiffers() throws {
        let user = try ShadowedUser()
        user.lie(.refusing)
        _ = try user.store.read { ShadowQuestion.fetch.ask($0) }
        _ = try user.store.read { ShadowQuestion.failingQuery.ask($0) }
        // Both fail alike in the second.
        #expect(try user.counts() == [.match: 1, .mismatch: 1])
        let message = try #require(try user.differences().first)
        #expect(message.contains("5 records here and the error evaluationFailed in the other store"), "\(message)")
    }

    @Test func aStoreThatCannotBeReadIsNoDifference() throws {
        let user = try ShadowedUser()
        user.lie(.failing)
        for question in ShadowQuestion.allCases { _ = try user.store.read { question.ask($0) } }
        let counts = try user.counts()
        // A query refused before it reaches the store fails alike in any store.
        #expect(counts == [.error: ShadowQuestion.allCases.count - 1, .match: 1])
        #expect(try user.differences() == [])
    }

    /// A record whose contents differed in the other store was reported as "the rows of a fetch of 5 records", without saying which one.
    @Test func changedContentsNameTheRecordAndNoValueOfTheUsers() throws {
        let user = try ShadowedUser()
        let secret = "a private matter"
        let other = try user.staged.address(.new).open(.readWrite, schema: HabitSchema.current)
        let habit = Habit(id: SampleRecords.id(3), name: secret, createdAt: SampleRecords.referenceDate)
        try other.replicate { replica in
            var writer = AttributeWriter(layout: HabitSchema.current.entities[0].layout)
            try habit.write(to: &writer)
            let entity = try HabitSchema.current.position(of: Habit.self)
            try replica.put(entity: entity, id: habit.id, try writer.finish { EncodedRecord(copying: $0) })
        }
        other.close()
        // The comparer keeps a snapshot for a millisecond, which may have the same token and predate the change.
        usleep(50_000)
        _ = try user.store.all(Habit.self)
        _ = try user.store.model(Habit.self, id: SampleRecords.id(3))
        let counts = try user.counts()
        #expect(counts == [.mismatch: 2])
        let messages = try user.differences()
        #expect(messages.count == 2)
        for message in messages {
            #expect(message.contains(SampleRecords.id(3).uuidString), "\(message)")
            #expect(!message.contains(SampleRecords.id(2).uuidString), "\(message)")
            #expect(!message.contains(secret) && !message.contains("Cyd"), "\(message)")
        }
    }

    @Test func aDifferenceAtLiveTakesTheUserBack() throws {
        let user = try ShadowedUser(at: .live)
        user.lie(.miscounted)
        _ = try user.store.fetchCount(FetchDescriptor<Habit>())
        user.store.files.leases.load()?.shadow?.drain(seconds: 60)
        #expect(try user.store.stage() == .shadow)
    }

    /// The other store has moved past the token that the caller saw: the read can no longer be compared, and does not count as clean.
    @Test func aReadWhoseMomentHasPassedIsPutToBothAgainAndCountsApart() throws {
        let user = try ShadowedUser()
        let route = try #require(user.store.files.leases.load())
        let shadow = try #require(route.shadow)
        try route.authority.read { transaction in
            let recording = RecordingTransaction(transaction, shadow, nil)
            _ = try recording.all(Habit.self)
            _ = try recording.fetchCount(FetchDescriptor<Habit>())
            // Another write comes before the comparison begins.
            try user.store.save(Draft(content: "later", creationDate: SampleRecords.referenceDate))
            recording.finish()
        }
        #expect(try user.counts() == [.rerun: 2])
        user.lie(.miscounted)
        try route.authority.read { transaction in
            let recording = RecordingTransaction(transaction, shadow, nil)
            _ = try recording.fetchCount(FetchDescriptor<Habit>())
            try user.store.save(Draft(content: "later", creationDate: SampleRecords.referenceDate))
            recording.finish()
        }
        #expect(try user.counts() == [.mismatch: 1])
        #expect(try user.differences().first?.contains("(asked again of both)") == true)
    }

    @Test func aStoreThatStaysBehindIsSkewed() throws {
        let user = try ShadowedUser { $0.shadowReads.tokenWaitSeconds = 0.05 }
        user.plan.inject(.init(.fail(.inputOutput), on: [.replicate, .replicaRead]))
        try user.store.save(Draft(content: "ahead", creationDate: SampleRecords.referenceDate))
        _ = try user.store.all(Habit.self)
        #expect(try user.counts() == [.skewed: 1])
    }
}
