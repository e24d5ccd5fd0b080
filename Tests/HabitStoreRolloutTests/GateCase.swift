import Foundation
import HabitStore

@testable import HabitStoreRollout

/// A user with all evidence that the gate to the next stage asks for, from which tests remove parts.
struct GateCase {
    static let now = EvidenceSample.start
    static let epoch = 5

    let stage: Stage
    private(set) var events: [(EvidenceEvent, Date)]

    /// - Parameter version: the format of the lines when the user reached the stage; nil for an earlier version's.
    init(_ stage: Stage, version: Int? = EvidenceEvent.currentVersion) {
        self.stage = stage
        events = [
            (Self.entry(stage, version: version), Self.now), (Self.verified(), Self.now), (Self.reads(stage), Self.now),
            (.rehearsed(token: .zero, isClean: true, message: nil), Self.now),
        ]
        events += StoreSide.allCases.map { (.selfCompared(side: $0, token: .zero, isClean: true), Self.now) }
    }

    static func entry(_ stage: Stage, version: Int? = EvidenceEvent.currentVersion) -> EvidenceEvent {
        .stageChanged(from: .off, to: stage, epoch: epoch, token: .zero, reason: .promoted, version: version)
    }

    static func reads(_ stage: Stage, _ clean: Int = 1_000) -> EvidenceEvent {
        .shadowReads(stage: stage, clean: clean, different: 0, skewed: 3, failed: 2, shed: 1, epoch: epoch)
    }

    static func verified(
        _ verdict: String = "match",
        epoch: Int = epoch,
        coverage: Double = 1,
        differences: Int = 0,
        ignoredRules: Int = 0
    ) -> EvidenceEvent {
        .verified(
            token: .zero,
            epoch: epoch,
            verdict: verdict,
            coverage: coverage,
            differences: differences,
            anomalies: 4,
            ignoredRules: ignoredRules
        )
    }

    /// With an event after the others, recorded `age` seconds ago.
    func adding(_ event: EvidenceEvent, age: Double = 0) -> Self {
        var copy = self
        copy.events.append((event, Self.now.addingTimeInterval(-age)))
        return copy
    }

    /// Without the events of a case.
    func without(_ name: String) -> Self {
        var copy = self
        copy.events.removeAll { String(describing: $0.0).hasPrefix(name + "(") }
        return copy
    }

    func facts() throws -> GateInput {
        GateInput(
            evidence: EvidenceSummary(try EvidenceSample.chain(events), anchor: .start),
            lag: 0,
            isBackfilled: true,
            isKilled: false
        )
    }

    /// The reasons of the gate to the next stage, with changed facts.
    func reasons(
        _ policy: GatePolicy = GatePolicy(),
        _ change: (inout GateInput) throws -> Void = { _ in }
    ) throws -> [GateReason] {
        var facts = try facts()
        try change(&facts)
        return Gate(policy: policy).decide(from: stage, to: stage.next ?? .off, facts: facts, now: Self.now).reasons
    }
}
