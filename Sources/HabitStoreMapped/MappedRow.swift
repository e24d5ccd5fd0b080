import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreSQLite

/// The columns of a row that are written, in the forms of the mapping.
struct MappedRow {
    let table: MappedTable
    let part: TablePlan.Part
    let id: UUID
    /// By the places of the columns.
    private(set) var values: [Int: SourceValue] = [:]
    /// Whether a column may keep another value than the one that is written, so that the row has to be read again.
    private(set) var isDoubtful: Bool
    private let entity: EntityDescription
    private let path: String

    init(_ table: MappedTable, _ part: TablePlan.Part, _ entity: EntityDescription, _ id: UUID, path: String) {
        (self.table, self.part, self.entity, self.id, self.path) = (table, part, entity, id, path)
        isDoubtful = table.hasAppTriggers || table.hasLinkedColumns || !part.conditions.isEmpty
    }

    /// The places of the columns that are written.
    var places: [Int] { values.keys.sorted() }

    /// The values of the columns that are written, in the order of their places.
    var ordered: [SourceValue] { places.map { values[$0] ?? .null } }

    /// The key, if attributes supply it.
    var givenKey: [SourceValue]? {
        let key = table.source.key.compactMap { values[$0] }
        return key.count == table.source.key.count && !key.contains(.null) ? key : nil
    }

    /// The error for something that the file or its mapping cannot hold.
    func refusal(_ code: HabitStoreError.Code, _ message: String, attribute: Int? = nil) -> HabitStoreError {
        HabitStoreError(
            code,
            "\(table.name): \(message)",
            at: .init(path: path, entity: entity.name, attribute: attribute.map { entity.attributes[$0].name }, id: id)
        )
    }

    mutating func setKey(_ key: [SourceValue]) throws {
        for (place, value) in zip(table.source.key, key) { try assign(place, value, nil) }
    }

    /// The columns of a to-one relationship.
    mutating func setReference(_ position: Int, _ places: [Int], _ key: [SourceValue]) throws {
        for (place, value) in zip(places, key) { try assign(place, value, position) }
    }

    /// Puts an attribute's value into its column; references and links are put there by the writer.
    mutating func set(_ position: Int, _ value: Value) throws {
        let attribute = entity.attributes[position]
        switch part.fields[position] {
        case .identifier, .links: return
        case .missing:
            if !value.isNull, value != .links([]) {
                throw refusal(
                    .unsupported,
                    "\(attribute.name) has no column, so only nil can be stored",
                    attribute: position
                )
            }
        case .constant(let constant):
            guard try constant.normalized() == value else {
                throw refusal(
                    .unsupported,
                    "\(attribute.name) is always \(constant) in this table",
                    attribute: position
                )
            }
        case .reference(let places, _):
            for place in places { try assign(place, .null, position) }
        case .column(let place, _, let nulls) where value.isNull, .cases(let place, _, let nulls) where value.isNull:
            try assign(place, nothing(place, nulls), position)
        case .column(let place, let form, let nulls):
            let written = form.stored(value)
            let kept = written?.stored(in: table.affinity(place))
            guard let written, let kept, !nulls.contains(where: { kept.matches($0) }),
                let back = try? form.value(kept, as: attribute.kind)?.normalized(), back == value
            else {
                let rounding = attribute.kind == .date ? "round it with MappedSQLiteStore.rounded" : "round it"
                throw refusal(
                    .invalidValue,
                    "\(attribute.name) cannot be stored exactly as \(form.name); \(rounding), or map it to another form",
                    attribute: position
                )
            }
            try assign(place, written, position)
        case .cases(let place, let cases, _):
            // Of several codes for one value, always the same is written.
            guard let code = cases.filter({ (try? $0.value.normalized()) == value }).keys.min() else {
                throw refusal(
                    .invalidValue,
                    "\(attribute.name) has a value without a code in the mapping",
                    attribute: position
                )
            }
            let isNumber =
                table.affinity(place) != .text && !table.textCodes.contains(place)
                && Int64(code).map { String($0) == code } == true
            try assign(place, isNumber ? Int64(code).map { .int($0) } ?? .text(code) : .text(code), position)
        }
    }

    /// The stored value of nil.
    private func nothing(_ place: Int, _ nulls: [MappedConstant]) -> SourceValue {
        guard table.isNotNull(place) else { return .null }
        for constant in nulls {
            switch constant {
            case .null: continue
            case .bool(let flag): return .int(flag ? 1 : 0)
            case .int(let number): return .int(number)
            case .double(let number): return .real(number)
            case .string(let text): return .text(text)
            }
        }
        return .null
    }

    /// Adds what the conditions of the mapping ask for, where no attribute says it.
    mutating func fulfilConditions() throws {
        for (place, condition) in part.conditions where values[place] == nil {
            guard case .oneOf(let constants) = condition, let first = constants.first else { continue }
            switch first {
            case .null: try assign(place, .null, nil)
            case .bool(let flag): try assign(place, .int(flag ? 1 : 0), nil)
            case .int(let number): try assign(place, .int(number), nil)
            case .double(let number): try assign(place, .real(number), nil)
            case .string(let text): try assign(place, .text(text), nil)
            }
        }
    }

    private mutating func assign(_ place: Int, _ value: SourceValue, _ position: Int?) throws {
        guard !table.isGenerated(place) else {
            isDoubtful = true
            return
        }
        if let other = values[place], other != value {
            throw refusal(
                .invalidValue,
                "the column \(table.source.columns[place]) would need two values",
                attribute: position
            )
        }
        values[place] = value
        if value.isNull ? table.isNotNull(place) : !value.isKept(by: table.affinity(place)) { isDoubtful = true }
    }
}

extension SourceValue {
    /// Whether a column of an affinity certainly keeps the value unchanged.
    fileprivate func isKept(by affinity: TableFile.Affinity) -> Bool {
        switch (self, affinity) {
        case (.null, _), (.blob, _), (_, .none): true
        case (.text, .text), (.int, .integer), (.int, .numeric), (.real, .real): true
        default: false
        }
    }
}

/// A row of a table in the log of changes, by its key. Keys are compared by their bytes.
struct RowKey: Hashable {
    let number: Int
    private let parts: [[UInt8]]

    init(_ number: Int, _ key: [SourceValue]) {
        self.number = number
        parts = key.map { value in
            switch value {
            case .null: [0]
            case .int(let number): withUnsafeBytes(of: number) { [1] + Array($0) }
            case .real(let number): withUnsafeBytes(of: number) { [2] + Array($0) }
            case .text(let text): [3] + Array(text.utf8)
            case .malformedText(let bytes): [4] + Array(bytes)
            case .blob(let bytes): [5] + Array(bytes)
            }
        }
    }
}

extension Value {
    /// The targets of links.
    var identifiers: [UUID] {
        if case .links(let ids) = self { return ids }
        return []
    }
}
