import Foundation

extension FilterCompiler {
    /// Membership in constants, by the kind of the member.
    mutating func membership(_ member: BoundExpression, _ values: [Value], _ scope: Scope) -> FilterTest {
        let hasNull = values.contains(.null)
        switch member.kind {
        case .int, .bool:
            let numbers = OwnedBuffer(values.compactMap(\.wholeNumber))
            return membership(int(member, scope), numbers, hasNull: hasNull)
        case .double, .date:
            let numbers = OwnedBuffer(values.compactMap(\.doubleOrSeconds).filter { !$0.isNaN })
            return membership(double(member, scope), numbers, hasNull: hasNull)
        case .uuid:
            let keys = values.compactMap { value -> IdentifierKey? in
                if case .uuid(let id) = value { return IdentifierKey(id) }
                return nil
            }
            return membership(identifier(member, scope), OwnedBuffer(keys), hasNull: hasNull)
        case .string, .data:
            return membership(bytes(member, scope), values.compactMap(\.constantBytes), hasNull: hasNull)
        case .strings, .links, nil:
            let member = value(member, scope)
            return { values.contains(try member($0)) }
        }
    }

    private func membership(_ member: @escaping FilterInt, _ keys: OwnedBuffer<Int64>, hasNull: Bool) -> FilterTest {
        let table = ProbeTable(
            (0..<keys.count).map { ProbeTable.mix(UInt64(bitPattern: keys.base[$0])) }
        )
        return { rows in
            guard let number = try member(rows) else { return hasNull }
            return table.contains(ProbeTable.mix(UInt64(bitPattern: number))) { keys.base[$0] == number }
        }
    }

    private func membership(
        _ member: @escaping FilterDouble,
        _ keys: OwnedBuffer<Double>,
        hasNull: Bool
    ) -> FilterTest {
        let table = ProbeTable((0..<keys.count).map { Self.hash(keys.base[$0]) })
        return { rows in
            guard let number = try member(rows) else { return hasNull }
            return table.contains(Self.hash(number)) { keys.base[$0] == number }
        }
    }

    /// The hash of a double; 0 and -0 are equal.
    private static func hash(_ number: Double) -> UInt64 {
        ProbeTable.mix(number == 0 ? 0 : number.bitPattern)
    }

    private func membership(
        _ member: @escaping FilterIdentifier,
        _ keys: OwnedBuffer<IdentifierKey>,
        hasNull: Bool
    ) -> FilterTest {
        let table = ProbeTable((0..<keys.count).map { keys.base[$0].hash })
        return { rows in
            guard let id = try member(rows) else { return hasNull }
            return table.contains(id.hash) { keys.base[$0] == id }
        }
    }

    private func membership(
        _ member: @escaping FilterBytes,
        _ keys: [OwnedBuffer<UInt8>],
        hasNull: Bool
    ) -> FilterTest {
        // All constants in one buffer, so that finding one counts no reference.
        let bytes = OwnedBuffer(keys.flatMap { Array($0.bytes) })
        let ends = OwnedBuffer(keys.reduce(into: [0]) { $0.append($0[$0.count - 1] + $1.count) })
        let table = ProbeTable(keys.map { ProbeTable.hash($0.bytes) })
        return { rows in
            guard let member = try member(rows) else { return hasNull }
            return table.contains(ProbeTable.hash(member)) { key in
                let start = ends.base[key]
                let constant = UnsafeRawBufferPointer(start: bytes.base + start, count: ends.base[key &+ 1] &- start)
                return ByteText.areEqual(member, constant)
            }
        }
    }
}
