extension Double {
    /// The number as a person reads it: at most two decimals, none where there are none ("52.5", "3"), and in full
    /// where two decimals would say nothing or the number is too great for them ("0.001", "1e+300").
    var shortText: String {
        guard isFinite, magnitude < 1e15 else { return "\(self)" }
        let rounded = (self * 100).rounded() / 100
        if rounded == 0, self != 0 { return "\(self)" }
        return rounded == rounded.rounded() ? "\(Int(rounded))" : "\(rounded)"
    }
}
