import HabitStoreImport

/// A time of day as text: ` 07:30`, `T07:30:15.25`, with or without an offset.
struct TableTime {
    /// Whole seconds since midnight.
    let second: Int
    /// The fraction of a second in microseconds, truncated so that the last moment of a day does not move to the next day.
    let fraction: Double
    let fractionDigits: Int
    /// Seconds east of UTC; nil for a wall-clock time.
    let offset: Int?

    /// Parses a whole text; nil if any part of it is not understood.
    init?(_ text: Substring) {
        guard let first = text.first, first == " " || first == "T" else { return nil }
        let clock = text.dropFirst().prefix { "0123456789:.".contains($0) }
        let parts = clock.split(separator: ":", omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count), let hour = Self.number(parts[0], 1...2, below: 24),
            let minute = Self.number(parts[1], 2...2, below: 60)
        else { return nil }
        let seconds = parts.count == 3 ? parts[2].split(separator: ".", omittingEmptySubsequences: false) : ["00"]
        guard seconds.count <= 2, let second = Self.number(seconds[0], 2...2, below: 60) else { return nil }
        self.second = hour * 3_600 + minute * 60 + second
        if seconds.count == 2 {
            guard Self.number(seconds[1], 1...9, below: .max) != nil,
                let fraction = Double("0." + seconds[1].prefix(6))
            else { return nil }
            self.fraction = fraction
        } else {
            fraction = 0
        }
        fractionDigits = seconds.count == 2 ? seconds[1].utf8.count : 0
        var rest = text.dropFirst(1 + clock.count)
        if rest.isEmpty {
            offset = nil
            return
        }
        if rest.first == " " { rest = rest.dropFirst() }
        guard let offset = Self.offset(rest) else { return nil }
        self.offset = offset
    }

    /// Parses `Z`, `+02`, `+0200` or `+02:00`.
    private static func offset(_ text: Substring) -> Int? {
        if text == "Z" { return 0 }
        guard let sign = text.first, sign == "+" || sign == "-" else { return nil }
        let digits = text.dropFirst()
        var minutes = digits.dropFirst(2)
        if minutes.first == ":" { minutes = minutes.dropFirst() } else if minutes.isEmpty { minutes = "00" }
        guard let hour = number(digits.prefix(2), 2...2, below: 24), let minute = number(minutes, 2...2, below: 60)
        else { return nil }
        let seconds = hour * 3_600 + minute * 60
        // No time zone is further from UTC.
        guard seconds <= 18 * 3_600 else { return nil }
        return sign == "-" ? -seconds : seconds
    }

    private static func number(_ text: Substring, _ width: ClosedRange<Int>, below limit: Int) -> Int? {
        guard width.contains(text.utf8.count), let number = SourceMoment.number(text), number < limit else {
            return nil
        }
        return number
    }
}
