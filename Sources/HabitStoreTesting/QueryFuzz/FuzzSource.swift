import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

/// Writes an expression as the source of a `#Predicate`, with its constants declared before it.
struct FuzzSource {
    let schema: Schema
    private(set) var declarations: [String] = []

    init(schema: Schema) { self.schema = schema }

    mutating func source(_ expression: FuzzExpression) -> String {
        switch expression {
        case .constant(.null, _): return "nil"
        case .constant(let value, let type): return declare(Self.literal(value, type.scalar), Self.name(type, schema))
        case .variable(let variable, _): return "v\(variable)"
        case .attribute(let base, let property, _):
            return "\(source(base)).\(schema.entities[property.entity].attributes[property.position].name)"
        case .relationship(let base, let property, _):
            return "\(source(base)).\(schema.entities[property.entity].relationships[property.position].name)"
        case .operation(let operation, let operands, _): return self.operation(operation, operands)
        case .binding(let binding, let variable, let base, let body, _):
            let words: [FuzzBinding: String] = [
                .flatMap: "flatMap", .some: "contains", .every: "allSatisfy", .filter: "filter",
            ]
            return "\(source(base)).\(words[binding] ?? "") { v\(variable) in \(source(body)) }"
        }
    }

    private mutating func declare(_ literal: String, _ type: String?) -> String {
        let name = "c\(declarations.count)"
        declarations.append("let \(name)\(type.map { ": \($0)" } ?? "") = \(literal)")
        return name
    }

    private mutating func operation(_ operation: FuzzOperation, _ operands: [FuzzExpression]) -> String {
        let first = operands.first.map { source($0) } ?? ""
        switch operation {
        case .and, .or:
            let rest = operands.dropFirst().map { source($0) }
            return "(" + ([first] + rest).joined(separator: operation == .and ? " && " : " || ") + ")"
        case .not: return "!(\(first))"
        case .conditional: return "(\(first) ? \(source(operands[1])) : \(source(operands[2])))"
        case .coalesce: return "(\(first) ?? \(source(operands[1])))"
        case .forcedUnwrap: return "\(first)!"
        case .compare(let comparison), .order(let comparison):
            return "(\(first) \(comparison.rawValue) \(source(operands[1])))"
        case .arithmetic(let operation): return "(\(first) \(operation.rawValue) \(source(operands[1])))"
        case .negate: return "-(\(first))"
        case .inRange(let isClosed, let isCaptured):
            let range = "\(source(operands[1]))\(isClosed ? "..." : "..<")\(source(operands[2]))"
            return "\(isCaptured ? declare(range, nil) : "(\(range))").contains(\(first))"
        case .inPartialRange(let range):
            let bound = source(operands[1])
            let text = range == .from ? "\(bound)..." : (range == .through ? "...\(bound)" : "..<\(bound)")
            return "\(declare(text, nil)).contains(\(first))"
        case .isIn(let values, let isSet):
            let list = "[" + values.map { Self.literal($0, operands[0].type.scalar) }.joined(separator: ", ") + "]"
            let type = Self.name(operands[0].type, schema)
            return "\(declare(list, isSet ? "Set<\(type)>" : "[\(type)]")).contains(\(first))"
        case .text(.contains), .listHasPart, .hasElement: return "\(first).contains(\(source(operands[1])))"
        case .text(.beginsWith), .listBegins: return "\(first).starts(with: \(source(operands[1])))"
        case .text(.searches): return "\(first).localizedStandardContains(\(source(operands[1])))"
        case .caseOrder(let order, let isNegated):
            let name = declare("ComparisonResult(rawValue: \(order.rawValue))!", "ComparisonResult")
            return "(\(first).caseInsensitiveCompare(\(source(operands[1]))) \(isNegated ? "!=" : "==") \(name))"
        case .text(let test): return "(\(first) \(test.rawValue) \(source(operands[1])))"
        case .matches(let regex): return "\(first).contains(\(declare("try Regex(\"\(regex.rawValue)\")", nil)))"
        case .length: return "\(first).count"
        case .isEmpty: return "\(first).isEmpty"
        case .first: return "\(first).first"
        case .last: return "\(first).last"
        case .least: return "\(first).min()"
        case .greatest: return "\(first).max()"
        case .element: return "\(first)[\(source(operands[1]))]"
        case .lookup(let dictionary):
            let pairs = dictionary.sorted { $0.key < $1.key }.map { "\($0.key.swiftLiteral): \($0.value)" }
            let name = declare("[\(pairs.isEmpty ? ":" : pairs.joined(separator: ", "))]", "[String: Int]")
            return operands.count > 1 ? "\(name)[\(first), default: \(source(operands[1]))]" : "\(name)[\(first)]"
        case .rawValue: return "\(first).rawValue"
        case .typeCheck(let type): return "(\(first) is \(Self.name(type, schema)))"
        case .conditionalCast(let type): return "(\(first) as? \(Self.name(type, schema)))"
        case .forceCast(let type): return "(\(first) as! \(Self.name(type, schema)))"
        }
    }

    // MARK: Literals

    private static func name(_ type: FuzzType, _ schema: Schema) -> String {
        let base: String
        switch type.shape {
        case .value(let scalar): base = "\(scalar.type)".replacingOccurrences(of: "Array<String>", with: "[String]")
        case .record(let entity): base = "\(schema.entities[entity].modelType)"
        case .records(let entity): base = "[\(schema.entities[entity].modelType)]"
        }
        return type.isOptional ? base + "?" : base
    }

    /// A value as Swift source of the value's type.
    private static func literal(_ value: Value, _ scalar: FuzzScalar?) -> String {
        switch scalar {
        case .enumeration(let custom)?: return "\(custom.type)(attributeValue: \(value.swiftSource))!"
        case .json(let custom)?: return "\(custom.type)(attributeValue: \(value.swiftSource))!"
        default: break
        }
        switch value {
        case .null: return "nil"
        case .bool(let flag): return "\(flag)"
        case .int(let number): return "\(number)"
        case .double(let number): return number.swiftSource
        case .string(let text): return text.swiftLiteral
        case .date(let date): return date.swiftSource
        case .uuid(let id): return id.swiftSource
        case .data(let bytes): return "Data(\(Array(bytes)))"
        case .strings(let texts): return "[\(texts.map(\.swiftLiteral).joined(separator: ", "))]"
        case .links(let ids): return "[\(ids.map(\.swiftSource).joined(separator: ", "))]"
        }
    }
}

