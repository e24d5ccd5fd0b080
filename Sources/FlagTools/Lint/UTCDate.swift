import FeatureFlags

/// Parses times that people write into seconds since 1970, which rules compare.
enum UTCDate {
    /// The seconds of `2026-12-01` or `2026-12-01T08:30`, optionally with seconds and a `Z`, in UTC; nil for other texts.
    static func seconds(of text: String) -> Int64? {
        var text = Substring(text)
        if text.last == "Z" { text = text.dropLast() }
        let halves = text.split(separator: text.contains("T") ? "T" : " ", omittingEmptySubsequences: false)
        guard (1...2).contains(halves.count), let days = days(halves[0]) else { return nil }
        guard halves.count == 2 else { return days * 86_400 }
        guard let time = numbers(halves[1], separator: ":"), (2...3).contains(time.count), time[0] < 24, time[1] < 60,
            time.count == 2 || time[2] < 60
        else { return nil }
        return days * 86_400 + time[0] * 3600 + time[1] * 60 + (time.count == 3 ? time[2] : 0)
    }

    private static func days(_ text: Substring) -> Int64? {
        guard let date = numbers(text, separator: "-"), date.count == 3, (1970...9999).contains(date[0]),
            (1...12).contains(date[1]), (1...31).contains(date[2])
        else { return nil }
        // The year begins in March, so that the leap day is its last day.
        let year = date[1] > 2 ? date[0] : date[0] - 1
        let month = date[1] > 2 ? date[1] - 3 : date[1] + 9
        let leapDays = year / 4 - year / 100 + year / 400
        return year * 365 + leapDays + (153 * month + 2) / 5 + date[2] - 1 - 719_468
    }

    private static func numbers(_ text: Substring, separator: Character) -> [Int64]? {
        var numbers: [Int64] = []
        for part in text.split(separator: separator, omittingEmptySubsequences: false) {
            guard (1...4).contains(part.utf8.count), part.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let number = Int64(part)
            else { return nil }
            numbers.append(number)
        }
        return numbers
    }
}
