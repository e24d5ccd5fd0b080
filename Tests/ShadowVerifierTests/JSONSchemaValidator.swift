import Foundation

/// Checks JSON against a JSON Schema, as far as this package's schemas need. An unknown keyword is an error, because a schema with skipped keywords
/// proves nothing.
struct JSONSchemaValidator {
    private struct UnknownKeyword: Error, CustomStringConvertible {
        let description: String
    }

    private static let annotations: Set<String> = ["$schema", "$defs", "title", "description"]

    private let root: [String: Any]

    init(path: String) throws {
        let object = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path)))
        guard let root = object as? [String: Any] else { throw UnknownKeyword(description: "a schema is an object") }
        self.root = root
    }

    /// The errors in a document, with their places; empty if it is valid.
    func mistakes(in document: Data) throws -> [String] {
        try mistakes(JSONSerialization.jsonObject(with: document), root, "$")
    }

    private func mistakes(_ value: Any, _ schema: [String: Any], _ place: String) throws -> [String] {
        var found: [String] = []
        for (keyword, expected) in schema where !Self.annotations.contains(keyword) {
            if keyword == "then" || keyword == "additionalProperties" { continue }
            found += try mistakes(value, keyword, expected, schema, place)
        }
        return found
    }

    private func mistakes(
        _ value: Any,
        _ keyword: String,
        _ expected: Any,
        _ schema: [String: Any],
        _ place: String
    ) throws -> [String] {
        switch (keyword, expected) {
        case ("$ref", let name as String): return try mistakes(value, try definition(name), place)
        case ("type", let name as String):
            return Self.has(value, type: name) ? [] : ["\(place) is not of the type \(name)"]
        case ("const", _): return Self.equal(value, expected) ? [] : ["\(place) is not \(expected)"]
        case ("enum", let all as [Any]):
            return all.contains { Self.equal(value, $0) } ? [] : ["\(place) is \(value), none of \(all)"]
        case ("minimum", let least as NSNumber):
            guard let number = value as? NSNumber, number.doubleValue < least.doubleValue else { return [] }
            return ["\(place) is less than \(least)"]
        case ("minLength", let least as Int):
            return (value as? String).map { $0.count < least } == true ? ["\(place) is too short"] : []
        case ("minItems", let least as Int):
            return (value as? [Any]).map { $0.count < least } == true ? ["\(place) has too few elements"] : []
        case ("pattern", let pattern as String):
            guard let text = value as? String, text.range(of: pattern, options: .regularExpression) == nil else {
                return []
            }
            return ["\(place) is \(text), which does not match \(pattern)"]
        case ("items", let items as [String: Any]):
            return try (value as? [Any] ?? []).enumerated().flatMap { try mistakes($1, items, "\(place)[\($0)]") }
        case ("properties", _), ("required", _):
            return try ofObject(value, keyword, schema, place)
        case ("allOf", let all as [[String: Any]]): return try all.flatMap { try mistakes(value, $0, place) }
        case ("anyOf", let all as [[String: Any]]):
            return try all.contains { try mistakes(value, $0, place).isEmpty } ? [] : ["\(place) is none of \(all)"]
        case ("not", let other as [String: Any]):
            return try mistakes(value, other, place).isEmpty ? ["\(place) must not be \(other)"] : []
        case ("if", let condition as [String: Any]):
            guard let then = schema["then"] as? [String: Any], try mistakes(value, condition, place).isEmpty else {
                return []
            }
            return try mistakes(value, then, place)
        default: throw UnknownKeyword(description: "the validator does not know \"\(keyword)\": \(expected)")
        }
    }

    private func ofObject(
        _ value: Any,
        _ keyword: String,
        _ schema: [String: Any],
        _ place: String
    ) throws -> [String] {
        guard let object = value as? [String: Any] else { return [] }
        if keyword == "required" {
            let names = schema["required"] as? [String] ?? []
            return names.filter { object[$0] == nil }.map { "\(place).\($0) is missing" }
        }
        let known = schema["properties"] as? [String: [String: Any]] ?? [:]
        return try object.flatMap { name, member in
            if let schema = known[name] { return try mistakes(member, schema, "\(place).\(name)") }
            return schema["additionalProperties"] as? Bool == false ? ["\(place).\(name) is not in the schema"] : []
        }
    }

    private func definition(_ reference: String) throws -> [String: Any] {
        let definitions = root["$defs"] as? [String: [String: Any]] ?? [:]
        guard reference.hasPrefix("#/$defs/"), let found = definitions[String(reference.dropFirst(8))] else {
            throw UnknownKeyword(description: "the schema has no \(reference)")
        }
        return found
    }

    private static func has(_ value: Any, type: String) -> Bool {
        switch type {
        case "object": value is [String: Any]
        case "array": value is [Any]
        case "string": value is String
        case "boolean": isBool(value)
        case "number": value is NSNumber && !isBool(value)
        case "integer":
            (value as? NSNumber).map { !isBool(value) && $0.doubleValue.rounded() == $0.doubleValue } ?? false
        default: false
        }
    }

    private static func equal(_ a: Any, _ b: Any) -> Bool {
        isBool(a) == isBool(b) && (a as? NSObject) == (b as? NSObject)
    }

    private static func isBool(_ value: Any) -> Bool {
        (value as? NSNumber).map { String(cString: $0.objCType) == "c" } ?? false
    }
}
