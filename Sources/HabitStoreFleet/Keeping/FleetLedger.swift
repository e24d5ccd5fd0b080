import DurableFiles
import Foundation
import HabitStore
import HabitStoreRollout
import Hashing

/// The record of what was done with a fleet: `ledger.jsonl`, one line for each event. Each line contains the hash of the one before, as in users'
/// evidence (``EvidenceRecord`` has the rule). It is append-only, except for erasures.
public struct FleetLedger: Sendable {
    /// A line.
    public struct Entry: Sendable, Hashable, Codable {
        /// The event.
        public let event: FleetEvent
        /// The line's number, from 1.
        public let sequence: Int
        /// The wall clock when the line was written.
        public let time: Date
        /// Identifies the machine's boot; nil if the system does not name it.
        public var boot: String?
        /// Seconds since boot by the monotonic clock; nil if ``boot`` is.
        public var uptimeSeconds: Double?

        /// The same line with another event, for a rewritten ledger.
        func saying(_ event: FleetEvent) -> Self {
            // Half a millisecond more, because writing truncates the fraction.
            let time = time.addingTimeInterval(0.000_5)
            return Self(event: event, sequence: sequence, time: time, boot: boot, uptimeSeconds: uptimeSeconds)
        }
    }

    /// The contents of the ledger.
    public struct Contents: Sendable {
        /// The lines that could be read.
        public internal(set) var entries: [Entry] = []
        /// The first line that was changed, from 1; nil if none was.
        public internal(set) var damagedLine: Int?
        /// The heads after each line: its number and hash.
        var heads: [String] = []
    }

    /// The file.
    public let path: String
    private let clock: FleetClock

    init(_ folder: FleetFolder, _ clock: FleetClock = .machine) { (path, self.clock) = (folder.ledger, clock) }

    private static let start = String(repeating: "0", count: 64)
    private static let lockWaitSeconds = 10.0
    /// `{"hash":"`, the digits, and `",`: the part of a line that its hash does not cover.
    private static let prefixLength = 75

    /// Appends an event and waits until it is on disk.
    ///
    /// - Returns: the ledger's new head.
    /// - Throws: ``HabitStoreError/Code/inputOutput`` if it cannot be written.
    @discardableResult
    func append(_ event: FleetEvent) throws -> String {
        do {
            let lock = try LockedFile(path + ".lock", timeoutSeconds: Self.lockWaitSeconds)
            defer { withExtendedLifetime(lock) {} }
            let lines = Self.lines(try FleetFolder.contents(path, "the fleet's ledger") ?? Data())
            let file = try OpenFile(path, O_RDWR | O_CREAT | O_APPEND)
            // The partial line of a killed process was never acknowledged.
            try file.truncate(to: off_t(lines.bytes))
            let previous = lines.lines.last.map { Self.hash(of: $0) } ?? Self.start
            let content = try Self.content(entry(event, lines.lines.count + 1), previous)
            let hash = Self.hash(Data(content.utf8))
            try file.write(Data("{\"hash\":\"\(hash)\",\(content)".utf8))
            try file.synchronize()
            try DurableFile.synchronizeFolder(of: path)
            return "\(lines.lines.count + 1) \(hash)"
        } catch let failure as FileFailure {
            throw HabitStoreError(
                failure.isBusy ? .busy : .inputOutput,
                "the fleet's ledger cannot be written, so no user is moved: \(failure)",
                at: .init(path: path)
            )
        }
    }

    private func entry(_ event: FleetEvent, _ sequence: Int) -> Entry {
        let now = clock.read()
        return Entry(
            event: event,
            sequence: sequence,
            time: now.time,
            boot: now.boot,
            uptimeSeconds: now.uptimeSeconds
        )
    }

    /// Changes lines and appends an event. All hashes from the first changed line on are computed again, and the file is replaced atomically.
    ///
    /// - Parameters:
    ///   - change: returns a line's new event; nil to keep the line.
    ///   - event: returns the event to append, given how many lines change and the previous head.
    /// - Returns: the ledger's new head.
    /// - Throws: ``HabitStoreError/Code/corrupt`` if the ledger is damaged.
    func rewrite(
        _ change: (FleetEvent) -> FleetEvent?,
        adding event: (_ changed: Int, _ head: String) -> FleetEvent
    ) throws -> String {
        do {
            let lock = try LockedFile(path + ".lock", timeoutSeconds: Self.lockWaitSeconds)
            defer { withExtendedLifetime(lock) {} }
            let contents = try read()
            if let line = contents.damagedLine {
                throw HabitStoreError(
                    .corrupt,
                    "the fleet's ledger is damaged in line \(line); put the file back",
                    at: .init(path: path)
                )
            }
            var (data, previous, changed) = (Data(), Self.start, 0)
            func add(_ entry: Entry) throws {
                let content = try Self.content(entry, previous)
                previous = Self.hash(Data(content.utf8))
                data.append(contentsOf: "{\"hash\":\"\(previous)\",\(content)".utf8)
            }
            for entry in contents.entries {
                let other = change(entry.event)
                if other != nil { changed += 1 }
                // Keeps the line's clock readings: they measure how long a wave was watched.
                try add(entry.saying(other ?? entry.event))
            }
            let head = contents.heads.last ?? "0 \(Self.start)"
            let count = contents.entries.count + 1
            try add(self.entry(event(changed, head), count))
            try DurableFile.replace(path, data)
            return "\(count) \(previous)"
        } catch let failure as FileFailure {
            throw HabitStoreError(
                failure.isBusy ? .busy : .inputOutput,
                "the fleet's ledger cannot be written: \(failure)",
                at: .init(path: path)
            )
        }
    }

