import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// The evidence chain has no key: five lines appended with the right hashes opened the gate for a user without any evidence. Lines in a user's favour
/// count only if the process that wrote them recorded them in the stores.
struct ForgedEvidenceTests {
    /// A user at `shadow` without evidence for the next stage.
    private func unproven() throws -> StagedUser {
        let user = try StagedUser()
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try SampleRecords.fill(store)
        try user.bring(store, to: .shadow)
        try user.want("live")
        return user
    }

    /// Collects everything that the gate to `live` asks for.
    private func prove(_ store: UserStore) throws {
        for _ in 0..<5 { _ = try store.all(Habit.self) }
        store.drainShadowReads(seconds: 60)
        try store.verify()
        #expect(try store.rehearse() == nil)
    }

    /// Everything that the gate to `live` asks for.
    private func goodNews(_ epoch: Int) -> [EvidenceEvent] {
        [
            GateCase.verified(epoch: epoch), .selfCompared(side: .old, token: .zero, isClean: true),
            .selfCompared(side: .new, token: .zero, isClean: true),
            .shadowReads(stage: .shadow, clean: 1_000, different: 0, skewed: 0, failed: 0, shed: 0, epoch: epoch),
            .rehearsed(token: .zero, isClean: true, message: nil),
        ]
    }

