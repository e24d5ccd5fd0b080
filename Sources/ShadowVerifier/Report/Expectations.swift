import Foundation
import HabitStore

/// The expected contents of a fixture, computed without any store, so that two stores agreeing on nothing does not pass.
public struct Expectations: Sendable, Codable, Equatable {
    /// The expected result of a query.
    public struct QueryResult: Sendable, Codable, Equatable {
        /// The number of records.
        public var count: Int
        /// The identifiers in order, the first ``Expectations/listedIdentifiers`` of them.
        public var identifiers: [UUID]

        /// Makes a result.
        public init(count: Int, identifiers: [UUID]) {
            self.count = count
            self.identifiers = identifiers
        }
    }

    /// How many identifiers of a result are listed.
    public static let listedIdentifiers = 20

    /// The fixture's description, for people.
    public var description: String
    /// The history token.
    public var token: Int64
    /// Records of each entity.
    public var counts: [String: Int]
    /// For each kind of anomaly, how many records show it in the fixture itself.
    public var anomalies: [String: Int]
    /// For each query of the query file, its result.
    public var queries: [String: QueryResult]

    /// Makes expectations.
    public init(
        description: String,
        token: Int64,
        counts: [String: Int],
        anomalies: [String: Int],
        queries: [String: QueryResult]
    ) {
        self.description = description
        self.token = token
        self.counts = counts
        self.anomalies = anomalies
        self.queries = queries
    }

    /// Reads a file of expectations.
    public static func load(path: String) throws -> Expectations {
        try JSONFile.load(path: path, what: "a file of expected results")
    }
}

/// Two stores that differ, and in which ways: the verifier must find exactly these.
public struct PairExpectation: Sendable, Codable, Equatable {
    /// One difference.
    public struct Difference: Sendable, Codable, Hashable {
        /// Its kind; nil for a query, whose kind follows from the others.
        public var kind: StoreDifference.Kind?
        /// The entity.
        public var entity: String?
        /// The record.
        public var id: UUID?
        /// The attribute or relationship.
        public var attribute: String?
        /// The name of a query whose result differs.
        public var query: String?

        /// Names a difference.
        public init(
            kind: StoreDifference.Kind? = nil,
            entity: String? = nil,
            id: UUID? = nil,
            attribute: String? = nil,
            query: String? = nil
        ) {
            self.kind = kind
            self.entity = entity
            self.id = id
            self.attribute = attribute
            self.query = query
        }

        /// The same difference as the verifier reports it.
        public init(_ difference: StoreDifference) {
            if let query = difference.query {
                self.init(query: query)
            } else {
                self.init(
                    kind: difference.kind,
                    entity: difference.entity,
                    id: difference.id,
                    attribute: difference.attribute
                )
            }
        }
    }

    /// The pair's description, for people.
    public var description: String
    /// The name of the first store's file.
    public var a: String
    /// The name of the second store's file.
    public var b: String
    /// The differences that the verifier must find.
    public var differences: [Difference]

    /// Describes a pair.
    public init(description: String, a: String, b: String, differences: [Difference]) {
        self.description = description
        self.a = a
        self.b = b
        self.differences = differences
    }

    /// Reads a file that describes a pair.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidQuery`` if it does not, or names files outside its own folder.
    public static func load(path: String) throws -> PairExpectation {
        let pair: PairExpectation = try JSONFile.load(path: path, what: "a description of two stores")
        for (key, name) in [("a", pair.a), ("b", pair.b)] where !isFileName(name) {
            throw HabitStoreError(
                .invalidQuery,
                "\"\(key)\" has to be the name of a file in the same folder, without a path",
                at: .init(path: path)
            )
        }
        return pair
    }

    private static func isFileName(_ name: String) -> Bool {
        !["", ".", ".."].contains(name) && !name.utf8.contains { $0 == UInt8(ascii: "/") || $0 == 0 }
    }
}

/// Reads the JSON files that come with a verification.
enum JSONFile {
    /// How large such a file may be.
    private static let maximumBytes = 64 << 20

    static func load<T: Decodable>(path: String, what: String) throws -> T {
        let data = try FileBytes.read(path: path, what: what, limit: maximumBytes)
        do {
            return try JSONDecoder().decode(T.self, from: data)
        } catch {
            throw HabitStoreError(
                .invalidQuery,
                "this is not \(what): \(reason(error, data))",
                at: .init(path: path),
                underlying: error
            )
        }
    }

    private static func reason(_ error: any Error, _ data: Data) -> String {
        guard let error = error as? DecodingError else { return "\(error)" }
        let context: DecodingError.Context
        switch error {
        case .keyNotFound(_, let found), .typeMismatch(_, let found), .valueNotFound(_, let found),
            .dataCorrupted(let found):
            context = found
        @unknown default: return "\(error)"
        }
        let path = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined()
        if path.isEmpty { return place(in: data) ?? context.debugDescription }
        return "at \(path.drop { $0 == "." }): \(context.debugDescription)"
    }

    /// Where a text stops being JSON, which the decoder does not tell; nil when it is JSON.
    private static func place(in data: Data) -> String? {
        do {
            _ = try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
            return nil
        } catch {
            return (error as NSError).userInfo["NSDebugDescription"] as? String
        }
    }
}

/// Reads the files that come with a verification.
enum FileBytes {
    /// - Parameters:
    ///   - what: what is expected there, for the error.
    ///   - limit: how many bytes there may be.
    static func read(path: String, what: String, limit: Int) throws -> Data {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw HabitStoreError(.notFound, "there is no file here; \(what) is expected", at: .init(path: path))
        }
        guard !isDirectory.boolValue else {
            throw HabitStoreError(.notAStore, "this is a folder; \(what) is expected", at: .init(path: path))
        }
        do {
            let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
            guard size <= limit else {
                throw HabitStoreError(
                    .limitExceeded,
                    "the file has \(size) bytes; \(what) has \(limit) at most",
                    at: .init(path: path)
                )
            }
            return try Data(contentsOf: URL(fileURLWithPath: path))
        } catch let error as HabitStoreError {
            throw error
        } catch {
            throw HabitStoreError(.inputOutput, "it cannot be read", at: .init(path: path), underlying: error)
        }
    }
}

extension Decoder {
    /// Refuses an object with a key that does not exist: a misspelt one would otherwise do nothing, unseen.
    ///
    /// - Throws: `DecodingError` that names the key and those that exist.
    func refuseUnknownKeys(_ known: [String], of what: String) throws {
        let fields = try container(keyedBy: AnyKey.self)
        guard let key = fields.allKeys.first(where: { !known.contains($0.stringValue) }) else { return }
        throw DecodingError.dataCorrupted(
            .init(
                codingPath: codingPath,
                debugDescription: "\(what) has no field \"\(key.stringValue)\"; it has \(known.joined(separator: ", "))"
            )
        )
    }
}

/// Any key of a JSON object.
private struct AnyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension String {
    /// The text with an ellipsis instead of everything in double quotes: a filter's texts, which may be a user's.
    var hidingQuotedText: String {
        var result = ""
        var isQuoted = false
        var isEscaped = false
        for scalar in unicodeScalars {
            if !isQuoted { result.unicodeScalars.append(scalar) }
            if isEscaped {
                isEscaped = false
            } else if isQuoted, scalar == "\\" {
                isEscaped = true
            } else if scalar == "\"" {
                if isQuoted { result += "…\"" }
                isQuoted.toggle()
            }
        }
        return result
    }
}
