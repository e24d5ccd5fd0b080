import HabitStore
import HabitStoreReports
import HabitStoreRollout

/// What the gate said to one user's promotion, or to the last step of an advance.
struct PromotionReport: Encodable {
    let user: String
    /// Where the user was before.
    let from: Stage
    /// Where the user is now.
    let to: Stage
    /// Where the user was to go; nil when the flags want nothing.
    let wanted: Stage?
    /// Why nobody can tell where the user was to go; nil where the flags say it, or there are none.
    let flagFailure: String?
    let reasons: [GateReason]
    /// The reasons in words.
    let sentences: [String]
    let cleanShadowReads: Int
    let upperBound: Double?

    /// Why the store that follows does not, where the gate refused; nil where nothing is known to keep it.
    let mirrorFailure: String?

    init(_ store: UserStore, from: Stage, _ decision: GateDecision?) throws {
        user = store.user
        self.from = from
        to = try store.stage()
        (wanted, flagFailure) = (store.wantedStage, store.flagFailure)
        let isRefused = decision.map { !$0.isOpen } ?? false
        reasons = isRefused ? decision?.reasons ?? [] : []
        sentences = reasons.map { $0.sentence(user: ShellWord.quoted(store.user)) }
        cleanShadowReads = decision?.cleanShadowReads ?? 0
        upperBound = decision?.upperBound
        if isRefused, case .lagging(_, let error) = store.mirrorStatus {
            mirrorFailure = error.description
        } else {
            mirrorFailure = nil
        }
    }

    var isRefused: Bool { !reasons.isEmpty }
    /// Whether the user was to go forward, and not back.
    private var isTakenForward: Bool { wanted.map { $0 >= to } ?? true }

    /// What became of the user, and under it every reason why not more.
    var text: String {
        var text = from == to ? "\(user): stays at \(to.rawValue)\n" : "\(user): \(from.rawValue) → \(to.rawValue)\n"
        if isRefused {
            let words = [isTakenForward ? "refused" : nil, wanted.map { "\($0.rawValue) is wanted" }]
            text += "  \(words.compactMap { $0 }.joined(separator: ", ")):\n"
            for sentence in sentences { text += "  - \(sentence)\n" }
            if let mirrorFailure { text += "  the mirror cannot follow: \(mirrorFailure)\n" }
        }
        return text.split(separator: "\n").map { TerminalText.escaped(String($0)) + "\n" }.joined()
    }
}
