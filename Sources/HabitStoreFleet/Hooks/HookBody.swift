import Foundation

/// The JSON body of a message. It names users only for hooks that ask for that.
struct HookBody: Encodable {
    struct Wave: Encodable {
        /// From 1.
        let number: Int
        let name: String

        /// - Parameter wave: from 0.
        init(_ wave: Int, of names: [String]) {
            (number, name) = (wave + 1, names.indices.contains(wave) ? names[wave] : "")
        }
    }

    let event: String
    let delivery: String
    let root: String
    let time: Date
    var sequence: Int?
    var wave: Wave?
    var waves: Int?
    var users: Int?
    var bytes: Int?
    var moved: Int?
    var failed: Int?
    var passedOver: Int?
    var isDone: Bool?
    var seconds: Int?
    var hook: String?
    var by: String?
    var because: String?
    var user: String?

    init(event: String, delivery: String, root: String, time: Date) {
        (self.event, self.delivery, self.root, self.time) = (event, delivery, root, time)
    }

    /// Adds an event's values.
    mutating func take(_ event: FleetEvent, _ names: [String], namesUsers: Bool) {
        if let number = event.wave { wave = Wave(number, of: names) }
        switch event {
        case .drawn(let users, _, let by, _): (self.users, self.by, waves) = (users, by, names.count)
        case .joined(let users, _): self.users = users
        case .began(let by): self.by = by
        case .ended(let isDone): self.isDone = isDone
        case .waveConfirmed(_, let hook): self.hook = hook
        case .waveBegan(_, _, let users): self.users = users
        case .soakBegan(_, let passedOver): self.passedOver = passedOver
        case .waveDone, .forgotten: break
        case .paused(let by, let because), .unpaused(let by, let because), .resumed(let by, let because),
            .killed(let by, let because):
            (self.by, self.because) = (by, because)
        case .halted(let by, let because, let user):
            self.by = by
            // A reason that a run found in one user's stores may name that user after the colon.
            let isAboutOne = user != nil && !namesUsers
            self.because = isAboutOne ? because.firstIndex(of: ":").map { String(because[..<$0]) } ?? because : because
            self.user = namesUsers ? user : nil
        case .tookBack(_, let users, let failed), .retired(_, let users, let failed):
            (self.users, self.failed) = (users, failed)
        case .killLanded(let by, let users, let failed, let seconds):
            (self.by, self.users, self.failed, self.seconds) = (by, users, failed, Int(seconds.rounded(.up)))
        case .clockMoved(let seconds): self.seconds = seconds
        }
    }

    func data() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
        }
        return try encoder.encode(self)
    }
}