    /// Reads the whole ledger.
    ///
    /// - Throws: ``HabitStoreError/Code/inputOutput`` if it cannot be read; a missing ledger is empty.
    public func read() throws -> Contents {
        guard let data = try FleetFolder.contents(path, "the fleet's ledger") else { return Contents() }
        var contents = Contents()
        var previous = Self.start
        for (number, line) in Self.lines(data).lines.enumerated() {
            let entry = try? Self.decoder().decode(Entry.self, from: line)
            let isOwn = line.count > Self.prefixLength && Self.written(line) == Self.hash(of: line)
            let follows = String(decoding: line.dropFirst(Self.prefixLength), as: UTF8.self)
                .hasPrefix("\"previous\":\"\(previous)\",\"sequence\":\(number + 1),")
            guard let entry, isOwn, follows else {
                contents.damagedLine = number + 1
                return contents
            }
            contents.entries.append(entry)
            previous = Self.hash(of: line)
            contents.heads.append("\(entry.sequence) \(previous)")
        }
        return contents
    }

    /// The error for a line that is missing although it was just written.
    static func unwritten(_ path: String) -> HabitStoreError {
        HabitStoreError(.corrupt, "the fleet's ledger lacks a line that was just written", at: .init(path: path))
    }

    // MARK: Lines

    /// The complete lines without their line ends, and their size in bytes.
    private static func lines(_ data: Data) -> (lines: [Data], bytes: Int) {
        var lines = data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { Data($0) }
        let rest = lines.popLast() ?? Data()
        return (lines, data.count - rest.count)
    }

    private static func content(_ entry: Entry, _ previous: String) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let event = String(decoding: try encoder.encode(entry.event), as: UTF8.self)
        let time = entry.time.formatted(format)
        var clock = ""
        if let boot = entry.boot, let uptime = entry.uptimeSeconds {
            let milliseconds = (uptime * 1_000).rounded() / 1_000
            clock = "\"boot\":\"\(boot)\",\"uptimeSeconds\":\(milliseconds),"
        }
        return
            "\"previous\":\"\(previous)\",\"sequence\":\(entry.sequence),\"time\":\"\(time)\",\(clock)\"event\":\(event)}\n"
    }

    private static let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    private static func decoder() -> JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            try format.parse(decoder.singleValueContainer().decode(String.self))
        }
        return decoder
    }

    /// The hash that a line should contain: of its bytes from the 76th on, with the line feed.
    private static func hash(of line: Data) -> String { hash(Data(line.dropFirst(prefixLength)) + Data("\n".utf8)) }

    private static func written(_ line: Data) -> String {
        String(decoding: line.dropFirst(9).prefix(64), as: UTF8.self)
    }

    private static func hash(_ data: Data) -> String { SHA256.hash(data: data).hexadecimal }
}

