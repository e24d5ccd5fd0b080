import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import JSONText

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

extension OutputOptions {
    /// A report in the requested format.
    ///
    /// - Parameter text: the report for people.
    package func answer(
        _ report: @autoclosure () throws -> some Encodable,
        text: () throws -> String
    ) rethrows -> Answer {
        switch format {
        case .json: .document(try report())
        case .text: .text(try text())
        }
    }

    /// An object for programs, or a text for people.
    package func answer(
        _ object: @autoclosure () throws -> JSONObject,
        text: () throws -> String
    ) rethrows -> Answer {
        switch format {
        case .json: .document(try object())
        case .text: .text(try text())
        }
    }

    /// Writes a report in the requested format.
    package func write(_ report: @autoclosure () throws -> some Encodable, text: () throws -> String) throws {
        try Output.write(try answer(try report(), text: text).text(asLine: false))
    }

    /// Writes an object for programs, or a text for people.
    package func write(_ object: @autoclosure () throws -> JSONObject, text: () throws -> String) throws {
        try Output.write(try answer(try object(), text: text).text(asLine: false))
    }
}

extension JSON {
    /// Writes a document to standard output, with control characters escaped.
    package static func write(_ document: some Encodable) throws { try Output.write(try text(document)) }

    /// Writes an object in the same way.
    package static func write(_ object: JSONObject) throws { try Output.write(try text(object)) }

    /// Writes a document as one line.
    package static func writeLine(_ document: some Encodable) throws { try Output.write(try line(document)) }

    /// A document with line breaks and indentation, with control characters escaped.
    package static func text(_ document: some Encodable) throws -> String {
        TerminalText.escapedJSON(try encoded(document, [.prettyPrinted, .withoutEscapingSlashes])) + "\n"
    }

    /// A document on one line.
    package static func line(_ document: some Encodable) throws -> String {
        TerminalText.escapedJSON(try encoded(document)) + "\n"
    }
}

/// A store's value. In an extension of a type with literals, `Value` is the type of their values.
package typealias StoredValue = Value

/// A date appears under its attribute's name as ISO 8601 text in UTC with milliseconds, and under the same name with the suffix `Reference` as the
/// exact number of seconds since 2001-01-01 UTC.
extension JSONObject {
    /// Adds a date under a name, in both forms.
    package mutating func set(_ name: String, _ date: Date?) {
        self[name] = date.map { ISODate.instant($0) }
        self[name + "Reference"] = date?.timeIntervalSinceReferenceDate
    }

    /// Adds a store's value under its attribute's name.
    package mutating func set(_ name: String, _ value: StoredValue) {
        switch value {
        case .null: self[name] = nil
        case .bool(let flag): self[name] = flag
        case .int(let number): self[name] = number
        case .double(let number): self[name] = number
        case .string(let text): self[name] = text
        case .date(let date): set(name, date)
        case .uuid(let id): self[name] = id
        case .data(let bytes): self[name] = bytes.base64EncodedString()
        case .strings(let texts): self[name] = texts
        case .links(let ids): self[name] = ids
        }
    }
}

/// Instants as text, in every year that a store may contain.
package enum ISODate {
    /// `2026-01-31T07:30:00.250Z`: UTC, in milliseconds. Seconds since 2001 beyond 200,000 years from now.
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
