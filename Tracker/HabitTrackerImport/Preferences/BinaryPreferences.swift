import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport

/// Preferences in a binary property list, whose objects stay bytes.
struct BinaryPreferences {
    private typealias Object = BinaryPropertyList.Object

    static let maximumDepth = 512

    private let list: BinaryPropertyList
    private let path: String

    private var bytes: [UInt8] { list.bytes }
    private var objects: [Object] { list.objects }
    private var top: Int { list.top }

    /// - Throws: ``HabitStoreError/Code/invalidSource`` if the parts of the file contradict each other.
    init(_ bytes: [UInt8], path: String) throws {
        self.path = path
        do {
            list = try BinaryPropertyList(bytes)
        } catch {
            throw Self.damage(error.message, path)
        }
        try requireTree()
        for (index, object) in objects.enumerated() {
            switch object {
            case .dictionary(let keys, _):
                guard keys.allSatisfy({ text($0) != nil }) else { throw Self.damage("a key is not text", path) }
            case .simple(let range) where bytes[range.lowerBound] >> 4 == 5:
                guard text(index) != nil else { throw Self.damage("a text is not valid", path) }
            case .simple, .list: break
            }
        }
    }

    /// The number of keys of the outermost dictionary.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidSource`` if the outermost value is not a dictionary.
    func keyCount() throws -> Int { try dictionary().keys.count }

    /// The members of the list under a key of the outermost dictionary, or a description of its value if that is not a list; nil if there is no
    /// such key.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidSource`` if the key occurs more than once, or if the outermost value is not a dictionary.
    func list(of key: String) throws -> [PreferencesItem]? {
        guard let value = try value(of: key) else { return nil }
        guard case .list(0xA0, let members) = objects[value] else { return [.other(kind(of: value), isWhole: true)] }
        return members.map { member in
            text(member).map { .text($0) } ?? .other(kind(of: member), isWhole: false)
        }
    }

    private func dictionary() throws -> (keys: [Int], values: [Int]) {
        guard case .dictionary(let keys, let values) = objects[top] else {
            throw Self.damage("its outermost value is not a dictionary", path)
        }
        return (keys, values)
    }

    private func value(of key: String) throws -> Int? {
        let (keys, values) = try dictionary()
        let places = keys.indices.filter { text(keys[$0]) == key }
        guard places.count <= 1 else { throw Self.damage("it has the key \(places.count) times", path) }
        return places.first.map { values[$0] }
    }

    private func kind(of object: Int) -> String {
        switch objects[object] {
        case .list(0xA0, _): return "a list"
        case .list: return "a set"
        case .dictionary: return "a dictionary"
        case .simple(let range):
            switch bytes[range.lowerBound] {
            case 0x08, 0x09: return "a truth value"
            case 0x10..<0x30: return "a number"
            case 0x30..<0x40: return "a date"
            case 0x40..<0x50: return "data"
            case 0x50..<0x70: return "a damaged text"
            default: return "a value of another kind"
            }
        }
    }

    /// Whether this property list equals another one except for the value of a key, which is an empty list here.
    func isEmptied(_ key: String, of other: BinaryPreferences) throws -> Bool {
        let (mine, others) = (try dictionary(), try other.dictionary())
        guard mine.keys.count == others.keys.count, try list(of: key)?.isEmpty == true else { return false }
        var seen: Set<[Int]> = []
        var next: [[Int]] = []
        for place in mine.keys.indices {
            next.append([mine.keys[place], others.keys[place]])
            if text(mine.keys[place]) != key { next.append([mine.values[place], others.values[place]]) }
        }
        while let pair = next.popLast() {
            guard seen.insert(pair).inserted else { continue }
            switch (objects[pair[0]], other.objects[pair[1]]) {
            case (.simple(let left), .simple(let right)):
                guard bytes[left].elementsEqual(other.bytes[right]) else { return false }
            case (.list(let left, let members), .list(let right, let others)):
                guard left == right, members.count == others.count else { return false }
                next += zip(members, others).map { [$0, $1] }
            case (.dictionary(let keys, let values), .dictionary(let otherKeys, let otherValues)):
                guard keys.count == otherKeys.count else { return false }
                next += zip(keys + values, otherKeys + otherValues).map { [$0, $1] }
            default: return false
            }
        }
        return true
    }

