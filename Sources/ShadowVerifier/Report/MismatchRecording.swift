import Foundation
@_spi(Engines) import HabitStore
import Hashing
import Synchronization

/// The listed differences of a comparison, each with the data that showed it, so that it can be examined without the stores.
///
/// Without values, each value is replaced by the HMAC-SHA-256 of its bytes, with a key made for the recording and then forgotten. It shows whether two
/// values of the recording are the same, and nothing else.
public struct MismatchRecording: Sendable {
    /// The most identifiers of answers and links in a recording; beyond them only the difference is recorded.
    static let maximumIdentifiers = 1_000_000

    /// One of the two stores.
    struct Side: Sendable, Hashable, Codable {
        let name: String
        let information: StoreInformation
    }

    let a: Side
    let b: Side
    /// Whether the values themselves are in it.
    public let keepsValues: Bool
    /// The shape of each entity, by ``HabitStore/Schema/shapeHash(ofEntity:)``.
    public let shapes: [String: String]
    private(set) var mismatches: [RecordedMismatch] = []

    init(_ report: VerificationReport, _ schema: Schema) {
        a = Side(name: report.a.name, information: report.a.information)
        b = Side(name: report.b.name, information: report.b.information)
        keepsValues = report.showsValues
        var shapes: [String: String] = [:]
        for (position, entity) in schema.entities.enumerated() {
            shapes[entity.name] = schema.shapeHash(ofEntity: position)
        }
        self.shapes = shapes
    }

    init(a: Side, b: Side, keepsValues: Bool, shapes: [String: String], mismatches: [RecordedMismatch]) {
        self.a = a
        self.b = b
        self.keepsValues = keepsValues
        self.shapes = shapes
        self.mismatches = mismatches
    }

    mutating func add(_ mismatch: RecordedMismatch) { mismatches.append(mismatch) }

    /// The differences, in the order in which they were found.
    public var differences: [StoreDifference] { mismatches.map(\.difference) }

    /// The differences' token: that of the first store.
    public var token: HistoryToken { a.information.token }
}

/// Takes down the listed differences of a comparison with what they were seen in: give it to
/// ``VerificationOptions/recorder``, and ask for the ``recording`` when the comparison has ended.
///
/// The values that differ are kept when the comparison shows values, and only digests of them otherwise: see
/// ``MismatchRecording``.
public final class MismatchRecorder: Sendable {
    private let current = Mutex<MismatchRecording?>(nil)

    /// A recorder without a recording.
    public init() {}

    /// The recording; nil before a comparison has opened its stores.
    public var recording: MismatchRecording? { current.withLock { $0 } }

    func begin(_ report: VerificationReport, _ schema: Schema) {
        current.withLock { $0 = MismatchRecording(report, schema) }
    }

    func add(_ mismatch: RecordedMismatch) { current.withLock { $0?.add(mismatch) } }
}

/// The data that showed a difference; enough to see it again.
enum MismatchEvidence: Sendable, Hashable, Codable {
    /// The record as each of the stores has it.
    case records(a: RecordedRecord, b: RecordedRecord)
    /// The answers of both stores to a query.
    case answers(RecordedQuery, a: QueryAnswer, b: QueryAnswer)
    /// The number of records in both stores.
    case counts(a: Int, b: Int)
    /// Two lists that have to be the same.
    case identifiers(RecordedIdentifiers, RecordedIdentifiers)
    /// Only a store could look again; why nothing more is recorded.
    case statement(String)
}

extension MismatchEvidence {
    /// What of it may be in a recording: no filter where values are not shown, and not more identifiers than there is room
    /// for.
    func recordable(within room: inout Int, showsValues: Bool) -> MismatchEvidence {
        let count: Int
        switch self {
        case .answers(_, let a, let b): count = a.identifiers.count + b.identifiers.count
        case .identifiers(let left, let right): count = left.identifiers.count + right.identifiers.count
        case .records, .counts, .statement: return self
        }
        guard count <= room else {
            return .statement(
                "its \(count) identifiers are not recorded, since a recording has \(MismatchRecording.maximumIdentifiers) "
                    + "at most"
            )
        }
        room -= count
        guard case .answers(var query, let a, let b) = self, !showsValues else { return self }
        query.filter = nil
        return .answers(query, a: a, b: b)
    }
}