/// An event in a fleet's ledger. Only a halt caused by one user names that user, until the user is erased.
///
/// The JSON form is an object with the case's name as its key and the case's values as its value.
public enum FleetEvent: Sendable, Hashable, Codable {
    /// Waves were drawn, or their plan was replaced; `digest` is that of the members' file, `plan` that of the plan's.
    case drawn(users: Int, digest: String, by: String, plan: String? = nil)
    /// Users who have joined since were added to the last wave.
    case joined(users: Int, digest: String)
    /// A run began.
    case began(by: String)
    /// A run ended without an error: all waves are done, or a person stopped it.
    case ended(isDone: Bool)
    /// A hook confirmed that a wave may begin.
    case waveConfirmed(wave: Int, hook: String)
    /// A wave began to move its users.
    case waveBegan(wave: Int, name: String, users: Int)
    /// All users of a wave have reached the plan's stage, except those who cannot; the wave is now watched.
    case soakBegan(wave: Int, passedOver: Int)
    /// A wave's soak is over, and the next wave may begin.
    case waveDone(wave: Int)
    /// The fleet was paused: no new users are started.
    case paused(by: String, because: String)
    /// The pause ended: users are started again.
    case unpaused(by: String, because: String)
    /// The halt ended: users are moved again.
    case resumed(by: String, because: String)
    /// The fleet was halted: no users are moved. `user` is the user who caused it, if one did.
    case halted(by: String, because: String, user: String?)
    /// The users of a wave were taken back to `off`.
    case tookBack(wave: Int, users: Int, failed: Int)
    /// The kill switch was pulled for all users from the fleet's page.
    case killed(by: String, because: String)
    /// `rollout kill` took all users back within `seconds`, except `failed` ones.
    case killLanded(by: String, users: Int, failed: Int, seconds: Double)
    /// The stores that users of a wave had left were removed; those of `failed` users were kept.
    case retired(wave: Int, users: Int, failed: Int)
    /// The wall clock was moved by this many seconds during a run or between two runs.
    case clockMoved(seconds: Int)
    /// A user was erased: `digest` is that of the members' file without the user, nil if the user was in no wave. `redacted` lines had named the
    /// user; from the first of them on, all lines have new hashes, and `head` is the ledger's head before that.
    case forgotten(digest: String?, redacted: Int, head: String)

    /// Whether it ends a halt. Users who were taken back before it do not halt the fleet again.
    var isResumption: Bool { if case .resumed = self { true } else { false } }

    /// Whether it starts or stops moving users.
    var isOfMoving: Bool {
        switch self {
        case .began, .ended, .halted, .resumed: true
        default: false
        }
    }
}

extension FleetEvent {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case drawn, joined, began, ended, waveConfirmed, waveBegan, soakBegan, waveDone, paused, unpaused, resumed
        case halted, tookBack, killed, killLanded, retired, clockMoved, forgotten
    }

    /// The names of all events in plans and hook messages.
    static let kinds = CodingKeys.allCases.map(\.rawValue)

    /// The event's name.
    public var kind: String { row.kind.rawValue }

    /// The event and its details for people.
    public var words: (what: String, details: String) { (row.what, row.details) }

    private var row: (kind: CodingKeys, what: String, details: String) {
        switch self {
        case .drawn(let users, let digest, let person, _):
            (.drawn, "drawn", "\(users.counted("user")), by \(person), \(digest.prefix(12))…")
        case .joined(let users, let digest):
            (.joined, "joined", "\(users.counted("user")) in the last wave, \(digest.prefix(12))…")
        case .began(let person): (.began, "a run began", "by \(person)")
        case .ended(let isDone): (.ended, "a run ended", isDone ? "all waves are done" : "")
        case .waveConfirmed(let wave, let hook):
            (.waveConfirmed, "wave \(wave + 1) is confirmed", "by the hook \(hook)")
        case .waveBegan(let wave, let name, let users):
            (.waveBegan, "wave \(wave + 1) began", "\(name), \(users.counted("user"))")
        case .soakBegan(let wave, let passedOver):
            (.soakBegan, "wave \(wave + 1) is watched", passedOver > 0 ? "\(passedOver.counted("user")) skipped" : "")
        case .waveDone(let wave): (.waveDone, "wave \(wave + 1) is done", "")
        case .paused(let person, let reason): (.paused, "paused", "by \(person): \(reason)")
        case .unpaused(let person, let reason): (.unpaused, "continued", "by \(person): \(reason)")
        case .resumed(let person, let reason): (.resumed, "resumed", "by \(person): \(reason)")
        case .halted(let person, let reason, let user):
            (.halted, "HALTED", "by \(person): \(reason)" + (user.map { " (user \($0))" } ?? ""))
        case .tookBack(let wave, let users, let failed):
            (.tookBack, "wave \(wave + 1) was taken back", "\(users.counted("user")), \(failed) could not be")
        case .retired(let wave, let users, let failed):
            (
                .retired,
                "wave \(wave + 1) was retired",
                "the stores that \(users.counted("user")) had left are removed, those of \(failed) are kept"
            )
        case .forgotten(let digest, let redacted, let head):
            (
                .forgotten,
                "a user was erased",
                (digest.map { "of the members, \($0.prefix(12))…; " } ?? "")
                    + "\(redacted.counted("line")) redacted; the ledger was at \(head.prefix(20))…"
            )
        case .clockMoved(let seconds): (.clockMoved, "the clock was moved", "by \(seconds) seconds")
        case .killed(let person, let reason): (.killed, "KILLED", "by \(person): \(reason)")
        case .killLanded(let person, let users, let failed, let seconds):
            (
                .killLanded,
                "a kill took effect",
                "by \(person): \(users.counted("user")) in \((seconds * 10).rounded() / 10) s, \(failed) could not be taken back"
            )
        }
    }
}
