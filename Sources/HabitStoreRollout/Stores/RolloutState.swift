import Foundation
import HabitStore
import JSONText

/// The rollout state in each of a user's stores, next to its role and epoch.
struct RolloutState: Sendable, Hashable {
    /// The user's stage when this store was last updated.
    var stage: Stage
    /// The engine that the user comes from, and the one that the user moves to.
    var engines: EnginePair
    /// Whether the kill switch took the user back, and the user was not re-armed since.
    var isKilled = false
    /// The engine that a killed user left: the user does not return to it before a re-arm, whatever the flags call it.
    var fled: EngineName?
    /// The head of the user's evidence at the last move, or later: cutting off the evidence before it is detectable.
    var evidence: EvidenceHead?
    /// The lines up to that head that their writers reported to the store, in the form of ``AcknowledgedRanges/text``; nil if an earlier version made the
    /// last move.
    var vouched: String?
    /// In a sealed store, the target of the move, or the present stage if another machine has accepted the other store; in a store on standby, the
    /// target of a move that can only be finished from there.
    var movingTo: Stage?
    /// The machine that the user belongs to, in the form of ``Machine/text``; nil for a user who belongs to none, and where both engines use files.
    /// Only in the text in a store.
    var machine: String?
    /// How the flags decided which engine is the old one: nil for a rule, and in a state of an earlier version.
    var pairedBy: Placement?
    /// How the flags placed the user at the stage, which matters only after `off`; nil if unknown, as in states of earlier versions.
    var placedBy: Placement?
    /// The user whose store it is, in the form of ``UserDirectory/owner``; only in the text in a store.
    var owner: String?
    /// The identities of the flag files that have put the user on another engine, separated by commas: each does so once, so that files that disagree
    /// do not move the user back and forth.
    var turns: String?

    func engine(_ side: StoreSide) -> EngineName { side == .old ? engines.old : engines.new }

    func side(_ engine: EngineName) -> StoreSide { engine == engines.old ? .old : .new }

    /// Whether an old store on standby in this state has everything that was ever acknowledged or shown: at these stages it is written before the new
    /// one.
    var hasAllAcknowledged: Bool { stage.awaitsMirror }

    /// The text in a store.
    func encoded() throws -> String {
        // Sorted, so that equal states have equal bytes.
        try JSON.encoded(self, [])
    }

    /// Reads the text in a store.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` for anything else.
    init(parsing text: String, path: String?) throws {
        do {
            // Every opening reads it, and Foundation's decoder takes many times as long.
            try self.init(try JSON(parsing: Array(text.utf8)))
        } catch {
            throw HabitStoreError(
                .corrupt,
                "the store's record of its user's stage cannot be read; restore the file, or verify and re-arm the user",
                at: .init(path: path),
                underlying: error
            )
        }
    }

    /// How many flag files to remember.
    private static let mostSwaps = 16

    /// Whether a flag file has already put the user on another engine.
    func hasSwapped(by flags: String) -> Bool { turns?.split(separator: ",").contains { $0 == flags } ?? false }

    /// Notes that a flag file has put the user on another engine, or was the first to place the user.
    mutating func rememberSwap(by flags: String) {
        let known = (turns ?? "").split(separator: ",").map(String.init).filter { $0 != flags } + [flags]
        turns = known.suffix(Self.mostSwaps).joined(separator: ",")
    }

    /// Sets the head of the evidence, and the lines that count.
    mutating func remember(_ trust: EvidenceTrust?) {
        guard let trust, let anchor = trust.anchor else { return }
        evidence = anchor
        vouched = trust.takingUpEarlierLines().vouched?.text
    }

    /// The state of a user whose store no rollout has touched.
    init(unknown engine: EngineName, _ engines: EnginePair) {
        self.init(stage: engine == engines.new ? .complete : .off, engines: engines)
    }

    init(stage: Stage, engines: EnginePair, isKilled: Bool = false, movingTo: Stage? = nil) {
        self.stage = stage
        self.engines = engines
        self.isKilled = isKilled
        self.movingTo = movingTo
    }
}

/// A user's actual stage, according to the stores.
struct ActualStage: Sendable {
    /// The stage, and which engine is the old one.
    var state: RolloutState
    /// The epoch of the authoritative store.
    var epoch: Int
    /// The authoritative store's token when it was read.
    var token: HistoryToken
    /// Why the mirror cannot take writes at a stage that needs it, so that none can be acknowledged.
    var obstacle: HabitStoreError?
    /// What happened on the way here, for operators.
    var notes: [String] = []

    /// What shows that the user's folder, or a part of it, was restored from a copy; nil if nothing does.
    var putBack: String?

    var stage: Stage { state.stage }

    /// The engine of the authoritative store.
    var engine: EngineName { state.engine(state.stage.authority) }

    var other: EngineName { state.engine(state.stage.authority.other) }
}

extension EvidenceTrust {
    /// The trust that a store's state gives.
    init(_ state: RolloutState?, seal: EvidenceSeal?) {
        // An unreadable list acknowledges no lines.
        let vouched = state?.vouched.map { AcknowledgedRanges($0) ?? AcknowledgedRanges() }
        self.init(anchor: state?.evidence, vouched: vouched, seal: seal)
    }
}
