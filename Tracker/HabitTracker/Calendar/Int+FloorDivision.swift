extension Int {
    /// The quotient rounded down, also for a negative dividend: day −1 lies in week −1, not in week 0.
    ///
    /// `divisor` is above 0 wherever this is called.
    func floorDivided(by divisor: Int) -> Int {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