    /// The file's bytes with an empty array as the value of a key in the outermost dictionary. Other objects are unchanged; those that
    /// nothing refers to any more are removed.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidSource`` unless the key occurs exactly once.
    func emptying(_ key: String) throws -> [UInt8] {
        let keys = try dictionary().keys
        var values = try dictionary().values
        let places = keys.indices.filter { text(keys[$0]) == key }
        guard let place = places.first, places.count == 1 else {
            throw Self.damage("its outermost dictionary has the key \(places.count) times", path)
        }
        var changed = objects
        values[place] = changed.count
        changed.append(.list(marker: 0xA0, []))
        changed[top] = .dictionary(keys: keys, values: values)
        return encoded(changed)
    }

    // MARK: Reading

    /// Throws if the containers have cycles or are nested too deeply.
    private func requireTree() throws {
        // 0: not visited, 1: being visited, 2: done.
        var states = [UInt8](repeating: 0, count: objects.count)
        var stack: [(object: Int, next: Int)] = [(top, 0)]
        states[top] = 1
        while let (object, next) = stack.last {
            let members = objects[object].members
            guard next < members.count else {
                states[object] = 2
                stack.removeLast()
                continue
            }
            stack[stack.count - 1].next += 1
            let member = members[next]
            guard states[member] != 1 else { throw Self.damage("a container holds itself", path) }
            guard states[member] == 0 else { continue }
            guard stack.count < Self.maximumDepth else { throw Self.damage("it is nested too deep", path) }
            states[member] = 1
            stack.append((member, 0))
        }
    }

    private func text(_ object: Int) -> String? {
        guard case .simple(let range) = objects[object] else { return nil }
        let contents = list.contents(range)
        switch bytes[range.lowerBound] >> 4 {
        case 0x5: return contents.allSatisfy { $0 < 0x80 } ? String(decoding: contents, as: UTF8.self) : nil
        case 0x6: return String(validating: BinaryPropertyList.units(contents), as: UTF16.self)
        default: return nil
        }
    }

    // MARK: Writing

    private func encoded(_ objects: [Object]) -> [UInt8] {
        let reachable = reachable(objects)
        var places = [Int](repeating: 0, count: objects.count)
        for (place, object) in reachable.enumerated() { places[object] = place }
        let numberSize = Self.size(of: reachable.count)
        var result = BinaryPropertyList.header
        var offsets: [Int] = []
        func append(_ number: Int, _ size: Int) {
            for shift in stride(from: 8 * (size - 1), through: 0, by: -8) {
                result.append(UInt8(truncatingIfNeeded: number >> shift))
            }
        }
        func append(marker: UInt8, count: Int) {
            if count < 15 { return result.append(marker | UInt8(count)) }
            let size = Self.size(of: count)
            result.append(marker | 15)
            result.append(0x10 | UInt8(size.trailingZeroBitCount))
            append(count, size)
        }
        for object in reachable {
            offsets.append(result.count)
            switch objects[object] {
            case .simple(let range): result += bytes[range]
            case .list(let marker, let members):
                append(marker: marker, count: members.count)
                for member in members { append(places[member], numberSize) }
            case .dictionary(let keys, let values):
                append(marker: 0xD0, count: keys.count)
                for member in keys + values { append(places[member], numberSize) }
            }
        }
        let table = result.count
        let offsetSize = Self.size(of: table)
        for offset in offsets { append(offset, offsetSize) }
        result += [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(numberSize)]
        for number in [reachable.count, places[top], table] { append(number, 8) }
        return result
    }

    /// The objects that can be reached from the outermost one, in their original order.
    private func reachable(_ objects: [Object]) -> [Int] {
        var isReached = [Bool](repeating: false, count: objects.count)
        isReached[top] = true
        var next = [top]
        while let object = next.popLast() {
            for member in objects[object].members where !isReached[member] {
                isReached[member] = true
                next.append(member)
            }
        }
        return objects.indices.filter { isReached[$0] }
    }

    /// The size of a number in bytes: 1, 2, 4 or 8.
    private static func size(of number: Int) -> Int {
        number < 1 << 8 ? 1 : number < 1 << 16 ? 2 : number < 1 << 32 ? 4 : 8
    }

    private static func damage(_ message: String, _ path: String) -> HabitStoreError {
        HabitStoreError(.invalidSource, "the property list is damaged: \(message)", at: .init(path: path))
    }
}
