import Foundation
import HabitStore

/// An amount whose samples are all the same.
struct TrapMoney: AttributeConvertible, Codable, Equatable {
    var cents: Int

    static var attributeKind: AttributeKind { .int }
    static func probe(position: Int) -> Value { .int(100) }
    init(cents: Int) { self.cents = cents }
    init?(attributeValue: Value) {
        guard case .int(let cents) = attributeValue else { return nil }
        self.cents = Int(cents)
    }
    func attributeValue() -> Value { .int(Int64(cents)) }
}

/// Two amounts, in the order of their declaration.
struct TrapPurse: PersistentModel {
    var id = UUID()
    var first = TrapMoney(cents: 1)
    var second = TrapMoney(cents: 2)

    static let entity = EntityDescription(
        TrapPurse.self,
        attributes: [
            .id(\TrapPurse.id), .attribute("first", \TrapPurse.first), .attribute("second", \TrapPurse.second),
        ]
    )

    init(row: inout AttributeReader) throws {
        (id, first, second) = (try row.nextUUID(), try row.next(), try row.next())
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        try row.append(converting: first)
        try row.append(converting: second)
    }
}

/// Two optional amounts, which the code may exchange.
struct TrapWallet: PersistentModel {
    @TaskLocal static var exchanges = false

    var id = UUID()
    var first: TrapMoney?
    var second: TrapMoney?

    static let entity = EntityDescription(
        TrapWallet.self,
        attributes: [
            .id(\TrapWallet.id), .attribute("first", \TrapWallet.first), .attribute("second", \TrapWallet.second),
        ]
    )

    init(row: inout AttributeReader) throws {
        (id, first, second) = (try row.nextUUID(), try row.next(), try row.next())
        if Self.exchanges { swap(&first, &second) }
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        try row.append(converting: Self.exchanges ? second : first)
        try row.append(converting: Self.exchanges ? first : second)
    }
}

/// Attributes of types that have one value.
struct TrapLonely: PersistentModel {
    enum Only: String, AttributeEnum, Codable { case one }

    struct Unit: AttributeConvertible, Codable, Equatable {
        static var attributeKind: AttributeKind { .int }
        static var hasOneValue: Bool { true }
        static func probe(position: Int) -> Value { .int(0) }
        init() {}
        init?(attributeValue: Value) { if attributeValue != .int(0) { return nil } }
        func attributeValue() -> Value { .int(0) }
    }

    var id = UUID()
    var a = Only.one
    var b = Only.one
    var c = Unit()
    var d = Unit()

    static let entity = EntityDescription(
        TrapLonely.self,
        attributes: [
            .id(\TrapLonely.id), .attribute("a", \TrapLonely.a), .attribute("b", \TrapLonely.b),
            .attribute("c", \TrapLonely.c), .attribute("d", \TrapLonely.d),
        ]
    )

    init(row: inout AttributeReader) throws {
        (id, a, b) = (try row.nextUUID(), try row.next(), try row.next())
        (c, d) = (try row.next(), try row.next())
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        try row.append(converting: a)
        try row.append(converting: b)
        try row.append(converting: c)
        try row.append(converting: d)
    }
}
