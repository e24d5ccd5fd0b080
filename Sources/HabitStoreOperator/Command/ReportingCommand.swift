import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreReports

/// A command with the common output options.
package protocol ReportingCommand: AsyncParsableCommand {
    var output: OutputOptions { get }
    /// Whether it runs until it is stopped and writes one document per line.
    var isFollowing: Bool { get }
}

extension ReportingCommand {
    package var isFollowing: Bool { false }
}

/// The options for a command's output.
package struct OutputOptions: ParsableArguments {
    /// The output formats.
    package enum Format: String, ExpressibleByArgument, CaseIterable {
        /// For people.
        case text
        /// For programs: stable, with sorted keys.
        case json
    }

    @Option(help: "The output format.")
    package var format = Format.text

    @Flag(help: "Show values in errors, which may be personal.")
    package var verbose = false

    package init() {}
}

/// A command's answer in the requested format.
package enum Answer {
    /// For people.
    case text(String)
    /// For programs.
    case document(any Encodable)

    /// The text to write.
    ///
    /// - Parameter asLine: whether the document is one of several, each on its own line.
    package func text(asLine: Bool) throws -> String {
        switch self {
        case .text(let text): text
        case .document(let document): asLine ? try JSON.line(document) : try JSON.text(document)
        }
    }
}

/// A JSON document under construction. Keys are sorted, so that two runs can be compared line by line.
///
/// A date appears under its attribute's name as ISO 8601 text in UTC with milliseconds, and under the same name with the suffix `Reference` as the
/// exact number of seconds since 2001-01-01 UTC.
package enum JSON: Encodable {
    case null
    case bool(Bool)
    case int(Int)
    case double(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// A string, or null.
    package static func optional(_ text: String?) -> JSON { text.map { .string($0) } ?? .null }

    /// A number, or null.
    package static func optional(_ number: Double?) -> JSON { number.map { .double($0) } ?? .null }

    /// An identifier, or null.
    package static func optional(_ id: UUID?) -> JSON { id.map { .string($0.uuidString) } ?? .null }

    package func encode(to encoder: any Encoder) throws {
        var single = encoder.singleValueContainer()
        switch self {
        case .null: try single.encodeNil()
        case .bool(let flag): try single.encode(flag)
        case .int(let number): try single.encode(number)
        case .double(let number): try single.encode(number)
        case .string(let text): try single.encode(text)
        case .array(let elements): try single.encode(elements)
        case .object(let members): try single.encode(members)
        }
    }

    /// Writes a document to standard output, with control characters escaped.
    package static func write(_ document: some Encodable) throws { try Output.write(try text(document)) }

    /// Writes a document as one line.
    package static func writeLine(_ document: some Encodable) throws { try Output.write(try line(document)) }

    /// A document with line breaks and indentation, with control characters escaped.
    package static func text(_ document: some Encodable) throws -> String { try text(document, [.prettyPrinted]) }

    /// A document on one line.
    package static func line(_ document: some Encodable) throws -> String { try text(document, []) }

    private static func text(
        _ document: some Encodable,
        _ formatting: JSONEncoder.OutputFormatting
    ) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = formatting.union([.sortedKeys, .withoutEscapingSlashes])
        let text = String(decoding: try encoder.encode(document), as: UTF8.self)
        return TerminalText.escapedJSON(text) + "\n"
    }
}

/// A store's value. In a dictionary's extension, the dictionary's own `Value` hides that name.
package typealias StoredValue = Value

extension [String: JSON] {
    /// Adds a date under a name, in both forms.
    package mutating func set(_ name: String, _ date: Date?) {
        self[name] = .optional(date.map { ISODate.instant($0) })
        self[name + "Reference"] = .optional(date?.timeIntervalSinceReferenceDate)
    }

    /// Adds a store's value under its attribute's name.
    package mutating func set(_ name: String, _ value: StoredValue) {
        switch value {
        case .null: self[name] = .null
        case .bool(let flag): self[name] = .bool(flag)
        case .int(let number): self[name] = .int(Int(number))
        case .double(let number): self[name] = .double(number)
        case .string(let text): self[name] = .string(text)
        case .date(let date): set(name, date)
        case .uuid(let id): self[name] = .string(id.uuidString)
        case .data(let bytes): self[name] = .string(bytes.base64EncodedString())
        case .strings(let texts): self[name] = .array(texts.map { .string($0) })
        case .links(let ids): self[name] = .array(ids.map { .string($0.uuidString) })
        }
    }
}

/// Instants as text, in every year that a store may contain.
package enum ISODate {
    /// `2026-01-31T07:30:00.250Z`: UTC, rounded down to milliseconds. Seconds since 2001 beyond 200,000 years from now.
    package static func instant(_ date: Date) -> String { TextDate.text(date) ?? far(date) }

    /// `2026-01-31 08:30`: the time on a clock of a time zone.
    package static func local(_ date: Date, in timeZone: TimeZone) -> String {
        let offset = timeZone.secondsFromGMT(for: date)
        guard let (day, milliseconds) = TextDate.day(of: date, secondsFromGMT: offset) else { return far(date) }
        let minutes = milliseconds / 60_000
        return "\(day) \(pad(minutes / 60)):\(pad(minutes % 60))"
    }

    private static func far(_ date: Date) -> String { "date(\(date.timeIntervalSinceReferenceDate))" }

    private static func pad(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

extension Double {
    /// Seconds for people: `0.4 ms`, `120 ms`, `3.2 s`.
    var secondsText: String {
        let milliseconds = self * 1_000
        if milliseconds < 10 { return String(format: "%.1f ms", milliseconds) }
        if milliseconds < 1_000 { return String(format: "%.0f ms", milliseconds) }
        return String(format: "%.1f s", self)
    }

    /// Long durations for people: `45 s`, `12m 30s`, `3h 5m`, `2d 4h`.
    var durationText: String {
        guard self >= 60 else { return "\(Int(rounded(.up))) s" }
        let units: Set<Duration.UnitsFormatStyle.Unit> = [.days, .hours, .minutes, .seconds]
        return Duration.seconds(self).formatted(.units(allowed: units, width: .narrow, maximumUnitCount: 2))
    }
}
