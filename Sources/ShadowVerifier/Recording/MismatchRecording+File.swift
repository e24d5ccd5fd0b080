import Foundation
@_spi(Engines) import HabitStore
import Hashing

/// A file of recorded mismatches is JSON, one object a line: a ``RecordingHeader``, the mismatches, a ``RecordingFooter``.
extension MismatchRecording {
    /// How large a file may be.
    static let maximumFileBytes = 256 << 20

    /// What every file of recorded mismatches begins with.
    public static let fileBeginning = Data(#"{"a":{"information":"#.utf8)

    /// The recording as a file. It holds identifiers, and values where they are kept: write it for its owner only.
    public func encoded() throws -> Data {
        var data = try Self.line(RecordingHeader(self))
        for mismatch in mismatches { data += try Self.line(mismatch) }
        return data + (try Self.line(RecordingFooter(sha256: Data(SHA256.hash(data: data)).hexadecimal)))
    }

    private static func line(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(value) + Data([UInt8(ascii: "\n")])
    }

    /// Reads a recording.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` or ``HabitStoreError/Code/inputOutput`` if it cannot be read,
    ///   ``HabitStoreError/Code/notAStore`` for another file, ``HabitStoreError/Code/newerVersion`` for one written by a newer version,
    ///   ``HabitStoreError/Code/limitExceeded`` for one that is too large, and ``HabitStoreError/Code/corrupt`` for one that was altered.
    public static func load(path: String) throws -> MismatchRecording {
        let data = try FileBytes.read(path: path, what: "a file of recorded mismatches", limit: maximumFileBytes)
        do {
            return try decode(data)
        } catch let error as HabitStoreError {
            throw HabitStoreError(error.code, error.message, at: .init(path: path), underlying: error.underlying)
        }
    }

    static func decode(_ data: Data) throws -> MismatchRecording {
        let lines = data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        try checkVersion(lines[0])
        // Behind the last line end there is nothing.
        guard lines.count >= 3, lines.last?.isEmpty == true else { throw damaged("its end is missing") }
        let footer: RecordingFooter = try decode(lines[lines.count - 2], "the last line")
        let before = data.prefix(lines[lines.count - 2].startIndex - data.startIndex)
        guard Data(SHA256.hash(data: before)).hexadecimal == footer.sha256 else {
            throw damaged("its bytes are not those that were written")
        }
        let header: RecordingHeader = try decode(lines[0], "line 1")
        let mismatches: [RecordedMismatch] = try lines.dropFirst().dropLast(2).enumerated().map { position, line in
            try decode(line, "line \(position + 2)")
        }
        guard mismatches.count == header.mismatches else {
            throw damaged("it has \(mismatches.count) mismatches, and \(header.mismatches) by its first line")
        }
        return MismatchRecording(
            a: header.a,
            b: header.b,
            keepsValues: header.keepsValues,
            shapes: header.shapes,
            mismatches: mismatches
        )
    }

    private static func checkVersion(_ line: Data) throws {
        let version: RecordingHeader.Version
        do {
            version = try JSONDecoder().decode(RecordingHeader.Version.self, from: line)
        } catch {
            throw HabitStoreError(.notAStore, "this is not a recording of mismatches", underlying: error)
        }
        guard version.format == RecordingHeader.format else {
            throw HabitStoreError(.notAStore, "this is not a recording of mismatches")
        }
        guard version.formatVersion <= RecordingHeader.formatVersion else {
            throw HabitStoreError(
                .newerVersion,
                "the mismatches were recorded in format \(version.formatVersion), and this version reads up to "
                    + "\(RecordingHeader.formatVersion); use the newer one"
            )
        }
    }

    private static func decode<T: Decodable>(_ line: Data, _ place: String) throws -> T {
        do {
            return try JSONDecoder().decode(T.self, from: line)
        } catch {
            throw HabitStoreError(
                .corrupt,
                "the file of recorded mismatches is damaged in \(place); record it again",
                underlying: error
            )
        }
    }

    static func damaged(_ why: String) -> HabitStoreError {
        HabitStoreError(.corrupt, "the file of recorded mismatches is damaged (\(why)); record it again")
    }
}
