import Foundation

extension FleetOverview {
    /// The fleet's status in one sentence: `Wave 3 of 6 soaks until 18:40; 41,207 of 100,000 users are on LMDB; 0 differences in 2.1 M shadow reads.`
    ///
    /// - Parameters:
    ///   - engine: the name of the new engine.
    ///   - clock: formats a time.
    public func sentence(engine: String, clock: (Date) -> String) -> String {
        let served =
            "\(Self.grouped(self.served)) of \(Self.counted(users, "user")) \(users == 1 ? "is" : "are") on \(engine)"
        let found = "\(Self.counted(different, "difference")) in \(Self.short(cleanReads)) shadow reads"
        return "\(what(clock)); \(served); \(found)."
    }

    private func what(_ clock: (Date) -> String) -> String {
        if let stop {
            let user = stop.user.map { " (user \($0))" } ?? ""
            return "\(stop.isHalt ? "Halted" : "Paused") by \(stop.by): \(stop.because)\(user)"
        }
        guard let (number, wave) = current else { return "No waves were drawn" }
        let name = "Wave \(number + 1) of \(waves.count)"
        switch state {
        case "done": return "All \(waves.count) waves are done"
        case "planned":
            return
                "\(Self.counted(waves.count, "wave")) \(waves.count == 1 ? "is" : "are") drawn, and no user was moved yet"
        case "stopped": return "\(name) is stopped: no run is at work"
        case "soaking": return "\(name) soaks" + (wave.soaksUntil.map { " until \(clock($0))" } ?? "")
        case "running":
            return "\(name) is being moved, \(Self.grouped(wave.arrived)) of \(Self.grouped(wave.users)) are there"
        default: return doing.prefix(1).uppercased() + doing.dropFirst()
        }
    }

    /// A number with thousands separators.
    public static func grouped(_ number: Int) -> String {
        let digits = Array(String(number.magnitude))
        var text = number < 0 ? "-" : ""
        for (place, digit) in digits.enumerated() {
            if place > 0, (digits.count - place).isMultiple(of: 3) { text += "," }
            text.append(digit)
        }
        return text
    }

    /// A number and a noun.
    public static func counted(_ number: Int, _ noun: String) -> String {
        "\(grouped(number)) \(noun)\(number == 1 ? "" : "s")"
    }

    /// A number with thousands separators, or in millions: `2.1 M`.
    public static func short(_ number: Int) -> String {
        let units = [(1e12, "T"), (1e9, "G"), (1e6, "M")]
        guard let (size, unit) = units.first(where: { Double(number) >= $0.0 }) else { return grouped(number) }
        let tenths = Int((Double(number) / size * 10).rounded(.down))
        return "\(tenths / 10)" + (tenths % 10 == 0 ? "" : ".\(tenths % 10)") + " \(unit)"
    }
}
