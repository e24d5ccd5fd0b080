import Foundation
import HabitStore

/// What each of a user's stores keeps about the rollout, beside its role and epoch.
struct RolloutState: Sendable, Hashable {
    /// The user's stage, as this store was told last.
    var stage: Stage
    /// The engine that the user comes from, and the one that the user goes to.
    var engines: EnginePair
    /// Whether the kill switch took the user back and nobody has re-armed since.
    var isKilled = false
    /// The engine that a killed user fled from: whatever flags call it, nobody is taken there before the user is re-armed.
    var fled: EngineName?
    /// The place that the user's evidence had come to at the last move, or later: it cannot be cut off before it unseen.
    var evidence: EvidenceHead?
    /// The lines up to that place of which the processes that wrote them told the store, as ``VouchedLines/text`` has them; nil
    /// where an earlier version made the last move.
    var vouched: String?
    /// In a sealed store, where the move was to go, or where it is where another machine has accepted the other store; in one on
    /// standby, where a move goes that can only be finished from there.
    var movingTo: Stage?
    /// The machine that the user belongs to, as ``Machine/text`` has it; nil for one who belongs to none, and where both engines keep
    /// files. Only in the text that a store keeps.
    var machine: String?
    /// How the flags decided which engine is the old one: nil for a rule, and where an earlier version wrote the state.
    var pairedBy: Placement?
    /// How the flags put the user at the stage, which matters beyond `off` only; nil where that was not written down, as by earlier versions.
    var placedBy: Placement?
    /// Whose store it is, as ``UserDirectory/owner`` has it; only in the text that a store keeps.
    var owner: String?
    /// The flag files that have put the user on another engine, by their identities with commas between them: each does so
    /// once, so that files which disagree do not move the user to and fro.
    var turns: String?

    /// The engine of a side.
    func engine(_ side: StoreSide) -> EngineName { side == .old ? engines.old : engines.new }

    /// The side of an engine.
    func side(_ engine: EngineName) -> StoreSide { engine == engines.old ? .old : .new }

    /// Whether a store on standby, being the old one and in this state, holds everything that was ever acknowledged or
    /// shown: in these stages it is written before the new one.
    var claimsAll: Bool { stage.awaitsMirror }

    /// The text that a store keeps.
    func encoded() throws -> String {
        let encoder = JSONEncoder()
        // Sorted, so that equal states are equal bytes.
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    /// Reads the text that a store keeps.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` for anything else.
    init(parsing text: String, path: String?) throws {
        if let state = Self(canonical: text) {
            self = state
            return
        }
        do {
            self = try JSONDecoder().decode(Self.self, from: Data(text.utf8))
        } catch {
            throw HabitStoreError(
                .corrupt,
                "the store's record of its user's stage cannot be read; restore the file, or verify and re-arm the user",
                at: .init(path: path),
                underlying: error
            )
        }
    }

    /// How many flag files are remembered.
    private static let mostTurns = 16

    /// Whether a flag file has put the user on another engine already.
    func hasTurned(by flags: String) -> Bool { turns?.split(separator: ",").contains { $0 == flags } ?? false }

    /// A flag file puts the user on another engine, or was the first to say where the user is.
    mutating func noteTurn(by flags: String) {
        let known = (turns ?? "").split(separator: ",").map(String.init).filter { $0 != flags } + [flags]
        turns = known.suffix(Self.mostTurns).joined(separator: ",")
    }

    /// Remembers how far the evidence has come, and which lines count.
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