    private func epoch(_ user: StagedUser) throws -> Int { try #require(try user.stores().status(of: "alice").epoch) }

    /// Changes the record of the rollout in the serving store.
    private func updateState(_ user: StagedUser, _ change: (inout RolloutState) -> Void) throws {
        let store = try user.address(.old).open(.readWrite, schema: HabitSchema.current)
        defer { store.close() }
        try store.replicate { replica in
            var state = try RolloutState(parsing: try #require(try replica.rolloutState()), path: nil)
            change(&state)
            try replica.setRolloutState(try state.encoded())
        }
    }

    private func vouched(_ user: StagedUser) throws -> AcknowledgedRanges? {
        let store = try user.address(.old).open(.readOnly, schema: HabitSchema.current)
        defer { store.close() }
        let text = try store.replicaRead { try #require(try $0.rolloutState()) }
        return try RolloutState(parsing: text, path: nil).vouched.flatMap { AcknowledgedRanges($0) }
    }

    private func decision(_ user: StagedUser, keys: EvidenceKeys? = nil) throws -> GateDecision {
        return try user.stores { $0.evidenceKeys = keys }.with { try $0.decision(for: .live) }
    }

    // MARK: Without a key

    @Test func linesThatTheStoresWereNotToldOfOpenNoGate() throws {
        let user = try unproven()
        try EvidenceLog(user.directory).append(goodNews(try epoch(user)), at: Date())
        let stores = try user.stores()
        let store = try stores.store(for: "alice")
        let reasons = try store.promote(to: .live).reasons
        #expect(reasons.contains(.verificationMissing) && reasons.contains(.selfComparisonMissing(side: .new)))
        #expect(reasons.contains { if case .tooFewShadowReads = $0 { true } else { false } })
        #expect(try store.stage() == .shadow)
        store.close()
        #expect(try stores.uncountedEvidence(of: "alice").notAnchored == 5)
        #expect(try stores.examine("alice").contains { $0.kind == .evidenceUncounted })
        let status = try stores.status(of: "alice")
        #expect(status.next?.isOpen == false && status.evidence.isIntact)
    }

    @Test func whatIsProvenBesideThemOpensIt() throws {
        let user = try unproven()
        try EvidenceLog(user.directory).append(goodNews(try epoch(user)), at: Date())
        try user.with { try prove($0) }
        #expect(try decision(user).isOpen)
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        #expect(try store.promote(to: .live).isOpen)
    }

    /// A process counts its own lines before they are recorded in the stores, and other processes count them after.
    @Test func whatSeveralProcessesHaveProvenCountsTogether() throws {
        let user = try unproven()
        let first = try user.stores().store(for: "alice")
        let second = try user.stores().store(for: "alice")
        for _ in 0..<2 { _ = try first.all(Habit.self) }
        first.drainShadowReads(seconds: 60)
        try second.verify()
        _ = try second.all(Habit.self)
        second.drainShadowReads(seconds: 60)
        #expect(try first.rehearse() == nil)
        second.close()
        #expect(try first.decision(for: .live).isOpen)
        first.close()
        #expect(try decision(user).isOpen)
        #expect(try user.stores().uncountedEvidence(of: "alice").sentence == nil)
    }

    /// A move carried forged rehearsals into the next stage, where they would have counted.
    @Test func aMoveMakesThemNoBetter() throws {
        let user = try StagedUser()
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try SampleRecords.fill(store)
        try user.bring(store, to: .dualwrite)
        try EvidenceLog(user.directory).append([.rehearsed(token: .zero, isClean: true, message: nil)], at: Date())
        try user.bring(store, to: .shadow)
        #expect(try store.decision(for: .live).reasons.contains(.rollbackNotRehearsed))
    }

    @Test func aCheckpointThatTheStoresWereNotToldOfIsNotBegunAt() throws {
        let user = try unproven()
        let log = try EvidenceLog(user.directory)
        let summary = try log.summary()
        var evidence = summary.evidence
        for record in EvidenceChain(try EvidenceSample.bytes(goodNews(try epoch(user)), at: Date())).records {
            evidence.take(record)
        }
        let state = EvidenceCheckpoint(records: summary.records, anchor: summary.head, evidence: evidence)
        try log.append([.checkpoint(state)], at: Date())
        #expect(try log.summary().evidence.verification != nil)
        #expect(try decision(user).reasons.contains(.verificationMissing))
    }

    @Test func linesInThePlaceOfThoseThatTheStoresKnowCloseTheGate() throws {
        let user = try unproven()
        let log = try EvidenceLog(user.directory)
        let before = try Data(contentsOf: URL(fileURLWithPath: log.path))
        try user.with { try prove($0) }
        #expect(try decision(user).isOpen)
        // Truncated to the anchor of the last move, and refilled with other lines of the same numbers.
        try before.write(to: URL(fileURLWithPath: log.path))
        #expect(try decision(user).reasons.contains(.anchorMissing))
        try log.append(goodNews(try epoch(user)), at: Date())
        #expect(try decision(user).reasons.contains(.anchorMissing))
    }

    /// A forged line that dates the user's admission to an old epoch would have let reads of an earlier stay count.
    @Test func nobodyIsSaidToHaveComeEarlierByALineThatDoesNotCount() {
        let before = String(repeating: "0", count: 64)
        let time = Date(timeIntervalSince1970: 0)
        func record(_ event: EvidenceEvent) -> EvidenceRecord {
            EvidenceRecord(sequence: 1, time: time, event: event, previous: before, hash: before)
        }
        func clean(afterAdmission counts: Bool) -> Bool {
            var evidence = StageEvidence()
            evidence.take(
                record(.stageChanged(from: .dualwrite, to: .shadow, epoch: 5, token: .zero, reason: .promoted))
            )
            evidence.take(record(.admitted(to: .shadow, epoch: 1)), counts: counts)
            evidence.take(
                record(.shadowReads(stage: .shadow, clean: 9, different: 0, skewed: 0, failed: 0, shed: 0, epoch: 3))
            )
            return !evidence.cleanReads.groups.isEmpty
        }
        #expect(clean(afterAdmission: true))
        #expect(!clean(afterAdmission: false))
    }

    @Test func badNewsCountsWhoeverHasWrittenIt() throws {
        let user = try unproven()
        try user.with { try prove($0) }
        #expect(try decision(user).isOpen)
        try EvidenceLog(user.directory).append(
            [.difference(stage: .shadow, token: .zero, message: "they differ", epoch: nil)],
            at: Date()
        )
        #expect(try decision(user).reasons.contains(.shadowDifferences(count: 1)))
    }

    /// A process that died between writing a line and recording it in the stores does not block the user.
    @Test func whatADeadProcessHasNotToldIsProvenAnew() throws {
        let user = try unproven()
        do {
            let store = try user.stores().store(for: "alice")
            for _ in 0..<5 { _ = try store.all(Habit.self) }
            store.drainShadowReads(seconds: 60)
            try store.opened().record([GateCase.verified(epoch: try epoch(user))])
            store.files.context.evidence.unanchored.withLock { $0 = UnanchoredEvidence() }
            store.close()
        }
        #expect(try decision(user).reasons.contains(.verificationMissing))
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        for _ in 0..<5 { _ = try store.all(Habit.self) }
        #expect(try store.advance(to: .live)?.isOpen == true)
    }

    /// After a move by an earlier version the stores have no list of lines: that version's lines count until this version records its own, and remain
    /// valid then.
    @Test func linesOfAnEarlierVersionAreTakenUp() throws {
        let user = try unproven()
        try updateState(user) { $0.vouched = nil }
        try EvidenceLog(user.directory).append(goodNews(try epoch(user)), at: Date())
        #expect(try decision(user).isOpen)
        try user.with { try $0.verify() }
        #expect(try decision(user).isOpen)
        let vouched = try #require(try vouched(user))
        #expect(vouched.ranges.count == 1 && vouched.contains(1))
        try EvidenceLog(user.directory).append([.repaired(token: .zero, records: 1)], at: Date())
        try EvidenceLog(user.directory).append(goodNews(try epoch(user)), at: Date())
        #expect(try decision(user).isOpen == false)
    }

    @Test func aLongLogIsArchivedWithoutLosingWhatCounts() throws {
        let user = try unproven()
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try prove(store)
        let filler = EvidenceEvent.refused(to: .live, reasons: EvidenceSample.reasons)
        for _ in 0..<20 { try store.opened().record(Array(repeating: filler, count: 10)) }
        #expect(try store.archiveEvidence() != nil)
        #expect(try store.decision(for: .live).isOpen)
        store.close()
        #expect(try decision(user).isOpen)
        #expect(try user.stores().verifyEvidence(of: "alice").isWhole)
    }

    // MARK: With a key

    private static func keys(_ names: String...) throws -> EvidenceKeys {
        try EvidenceKeys(names.map { Data(String(repeating: $0, count: 32).utf8) })
    }

    @Test func linesWithoutTheKeysSealOpenNoGate() throws {
        let keys = try Self.keys("k")
        let user = try StagedUser()
        do {
            let store = try user.stores { $0.evidenceKeys = keys }.store(for: "alice")
            defer { store.close() }
            try SampleRecords.fill(store)
            try user.bring(store, to: .shadow)
            try user.want("live")
        }
        // Even a forger who can write to the stores cannot vouch for lines.
        for forger in [nil, try Self.keys("f")] {
            let log = EvidenceLog(try user.directory, keys: forger)
            try log.append(goodNews(try epoch(user)), at: Date())
            let head = try log.head()
            try updateState(user) { state in
                state.evidence = head
                state.vouched = AcknowledgedRanges(through: head.sequence).text
            }
        }
        #expect(try decision(user).isOpen)
        let reasons = try decision(user, keys: keys).reasons
        #expect(reasons.contains(.verificationMissing) && reasons.contains(.rollbackNotRehearsed))
        let stores = try user.stores { $0.evidenceKeys = keys }
        #expect(try stores.uncountedEvidence(of: "alice").notSealed == 10)
        let store = try stores.store(for: "alice")
        defer { store.close() }
        try prove(store)
        #expect(try store.promote(to: .live).isOpen)
    }

    /// Introducing a key for a user with evidence: earlier lines no longer count, and everything must be verified again.
    @Test func withAKeyThatIsNewTheGateBeginsAnew() throws {
        let user = try unproven()
        try user.with { try prove($0) }
        let keys = try Self.keys("k")
        #expect(try decision(user).isOpen)
        #expect(try decision(user, keys: keys).isOpen == false)
        let store = try user.stores { $0.evidenceKeys = keys }.store(for: "alice")
        for _ in 0..<5 { _ = try store.all(Habit.self) }
        store.drainShadowReads(seconds: 60)
        #expect(try store.decision(for: .live).reasons.contains(.verificationMissing))
        try prove(store)
        store.close()
        #expect(try decision(user, keys: keys).isOpen)
        // Without the key nothing is lost, and a different key proves nothing.
        #expect(try decision(user).isOpen)
        #expect(try decision(user, keys: try Self.keys("l")).isOpen == false)
        // A new key goes before the old one.
        #expect(try decision(user, keys: try Self.keys("l", "k")).isOpen)
    }

    @Test func aSealIsBoundToItsUserAndItsPlace() throws {
        let folder = try TemporaryFolder()
        let seal = EvidenceSeal(keys: try Self.keys("k"), owner: "a")
        let log = EvidenceLog(path: folder.path("evidence.jsonl"), seal: seal)
        try log.append([.killed(trigger: "a"), .killed(trigger: "b")], at: GateCase.now)
        let lines = try Data(contentsOf: URL(fileURLWithPath: log.path)).split(separator: 10).map { Array($0 + [10]) }
        func holds(_ seal: EvidenceSeal, _ line: [UInt8]) -> Bool { line.withUnsafeBytes { seal.holds($0) } }
        #expect(lines.count == 2 && lines.allSatisfy { holds(seal, $0) })
        #expect(!holds(EvidenceSeal(keys: seal.keys, owner: "b"), lines[0]))
        #expect(!holds(EvidenceSeal(keys: try Self.keys("l"), owner: "a"), lines[0]))
        for place in EvidenceLine.payloadStart..<lines[0].count {
            var changed = lines[0]
            changed[place] ^= 1
            #expect(!holds(seal, changed), "byte \(place)")
        }
        #expect(!holds(seal, Array(lines[0].dropLast(76))) && !holds(seal, []))
        // A reader without keys sees the same records.
        #expect(try EvidenceLog(path: log.path).read().isIntact)
    }

    // MARK: Keys

    @Test func aFileOfKeysIsForItsOwnerAlone() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("keys")
        let key = String(repeating: "0123456789abcdef", count: 2)
        try Data("\(key)\n\(key)2\n".utf8).write(to: URL(fileURLWithPath: path))
        for mode in [0o640, 0o604, 0o620] {
            #expect(chmod(path, mode_t(mode)) == 0)
            #expect(throws: HabitStoreError.self) { try EvidenceKeys(path: path) }
        }
        #expect(chmod(path, 0o600) == 0)
        let keys = try EvidenceKeys(path: path)
        #expect(keys == (try EvidenceKeys([Data(key.utf8), Data("\(key)2".utf8)])))
        var text = "\(keys)" + String(reflecting: keys)
        dump(EvidenceSeal(keys: keys, owner: "a"), to: &text)
        #expect(!text.contains("0123") && !text.contains("MDEy"))
    }

    @Test(arguments: ["", "\n", "short\n", "0123456789abcdef0123456789abcde", "0123456789abcdef 0123456789abcdef\n"])
    func anythingElseIsNoFileOfKeys(text: String) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("keys")
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        #expect(chmod(path, 0o600) == 0)
        let error = #expect(throws: HabitStoreError.self) { try EvidenceKeys(path: path) }
        #expect(error?.code == .invalidValue)
        #expect(error?.location.path == path)
        let missing = #expect(throws: HabitStoreError.self) { try EvidenceKeys(path: path + ".none") }
        #expect(missing?.code == .notFound)
    }

    // MARK: Lists of lines

    @Test func rangesJoinAndTheOldestGo() throws {
        var lines = AcknowledgedRanges()
        lines.insert(5, 6)
        lines.insert(1, 2)
        lines.insert(9, 9)
        #expect(lines.text == "1-2,5-6,9-9")
        lines.insert(3, 4)
        #expect(lines.text == "1-6,9-9" && lines.contains(6) && !lines.contains(7))
        #expect(AcknowledgedRanges(lines.text) == lines && AcknowledgedRanges("") == AcknowledgedRanges())
        for number in 0..<40 { lines.insert(20 + 2 * number, 20 + 2 * number) }
        #expect(lines.ranges.count == AcknowledgedRanges.maximumRanges && !lines.contains(1) && lines.contains(98))
        lines.insert(0, 5)
        lines.insert(7, 6)
        lines.insert(1, .max)
        #expect(!lines.contains(5) && !lines.contains(.max))
    }

    @Test(arguments: [
        "1", "2-1", "1-2,2-3", "0-1", "-1-2", "1-2,", "1-99999999999999999999", "1-9223372036854775807", "a-b",
    ])
    func anotherListVouchesForNothing(text: String) {
        #expect(AcknowledgedRanges(text) == nil)
        var state = RolloutState(stage: .shadow, engines: Engines.standard.pair(old: .sqlite))
        state.vouched = text
        #expect(EvidenceTrust(state, seal: nil).vouched == AcknowledgedRanges())
    }
}
