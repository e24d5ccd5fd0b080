import DurableFiles
import Foundation
import HabitStore
import Hashing

/// What was done with a fleet: one line each in `ledger.jsonl`, each with the hash of the one before, as users' evidence is written
/// (``EvidenceRecord`` has the rule). It is only ever added to.
public struct FleetLedger: Sendable {
    /// A line.
    public struct Entry: Sendable, Hashable, Codable {
        /// What was done.
        public let event: FleetEvent
        /// The line's number, from 1.
        public let sequence: Int
        /// When, by the clock of the day.
        public let time: Date
        /// Which start of the machine that was after; nil where the system has no name for it.
        public var boot: String?
        /// How many seconds after that start, by a clock that nobody sets; nil where ``boot`` is.
        public var uptimeSeconds: Double?

        /// The same line with another event, to be written again.
        func saying(_ event: FleetEvent) -> Self {
            // Half a millisecond more: what was read is written down with its fraction cut off.
            let time = time.addingTimeInterval(0.000_5)
            return Self(event: event, sequence: sequence, time: time, boot: boot, uptimeSeconds: uptimeSeconds)
        }
    }

    /// What all lines come to.
    public struct Contents: Sendable {
        /// The lines that could be read.
        public internal(set) var entries: [Entry] = []
        /// The first line that is not as it was written, from 1; nil where all are.
        public internal(set) var damagedLine: Int?
        /// The places that the lines are at: their numbers and hashes.
        var heads: [String] = []
    }

    /// The file.
    public let path: String
    private let clock: FleetClock

    init(_ folder: FleetFolder, _ clock: FleetClock = .machine) { (path, self.clock) = (folder.ledger, clock) }

    private static let start = String(repeating: "0", count: 64)
    private static let lockWaitSeconds = 10.0
    /// `{"hash":"`, the digits, and `",`: what the hash does not cover.
    private static let prefixLength = 75

    /// Adds an event, and waits until it is on the disk.
    ///
    /// - Returns: the place that the ledger has come to.
    /// - Throws: ``HabitStoreError/Code/inputOutput`` where it cannot be written.
    @discardableResult
    func append(_ event: FleetEvent) throws -> String {
        do {
            let lock = try LockedFile(path + ".lock", timeoutSeconds: Self.lockWaitSeconds)
            defer { withExtendedLifetime(lock) {} }
            let lines = Self.lines(try FleetFolder.contents(path, "the fleet's ledger") ?? Data())
            let file = try OpenFile(path, O_RDWR | O_CREAT | O_APPEND)
            // What a process that died has left of a line was told to nobody.
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
                "the fleet's ledger cannot be written, and nobody is moved without it: \(failure)",
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

    /// Adds an event at the end of lines some of which say something else from now on: the hashes are made anew from the first of those on.
    /// The file is replaced as a whole.
    ///
    /// - Parameters:
    ///   - change: gives what a line says instead; nil for what stays.
    ///   - event: is told how many lines say something else, and the place that the ledger was at before.
    /// - Returns: the place that the ledger has come to.
    /// - Throws: ``HabitStoreError/Code/corrupt`` for a ledger that is damaged.
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
                // With its clocks: how long a wave was watched goes by them.
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

    /// Reads all of it.
    ///
    /// - Throws: ``HabitStoreError/Code/inputOutput`` where it cannot be read; one that is not there is empty.
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

    /// What was just written is not there.
    static func unwritten(_ path: String) -> HabitStoreError {
        HabitStoreError(.corrupt, "the fleet's ledger lacks a line that was just written", at: .init(path: path))
    }

    // MARK: Lines

    /// Whole lines without their ends, and how many bytes they take.
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

    /// The hash that a line should have: of its bytes from the 76th on, newline included.
    private static func hash(of line: Data) -> String { hash(Data(line.dropFirst(prefixLength)) + Data("\n".utf8)) }

    private static func written(_ line: Data) -> String {
        String(decoding: line.dropFirst(9).prefix(64), as: UTF8.self)
    }

    private static func hash(_ data: Data) -> String { SHA256.hash(data: data).hexadecimal }
}
