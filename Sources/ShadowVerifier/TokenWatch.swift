import HabitStore

/// Observations of two stores' tokens while waiting for equal ones.
struct TokenWatch {
    /// How long to wait for stores that stand still, in seconds: no process is working that could bring them together.
    private static let stillnessSeconds = 0.5

    private let limit: Int
    private var tries = 0
    private var first: (a: HistoryToken, b: HistoryToken)?
    private var last: (a: HistoryToken, b: HistoryToken)?
    private var stillSince = ContinuousClock.now

    /// - Parameter limit: how often tokens are looked at, at most.
    init(limit: Int) { self.limit = limit }

    /// Notes two tokens that are not equal.
    ///
    /// - Returns: whether another look may help.
    mutating func goesOn(_ a: HistoryToken, _ b: HistoryToken) -> Bool {
        tries += 1
        first = first ?? (a, b)
        if let last, last == (a, b) {
            if ContinuousClock.now - stillSince > .seconds(Self.stillnessSeconds) { return false }
        } else {
            stillSince = .now
        }
        last = (a, b)
        return tries < limit
    }

    /// Why the two cannot be compared.
    func reason(_ nameA: String, _ nameB: String) -> String {
        guard let first, let last else { return "the stores stand at different tokens" }
        let now = "\(nameA) is at token \(last.a) and \(nameB) at token \(last.b) of the same history"
        guard first != last else {
            return now
                + ": bring the one at the lower token up to date with `\(OperatorCommand.name) copy`, or find out by `\(OperatorCommand.name) rollout doctor` why a "
                + "user's store does not follow, then verify again"
        }
        return now
            + "; in \(tries) looks they were never equal, from \(first.a) and \(first.b) on: verify again when there are "
            + "fewer writers"
    }
}
