extension VerificationReport {
    /// Counts a difference, and lists it with its identifier and the rule that ignores it.
    ///
    /// - Parameter limit: how many are listed.
    /// - Returns: the identifier; nil when it is counted only.
    mutating func note(_ difference: StoreDifference, limit: Int) -> String? {
        var difference = difference
        differenceCount += 1
        if let position = ignoreRules.firstIndex(where: { !$0.isExpired && $0.rule.covers(difference) }) {
            ignoreRules[position].differences += 1
            ignoredCount += 1
            difference.ignoredBy = ignoreRules[position].rule.name
        }
        guard makeRoom(for: difference, limit: limit) else { return nil }
        difference.distinguish(from: differences)
        differences.append(difference)
        return difference.differenceID
    }

    /// Ignored differences never keep others from being listed.
    private mutating func makeRoom(for difference: StoreDifference, limit: Int) -> Bool {
        if differences.count < limit { return true }
        guard ignoredCount > 0, difference.ignoredBy == nil,
            let last = differences.lastIndex(where: { $0.ignoredBy != nil })
        else { return false }
        differences.remove(at: last)
        return true
    }

    /// Sets the verdict of a comparison that finished.
    mutating func conclude() {
        if openDifferenceCount > 0 {
            verdict = .mismatch
        } else if failure != nil {
            verdict = .error
        } else {
            verdict = ignoredCount > 0 ? .ignored : .match
        }
    }

    /// Draws the verdict of a comparison that was cut short: a difference stays one, and without any nothing is proven.
    mutating func conclude(cutShort verdict: Verdict, at level: String, reason: String) {
        self.verdict = openDifferenceCount > 0 ? .mismatch : verdict
        self.reason = reason
        notCompared.append("\(level), and the levels after it: \(reason)")
    }
}