/// A difference, and what it was seen in.
struct RecordedMismatch: Sendable, Hashable, Codable {
    let difference: StoreDifference
    let evidence: MismatchEvidence
}

/// A record of one store as a recording holds it.
struct RecordedRecord: Sendable, Hashable, Codable {
    /// Its attributes in the order of the schema; nil when the store does not have the record.
    let attributes: [RecordedAttribute]?
    /// The stable name of the error with which the store refused to show it.
    let errorCode: String?

    /// A record that is there, or not.
    init(attributes: [RecordedAttribute]?) {
        self.attributes = attributes
        errorCode = nil
    }

    /// A record that cannot be read.
    init(_ error: HabitStoreError) {
        attributes = nil
        errorCode = error.code.rawValue
    }
}

/// An attribute's value in a recording: the value itself, or a digest that only tells whether two are the same.
struct RecordedAttribute: Sendable, Hashable, Codable {
    /// The attribute's name.
    let name: String
    /// The value as a report of the same comparison shows it.
    let shown: String
    /// The tag and the bytes that the attribute has in ``HabitStore/CanonicalForm``; nil where values are not kept.
    let canonical: Data?
    /// HMAC-SHA-256 of the bytes with a key that the recorder forgets, so that values cannot be tried against it. Nil if values are kept.
    let digest: Data?

    /// - Parameter key: nil to keep the value.
    init(name: String, _ part: CanonicalReader.Part, shown: String, key: SymmetricKey?) {
        self.init(name: name, bytes: Data([part.tag.rawValue]) + Data(part.bytes), shown: shown, key: key)
    }

    /// - Parameters:
    ///   - bytes: the value's tag and bytes.
    ///   - key: nil to keep the value.
    init(name: String, bytes: Data, shown: String, key: SymmetricKey?) {
        self.name = name
        self.shown = shown
        canonical = key == nil ? bytes : nil
        digest = key.map { Data(HMAC<SHA256>.authenticationCode(for: bytes, using: $0)) }
    }

    /// Whether both are the same value to the last bit. Only attributes of one recording can be compared.
    func isIdentical(to other: RecordedAttribute) -> Bool {
        canonical == other.canonical && digest == other.digest
    }
}

/// A list of identifiers, and what they are.
struct RecordedIdentifiers: Sendable, Hashable, Codable {
    /// The list's caption: `found in A from the other side`.
    let caption: String
    let identifiers: [UUID]

    init(_ caption: String, _ identifiers: [UUID]) {
        self.caption = caption
        self.identifiers = identifiers
    }
}

/// A query as a recording holds it.
struct RecordedQuery: Sendable, Hashable, Codable {
    let name: String
    let entity: String
    /// The filter's text; nil where there is none, and where values are not kept, since filters hold them.
    var filter: String?
    let sort: [String]
    let limit: Int?
    let offset: Int?

    init(_ query: QueryFile.Query) {
        name = query.name
        entity = query.entity
        filter = query.filter
        sort = query.sort ?? []
        limit = query.limit
        offset = query.offset
    }

    /// The query as a file of queries has it.
    var query: QueryFile.Query {
        QueryFile.Query(name: name, entity: entity, filter: filter, sort: sort, limit: limit, offset: offset)
    }
}

/// The first line of a file of recorded mismatches.
struct RecordingHeader: Codable {
    static let format = "habitstore-mismatches"
    static let formatVersion = 1

    var format = Self.format
    var formatVersion = Self.formatVersion
    let a: MismatchRecording.Side
    let b: MismatchRecording.Side
    let keepsValues: Bool
    let shapes: [String: String]
    /// How many lines follow before the last one.
    let mismatches: Int

    init(_ recording: MismatchRecording) {
        a = recording.a
        b = recording.b
        keepsValues = recording.keepsValues
        shapes = recording.shapes
        mismatches = recording.mismatches.count
    }

    /// What every version of the format has in its first line.
    struct Version: Codable {
        let format: String
        let formatVersion: Int
    }
}

/// The last line of a file of recorded mismatches.
struct RecordingFooter: Codable {
    /// SHA-256 of all bytes before this line, in hexadecimal digits.
    let sha256: String
}

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
