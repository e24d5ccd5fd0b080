import Foundation
import HabitStore
import Hashing

/// A message to a hook. Its body is the same however often it is sent.
struct HookMessage: Sendable, Hashable {
    /// The event's name, `confirm` or `test`.
    let event: String
    /// Identifies the message: the same for every attempt, and unique otherwise.
    let delivery: String
    /// JSON.
    let body: Data
}

extension HookMessage {
    /// A message about a line of the ledger.
    init(_ entry: FleetLedger.Entry, _ fleet: FleetName, to hook: FleetPlan.Hook) throws {
        event = entry.event.kind
        // Not the line's hash, which changes when a user is forgotten.
        let milliseconds = Int((entry.time.timeIntervalSince1970 * 1_000).rounded())
        delivery = Self.identifier("line", "\(entry.sequence)", "\(milliseconds)", event, hook.name)
        var body = HookBody(event: event, delivery: delivery, root: fleet.root, time: entry.time)
        body.sequence = entry.sequence
        try body.take(entry.event, fleet.waves, namesUsers: hook.namesUsers)
        self.body = try body.data()
    }

    /// The question whether a wave may begin.
    ///
    /// - Parameter drawn: the number and hash of the ledger's first line, which identify the fleet.
    init(_ question: HookQuestion, drawn: String, _ fleet: FleetName, to hook: FleetPlan.Hook) throws {
        event = "confirm"
        delivery = Self.identifier("confirm", drawn, "\(question.wave)", hook.name)
        var body = HookBody(event: event, delivery: delivery, root: fleet.root, time: question.time)
        body.wave = HookBody.Wave(question.wave, of: fleet.waves)
        (body.waves, body.users, body.bytes) = (fleet.waves.count, question.users, question.bytes)
        body.moved = question.moved
        self.body = try body.data()
    }

    /// A test message, which reports no event.
    init(test fleet: FleetName, at time: Date, to hook: FleetPlan.Hook) throws {
        event = "test"
        delivery = Self.identifier("test", "\(time.timeIntervalSince1970)", hook.name)
        body = try HookBody(event: event, delivery: delivery, root: fleet.root, time: time).data()
    }

    private static func identifier(_ parts: String...) -> String {
        String(SHA256.hash(data: Data(parts.joined(separator: "\u{0}").utf8)).hexadecimal.prefix(32))
    }
}

/// The fleet as messages name it.
struct FleetName: Sendable, Hashable {
    /// The name of the root's folder, without the path.
    let root: String
    /// The names of the waves.
    let waves: [String]

    init(root: String, waves: [String]) {
        (self.root, self.waves) = (URL(fileURLWithPath: root).standardizedFileURL.lastPathComponent, waves)
    }
}

/// The question to a hook before a wave begins.
struct HookQuestion: Sendable, Hashable {
    /// From 0.
    let wave: Int
    let users: Int
    let bytes: Int
    /// How many users of all waves have reached the plan's stage.
    let moved: Int
    let time: Date
}

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

    /// The values of an event that hooks get, by their names in the ledger.
    private struct Told: Decodable {
        let wave: Int?
        let users: Int?
        let failed: Int?
        let passedOver: Int?
        let isDone: Bool?
        let seconds: Double?
        let hook: String?
        let by: String?
        let because: String?
        let user: String?
    }

    /// Adds an event's values.
    mutating func take(_ event: FleetEvent, _ names: [String], namesUsers: Bool) throws {
        // The ledger's form: the event's name with its values.
        let form = try JSONEncoder().encode(event)
        guard let told = try JSONDecoder().decode([String: Told].self, from: form).values.first else { return }
        wave = told.wave.map { Wave($0, of: names) }
        if case .drawn = event { waves = names.count }
        (users, failed, passedOver, isDone) = (told.users, told.failed, told.passedOver, told.isDone)
        (hook, by, because) = (told.hook, told.by, told.because)
        seconds = told.seconds.map { Int($0.rounded(.up)) }
        guard let about = told.user else { return }
        user = namesUsers ? about : nil
        // A reason that a run found in one user's stores may name that user after the colon.
        if !namesUsers { because = because.map { String($0.prefix { $0 != ":" }) } }
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
