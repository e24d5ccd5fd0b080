import HabitStore

extension RolloutState {
    /// Reads only the exact form of ``encoded()``. Every opening reads it, and a general JSON decoder takes many times as long.
    init?(canonical text: String) {
        var rest = Rest(bytes: Array(text.utf8))
        guard rest.take("{") else { return nil }
        var engines: EnginePair?
        if rest.take("\"engines\":[\"") {
            engines = rest.takePair()
            guard engines != nil, rest.take("],") else { return nil }
        }
        var evidence: EvidenceHead?
        if rest.take("\"evidence\":{\"hash\":\"") {
            guard let hash = rest.takeText(), hash.utf8.count == 64, rest.take(",\"sequence\":"),
                let sequence = rest.takeNumber(), rest.take("},")
            else { return nil }
            evidence = EvidenceHead(sequence: sequence, hash: hash)
        }
        var fled: EngineName?
        if rest.take("\"fled\":\"") {
            fled = rest.takeText().flatMap(EngineName.init(rawValue:))
            guard fled != nil, rest.take(",") else { return nil }
        }
        let isKilled = rest.take("\"isKilled\":true,")
        guard isKilled || rest.take("\"isKilled\":false,") else { return nil }
        var machine: String?
        if rest.take("\"machine\":\"") {
            machine = rest.takeText()
            guard machine != nil, rest.take(",") else { return nil }
        }
        var movingTo: Stage?
        if rest.take("\"movingTo\":\"") {
            movingTo = rest.takeText().flatMap(Stage.init(rawValue:))
            guard movingTo != nil, rest.take(",") else { return nil }
        }
        if engines == nil {
            guard rest.take("\"old\":\""), let old = rest.takeText().flatMap(EngineName.init(rawValue:)), rest.take(",")
            else { return nil }
            engines = EnginePair(implying: old)
        }
        var owner: String?
        if rest.take("\"owner\":\"") {
            owner = rest.takeText()
            guard owner != nil, rest.take(",") else { return nil }
        }
        var pairedBy: Placement?
        if rest.take("\"pairedBy\":\"") {
            pairedBy = rest.takeText().flatMap(Placement.init(rawValue:))
            guard pairedBy != nil, rest.take(",") else { return nil }
        }
        var placedBy: Placement?
        if rest.take("\"placedBy\":\"") {
            placedBy = rest.takeText().flatMap(Placement.init(rawValue:))
            guard placedBy != nil, rest.take(",") else { return nil }
        }
        guard rest.take("\"stage\":\""), let stage = rest.takeText().flatMap(Stage.init(rawValue:)) else { return nil }
        var turns: String?
        if rest.take(",\"turns\":\"") {
            turns = rest.takeText()
            guard turns != nil else { return nil }
        }
        var vouched: String?
        if rest.take(",\"vouched\":\"") {
            vouched = rest.takeText()
            guard vouched != nil else { return nil }
        }
        guard rest.take("}"), rest.isEmpty, let engines else { return nil }
        self.init(stage: stage, engines: engines, isKilled: isKilled, movingTo: movingTo)
        (self.evidence, self.fled, self.turns, self.vouched) = (evidence, fled, turns, vouched)
        (self.machine, self.owner) = (machine, owner)
        (self.pairedBy, self.placedBy) = (pairedBy, placedBy)
    }
}

/// The text that was not read yet.
private struct Rest {
    let bytes: [UInt8]
    private var place = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    var isEmpty: Bool { place == bytes.count }

    /// Skips `text` if it comes next.
    mutating func take(_ text: StaticString) -> Bool {
        let end = place + text.utf8CodeUnitCount
        guard end <= bytes.count else { return false }
        let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard bytes[place..<end].elementsEqual(wanted) else { return false }
        place = end
        return true
    }

    /// Reads a string up to its quotation mark; it must not contain JSON escapes.
    mutating func takeText() -> String? {
        let end = end { $0 != UInt8(ascii: "\"") }
        let text = bytes[place..<end]
        guard end < bytes.count, text.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }) else {
            return nil
        }
        place = end + 1
        return String(decoding: text, as: UTF8.self)
    }

    /// Reads two names of engines, the first of which has begun.
    mutating func takePair() -> EnginePair? {
        guard let old = takeText().flatMap(EngineName.init(rawValue:)), take(",\""),
            let new = takeText().flatMap(EngineName.init(rawValue:)), old != new
        else { return nil }
        return EnginePair(old: old, new: new)
    }

    /// Reads the digits of a non-negative integer.
    mutating func takeNumber() -> Int? {
        let end = end { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
        let digits = bytes[place..<end]
        guard let number = Int(String(decoding: digits, as: UTF8.self)),
            digits.first != UInt8(ascii: "0") || digits.count == 1
        else { return nil }
        place = end
        return number
    }

    /// The end of the bytes from here on for which `isPart` holds.
    private func end(_ isPart: (UInt8) -> Bool) -> Int {
        var end = place
        while end < bytes.count, isPart(bytes[end]) { end += 1 }
        return end
    }
}
