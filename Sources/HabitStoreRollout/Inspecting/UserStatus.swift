import Foundation
@_spi(Engines) import HabitStore

/// Where a user is on the way, as the stores and the evidence have it.
public struct UserStatus: Sendable {
    /// How far the store that follows is.
    public enum Mirror: Sendable, Hashable {
        /// This stage has none.
        case none
        /// There is no store, or it was not filled to its end.
        case notFilled
        /// It has gone another way than the current one, and cannot follow.
        case parted
        /// It is so many transactions behind; 0 when it has everything.
        case behind(Int)
        /// It cannot be read, or the current store cannot.
        case unknown
    }

    /// A difference that was found.
    public struct Difference: Sendable, Hashable {
        /// When.
        public let time: Date
        /// The stage at which.
        public let stage: Stage
        /// What differs, without the user's values.
        public let message: String
    }

    /// What the evidence comes to.
    public struct Evidence: Sendable {
        /// How many records there are.
        public var records = 0
        /// The first line that is not as it was written.
        public var damage: EvidenceChain.Damage?
        /// Whether it ends before the place that the stores remember of it: lines were cut off at its end.
        public var isCutOff = false
        /// Whether every line is there, as far as that can be told.
        public var isIntact: Bool { damage == nil && !isCutOff }
        /// The last difference.
        public var lastDifference: Difference?
        /// The finding that the stores differ which no complete verification has refuted since, at whatever stage; nil where there is none.
        public var openDifference: Difference?
        /// The last verification of this stay, and whether it was clean.
        public var lastVerification: (time: Date, isClean: Bool)?
        /// The last complete verification that found nothing, of this stay or an earlier one.
        public var lastCleanVerification: Date?
        /// The last rehearsal of the way back, and whether it was clean.
        public var lastRehearsal: (time: Date, isClean: Bool)?
        /// The clean shadow reads since the user left `off`.
        public var cleanReadsOnTheWay = 0
    }

    /// Something that is wrong.
    public struct Problem: Sendable {
        /// Where: `sqlite`, `lmdb` or `evidence`.
        public let place: String
        /// What.
        public let error: HabitStoreError
    }

    /// Whose status it is.
    public let user: String
    /// The stage; nil when no store can tell.
    public internal(set) var stage: Stage?
    /// The stage of a move that was begun and not finished; the next operation finishes or undoes it.
    public internal(set) var movingTo: Stage?
    /// The stage that the flags want; nil when they say nothing.
    public internal(set) var wanted: Stage?
    /// The engine that serves at the stage.
    public internal(set) var engine: EngineName?
    /// Whether the user was killed and not re-armed.
    public internal(set) var isKilled = false
    /// What pulls the kill switch for the user now.
    public internal(set) var killTrigger: String?
    /// The current store's token; nil when it cannot be read.
    public internal(set) var token: HistoryToken?
    /// The current store's epoch.
    public internal(set) var epoch: Int?
    /// How far the mirror is.
    public internal(set) var mirror = Mirror.none
    /// The place that the evidence had come to, as the stores remember it.
    var anchor: EvidenceHead? { trust.anchor }
    /// By what lines of the evidence count.
    var trust = EvidenceTrust()
    /// What the evidence comes to.
    public internal(set) var evidence = Evidence()
    /// What the gate would say to the next stage; nil where there is none, or the stage is not known.
    public internal(set) var next: GateDecision?
    /// Why the user stays at a later stage than the flags want; nil otherwise.
    public internal(set) var stays: GateReason?
    /// Why the flags change nothing.
    public internal(set) var notes: [String] = []
    /// What cannot be read, the current store first.
    public internal(set) var problems: [Problem] = []

    init(user: String) { self.user = user }

    /// Why the user is not at the stage that the flags want; empty for one who is there or whom they want nowhere, and where nothing is in
    /// the way.
    public var reasonsNotThere: [GateReason] {
        guard let stage, let wanted, wanted != stage else { return [] }
        return stays.map { [$0] } ?? next?.reasons ?? []
    }

    /// The same in one line, with the user in its commands; nil at the wanted stage.
    ///
    /// - Parameter user: the user's id, quoted for a shell.
    package func whyNotThere(user: String) -> String? {
        guard let stage, let wanted, wanted != stage else { return nil }
        let sentences = reasonsNotThere.map { $0.sentence(user: user) }
        guard sentences.isEmpty else { return sentences.joined(separator: "; ") }
        return "nothing is in the way: `\(OperatorCommand.name) rollout advance --user \(user)` takes the user there"
    }

    /// The clean shadow reads that count at this stage.
    public var cleanShadowReads: Int { next?.cleanShadowReads ?? 0 }
}
