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
        body.take(entry.event, fleet.waves, namesUsers: hook.namesUsers)
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