extension Value {
    /// The value as Swift source.
    var swiftSource: String {
        switch self {
        case .null: return ".null"
        case .bool(let flag): return ".bool(\(flag))"
        case .int(let number): return ".int(\(number))"
        case .double(let number): return ".double(\(number.swiftSource))"
        case .string(let text): return ".string(\(text.swiftLiteral))"
        case .date(let date): return ".date(\(date.swiftSource))"
        case .uuid(let id): return ".uuid(\(id.swiftSource))"
        case .data(let bytes): return ".data(Data(\(Array(bytes))))"
        case .strings(let texts): return ".strings([\(texts.map(\.swiftLiteral).joined(separator: ", "))])"
        case .links(let ids): return ".links([\(ids.map(\.swiftSource).joined(separator: ", "))])"
        }
    }

    /// Whether writing stores it unchanged.
    var isCanonical: Bool {
        switch self {
        case .string(let text): return text.isInNFC
        case .strings(let texts): return texts.allSatisfy(\.isInNFC)
        default: return true
        }
    }
}

extension String {
    /// An ASCII literal, so that no editor changes its form.
    var swiftLiteral: String {
        var result = "\""
        for scalar in unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case " "..."~": result.unicodeScalars.append(scalar)
            default: result += "\\u{\(String(scalar.value, radix: 16))}"
            }
        }
        return result + "\""
    }
}

extension Double {
    fileprivate var swiftSource: String {
        if isNaN { return ".nan" }
        return isInfinite ? (self < 0 ? "-.infinity" : ".infinity") : "\(self)"
    }
}

extension Date {
    fileprivate var swiftSource: String {
        "Date(timeIntervalSinceReferenceDate: \(timeIntervalSinceReferenceDate.swiftSource))"
    }
}

extension UUID {
    /// The force unwrap cannot fail on a UUID's own text.
    var swiftSource: String { "UUID(uuidString: \"\(uuidString)\")!" }
}

/// Prints a case as a complete test for a test file.
struct FuzzTestPrinter {
    private let smallest: FuzzCase

    init(_ smallest: FuzzCase) { self.smallest = smallest }

    /// The test's source.
    func test(name: String, origin: String) -> String {
        var lines = [
            "/// Found by `habitstore-trials fuzz`: \(origin). \(smallest.subject) answered \(smallest.found),",
            "/// but Foundation evaluates to \(smallest.expected).",
            "@Test func \(name)() throws {",
            "    let replay = try FuzzReplay(\(subject), schema: \(schema), records: [",
        ]
        for (entity, records) in smallest.data.records.enumerated() {
            let name = smallest.data.schema.entities[entity].name
            for record in records { lines.append("        " + source(record, name) + ",") }
        }
        lines += ["    ])", "    defer { replay.close() }"]
        lines += query.map { "    " + $0 }
        return (lines + ["}"]).joined(separator: "\n")
    }

