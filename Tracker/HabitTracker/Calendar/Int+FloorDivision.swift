extension Int {
    /// The quotient rounded down, also for a negative dividend: day −1 is in week −1, not in week 0.
    ///
    /// All callers pass a positive `divisor`.
    func floorDivided(by divisor: Int) -> Int {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
