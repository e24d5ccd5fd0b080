extension Double {
    /// The number for people: at most two decimals and none if they are zero ("52.5", "3"), and unrounded if two decimals would show zero or the
    /// number is too large ("0.001", "1e+300").
    var shortText: String {
        guard isFinite, magnitude < 1e15 else { return "\(self)" }
        let rounded = (self * 100).rounded() / 100
        if rounded == 0, self != 0 { return "\(self)" }
        return rounded == rounded.rounded() ? "\(Int(rounded))" : "\(rounded)"
    }
}
