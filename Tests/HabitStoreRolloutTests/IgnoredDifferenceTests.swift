import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker
import ShadowVerifier
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// A user may advance with differences that rules ignore, but not to `complete`, where the other store is given up. A failed verification lets no
/// user advance.
@Suite(.timeLimit(.minutes(5)))
struct IgnoredDifferenceTests {
    private static func rule(kind: StoreDifference.Kind? = nil, expires: Date = .distantFuture) throws -> IgnoreRule {
        try IgnoreRule(
            name: "names are being repaired",
            reason: "the importer trims them",
            entity: "Habit",
            attribute: "name",
            kind: kind,
            expires: expires
        )
    }

    /// A user at a stage whose mirror has another name for each habit, as only a bug could cause.
    private func user(at stage: Stage) throws -> StagedUser {
        let user = try StagedUser(at: stage) { store in
            for name in ["Run", "Read"] { try store.save(Habit(name: name)) }
        }
        let mirror = try user.address(stage.authority == .old ? .new : .old).open(
            .readWrite,
            schema: HabitSchema.current
        )
        defer { mirror.close() }
        let position = try mirror.schema.position(ofEntity: "Habit")
        let layout = mirror.schema.entities[position].layout
        let name = try #require(mirror.schema.entities[position].position(of: "name"))
        try mirror.replicate { replica in
            var changed: [(UUID, EncodedRecord)] = []
            try replica.enumerate(entity: position, after: nil) { id, record in
                var values = try record.values(layout)
                values[name] = .string("another")
                changed.append((id, try EncodedRecord(values, layout: layout)))
                return true
            }
            for (id, record) in changed { try replica.put(entity: position, id: id, record) }
        }
        return user
    }

    private func verified(_ store: UserStore) throws -> EvidenceEvent? {
        try store.files.context.evidence.log.read().records.last {
            if case .verified = $0.event { true } else { false }
        }?
        .event
    }

    @Test func aRuleIsCountedInTheEvidenceAndKeepsTheOldStore() throws {
        let user = try user(at: .rampdown)
        try user.want("complete")
        let rules = try IgnoreRules([try Self.rule()])
        let store = try user.stores { $0.gate.ignoreRules = rules }.store(for: "alice")
        defer { store.close() }
        let report = try store.verify()
        #expect(report.verdict == .ignored)
        #expect(report.ignoredCount == 2)
        guard case .verified(_, _, let verdict, let coverage, let differences, _, let applied) = try verified(store)
        else {
            Issue.record("a verification is in the evidence")
            return
        }
        #expect(verdict == "ignored")
        #expect(coverage == 1)
        #expect(differences == 0)
        #expect(applied == 1)
        #expect(try store.promote().reasons == [.ignoredRules(count: 1)])
        #expect(try store.advance()?.reasons == [.ignoredRules(count: 1)])
        #expect(try store.stage() == .rampdown)
    }

    @Test func withoutTheRuleOrBehindItsTimeTheDifferenceCounts() throws {
        let user = try user(at: .rampdown)
        try user.want("complete")
        for rules in [[], [try Self.rule(expires: .distantPast)]] {
            let rules = try IgnoreRules(rules)
            let store = try user.stores { $0.gate.ignoreRules = rules }.store(for: "alice")
            defer { store.close() }
            #expect(try store.verify().verdict == .mismatch)
            #expect(try store.promote().reasons == [.verificationNotClean(verdict: "mismatch", differences: 2)])
        }
    }

    /// Switching engines gives up the other store for good, which the gate's rules do not permit.
    @Test func onlyTheGateGoesByTheRules() throws {
        let user = try user(at: .shadow)
        let rules = try IgnoreRules([try Self.rule()])
        let store = try user.stores { $0.gate.ignoreRules = rules }.store(for: "alice")
        defer { store.close() }
        #expect(try store.verify().verdict == .ignored)
        #expect(try store.rehearse() != nil)
    }

    /// A verification that threw was not recorded, and the one before it, of the same day, kept the gate open for a store that could no longer be
    /// read.
    @Test func aVerificationThatFailsEndsTheOneBeforeIt() throws {
        let user = try FaultyUser(at: .rampdown)
        try user.staged.want("complete")
        let store = try user.open()
        defer { store.close() }
        #expect(try store.verify().verdict == .match)
        #expect(try store.decision().isOpen)
        let plan = try user.plan(.old)
        plan.inject(Fault(.fail(.corrupt), on: [.read]))
        let error = #expect(throws: HabitStoreError.self) { try store.verify() }
        #expect(error?.code == .corrupt)
        #expect(try store.decision().reasons.contains(.verificationNotClean(verdict: "error", differences: 0)))
        // An advance verifies again and reports what is wrong; once nothing is, it proceeds.
        #expect(throws: HabitStoreError.self) { try store.advance() }
        #expect(try store.stage() == .rampdown)
        user.heal()
        #expect(try store.advance()?.isOpen == true)
        #expect(try store.stage() == .complete)
    }
}
