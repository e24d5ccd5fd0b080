import HabitStore
import HabitStoreReports
import HabitStoreRollout

/// The gate's answer to a user's promotion, or to the last step of an advance.
struct PromotionReport: Encodable {
    let user: String
    /// The user's stage before.
    let from: Stage
    /// The user's stage now.
    let to: Stage
    /// The stage that the flags want; nil if they want none.
    let wanted: Stage?
    /// Why the wanted stage is unknown; nil if the flags say it, or there are none.
    let flagFailure: String?
    let reasons: [GateReason]
    /// The reasons in words.
    let sentences: [String]
    let cleanShadowReads: Int
    let upperBound: Double?

    /// Why the mirror does not follow, if the gate refused; nil if no reason is known.
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
    /// Whether the flags want the user to move forward, not back.
    private var isTakenForward: Bool { wanted.map { $0 >= to } ?? true }

    /// The result, followed by every reason why the user did not get further.
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