    private var subject: String {
        smallest.subject == StoreUnderTest.inMemory.name ? ".inMemory" : ".\(smallest.subject.lowercased())"
    }

    private var schema: String {
        smallest.data.schema === HabitSchema.current ? "HabitSchema.current" : "ContractSchema.schema"
    }

    private func source(_ record: FuzzRecord, _ entity: String) -> String {
        let values = record.values.map(\.swiftSource).joined(separator: ", ")
        guard record.values.allSatisfy(\.isCanonical) else {
            // Writing these values would change them to NFC.
            return
                ".init(\"\(entity)\", encoded: \"\(Data(record.record.bytes).base64EncodedString())\") /* \(values) */"
        }
        return ".init(\"\(entity)\", [\(values)])"
    }

    // MARK: Query

    private var query: [String] {
        let query = smallest.query
        let schema = smallest.data.schema
        let entity = schema.entities[query.entity]
        if query.question == .records { return recordQuery(entity) }
        var lines: [String] = []
        var arguments: [String] = []
        let filter = query.condition.filter(schema)
        switch query.form {
        case .filter:
            lines.append("let filter = try FilterExpression(text: \((filter?.description ?? "").swiftLiteral))")
            arguments.append("filter: filter")
        case .predicate, .composed:
            if query.form == .composed {
                lines.append("// It was composed of the terms below by Filter.all, Filter.any and !.")
            }
            var source = FuzzSource(schema: schema)
            let body = source.source(query.condition)
            lines += source.declarations
            lines.append("let predicate = #Predicate<\(entity.modelType)> { v0 in \(body) }")
            arguments.append("predicate: predicate")
        }
        if !query.sort.isEmpty {
            let keys = query.sort.map {
                "SortDescriptor(\\.\(entity.attributes[$0.position].name), order: \($0.isAscending ? ".forward" : ".reverse"))"
            }
            arguments.append("sortBy: [\(keys.joined(separator: ", "))]")
        }
        if let limit = query.limit { arguments.append("fetchLimit: \(limit)") }
        if query.offset != 0 { arguments.append("fetchOffset: \(query.offset)") }
        lines.append("let descriptor = FetchDescriptor<\(entity.modelType)>(\(arguments.joined(separator: ", ")))")
        return lines
            + expectation(
                query.question == .count ? "fetchCount(descriptor)" : "fetchIdentifiers(descriptor)",
                note: note(query.question, entity)
            )
    }

    private func note(_ question: FuzzQuery.Question, _ entity: EntityDescription) -> String? {
        switch question {
        case .fetch, .count, .identifiers, .records: return nil
        case .project(let positions):
            return "asked by project(descriptor, \(positions.map { "\\.\(entity.attributes[$0].name)" }))"
        case .pages(let size): return "asked by pages of \(size)"
        }
    }

    private func recordQuery(_ entity: EntityDescription) -> [String] {
        let query = smallest.query
        let filter = query.condition.filter(smallest.data.schema)?.description ?? ""
        let sort = query.sort.map {
            ".init(\"\(entity.attributes[$0.position].name)\", ascending: \($0.isAscending))"
        }
        return [
            "let query = RecordQuery(",
            "    entity: \"\(entity.name)\",",
            "    filter: try FilterExpression(text: \(filter.swiftLiteral)),",
            "    sort: [\(sort.joined(separator: ", "))],",
            "    limit: \(query.limit.map(String.init) ?? "nil"),",
            "    offset: \(query.offset)",
            ")",
        ] + expectation("records(query).map(\\.id)", note: nil)
    }

    private func expectation(_ call: String, note: String?) -> [String] {
        let question = "try replay.store.read { try $0.\(call) }"
        var lines = note.map { ["// It was \($0)."] } ?? []
        switch smallest.expected {
        case .records(let ids), .altered(let ids):
            lines.append("#expect(\(question) == [\(ids.map(\.swiftSource).joined(separator: ", "))])")
        case .count(let count): lines.append("#expect(\(question) == \(count))")
        case .failure(let code, _, _):
            lines.append("// The error is \(code).")
            lines.append("#expect(throws: HabitStoreError.self) { \(question) }")
        }
        return lines
    }
}
